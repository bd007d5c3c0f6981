package issue

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// A Keyring is what providers ask.
var _ = providers.Keyring(Keyring(Config{}))

// engine is an account of a real provider in memory whose keys come from a keyring.
type engine struct {
	*world
	cloud   *cloud.Cloud
	account *providers.Account
}

func newEngine(w *world) *engine {
	w.Helper()
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1, Now: w.clock})
	w.do(err)
	e := &engine{world: w, cloud: c}
	e.restart(nil)
	return e
}

// restart forgets everything but what the cloud has.
func (e *engine) restart(trusted Trusted) {
	e.start(trusted)
	e.ring.config.Live = e.shown
	e.account = providers.NewAccount(providers.Config{
		Provider: cloud.NewProvider(e.cloud, e.ring.pair), Cluster: "c",
		Clock: providers.Clock{Now: e.clock, After: func(d time.Duration) <-chan time.Time {
			e.pass(d)
			now := make(chan time.Time, 1)
			now <- e.clock()
			return now
		}},
		Rand: func() float64 { return 0.5 },
	})
}

// shown is the leaf that the cloud has.
func (e *engine) shown(lbmodel.Identity) (*lbmodel.Leaf, error) {
	for _, o := range e.cloud.Dump() {
		if o.Leaf != nil {
			return o.Leaf, nil
		}
	}
	return nil, nil
}

// gateway shows a client certificate to its backends.
func (e *engine) gateway() lbmodel.Gateway {
	id := identity("g")
	for _, r := range e.roots() {
		id.Renew.Authorities = append(id.Renew.Authorities, r.KeyID)
	}
	return lbmodel.Gateway{
		Owner:      lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u"},
		Identities: []lbmodel.Identity{id},
		Trust:      []lbmodel.Trust{{Name: mesh, Roots: e.roots(), Overlap: lbmodel.Duration(24 * time.Hour)}},
		Pools: []lbmodel.Pool{{Name: "a", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1,
			TLS:       &lbmodel.BackendTLS{SNI: "a.test", Trust: mesh, Identity: id.Name},
			Endpoints: []lbmodel.Endpoint{{Address: "10.0.0.1", Port: 80, Ready: true}}}},
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP,
			Rules: []lbmodel.Rule{{Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "a", Weight: 1}}}}}}}},
	}
}

// reconcile is one pass; what it says is the errors of its steps.
func (e *engine) reconcile() string {
	e.Helper()
	gw := e.gateway()
	e.account.Want(gw)
	plan, err := e.account.Plan(e.Context(), []lbmodel.Owner{gw.Owner})
	e.do(err)
	out := e.account.Apply(e.Context(), plan, nil)
	if out.Err() == nil {
		return ""
	}
	return out.Err().Error()
}

// TestEngine: a provider renews through the keyring. While backends do not trust a
// new authority, the live certificate stays and everything else goes on.
func TestEngine(t *testing.T) {
	e := newEngine(newWorld(t))
	published := &Published{}
	trusted := published.Trusted(func(string) time.Duration { return time.Hour })
	see := func() { published.See(mesh, e.roots(), e.clock()) }
	e.restart(trusted)
	see()
	if said := e.reconcile(); said != "" {
		t.Fatal(said)
	}
	first, _ := e.shown(lbmodel.Identity{})
	if first == nil || e.calls() != 1 {
		t.Fatalf("%v is live after %d calls", first, e.calls())
	}
	e.restart(trusted)
	if said := e.reconcile(); said != "" || e.calls() != 1 {
		t.Fatalf("a restart costs %d certificates: %s", e.calls()-1, said)
	}

	e.do(e.ca.Add(ca.Root{Name: "b"}), e.ca.SignBy("b"))
	e.pass(17 * time.Hour) // due; B is new
	see()
	said := e.reconcile()
	if live, _ := e.shown(lbmodel.Identity{}); live.SHA256 != first.SHA256 || !strings.Contains(said, "first seen published") || !strings.Contains(said, "CN=b") {
		t.Fatalf("%s is live, was %s: %q", live.SHA256, first.SHA256, said)
	}
	for range 5 {
		e.reconcile()
	}
	if e.calls() != 2 {
		t.Errorf("waiting cost %d certificates", e.calls()-1)
	}
	e.pass(time.Hour)
	if said := e.reconcile(); said != "" {
		t.Fatal(said)
	}
	if live, _ := e.shown(lbmodel.Identity{}); live.SHA256 == first.SHA256 || e.calls() != 2 {
		t.Errorf("%s is live after %d calls", live.SHA256, e.calls())
	}
	if said := e.reconcile(); said != "" || e.calls() != 2 {
		t.Errorf("the next pass does something: %s", said)
	}
}
