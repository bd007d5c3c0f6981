package cloud

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// served is a cloud with the shop in it, and the shop as it is served.
func served(t testing.TB) (*Cloud, *keyring, Serving) {
	t.Helper()
	c, keys := newCloud(t, nil), newKeyring()
	newLoop(t, c, keys.key).apply(shop(t, keys))
	all := c.Serving()
	if len(all) != 1 {
		t.Fatalf("%d balancers are served, want 1", len(all))
	}
	return c, keys, all[0]
}

// Why: the data plane is told what the cloud holds; it must be the whole gateway,
// with every reference leading somewhere.
func TestServingIsWhatWasCreated(t *testing.T) {
	_, keys, s := served(t)
	want := shop(t, keys)
	if s.Gateway.Owner != want.Owner || len(s.Addresses) != 1 || s.Addresses[0].String() != "127.71.0.1" {
		t.Errorf("owner %v at %v", s.Gateway.Owner, s.Addresses)
	}
	kinds := map[string]int{}
	for _, l := range s.Gateway.Listeners {
		kinds[string(l.Protocol)] += len(l.Rules) + len(l.SNI)
		if l.Forward != nil {
			kinds[string(l.Protocol)] += len(l.Forward.Backends)
		}
	}
	if diff := cmp.Diff(map[string]int{"HTTP": 2, "HTTPS": 1, "TLS": 1, "TCP": 1, "UDP": 1}, kinds); diff != "" {
		t.Errorf("rules by protocol: %s", diff)
	}
	if path := s.Gateway.Listeners[0].Rules[0].Match.Path.Value; path != "/" {
		t.Errorf("the first rule matches %s: the order is lost", path)
	}
	checkReferences(t, s)
}

func checkReferences(t *testing.T, s Serving) {
	t.Helper()
	pools, trust := map[string]lbmodel.Pool{}, map[string]bool{}
	for _, tr := range s.Gateway.Trust {
		trust[tr.Name] = len(tr.Roots) > 0
	}
	for _, p := range s.Gateway.Pools {
		pools[p.Name] = p
		if p.TLS != nil && (!trust[p.TLS.Trust] || len(s.Keys[p.TLS.Identity].Certificate) == 0) {
			t.Errorf("pool %s has TLS that leads nowhere: %+v", p.Name, p.TLS)
		}
	}
	if len(pools) != 4 || len(s.Keys) != 2 {
		t.Errorf("%d pools and %d keys, want 4 and 2", len(pools), len(s.Keys))
	}
	https := s.Gateway.Listeners[1]
	if https.TLS == nil || !trust[https.TLS.Validation.Trust] || len(s.Keys[https.TLS.Certificates[0]].Certificate) == 0 {
		t.Errorf("HTTPS leads nowhere: %+v", https.TLS)
	}
	mirror := https.Rules[0].Action.Edits.Mirrors[0].Pool
	if len(pools[mirror].Endpoints) != 1 {
		t.Errorf("the mirror leads nowhere: %s", mirror)
	}
}

func TestServingFollowsTheNetwork(t *testing.T) {
	s := newStage(t)
	if _, err := s.Update(t.Context(), UpdateRequest{Handle: s.network.Handle, Body: encode(&Network{CIDR: "10.0.0.0/8", IdleSeconds: 9})}); err != nil {
		t.Fatal(err)
	}
	if got := s.Serving()[0].IdleSeconds; got != 9 {
		t.Errorf("idle seconds are %d, want 9", got)
	}
}

func TestChangedMissesNothing(t *testing.T) {
	c := newCloud(t, nil)
	version, next := c.Changed()
	select {
	case <-next:
		t.Fatal("nothing has changed")
	default:
	}
	network := mustCreate(t, c, KindNetwork, "n", &Network{})
	select {
	case <-next:
	case <-time.After(time.Second):
		t.Fatal("a change was not told")
	}
	after, next := c.Changed()
	if after <= version {
		t.Errorf("version %d after %d", after, version)
	}
	if _, err := c.Update(t.Context(), UpdateRequest{Handle: network.Handle, Body: network.Body}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-next:
		t.Error("an update that changes nothing was told")
	default:
	}
}

func TestReportedHealth(t *testing.T) {
	tests := []struct {
		name, why string
		reports   map[string]lbmodel.Health // by pool
		want      lbmodel.Health
	}{
		{"nobody checks", "an endpoint that nobody checks counts as healthy", nil, lbmodel.HealthHealthy},
		{"unhealthy", "what the checks say counts", map[string]lbmodel.Health{"one": lbmodel.HealthUnhealthy}, lbmodel.HealthUnhealthy},
		{"one of two", "an endpoint that one pool reaches is alive",
			map[string]lbmodel.Health{"one": lbmodel.HealthUnhealthy, "two": lbmodel.HealthHealthy}, lbmodel.HealthHealthy},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newCloud(t, nil)
			group := mustCreate(t, c, KindEndpointGroup, "g", &EndpointGroup{Transport: "TCP", Endpoints: []lbmodel.Endpoint{ready("10.0.0.1")}})
			for name, health := range tc.reports {
				p := mustCreate(t, c, KindPool, name, &Pool{Group: ref(group), Protocol: lbmodel.PoolHTTP1})
				c.ReportHealth(ref(p), map[lbmodel.Target]lbmodel.Health{"10.0.0.1:8080": health, "10.9.9.9:1": lbmodel.HealthHealthy})
			}
			got, err := c.Get(t.Context(), group.Handle)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[lbmodel.Target]lbmodel.Health{"10.0.0.1:8080": tc.want}, got.Health); diff != "" {
				t.Errorf("%s\n%s", tc.why, diff)
			}
		})
	}
	newCloud(t, nil).ReportHealth("fake/local/Pool/1", nil) // a pool that is gone is no error
}

// Why: what a data plane told stands only while it serves, and a check that still
// passes does not keep an endpoint that leaves.
func TestHealthIsTakenBack(t *testing.T) {
	c := newCloud(t, nil)
	leaving := ready("10.0.0.2")
	leaving.Terminating = true
	group := mustCreate(t, c, KindEndpointGroup, "g", &EndpointGroup{Transport: "TCP", Endpoints: []lbmodel.Endpoint{ready("10.0.0.1"), leaving}})
	pool := ref(mustCreate(t, c, KindPool, "p", &Pool{Group: ref(group), Protocol: lbmodel.PoolHTTP1}))
	for _, step := range []struct {
		report map[lbmodel.Target]lbmodel.Health
		want   lbmodel.Health
	}{
		{map[lbmodel.Target]lbmodel.Health{"10.0.0.1:8080": lbmodel.HealthUnhealthy, "10.0.0.2:8080": lbmodel.HealthHealthy}, lbmodel.HealthUnhealthy},
		{nil, lbmodel.HealthHealthy},
	} {
		c.ReportHealth(pool, step.report)
		got, err := c.Get(t.Context(), group.Handle)
		if err != nil {
			t.Fatal(err)
		}
		want := map[lbmodel.Target]lbmodel.Health{"10.0.0.1:8080": step.want, "10.0.0.2:8080": lbmodel.HealthDraining}
		if diff := cmp.Diff(want, got.Health); diff != "" {
			t.Errorf("after %v:\n%s", step.report, diff)
		}
	}
	if len(c.reports) > 0 {
		t.Errorf("%d reports are kept that say nothing", len(c.reports))
	}
}

func TestUnlock(t *testing.T) {
	tests := []struct {
		name, why string
		read      func(*testing.T, *keyring) ReadKey
		says      string
		keys      int
	}{
		{"all there", "the keys of the stored leaves are served again", func(_ *testing.T, k *keyring) ReadKey { return k.key }, "", 2},
		{"gone", "a key that is not there is told, and nothing is issued in its place",
			func(*testing.T, *keyring) ReadKey { return newKeyring().key }, "apps/shop-cert", 0},
		{"another", "a key of another certificate is not served", func(t *testing.T, _ *keyring) ReadKey {
			return func(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) { return issue(t, id), nil }
		}, "apply again", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			c, keys := newCloud(t, func(o *Options) { o.StateDir = dir }), newKeyring()
			newLoop(t, c, keys.key).apply(shop(t, keys))
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			issued := keys.issued
			c = newCloud(t, func(o *Options) { o.StateDir = dir })
			if n := len(c.Serving()[0].Keys); n != 0 {
				t.Fatalf("%d keys have survived a restart: they were written", n)
			}
			err := c.Unlock(t.Context(), tc.read(t, keys))
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want %q: %s", err, tc.says, tc.why)
			}
			if n := len(c.Serving()[0].Keys); n != tc.keys {
				t.Errorf("%d keys are served, want %d: %s", n, tc.keys, tc.why)
			}
			if keys.issued != issued {
				t.Errorf("a restart issued %d certificates", keys.issued-issued)
			}
		})
	}
}

// Why: rules are asked in the order of their numbers, which is not the order in
// which they were made.
func TestServingOrdersRules(t *testing.T) {
	c, keys := newCloud(t, nil), newKeyring()
	l, gw := newLoop(t, c, keys.key), shop(t, keys)
	l.apply(gw)
	gw.Listeners[0].Rules = append([]lbmodel.Rule{prefix("/first", "a")}, gw.Listeners[0].Rules...)
	l.apply(gw)
	var paths []string
	for _, r := range c.Serving()[0].Gateway.Listeners[0].Rules {
		paths = append(paths, r.Match.Path.Value)
	}
	if diff := cmp.Diff([]string{"/first", "/", "/b"}, paths); diff != "" {
		t.Error(diff)
	}
}
