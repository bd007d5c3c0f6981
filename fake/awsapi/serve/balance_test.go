package serve

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func weighted(pairs ...any) *Forward {
	f := &Forward{}
	for i := 0; i < len(pairs); i += 2 {
		f.Groups = append(f.Groups, WeightedGroup{pairs[i].(string), int32(pairs[i+1].(int))})
	}
	return f
}

// spread counts who answers n requests; "" counts answers of the load balancer's.
func spread(t *testing.T, c *http.Client, n int, headers ...string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for range n {
		res := do(t, c, get(t, "http://a.example.com/", headers...))
		name, _, _ := strings.Cut(res.body, " ")
		if res.StatusCode != 200 {
			name = res.Status[:3]
		}
		out[name]++
	}
	return out
}

// TestWeights: shares of the weights' sum, an empty group's too.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		name, why string
		f         *Forward
		u         Undocumented
		want      map[string]int // of 100
	}{
		{name: "shares", f: weighted("a", 3, "b", 1), want: map[string]int{"a": 75, "b": 25}, why: "weight by sum"},
		{name: "zero", f: weighted("a", 0, "b", 1), want: map[string]int{"b": 100}, why: "no traffic"},
		{name: "empty group", f: weighted("none", 1, "b", 1), want: map[string]int{"503": 50, "b": 50}, why: "the load balancer does not fail over to another group"},
		{name: "one group of weight 0", f: weighted("a", 0), want: map[string]int{"a": 100}, why: "a single group's weight has no meaning"},
		{name: "all zero", f: weighted("a", 0, "b", 0), want: map[string]int{"503": 100}, why: "AllWeightsZero"},
		{name: "all zero evenly", f: weighted("a", 0, "b", 0), u: Undocumented{AllWeightsZero: Evenly}, want: map[string]int{"a": 50, "b": 50}, why: "AllWeightsZero"},
		{name: "all zero error", f: weighted("a", 0, "b", 0), u: Undocumented{AllWeightsZero: Error}, want: map[string]int{"500": 100}, why: "AllWeightsZero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := newBackend(t, "a"), newBackend(t, "b")
			c.u.WeightSpread = Smooth
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: []Action{{Forward: c.f}}})},
				TargetGroups: []TargetGroup{groupOf("a", a.healthy()), groupOf("b", b.healthy()), groupOf("none")}, Undocumented: c.u})
			got := spread(t, l.client(80, nil), 100)
			for name, want := range c.want {
				if d := got[name] - want; d < -3 || d > 3 {
					t.Errorf("%v, want about %v: %s", got, c.want, c.why)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%v, want %v: %s", got, c.want, c.why)
			}
		})
	}
}

// TestRandomWeights: chance decides in the other position.
func TestRandomWeights(t *testing.T) {
	u := Undocumented{}.withDefaults()
	s := newShares(weighted("a", 1, "b", 3).Groups, u, func() float64 { return 0.24 })
	if got := s.next(); got != 0 {
		t.Errorf("0.24 of 1:3 is %d, want the first", got)
	}
	s = newShares(weighted("a", 1, "b", 3).Groups, u, func() float64 { return 0.26 })
	if got := s.next(); got != 1 {
		t.Errorf("0.26 of 1:3 is %d, want the second", got)
	}
}

// TestFailOpen: a group with too few healthy targets uses all of them, and
// never those that drain.
func TestFailOpen(t *testing.T) {
	a, b, c := newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "c")
	at := func(b *backend, s State) Target {
		t := b.target()
		t.State = s
		return t
	}
	for _, test := range []struct {
		name, why string
		targets   []Target
		minimum   string
		want      []string
	}{
		{"one healthy", "only the healthy ones", []Target{at(a, StateHealthy), at(b, StateUnhealthy)}, "1", []string{"a"}},
		{"none healthy", "fail-open, not 503", []Target{at(a, StateUnhealthy), at(b, StateUnhealthy)}, "1", []string{"a", "b"}},
		{"below the minimum", "fail-open", []Target{at(a, StateHealthy), at(b, StateUnhealthy)}, "2", []string{"a", "b"}},
		{"draining", "takes no new requests", []Target{at(a, StateUnhealthy), at(b, StateUnhealthy), at(c, StateDraining)}, "1", []string{"a", "b"}},
		{"all draining", "nobody is registered", []Target{at(a, StateDraining)}, "1", []string{"503"}},
		{"checks disabled", "unavailable targets are used", []Target{at(a, StateUnavailable), at(b, StateUnhealthy)}, "1", []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := groupOf("g", test.targets...)
			g.Attributes["target_group_health.unhealthy_state_routing.minimum_healthy_targets.count"] = test.minimum
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
			got := spread(t, l.client(80, nil), 10)
			for _, name := range test.want {
				if got[name] == 0 {
					t.Errorf("%v, want %v: %s", got, test.want, test.why)
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("%v, want %v: %s", got, test.want, test.why)
			}
		})
	}
}

// TestLeastOutstanding goes to whoever has less to do.
func TestLeastOutstanding(t *testing.T) {
	arrived, release := make(chan bool, 8), make(chan bool)
	slow := newBackend(t, "slow", answering(func(http.ResponseWriter, *http.Request) { arrived <- true; <-release }))
	quick := newBackend(t, "quick")
	g := groupOf("g", slow.healthy(), quick.healthy())
	g.Attributes["load_balancing.algorithm.type"] = "least_outstanding_requests"
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
	client := l.client(80, nil)
	done := make(chan error, 1)
	go func() {
		res, err := client.Do(get(t, "http://a/"))
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	<-arrived
	if got := spread(t, client, 5); got["quick"] != 5 {
		t.Errorf("%v, want all at the target without a request", got)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// cookies are what an answer sets, by name.
func cookies(res fetched) map[string]*http.Cookie {
	out := map[string]*http.Cookie{}
	for _, c := range res.Cookies() {
		out[c.Name] = c
	}
	return out
}

// TestTargetStickiness follows one client through a target's life.
func TestTargetStickiness(t *testing.T) {
	a, b := newBackend(t, "a"), newBackend(t, "b")
	clock := newClock()
	g := groupOf("g", a.healthy(), b.healthy())
	g.Attributes["stickiness.enabled"], g.Attributes["stickiness.lb_cookie.duration_seconds"] = "true", "60"
	balancer := albOf(Listener{Port: 80, Default: forwardTo("g")})
	l := newLab(t, Options{Clock: clock.clock()}, Config{LoadBalancers: []LoadBalancer{balancer}, TargetGroups: []TargetGroup{g}, Undocumented: Undocumented{StickyRenewal: Once}})
	client := l.client(80, nil)
	first := do(t, client, get(t, "http://a/"))
	set := cookies(first)
	lb, cors := set["AWSALB"], set["AWSALBCORS"]
	if lb == nil || cors == nil || !cors.Secure || cors.SameSite != http.SameSiteNoneMode || lb.Secure {
		t.Fatalf("cookies %v", first.Header["Set-Cookie"])
	}
	if got := lb.Expires.Sub(clock.now()); got < cookieLife-time.Minute || got > cookieLife {
		t.Errorf("Expires is in %v, want 7 days whatever the duration", got)
	}
	mine, _, _ := strings.Cut(first.body, " ")
	cookie := "Cookie: AWSALB=" + lb.Value
	if got := spread(t, client, 6, cookie); got[mine] != 6 {
		t.Errorf("%v, want all at %s", got, mine)
	}
	if got := spread(t, client, 6, "Cookie: AWSALB=garbage"); len(got) != 2 {
		t.Errorf("%v, want both: a cookie that cannot be read is none", got)
	}
	clock.advance(2 * time.Minute)
	if got := spread(t, client, 6, cookie); len(got) != 2 {
		t.Errorf("%v, want both: the cookie is stale", got)
	}
	clock.advance(-2 * time.Minute)
	for i := range g.Targets {
		if g.Targets[i].ID == mine {
			g.Targets = slices.Clone(g.Targets)
			g.Targets[i].State = StateUnhealthy
		}
	}
	l.apply(Config{LoadBalancers: []LoadBalancer{balancer}, TargetGroups: []TargetGroup{g}})
	if got := spread(t, client, 6, cookie); got[mine] != 0 {
		t.Errorf("%v, want none at the unhealthy %s", got, mine)
	}
}

// TestAppCookie follows a cookie of the application's own.
func TestAppCookie(t *testing.T) {
	app := func(name string) func(*backend) {
		return answering(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				http.SetCookie(w, &http.Cookie{Name: "SESSION", Value: "1"})
			}
			w.Write([]byte(name + " "))
		})
	}
	a, b := newBackend(t, "a", app("a")), newBackend(t, "b", app("b"))
	g := groupOf("g", a.healthy(), b.healthy())
	g.Attributes = map[string]string{"stickiness.enabled": "true", "stickiness.type": "app_cookie", "stickiness.app_cookie.cookie_name": "SESSION"}
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
	client := l.client(80, nil)
	if res := do(t, client, get(t, "http://a/")); len(res.Cookies()) != 0 {
		t.Errorf("cookies %v before the application has one", res.Cookies())
	}
	login := do(t, client, get(t, "http://a/login"))
	mark := cookies(login)["AWSALBAPP-0"]
	if mark == nil {
		t.Fatalf("cookies %v", login.Header["Set-Cookie"])
	}
	mine, _, _ := strings.Cut(login.body, " ")
	if got := spread(t, client, 6, "Cookie: SESSION=1; AWSALBAPP-0="+mark.Value); got[mine] != 6 {
		t.Errorf("%v, want all at %s", got, mine)
	}
}

// TestGroupStickiness beats the weights, also one of 0.
func TestGroupStickiness(t *testing.T) {
	a, b := newBackend(t, "a"), newBackend(t, "b")
	f := weighted("a", 1, "b", 0)
	f.Stickiness = time.Minute
	c := Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: []Action{{Forward: f}}})}, TargetGroups: []TargetGroup{groupOf("a", a.healthy()), groupOf("b", b.healthy())}}
	l := newLab(t, Options{}, c)
	client := l.client(80, nil)
	set := cookies(do(t, client, get(t, "http://a/")))
	if set["AWSALBTG"] == nil || set["AWSALBTGCORS"] == nil {
		t.Fatalf("cookies %v", set)
	}
	turned := *f
	turned.Groups = weighted("a", 0, "b", 1).Groups
	c.LoadBalancers[0] = albOf(Listener{Port: 80, Default: []Action{{Forward: &turned}}})
	l.apply(c)
	if got := spread(t, client, 5, "Cookie: AWSALBTG="+set["AWSALBTG"].Value); got["a"] != 5 {
		t.Errorf("%v, want all at a, which the cookie names", got)
	}
	if got := spread(t, client, 5); got["b"] != 5 {
		t.Errorf("%v, want all at b without a cookie", got)
	}
}
