package serve

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// virtualClock is a Clock that moves when it is told.
type virtualClock struct {
	mu      sync.Mutex
	at      time.Time
	waiting []waiter
}

type waiter struct {
	until time.Time
	ring  chan time.Time
}

func newClock() *virtualClock { return &virtualClock{at: time.Now()} }

func (c *virtualClock) clock() Clock { return Clock{Now: c.now, After: c.after} }

func (c *virtualClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *virtualClock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{c.at.Add(d), make(chan time.Time, 1)}
	c.waiting = append(c.waiting, w)
	return w.ring
}

// advance moves the clock, and says how many waited until then.
func (c *virtualClock) advance(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	var rest []waiter
	rung := 0
	for _, w := range c.waiting {
		if w.until.After(c.at) {
			rest = append(rest, w)
			continue
		}
		w.ring <- c.at
		rung++
	}
	c.waiting = rest
	return rung
}

// round lets one interval pass for a check, once it waits.
func (c *virtualClock) round(t *testing.T) {
	t.Helper()
	eventually(t, "a check waits for its interval", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.waiting) > 0
	})
	c.advance(30 * time.Second)
}

func (l *lab) state(target string) TargetHealth {
	for _, h := range l.Health() {
		if h.Target == target {
			return h
		}
	}
	return TargetHealth{}
}

func (l *lab) becomes(target string, s State, reason string) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("%s is %s for %q", target, s, reason), func() bool {
		h := l.state(target)
		return h.State == s && h.Reason == reason
	})
}

// TestHealth follows one target through its states on a virtual clock: one pass
// is enough at first, later five; two failures count.
func TestHealth(t *testing.T) {
	clock := newClock()
	a := newBackend(t, "a")
	a.code.Store(500)
	c := Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: fixedAnswer(200, "")})}, TargetGroups: []TargetGroup{groupOf("g", a.target())}}
	l := newLab(t, Options{Clock: clock.clock()}, c)
	l.becomes("a", StateUnused, "Target.NotInUse")
	c.LoadBalancers = []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}
	l.apply(c)
	l.becomes("a", StateInitial, "Elb.InitialHealthChecking")
	clock.round(t)
	l.becomes("a", StateUnhealthy, "Target.ResponseCodeMismatch")
	if got := l.state("a").Description; got != "Health checks failed with these codes: [500]" {
		t.Errorf("description %q", got)
	}
	a.code.Store(200)
	for i := range 5 {
		if s := l.state("a").State; s != StateUnhealthy {
			t.Fatalf("after %d passes: %s, want unhealthy until five in a row", i, s)
		}
		clock.round(t)
	}
	l.becomes("a", StateHealthy, "")
	a.code.Store(503)
	clock.round(t)
	clock.round(t)
	l.becomes("a", StateUnhealthy, "Target.ResponseCodeMismatch")
	l.apply(c)
	if s := l.state("a").State; s != StateUnhealthy {
		t.Errorf("the same Config again: %s, want what was known", s)
	}
	c.TargetGroups = []TargetGroup{groupOf("g", a.target())}
	c.TargetGroups[0].Health.Interval = time.Minute
	l.apply(c)
	if s := l.state("a").State; s != StateUnhealthy {
		t.Errorf("another interval: %s, want what was known", s)
	}
}

// TestFirstPass: a new target is healthy after one pass.
func TestFirstPass(t *testing.T) {
	clock := newClock()
	a := newBackend(t, "a")
	l := newLab(t, Options{Clock: clock.clock()}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{groupOf("g", a.target())}})
	l.becomes("a", StateHealthy, "")
}

// TestCheckRequest is what a target sees of a check, and Matcher and Port.
func TestCheckRequest(t *testing.T) {
	seen := make(chan *http.Request, 4)
	a := newBackend(t, "a", answering(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.WriteHeader(204)
	}))
	g := groupOf("g", Target{ID: "10.0.3.7:8080", Address: netip.MustParseAddrPort("127.0.0.1:1"), Check: a.target().Address})
	g.Health = HealthCheck{Port: 9000, Path: "/ready?x=1", Matcher: "200,202-204", Interval: time.Hour}
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
	r := <-seen
	if r.Method != "GET" || r.RequestURI != "/ready?x=1" || r.UserAgent() != "ELB-HealthChecker/2.0" || !strings.HasPrefix(r.Host, "10.0.3.7:") {
		t.Errorf("%s %s, User-Agent %q, Host %q", r.Method, r.RequestURI, r.UserAgent(), r.Host)
	}
	l.becomes("10.0.3.7:8080", StateHealthy, "")
}

// TestGRPCCheck: an unknown method is what the default check expects.
func TestGRPCCheck(t *testing.T) {
	a := newBackend(t, "a", http2Backend, answering(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", map[bool]string{true: "12", false: "0"}[r.URL.Path == "/AWS.ALB/healthcheck"])
	}))
	g := groupOf("g", a.target())
	g.Version = VersionGRPC
	other := g
	other.Name, other.Health.Path, other.Targets = "other", "/grpc.health.v1.Health/Check", []Target{a.target()}
	other.Targets[0].ID = "b"
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g", "other")})}, TargetGroups: []TargetGroup{g, other}})
	l.becomes("a", StateHealthy, "")
	if s := l.state("b").State; s == StateHealthy {
		t.Error("code 0 passed, and the default matcher is 12")
	}
}

// TestDefaultChecks are the documented defaults of each kind of group.
func TestDefaultChecks(t *testing.T) {
	target := Target{ID: "x", Address: netip.MustParseAddrPort("127.0.0.1:80")}
	for _, c := range []struct {
		name string
		g    TargetGroup
		u    Undocumented
		want string
	}{
		{"HTTP", TargetGroup{Protocol: HTTPS}, Undocumented{}, "HTTP / 200 30s 5s 5/2"},
		{"HTTP by the API", TargetGroup{Protocol: HTTP}, Undocumented{HealthTimeout: API}, "HTTP / 200 30s 6s 5/2"},
		{"HTTPS by the API", TargetGroup{Protocol: HTTP, Health: HealthCheck{Protocol: HTTPS}}, Undocumented{HealthTimeout: API}, "HTTPS / 200 30s 10s 5/2"},
		{"gRPC", TargetGroup{Protocol: HTTP, Version: VersionGRPC}, Undocumented{}, "HTTP /AWS.ALB/healthcheck 12 30s 5s 5/2"},
		{"TCP", TargetGroup{Protocol: TCP}, Undocumented{}, "TCP / 200-399 30s 10s 5/2"},
		{"UDP", TargetGroup{Protocol: UDP}, Undocumented{}, "TCP / 200-399 30s 10s 5/2"},
		{"TCP by HTTP", TargetGroup{Protocol: TCP, Health: HealthCheck{Protocol: HTTP}}, Undocumented{}, "HTTP / 200-399 30s 6s 5/2"},
		{"load balancer", TargetGroup{Protocol: TCP, Type: TargetALB}, Undocumented{}, "HTTP / 200-399 30s 6s 5/2"},
	} {
		g := New(Options{}).newGroup(&state{u: c.u.withDefaults(), links: map[linkKey]*link{}}, c.g)
		got := newCheck(g, &target, c.u.withDefaults())
		text := fmt.Sprintf("%s %s %s %s %s %d/%d", got.protocol, got.path, got.matcher, got.interval, got.timeout, got.healthy, got.unhealthy)
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}
