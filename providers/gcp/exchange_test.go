package gcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// readiness is when endpoints become healthy, by how their address begins: so long after
// it began. Those that are not named are healthy; a negative one never is.
type readiness struct {
	shop   *shop
	began  time.Time
	after  map[string]time.Duration
	nobody bool // checks
}

func (r *readiness) observed(_, _ store.Name, e store.Object) (string, bool) {
	if r.nobody {
		return "", true
	}
	for prefix, after := range r.after {
		if strings.HasPrefix(store.Text(e, "ipAddress"), prefix) && (after < 0 || r.shop.clock.Now().Before(r.began.Add(after))) {
			return "UNHEALTHY", true
		}
	}
	return "HEALTHY", true
}

// pods is a Service with four of them.
func pods(name, prefix string) lbmodel.Pool {
	p := lbmodel.Pool{Name: name, Group: "apps/" + name + ":80", Protocol: lbmodel.PoolHTTP1, Source: lbmodel.Source{Kind: "Service", Namespace: "apps", Name: name}, Endpoints: []lbmodel.Endpoint{}}
	for i := range 4 {
		p.Endpoints = append(p.Endpoints, lbmodel.Endpoint{Address: fmt.Sprint(prefix, i), Port: 8080, Instance: "gce://my-project/europe-west1-b/node-1", Ready: true, Serving: true})
	}
	return p
}

// leads is a gateway with one rule, to one Service.
func leads(to lbmodel.Pool, paths ...string) lbmodel.Gateway {
	gw := lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u1"},
		Settings: json.RawMessage(`{"project":"my-project","flavour":"GlobalExternal","zones":["europe-west1-b"]}`), Pools: []lbmodel.Pool{to},
	}
	l := lbmodel.Listener{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Source: lbmodel.Source{Kind: "Gateway", Namespace: "apps", Name: "edge", Section: "http"}}
	for _, p := range paths {
		l.Rules = append(l.Rules, lbmodel.Rule{Source: lbmodel.Source{Kind: "HTTPRoute", Namespace: "apps", Name: "r"}, Hostname: "shop.test",
			Match:  lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: p}},
			Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: to.Name, Weight: 1}}}}})
	}
	gw.Listeners = []lbmodel.Listener{l}
	return gw
}

// readyShop has a gateway that leads / to four pods.
func readyShop(t *testing.T, r *readiness) *shop {
	t.Helper()
	s := newShop(t, gcpapi.Config{Observed: r.observed})
	r.shop = s
	s.bring(leads(pods("a", "10.0.0.1"), "/"))
	s.clock.Advance(time.Minute)
	r.began = s.clock.Now()
	s.Forget()
	return s
}

// when is how long after r began a method was called first, and how often it was.
func (r *readiness) when(method string) (first time.Duration, times int) {
	for _, c := range r.shop.Calls() {
		if c.Method != method {
			continue
		}
		if times++; times == 1 {
			first = c.At.Sub(r.began)
		}
	}
	return first, times
}

// Why: pods that are all replaced at once, without readiness gates, are not detached
// before others are healthy; but those that never become so hold nobody for ever.
func TestPodsStayUntilOthersAreHealthy(t *testing.T) {
	const never, little = -time.Second, 30 * time.Second
	for _, c := range []struct {
		name        string
		after       map[string]time.Duration
		nobody      bool
		restart     bool
		least, most time.Duration // when they are detached
	}{
		{name: "healthy at once", most: little},
		{name: "healthy after a while", after: map[string]time.Duration{"10.0.0.2": 40 * time.Second}, least: 40 * time.Second, most: 40*time.Second + little},
		{name: "one is healthy later", after: map[string]time.Duration{"10.0.0.21": 40 * time.Second}, least: 40 * time.Second, most: 40*time.Second + little},
		{name: "never healthy", after: map[string]time.Duration{"10.0.0.2": never}, least: standInFor, most: standInFor + little},
		{name: "those who go are not healthy either", after: map[string]time.Duration{"10.0.0.": never}, most: little},
		{name: "nobody checks", nobody: true, most: little},
		{name: "another process goes on", after: map[string]time.Duration{"10.0.0.2": time.Minute}, restart: true, least: time.Minute, most: time.Minute + little},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &readiness{}
			s := readyShop(t, r)
			r.after, r.nobody = c.after, c.nobody
			gw := leads(pods("a", "10.0.0.2"), "/")
			if c.restart {
				s.Hook(&deadline{n: 4, how: providertest.Refuse})
			}
			for pass := range 5 {
				if pass == 1 && c.restart {
					s.Hook(nil)
					s.restart()
					s.account.Want(gw)
				}
				out, err := s.account.Endpoints(t.Context(), providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]})
				if err == nil && out.Settled() {
					break
				}
			}
			at, times := r.when("compute.networkEndpointGroups.detachNetworkEndpoints")
			if _, came := r.when("compute.networkEndpointGroups.attachNetworkEndpoints"); times != 1 || came != 1 || at < c.least || at > c.most {
				t.Errorf("attached by %d calls, detached by %d after %s; want 1, and 1 after %s to %s", came, times, at, c.least, c.most)
			}
			s.account.Want(gw)
			s.quiet("in the end", gw.Owner)
		})
	}
}

// Why: who stays is counted: fewer pods, or one of many replaced, waits for nobody.
func TestFewerPodsWaitForNobody(t *testing.T) {
	r := &readiness{}
	s := readyShop(t, r)
	r.after = map[string]time.Duration{"10.0.0.2": -1}
	gw := leads(pods("a", "10.0.0.1"), "/")
	gw.Pools[0].Endpoints = append(slices.Clone(gw.Pools[0].Endpoints[:2]), pods("a", "10.0.0.2").Endpoints[0])
	out, err := s.account.Endpoints(t.Context(), providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]})
	at, times := r.when("compute.networkEndpointGroups.detachNetworkEndpoints")
	if err != nil || !out.Settled() || times != 1 || at > 10*time.Second {
		t.Errorf("%v, %v: detached by %d calls after %s, want 1 at once", err, out.Err(), times, at)
	}
}

// Why: a rule that serves is not led to a Service whose pods no check has found healthy
// yet; but a new rule, and one led to nobody, need not wait, and the others not for ever.
func TestRulesWaitForHealth(t *testing.T) {
	const never, little = -time.Second, 30 * time.Second
	for _, c := range []struct {
		name        string
		after       time.Duration
		nobody      bool
		empty       bool
		path        string
		least, most time.Duration // when the URL map is changed
	}{
		{name: "healthy after a while", after: 50 * time.Second, path: "/", least: 50 * time.Second, most: 50*time.Second + little},
		{name: "never healthy", after: never, path: "/", least: standInFor, most: standInFor + little},
		{name: "nobody checks", after: never, nobody: true, path: "/", most: little},
		{name: "it has no pods", after: never, empty: true, path: "/", most: little},
		{name: "the rule is new", after: never, path: "/new", most: little},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &readiness{}
			s := readyShop(t, r)
			next := pods("b", "10.0.0.3")
			if c.empty {
				next.Endpoints = []lbmodel.Endpoint{}
			}
			other := leads(next, "/") // its groups are there, its backend service is its own
			other.Owner.Name, other.Owner.UID = "other", "u2"
			s.bring(other)
			r.began, r.after, r.nobody = s.clock.Now(), map[string]time.Duration{"10.0.0.3": c.after}, c.nobody
			gw := leads(next, c.path)
			s.bring(gw)
			if at, times := r.when("compute.urlMaps.patch"); times != 1 || at < c.least || at > c.most {
				t.Errorf("changed %d times, after %s; want once, after %s to %s", times, at, c.least, c.most)
			}
			s.quiet("in the end", gw.Owner)
		})
	}
}
