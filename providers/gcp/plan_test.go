package gcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// Why: from any gateway to any other, of another flavour too, there must be an order in
// which Google Cloud takes every step: needs are there, nothing in use goes, no port is
// held twice; and after it nothing is left to do.
func TestPlansHaveASafeOrder(t *testing.T) {
	flavours := proxyFlavours()
	for seed := range uint64(40) {
		have := graphOf(newDice(seed).gateway(settingsOf(flavours[seed%4], "")), nil)
		want := graphOf(newDice(seed+1).gateway(settingsOf(flavours[(seed+seed/4)%4], assumed)), have)
		plan, err := lbmodel.Diff(want, have, have)
		if err != nil || len(plan.Waiting()) > 0 {
			t.Fatalf("seed %d: %v, %v", seed, err, plan.Waiting())
		}
		state := maps.Clone(have)
		for _, s := range plan.Steps {
			if err := take(state, s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if again, err := lbmodel.Diff(want, want, state); err != nil || len(again.Steps) > 0 {
			t.Fatalf("seed %d: %v, %d steps are left", seed, err, len(again.Steps))
		}
	}
}

// take does a step as strictly as Google Cloud.
func take(state lbmodel.Graph, s lbmodel.Step) error {
	if s.Verb == lbmodel.Delete {
		delete(state, s.ID)
		for id, r := range state {
			if slices.Contains(r.Spec.Needs(), s.ID) {
				return fmt.Errorf("%s goes, and %s needs it", s.ID, id)
			}
		}
		return nil
	}
	for _, need := range s.Want.Needs() {
		if _, ok := state[need]; !ok {
			return fmt.Errorf("%s needs %s, which is not there", s.ID, need)
		}
	}
	slot, slotted := s.Want.(lbmodel.Slotted)
	for id, r := range state {
		if other, ok := r.Spec.(lbmodel.Slotted); ok && slotted && slot.Slot() != "" && id != s.ID && other.Slot() == slot.Slot() {
			return fmt.Errorf("%s and %s have %s", id, s.ID, slot.Slot())
		}
	}
	r := lbmodel.NewResource(s.ID, s.Want)
	r.Owner = s.Have.Owner
	state[s.ID] = r
	return nil
}

// Why: a new gateway with mutual TLS to a mesh must be there after six operations that
// come one after the other, the least that Google Cloud's references allow.
func TestDepthOfAMeshGateway(t *testing.T) {
	plan, err := lbmodel.Diff(graphOf(readGateway(t, "testdata/global-mesh-mtls/gateway.yaml"), nil), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	depth, deepest := map[lbmodel.ID]int{}, 0
	for _, s := range plan.Steps {
		n := 1
		for _, id := range s.After {
			n = max(n, depth[id]+1)
		}
		depth[s.ID], deepest = n, max(deepest, n)
	}
	if deepest != 6 {
		t.Errorf("%d operations deep, want 6", deepest)
	}
}

// Why: a change of what Google Cloud cannot change is another name; everything else is
// an update, and nothing that many share is made anew for one.
func TestNamesFollowWhatCannotBeChanged(t *testing.T) {
	read := func() lbmodel.Gateway { return readGateway(t, "testdata/regional-internal-streams/gateway.yaml") }
	before := graphOf(read(), nil)
	set := func(g *lbmodel.Gateway, old, now string) {
		g.Settings = []byte(strings.Replace(string(g.Settings), old, now, 1))
	}
	for _, c := range []struct {
		name   string
		change func(*lbmodel.Gateway)
		kinds  []string
	}{
		{"re-created gateway", func(g *lbmodel.Gateway) { g.Owner.UID = "u2" }, []string{KindAddress, KindBackendService, KindForwardingRule, KindTargetTCPProxy, KindTLSRoute}},
		{"network", func(g *lbmodel.Gateway) { set(g, `"network":"prod"`, `"network":"other"`) }, []string{KindFirewall, KindForwardingRule, KindNetworkEndpointGroup, KindNetworkEndpoints}},
		{"endpoint type", func(g *lbmodel.Gateway) { set(g, "{", `{"endpointType":"NON_GCP_PRIVATE_IP_PORT",`) }, []string{KindNetworkEndpointGroup, KindNetworkEndpoints}},
		{"who gets all other connections", func(g *lbmodel.Gateway) { listenerNamed(g, "any").SNI[2].Forward.Backends[0].Pool = "b" }, []string{KindTargetTCPProxy}},
		{"port", func(g *lbmodel.Gateway) { listenerNamed(g, "tcp").Port = 5430 }, []string{KindForwardingRule, KindTargetTCPProxy}},
		{"a port of a Service", func(g *lbmodel.Gateway) { g.Pools[0].Group = "apps/a:81" }, []string{KindFirewall, KindHealthCheck, KindNetworkEndpointGroup, KindNetworkEndpoints}},
		{"how a pool is tried", func(g *lbmodel.Gateway) { g.Pools[0].Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/"} }, []string{KindHealthCheck}},
		{"everything else", func(g *lbmodel.Gateway) {
			set(g, "{", `{"drainSeconds":5,`)
			g.Pools[0].Persistence = nil
			g.Labels = map[string]string{"a": "b"}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			gw := read()
			c.change(&gw)
			kinds := map[string]bool{}
			for id := range graphOf(gw, nil) {
				if _, there := before[id]; !there {
					kinds[id.Kind] = true
				}
			}
			if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, c.kinds) {
				t.Errorf("other names of %v, want %v", got, c.kinds)
			}
		})
	}
}

func listenerNamed(g *lbmodel.Gateway, name string) *lbmodel.Listener {
	i := slices.IndexFunc(g.Listeners, func(l lbmodel.Listener) bool { return l.Name == name })
	return &g.Listeners[i]
}

// Why: gateways of a cluster at one location have endpoints, health checks, roots and
// firewall rules together, as described alike; what they are known by is each one's.
func TestWhatIsShared(t *testing.T) {
	a := readGateway(t, "testdata/global-mesh-mtls/gateway.yaml")
	b := a
	b.Owner.Name, b.Owner.UID = "edge2", "u2"
	ownA, sharedA, _ := Compiler{}.Compile(a)
	ownB, sharedB, _ := Compiler{}.Compile(b)
	if len(sharedA) != len(sharedB) || len(sharedA) == 0 {
		t.Errorf("%d and %d are shared", len(sharedA), len(sharedB))
	}
	for id, r := range sharedA {
		if sharedB[id].Digest != r.Digest || r.Hold != lbmodel.Shared {
			t.Errorf("%s is described twice", id)
		}
	}
	for id := range ownA {
		if _, ok := ownB[id]; ok {
			t.Errorf("%s is both gateways'", id)
		}
	}
	count := map[string]int{}
	for id, r := range ownA {
		if c, ok := r.Spec.(*Certificate); !ok || c.Scope == scopeClientAuth {
			count[id.Kind]++
		}
	}
	if count[KindCertificate] != 1 || count[KindBackendAuthenticationConfig] != 1 {
		t.Errorf("%v: two pools of one identity must have one of each", count)
	}
}

// Why: a person must agree to what interrupts clients, and to nothing else.
func TestImpact(t *testing.T) {
	for _, c := range []struct {
		name       string
		verb       lbmodel.Verb
		want, have lbmodel.Spec
		says       string
	}{
		{"address goes", lbmodel.Delete, nil, &Address{}, "may not be had again"},
		{"port goes", lbmodel.Delete, nil, &ForwardingRule{PortRange: "80", IPProtocol: "TCP"}, "Port 80 (TCP) stops"},
		{"target", lbmodel.Update, &ForwardingRule{Target: "a"}, &ForwardingRule{Target: "b"}, ""},
		{"clients are verified", lbmodel.Update, &TargetHTTPSProxy{ServerTLSPolicy: "p", demands: true}, &TargetHTTPSProxy{}, "must show a certificate"},
		{"clients may show", lbmodel.Update, &TargetHTTPSProxy{ServerTLSPolicy: "p"}, &TargetHTTPSProxy{}, ""},
		{"certificate", lbmodel.Update, &TargetHTTPSProxy{SSLCertificates: []NamedRef{"a"}, demands: true}, &TargetHTTPSProxy{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			subject := c.want
			if subject == nil {
				subject = c.have
			}
			got := subject.(lbmodel.Explained).Impact(c.verb, c.have)
			if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}
