package cloud

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// Why: a restart or a failover must issue nothing; only a leaf that is due, or for
// other names, is replaced.
func TestPlaceKeepsTheLiveLeaf(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	leaf := &lbmodel.Leaf{SHA256: "live", NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(48 * time.Hour)}
	identity := lbmodel.Identity{Name: "mesh", SPIFFEID: "spiffe://m/e", Issuer: "Mesh", Renew: lbmodel.RenewRule{Before: lbmodel.Duration(24 * time.Hour)}}
	tests := []struct {
		name, why string
		change    func(*lbmodel.Identity)
		after     time.Duration
		keeps     bool
	}{
		{"fresh", "there is time left", func(*lbmodel.Identity) {}, 0, true},
		{"just before", "the rule says a day before its end", func(*lbmodel.Identity) {}, 24*time.Hour - 1, true},
		{"due", "the rule says a day before its end", func(*lbmodel.Identity) {}, 24 * time.Hour, false},
		{"no rule", "without a rule it is due after two thirds of its life", func(i *lbmodel.Identity) { i.Renew.Before = 0 }, 24*time.Hour + 1, false},
		{"a longer lifetime", "how long the next one shall live is no reason", func(i *lbmodel.Identity) { i.Renew.Lifetime = lbmodel.Duration(96 * time.Hour) }, 0, true},
		{"a shorter lifetime", "none as long as this is wanted any more", func(i *lbmodel.Identity) { i.Renew.Lifetime = lbmodel.Duration(48 * time.Hour) }, 0, false},
		{"another signer", "who signs has changed", func(i *lbmodel.Identity) { i.Signer = "CertManager" }, 0, false},
		{"another name", "it would not be believed", func(i *lbmodel.Identity) { i.SPIFFEID = "spiffe://m/other" }, 0, false},
		{"another DNS name", "it would not be believed", func(i *lbmodel.Identity) { i.DNSNames = []string{"a.test"} }, 0, false},
		{"another issuer", "who is asked has changed", func(i *lbmodel.Identity) { i.Issuer = "CertManager" }, 0, false},
		{"another key type", "the key must be another", func(i *lbmodel.Identity) { i.KeyType = "RSA" }, 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			id := lbmodel.ID{Kind: KindCertificate, Name: "c"}
			have := lbmodel.NewResource(id, &Certificate{Identity: identity, Leaf: leaf.SHA256})
			have.Facts.Leaf = leaf
			wanted := identity
			tc.change(&wanted)
			want := lbmodel.NewResource(id, &Certificate{Identity: wanted, Leaf: lbmodel.KnownAfterApply})
			placed, _ := NewProvider(nil, nil).Place(lbmodel.Graph{id: want}, lbmodel.Graph{id: have}, now.Add(tc.after))
			if kept := placed[id].Spec.(*Certificate).Leaf == leaf.SHA256; kept != tc.keeps {
				t.Errorf("kept is %t: %s", kept, tc.why)
			}
		})
	}
}

func TestRenewalIssuesOnce(t *testing.T) {
	now := time.Now()
	keys := newKeyring()
	keys.now = func() time.Time { return now }
	c := newCloud(t, func(o *Options) { o.Now = keys.now })
	l, gw := newLoop(t, c, keys.key), shop(t, keys)
	l.apply(gw)
	now = now.Add(50 * time.Minute) // of an hour's life
	c.Intercept(&spoil{name: "UpdateCertificate", fault: Fault{Kind: LoseReply}})
	if err := l.tryApply(t.Context(), gw); err == nil {
		t.Fatal("the reply was not lost")
	}
	l.apply(gw)
	l.quiet(gw, "after the renewal")
	if keys.issued != 2 {
		t.Errorf("%d certificates were issued, want the first and its renewal", keys.issued)
	}
}

func TestSecretsThatChangeAreSentAgain(t *testing.T) {
	c, keys := newCloud(t, nil), newKeyring()
	l, gw := newLoop(t, c, keys.key), shop(t, keys)
	l.apply(gw)
	gw.Identities[1].Leaf = keys.give(issue(t, lbmodel.Identity{Name: "shop"}))
	if got := steps(l.apply(gw)); len(got) != 1 {
		t.Errorf("a new certificate in the Secret gives %v", got)
	}
	for name, key := range c.Serving()[0].Keys {
		leaf, err := leafOf(key)
		if err != nil {
			t.Fatal(err)
		}
		if c.state.objects[lbmodel.Handle(name)].Leaf.SHA256 != leaf.SHA256 {
			t.Errorf("%s is served with another key than it has", name)
		}
	}
}

// Why: files without EndpointSlices know nothing of endpoints. They must not take
// away those that are there.
func TestUnknownEndpointsStay(t *testing.T) {
	c := newCloud(t, nil)
	l, gw := newLoop(t, c, nil), lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Name: "edge"}, Pools: []lbmodel.Pool{pool("a", lbmodel.PoolHTTP1, "10.0.0.1")},
		Listeners: []lbmodel.Listener{httpListener(80, prefix("/", "a"))},
	}
	l.apply(gw)
	gw.Pools[0].Endpoints = nil
	l.quiet(gw, "endpoints that nobody knows stay")
	gw.Pools[0].Endpoints = []lbmodel.Endpoint{}
	if got := l.apply(gw); len(got) != 1 {
		t.Errorf("no endpoints is another thing than unknown endpoints: %v", steps(got))
	}
}

func TestAdoptedNetwork(t *testing.T) {
	c := newCloud(t, nil)
	network := mustCreate(t, c, KindNetwork, "prod", &Network{CIDR: "10.0.0.0/8", Description: "theirs", IdleSeconds: 600})
	gw := lbmodel.Gateway{
		Owner:     lbmodel.Owner{Cluster: "c1", Name: "edge"},
		Settings:  json.RawMessage(fmt.Sprintf(`{"network":%q,"networkIdleSeconds":30}`, network.Handle)),
		Listeners: []lbmodel.Listener{httpListener(80)},
	}
	l := newLoop(t, c, nil)
	l.apply(gw)
	l.quiet(gw, "our field is set")
	is := func(want Network, why string) {
		t.Helper()
		o, err := c.Get(t.Context(), network.Handle)
		if err != nil {
			t.Fatal(err)
		}
		if got := *fromJSON[Network](t, o.Body); got != want || o.Tags != (Tags{}) {
			t.Errorf("%s: the network is %+v with tags %+v", why, got, o.Tags)
		}
	}
	is(Network{CIDR: "10.0.0.0/8", Description: "theirs", IdleSeconds: 30}, "only our field has changed")
	if _, err := c.Update(t.Context(), UpdateRequest{Handle: network.Handle, Body: encode(&Network{CIDR: "10.0.0.0/8", Description: "changed", IdleSeconds: 31})}); err != nil {
		t.Fatal(err)
	}
	if got := l.apply(gw); len(got) != 1 {
		t.Errorf("our field has drifted, theirs too; the steps are %v", steps(got))
	}
	is(Network{CIDR: "10.0.0.0/8", Description: "changed", IdleSeconds: 30}, "their change stays")
	l.apply(lbmodel.Gateway{Owner: gw.Owner})
	is(Network{CIDR: "10.0.0.0/8", Description: "changed", IdleSeconds: 30}, "it outlives the gateway")
}

func TestAdoptedNetworkIsNeverOverwrittenBlindly(t *testing.T) {
	c := newCloud(t, nil)
	network := mustCreate(t, c, KindNetwork, "prod", &Network{Description: "old"})
	id := foreignID(KindNetwork, "local", network.Handle)
	have, err := NewProvider(c, nil).Observe(t.Context(), lbmodel.Owner{Cluster: "c1"}, []lbmodel.Handle{network.Handle})
	if err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, c, network, &Network{Description: "new"})
	step := lbmodel.Step{Verb: lbmodel.Update, ID: id, Hold: lbmodel.Adopted, Have: have[id], Want: &Network{Description: "old", IdleSeconds: 5}}
	_, err = NewProvider(c, nil).Apply(t.Context(), lbmodel.Owner{Cluster: "c1"}, step, resolveIn(have))
	if lbmodel.CodeOf(err) != lbmodel.CodeConflict {
		t.Errorf("their change since we looked gives %v, want a conflict", err)
	}
}

func mustUpdate(t testing.TB, c *Cloud, o Object, body Body) {
	t.Helper()
	if _, err := c.Update(t.Context(), UpdateRequest{Handle: o.Handle, Body: encode(body)}); err != nil {
		t.Fatal(err)
	}
}

// Why: rules that others put into our listener keep their numbers, and ours go
// around them.
func TestForeignRulesInOurListener(t *testing.T) {
	c := newCloud(t, nil)
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Name: "edge"}, Pools: []lbmodel.Pool{pool("a", lbmodel.PoolHTTP1, "10.0.0.1")},
		Listeners: []lbmodel.Listener{httpListener(80, prefix("/", "a"))},
	}
	l := newLoop(t, c, nil)
	l.apply(gw)
	listener := slices.IndexFunc(c.Dump(), func(o Object) bool { return o.Kind == KindListener })
	mustCreate(t, c, KindRule, "theirs", &Rule{Listener: ref(c.Dump()[listener]), Number: 2 * numbers.Stride, Action: lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 418}}})
	gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, prefix("/b", "a"))
	if got := l.apply(gw); len(got) != 1 {
		t.Errorf("the steps are %v", steps(got))
	}
	var got []int32
	for _, o := range c.Dump() {
		if o.Kind == KindRule {
			got = append(got, fromJSON[Rule](t, o.Body).Number)
		}
	}
	if stride := numbers.Stride; !slices.Equal(got, []int32{stride, 2 * stride, 2*stride + 1}) {
		t.Errorf("the numbers are %v", got)
	}
}
