package serve

import (
	"crypto/tls"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestSwitches: every field is listed, in order, with positions that differ, and
// the zero value is the first ones.
func TestSwitches(t *testing.T) {
	fields := reflect.TypeFor[Undocumented]()
	all := Switches()
	if len(all) != fields.NumField() {
		t.Fatalf("%d switches, %d fields", len(all), fields.NumField())
	}
	for i, s := range all {
		if name := fields.Field(i).Name; name != s.Name {
			t.Errorf("switch %d is %s, the field is %s", i, s.Name, name)
		}
		if len(s.Positions) < 2 || s.Decides == "" {
			t.Errorf("%s has positions %v and decides %q", s.Name, s.Positions, s.Decides)
		}
		seen := map[Position]bool{}
		for _, p := range s.Positions {
			seen[p] = true
			if got := s.Get(s.Set(Undocumented{}, p)); got != p {
				t.Errorf("%s set to %s is %s", s.Name, p, got)
			}
			if got := reflect.ValueOf(s.Set(Undocumented{}, p)).Field(i).Interface(); got != p {
				t.Errorf("%s sets another field", s.Name)
			}
		}
		if len(seen) != len(s.Positions) || s.Get(Undocumented{}) != s.Positions[0] {
			t.Errorf("%s: positions %v, default %s", s.Name, s.Positions, s.Get(Undocumented{}))
		}
	}
}

// TestEachPosition visits every position once, and the given one first.
func TestEachPosition(t *testing.T) {
	var names []string
	Undocumented{HostPort: Stripped}.EachPosition(func(name string, u Undocumented) {
		names = append(names, name)
		if name != "HostPort=Kept" && u.HostPort != Stripped {
			t.Errorf("%s: HostPort is %q", name, u.HostPort)
		}
	})
	want := 1
	for _, s := range Switches() {
		want += len(s.Positions) - 1
	}
	if len(names) != want || names[0] != "as given" {
		t.Errorf("%d positions, want %d; the first is %q", len(names), want, names[0])
	}
}

// TestServingSwitches are those that only the server can show.
func TestServingSwitches(t *testing.T) {
	a := newBackend(t, "a")
	all := []Condition{{Field: PathPattern, Values: []string{"/*"}}}
	to := func(actions []Action, transforms ...Transform) Listener {
		return Listener{Port: 8080, Rules: []Rule{{Priority: 1, Conditions: all, Transforms: transforms, Actions: actions}}}
	}
	drop := map[string]string{"routing.http.drop_invalid_header_fields.enabled": "true"}
	fixedRule := to(fixedAnswer(200, "taken"))
	fixedRule.Rules[0].Conditions = []Condition{{Field: HTTPHeader, Header: "A_b", Values: []string{"*"}}}
	fixedRule.Default = fixedAnswer(404, "")
	for _, c := range []struct {
		name, request string
		listener      Listener
		attributes    map[string]string
		u             Undocumented
		want          string // in status, headers and body
	}{
		{"HostlessHTTP10", "GET / HTTP/1.0\r\n\r\n", to(fixedAnswer(200, "")), nil, Undocumented{HostlessHTTP10: Refused}, "400 Bad Request"},
		{"DroppedHeaders seen", "GET / HTTP/1.1\r\nHost: a\r\nA_b: 1\r\n\r\n", fixedRule, drop, Undocumented{}, "taken"},
		{"DroppedHeaders unseen", "GET / HTTP/1.1\r\nHost: a\r\nA_b: 1\r\n\r\n", fixedRule, drop, Undocumented{DroppedHeaders: Unseen}, "404 Not Found"},
		{"HeaderNames", "GET / HTTP/1.1\r\nHost: a\r\nA_b: 1\r\n\r\n", fixedRule, nil, Undocumented{HeaderNames: Refused}, "400 Bad Request"},
		{"RewriteHostPort as rewritten", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", to(forwardTo("a"), Transform{HostHeaderRewrite, "^.*$", "b.example.com"}), nil, Undocumented{}, "host=b.example.com\n"},
		{"RewriteHostPort appended", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", to(forwardTo("a"), Transform{HostHeaderRewrite, "^.*$", "b.example.com"}), nil,
			Undocumented{RewriteHostPort: PortAppended}, "host=b.example.com:8080\n"},
		{"RedirectPath", "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", to([]Action{{Redirect: &Redirect{Status: 302, Host: "c"}}}, Transform{URLRewrite, "^/x", "/y"}), nil,
			Undocumented{RedirectPath: Original}, "http://c:8080/x"},
		{"ErrorBody", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", to(forwardTo("none")), nil, Undocumented{ErrorBody: Empty}, "503 Service Unavailable  \n"},
		{"FixedType plain", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", to([]Action{{Fixed: &FixedResponse{Status: 200, Body: "x"}}}), nil, Undocumented{}, "text/plain"},
		{"FixedType none", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", to([]Action{{Fixed: &FixedResponse{Status: 200, Body: "x"}}}), nil, Undocumented{FixedType: None}, "200 OK  x\n"},
		{"FixedGRPCStatus", "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\n\r\n", to(fixedAnswer(404, "")), nil, Undocumented{FixedGRPCStatus: MappedGRPCStatus}, "grpc-status=12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := albOf(c.listener)
			b.Attributes = c.attributes
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{b}, TargetGroups: []TargetGroup{groupOf("a", a.healthy()), groupOf("none")}, Undocumented: c.u})
			res := l.raw(8080, c.request)
			got := res.Status + " " + res.Header.Get("Content-Type") + " " + res.body + "\n" + res.Header.Get("Location")
			if status := res.Header.Get("Grpc-Status"); status != "" {
				got += " grpc-status=" + status
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%q, want it to hold %q", got, c.want)
			}
		})
	}
}

// TestStickyRenewal: a client that keeps coming stays longer than the duration
// only where responses renew it.
func TestStickyRenewal(t *testing.T) {
	for position, want := range map[Position]bool{EveryResponse: true, Once: false} {
		clock := newClock()
		a := newBackend(t, "a")
		f := weighted("a", 1, "none", 0)
		f.Stickiness = time.Minute
		l := newLab(t, Options{Clock: clock.clock()}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: []Action{{Forward: f}}})},
			TargetGroups: []TargetGroup{groupOf("a", a.healthy()), groupOf("none")}, Undocumented: Undocumented{StickyRenewal: position}})
		client := l.client(80, nil)
		first := cookies(do(t, client, get(t, "http://a/")))["AWSALBTG"]
		clock.advance(40 * time.Second)
		second := cookies(do(t, client, get(t, "http://a/", "Cookie: AWSALBTG="+first.Value)))["AWSALBTG"]
		renewed, _ := decodeMark(second.Value)
		if got := clock.now().Sub(renewed.since) == 0; got != want {
			t.Errorf("StickyRenewal=%s: the mark is from %v ago", position, clock.now().Sub(renewed.since))
		}
	}
}

// TestNetworkStickyLost: a sticky client whose group has lost its targets.
func TestNetworkStickyLost(t *testing.T) {
	for position, want := range map[Position]bool{SameGroup: false, Anew: true} {
		f := weighted("none", 999, "b", 1)
		f.Stickiness = time.Minute
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 7, Protocol: TCP, Default: []Action{{Forward: f}}})},
			TargetGroups: []TargetGroup{tcpGroup("none"), tcpGroup("b", lineServer(t, "b", nil))}, Undocumented: Undocumented{NetworkStickyLost: position}})
		served := 0
		for client := range 10 {
			if l.stream(7, "127.0.0."+string(rune('2'+client%8))).greeting != "" {
				served++
			}
		}
		if (served == 10) != want {
			t.Errorf("NetworkStickyLost=%s: %d of 10 were served", position, served)
		}
	}
}

// TestNetworkMutual: TLS listeners of network load balancers verify too.
func TestNetworkMutual(t *testing.T) {
	ca, other := newAuthority(t, "root"), newAuthority(t, "another")
	listener := Listener{Port: 443, Protocol: TLS, Certificates: []tls.Certificate{ca.issue([]string{"a.example.com"})}, Default: forwardTo("g"),
		MutualTLS: &MutualTLS{Mode: MutualVerify, TrustStore: "store"}}
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(listener)}, TargetGroups: []TargetGroup{tcpGroup("g", lineServer(t, "a", nil))},
		TrustStores: []TrustStore{storeOf(ca)}})
	for _, c := range []struct {
		from *authority
		want bool
	}{{ca, true}, {other, false}} {
		conn, err := tls.Dial("tcp", l.at(443), &tls.Config{ServerName: "a.example.com", RootCAs: ca.pool(), Certificates: []tls.Certificate{c.from.issue([]string{"client"})}})
		if err != nil {
			t.Fatal(err)
		}
		if got := newStream(t, conn).greeting != ""; got != c.want {
			t.Errorf("served is %t, want %t", got, c.want)
		}
	}
}

// TestDrainedListener: a request in flight outlives its listener, and its client is
// told to come no more.
func TestDrainedListener(t *testing.T) {
	arrived, release := make(chan bool, 1), make(chan bool)
	slow := newBackend(t, "slow", answering(func(http.ResponseWriter, *http.Request) { arrived <- true; <-release }))
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{groupOf("g", slow.healthy())}})
	answer := inFlight(t, l)
	<-arrived
	l.apply(Config{TargetGroups: []TargetGroup{groupOf("g", slow.healthy())}})
	close(release)
	if res := <-answer; res.Response == nil || res.StatusCode != 200 || !res.Close {
		t.Errorf("%+v, want 200 and the connection's end", res)
	}
}
