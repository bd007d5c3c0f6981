package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestApplyKeeps: requests go on through changes of everything but their own
// listener, on the same socket and connection.
func TestApplyKeeps(t *testing.T) {
	arrived, release := make(chan bool, 1), make(chan bool)
	slow := newBackend(t, "slow", answering(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- true
		<-release
		fmt.Fprint(w, "slow done")
	}))
	a := newBackend(t, "a")
	c := Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("slow")})}, TargetGroups: []TargetGroup{groupOf("slow", slow.healthy()), groupOf("a", a.healthy())}}
	l := newLab(t, Options{}, c)
	before := l.at(80)
	answer := inFlight(t, l)
	<-arrived
	c.LoadBalancers = []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("a")}), {Name: "other", Kind: Application,
		Listeners: []Listener{{Name: "x", Port: 81, Protocol: HTTP, Addresses: []netip.AddrPort{anywhere}, Default: fixedAnswer(204, "")}}}}
	c.TargetGroups = []TargetGroup{groupOf("a", a.healthy())} // the whole group of the request went
	l.apply(c)
	if l.at(80) != before {
		t.Errorf("the listener moved from %s to %s", before, l.at(80))
	}
	if res := do(t, l.client(80, nil), get(t, "http://x/")); res.body != "a GET / host=x" {
		t.Errorf("the next request: %q", res.body)
	}
	close(release)
	if res := <-answer; res.body != "slow done" {
		t.Errorf("the request in flight: %+v", res)
	}
	l.apply(Config{})
	if got := l.Bound(); len(got) != 0 {
		t.Errorf("bound after everything went: %v", got)
	}
}

// TestChurn changes targets and rules under load: no request is lost.
func TestChurn(t *testing.T) {
	a, b := newBackend(t, "a"), newBackend(t, "b")
	config := func(i int) Config {
		draining := b.target()
		draining.State = StateDraining
		targets := [][]Target{{a.healthy(), b.healthy()}, {a.healthy(), draining}}[i%2]
		return Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g"), Rules: []Rule{{Priority: int32(i + 1),
			Conditions: []Condition{{Field: PathPattern, Values: []string{fmt.Sprint("/", i)}}}, Actions: fixedAnswer(200, "")}}})}, TargetGroups: []TargetGroup{groupOf("g", targets...)}}
	}
	l := newLab(t, Options{}, config(1))
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		client := l.client(80, nil)
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				res, err := client.Get("http://a.example.com/x")
				if err != nil {
					t.Errorf("a request was lost: %v", err)
					return
				}
				res.Body.Close()
				if res.StatusCode != 200 {
					t.Errorf("a request got %d", res.StatusCode)
				}
			}
		})
	}
	for i := 0; i < 60 || a.requests.Load() < 200; i++ {
		l.apply(config(i))
	}
	close(stop)
	clients.Wait()
}

// TestApplyProblems are told, and cost nobody else anything.
func TestApplyProblems(t *testing.T) {
	a := newBackend(t, "a")
	taken := netip.MustParseAddrPort(a.Listener.Addr().String())
	good := albOf(Listener{Port: 80, Default: fixedAnswer(200, "ok")})
	bad := LoadBalancer{Name: "bad", Kind: Application, Listeners: []Listener{
		{Name: "taken", Port: 81, Protocol: HTTP, Addresses: []netip.AddrPort{taken}},
		{Name: "nameless", Port: 82, Protocol: HTTPS, Addresses: []netip.AddrPort{anywhere}},
		{Name: "lost", Port: 83, Protocol: HTTP, Addresses: []netip.AddrPort{anywhere}, Default: forwardTo("nowhere")},
	}}
	l := newLab(t, Options{}, Config{})
	err := l.Apply(t.Context(), Config{LoadBalancers: []LoadBalancer{bad, good}})
	for _, want := range []string{`listener "taken"`, `listener "nameless": it has no certificate`, `listener "lost", rule default: there is no target group "nowhere"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if res := do(t, l.client(80, nil), get(t, "http://x/")); res.body != "ok" {
		t.Errorf("the good one: %d %q", res.StatusCode, res.body)
	}
	if res := do(t, l.client(83, nil), get(t, "http://x/")); res.StatusCode != 503 {
		t.Errorf("a group that is not there: %d, want 503", res.StatusCode)
	}
}

// TestClosed: nothing is served or applied afterwards.
func TestClosed(t *testing.T) {
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: fixedAnswer(200, "")})}})
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Apply(t.Context(), Config{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply: %v, want ErrClosed", err)
	}
}

// TestSecurityGroups: sources by address, ports as AWS has them, for both kinds.
func TestSecurityGroups(t *testing.T) {
	sg := func(rules ...SecurityRule) []SecurityGroup {
		return []SecurityGroup{{Name: "sg", Ingress: rules}, {Name: "empty"}}
	}
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}
	for _, c := range []struct {
		name   string
		uses   []string
		groups []SecurityGroup
		lets   bool
		why    string
	}{
		{"none", nil, nil, true, "everything is allowed"},
		{"allowed", []string{"sg"}, sg(SecurityRule{Protocol: "tcp", From: 7, To: 80, Sources: local}), true, "the port is in the range"},
		{"all traffic", []string{"empty", "sg"}, sg(SecurityRule{Protocol: "-1", Sources: local}), true, "no ports; one group is enough"},
		{"other port", []string{"sg"}, sg(SecurityRule{Protocol: "tcp", From: 443, To: 443, Sources: local}), false, "the listener's port, not the socket's"},
		{"other source", []string{"sg"}, sg(SecurityRule{Protocol: "tcp", From: 1, To: 65535, Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}), false, "not the client's"},
		{"other protocol", []string{"sg"}, sg(SecurityRule{Protocol: "udp", From: 1, To: 65535, Sources: local}), false, "UDP"},
		{"no rule", []string{"empty"}, sg(), false, "what is not allowed is forbidden"},
		{"unknown", []string{"gone"}, sg(), false, "nothing allows"},
	} {
		for _, kind := range []Kind{Application, Network} {
			t.Run(c.name+" "+string(kind), func(t *testing.T) {
				b := albOf(Listener{Port: 80, Default: fixedAnswer(200, "")})
				if kind == Network {
					b = nlbOf(Listener{Port: 7, Protocol: TCP, Default: forwardTo("g")})
				}
				b.SecurityGroups = c.uses
				l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{b}, SecurityGroups: c.groups, TargetGroups: []TargetGroup{tcpGroup("g", lineServer(t, "a", nil))}})
				var lets bool
				if kind == Network {
					lets = l.stream(7, "127.0.0.9").greeting != ""
				} else if res, err := l.client(80, nil).Get("http://a/"); err == nil {
					res.Body.Close()
					lets = true
				}
				if lets != c.lets {
					t.Errorf("let in: %t, want %t: %s", lets, c.lets, c.why)
				}
			})
		}
	}
}

// TestClientAddress lets a loopback client stand for another one.
func TestClientAddress(t *testing.T) {
	stands := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), a.Port())
	}
	l := newLab(t, Options{ClientAddress: stands}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: fixedAnswer(404, ""), Rules: []Rule{
		{Priority: 1, Conditions: []Condition{{Field: SourceIP, Values: []string{"203.0.113.0/24"}}}, Actions: fixedAnswer(200, "in")}}})}})
	if res := do(t, l.client(80, nil), get(t, "http://a/")); res.body != "in" {
		t.Errorf("%d, want the rule of the client's network", res.StatusCode)
	}
}

// TestLoadBalancerAsTarget: an Application Load Balancer behind a network one sees
// the client, and admits by the network one's security group or the client.
func TestLoadBalancerAsTarget(t *testing.T) {
	a := newBackend(t, "a")
	alb := albOf(Listener{Port: 80, Default: forwardTo("a")})
	alb.SecurityGroups = []string{"inner"}
	c := Config{LoadBalancers: []LoadBalancer{alb}, TargetGroups: []TargetGroup{groupOf("a", a.healthy())},
		SecurityGroups: []SecurityGroup{{Name: "inner", Ingress: []SecurityRule{{Protocol: "tcp", From: 80, To: 80, Groups: []string{"outer"}}}},
			{Name: "outer", Ingress: []SecurityRule{{Protocol: "tcp", From: 8080, To: 8080, Sources: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}}}}
	l := newLab(t, Options{}, c)
	g := tcpGroup("alb", Target{ID: "alb", LoadBalancer: "alb", Port: 80, State: StateHealthy})
	g.Type = TargetALB
	nlb := nlbOf(Listener{Port: 8080, Protocol: TCP, Default: forwardTo("alb")})
	nlb.SecurityGroups = []string{"outer"}
	c.LoadBalancers, c.TargetGroups = append(c.LoadBalancers, nlb), append(c.TargetGroups, g)
	l.apply(c)
	client := l.client(8080, nil)
	for range 20 {
		client.CloseIdleConnections()
		do(t, client, get(t, "http://x/"))
		if got := a.last.Load().Header.Get("X-Forwarded-For"); got != "127.0.0.9" {
			t.Fatalf("X-Forwarded-For is %q, want the client's", got)
		}
	}
	if res, err := l.client(80, nil).Get("http://x/"); err == nil {
		res.Body.Close()
		t.Error("the inner load balancer admits a client that does not come through the outer one")
	}
	client.CloseIdleConnections()
	eventually(t, "the connections between load balancers are forgotten", func() bool {
		l.origins.mu.Lock()
		defer l.origins.mu.Unlock()
		return len(l.origins.from) == 0
	})
}

// TestIdleStream: a silent connection ends after the listener's idle time.
func TestIdleStream(t *testing.T) {
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 7, Protocol: TCP, Default: forwardTo("g"),
		Attributes: map[string]string{"tcp.idle_timeout.seconds": "0.1"}})}, TargetGroups: []TargetGroup{tcpGroup("g", lineServer(t, "a", nil))}})
	s := l.stream(7, "127.0.0.1")
	began := time.Now()
	if err := s.ends(); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
