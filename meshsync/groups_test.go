package meshsync_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// as is the pod of another ServiceAccount.
func as(account string, in Inbound) Inbound {
	in.Account = Account{Namespace: "shop", Name: account}
	in.Names = []lbmodel.SAN{spiffe(account)}
	return in
}

func changed(in Inbound, change func(*Inbound)) Inbound {
	change(&in)
	return in
}

// TestAlike says of two pods whether they are one group.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		name, why string
		a, b      Inbound
		alike     bool
	}{
		{"same", "", istioStrictHTTP(), istioStrictHTTP(), true},
		{"accounts", "any of the names will do", istioStrictHTTP(), as("other", istioStrictHTTP()), true},
		{"accounts with server names", "a pool sends one", linkerd(), changed(linkerd(), func(in *Inbound) { in.SNI = "other" }), false},
		{"names with a server name", "they are bound to it", linkerd(), as("other", linkerd()), false},
		{"words for people", "are no difference to a gateway", istioStrictHTTP(), changed(istioStrictHTTP(), func(in *Inbound) { in.Detail, in.Fix = "x", &Fix{Say: "y"} }), true},
		{"chains", "PERMISSIVE pods during a change to STRICT", istioPermissiveHTTP(), istioStrictHTTP(), false},
		{"port", "TLS ends elsewhere", consul(), changed(consul(), func(in *Inbound) { in.Port = 0 }), false},
		{"clear text", "what reaches the application differs", istioStrictHTTP(), changed(istioStrictHTTP(), func(in *Inbound) { in.Plain = true }), false},
		{"probes", "a pool has one health check", istioStrictHTTP(), changed(istioStrictHTTP(), func(in *Inbound) { in.Health = nil }), false},
		{"where a probe is from", "says a pod's name, and not what is asked", istioStrictHTTP(), changed(istioStrictHTTP(), func(in *Inbound) {
			h := *in.Health
			h.Source, in.Health = lbmodel.Source{Kind: "Pod", Name: "b"}, &h
		}), true},
		{"no name", "a pod that nothing names is not verified by another's", istioStrictHTTP(), changed(istioStrictHTTP(), func(in *Inbound) { in.Names = nil }), false},
		{"members and others", "", istioStrictHTTP(), notMeshed(), false},
		{"unknown", "may be members", unknown(), notMeshed(), false},
		{"no members", "whatever is said of them", notMeshed(), changed(notMeshed(), func(in *Inbound) { in.Port, in.Health = 1, &lbmodel.HealthCheck{} }), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := len(Groups([]Placed{{"a", c.a}, {"b", c.b}})) == 1; got != c.alike {
				t.Errorf("alike: %v, want %v: %s", got, c.alike, c.why)
			}
		})
	}
}

// TestGroups is a rollout: old and new accounts, a pod without a sidecar, one that is
// not known.
func TestGroups(t *testing.T) {
	bare := notMeshed()
	bare.Names = []lbmodel.SAN{spiffe("cart")} // believed of no one
	got := Groups([]Placed{
		{"c", as("new", istioStrictHTTP())}, {"a", istioStrictHTTP()}, {"b", istioStrictHTTP()}, {"b", istioStrictHTTP()}, {"d", bare}, {"", unknown()},
	})
	both := istioStrictHTTP()
	both.Account, both.Names = Account{}, []lbmodel.SAN{spiffe("cart"), spiffe("new")}
	want := []Group{
		{Key: "", Inbound: notMeshed(), Accounts: nil, Pods: []string{"d"}, Said: "d"},
		{Key: got[1].Key, Inbound: both, Accounts: []Account{{"shop", "cart"}, {"shop", "new"}}, Pods: []string{"a", "b", "c"}, Said: "a"},
		{Key: "unknown", Inbound: Inbound{Membership: MembershipUnknown, Plain: true, Otherwise: Passes}, Pods: []string{""}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := MembershipOf(got); got != Mixed {
		t.Errorf("the Service is %s, want Mixed", got)
	}
}

// TestKeysOfThisRelease holds the keys: pools are named after them, and a pool that
// changes its name is made anew in every cloud.
func TestKeysOfThisRelease(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Inbound
		want string
	}{
		{"Istio STRICT HTTP", istioStrictHTTP(), "7f71162807"},
		{"Istio PERMISSIVE AUTO", istioPermissiveAuto(), "b7511764d3"},
		{"Linkerd", linkerd(), "d066dffeb1"},
		{"Consul", consul("http/1.1"), "400ba92d32"},
	} {
		if got := Groups([]Placed{{"a", c.in}})[0].Key; got != c.want {
			t.Errorf("%s: key %q, want %q: every gateway's pools would be made anew", c.name, got, c.want)
		}
	}
}

// TestMembershipOf is that of a whole Service.
func TestMembershipOf(t *testing.T) {
	of := func(all ...Membership) (out []Group) {
		for _, m := range all {
			out = append(out, Group{Inbound: Inbound{Membership: m}})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		groups []Group
		want   Membership
	}{
		{"no pods", nil, MembershipUnknown},
		{"members in two ways", of(Meshed, Meshed), Meshed},
		{"none", of(NotMeshed), NotMeshed},
		{"some", of(NotMeshed, Meshed), Mixed},
		{"some, and unknown ones", of(NotMeshed, Meshed, MembershipUnknown), Mixed},
		{"members and unknown ones", of(Meshed, MembershipUnknown), MembershipUnknown},
		{"unknown", of(MembershipUnknown), MembershipUnknown},
	} {
		if got := MembershipOf(c.groups); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestGroupsDoNotDependOnOrderOrOthers shuffles pods, and takes them away one by one:
// each stays in a group of the same key.
func TestGroupsDoNotDependOnOrderOrOthers(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		pods := make([]Placed, 1+rnd.IntN(12))
		for i := range pods {
			pods[i] = Placed{Pod: string(rune('a' + i)), Inbound: randomInbound(rnd)}
		}
		want := Groups(pods)
		keys := keysOf(want)
		if len(keys) != len(pods) {
			t.Fatalf("seed %d: %d pods are in groups, of %d", seed, len(keys), len(pods))
		}
		for len(pods) > 0 {
			rnd.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
			got := Groups(pods)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: order matters:\n%s", seed, diff)
			}
			for pod, key := range keysOf(got) {
				if keys[pod] != key {
					t.Fatalf("seed %d: pod %s moved from group %q to %q because others left", seed, pod, keys[pod], key)
				}
			}
			pods = pods[1:]
			want = Groups(pods)
		}
	}
}

func keysOf(groups []Group) map[string]string {
	out := map[string]string{}
	for _, g := range groups {
		for _, pod := range g.Pods {
			out[pod] = g.Key
		}
	}
	return out
}
