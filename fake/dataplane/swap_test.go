package dataplane

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// TestSwapUnderLoad changes rules, pools, endpoints and neighbours under load
// from HTTP/1.1 and HTTP/2 clients. No request fails, and sockets stay bound.
func TestSwapUnderLoad(t *testing.T) {
	a, b := echo(t, "a"), echo(t, "b")
	variant := func(n int) []Gateway {
		addresses := [][]string{{a.addr()}, {a.addr(), b.addr()}, {b.addr()}}[n%3]
		rules := []lbmodel.Rule{prefixRule("/", to("p"))}
		if n%2 == 0 {
			rules = append([]lbmodel.Rule{prefixRule("/other", to("p"))}, rules...)
		}
		protocol := []lbmodel.PoolProtocol{lbmodel.PoolHTTP1, lbmodel.PoolWebSocket}[n/3%2]
		out := []Gateway{gatewayOf("edge", []lbmodel.Listener{httpListener(80, rules...)}, poolOf("p", protocol, addresses...))}
		if n%2 == 1 {
			out = append(out, gatewayOf("other", []lbmodel.Listener{httpListener(81, rules...)}, poolOf("p", protocol, addresses...)))
		}
		return out
	}
	p := newPlane(t, Config{}, variant(0)...)
	first := p.at(80)
	load := startLoad(t, p, 6)
	for n := range 60 {
		p.program(variant(n)...)
		load.atLeast(20)
	}
	load.stop()
	if p.at(80) != first {
		t.Errorf("the socket moved from %s to %s", first, p.at(80))
	}
}

// TestUnchangedGatewaysStay compiles only what changed, and keeps the links of the
// rest through any number of changes elsewhere.
func TestUnchangedGatewaysStay(t *testing.T) {
	a, b := echo(t, "a"), echo(t, "b")
	one := func(name string, port int32, rules ...lbmodel.Rule) Gateway {
		return gatewayOf(name, []lbmodel.Listener{httpListener(port, rules...)},
			poolOf("a", lbmodel.PoolHTTP1, a.addr()), poolOf("b", lbmodel.PoolHTTP1, b.addr()))
	}
	still := func() Gateway { return one("still", 80, prefixRule("/", to("a"))) }
	moving := func(pool string) Gateway { return one("moving", 81, prefixRule("/", to(pool))) }
	p := newPlane(t, Config{}, still(), moving("a"))
	of := func(g Gateway) *gateway { return p.known[g.Model.Owner].out }
	before, moved := of(still()), of(moving("a"))
	for range 3 {
		p.program(still(), moving("b"))
	}
	if of(still()) != before {
		t.Error("an equal gateway was compiled again")
	}
	if of(moving("b")) == moved {
		t.Error("a changed gateway was not compiled")
	}
	if res, _ := answerOf(t, p.client(81, nil), get(t, "http://any.test/")); res.Header.Get("Backend") != "b" {
		t.Errorf("the changed gateway answers from %q, want b", res.Header.Get("Backend"))
	}
	for _, l := range before.pools["a"].links {
		if l.retired.Load() || p.links.live[l.key] == nil {
			t.Errorf("the link to %s was retired under a gateway that uses it", l.key.target)
		}
	}
	p.program(moving("b"))
	if len(p.known) != 1 {
		t.Errorf("%d gateways are remembered, want the one that is programmed", len(p.known))
	}
}

// TestPortIsFreeAtOnce gives a port back before Program returns, although what is
// under way there may go on: the next Program may want it again.
func TestPortIsFreeAtOnce(t *testing.T) {
	a := echo(t, "a")
	_, port, _ := net.SplitHostPort(closedPort(t))
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	gw := gatewayOf("edge", []lbmodel.Listener{httpListener(int32(number), prefixRule("/", to("a")))}, poolOf("a", lbmodel.PoolHTTP1, a.addr()))
	d := New(Config{Ports: PortsExact})
	defer d.Shutdown(t.Context())
	for i := range 50 {
		if err := errors.Join(d.Program(t.Context(), []Gateway{gw}), d.Program(t.Context(), nil)); err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
	}
}

// TestAccessLogAfterItsEnd takes the entry of a request that the end of its
// connection has caught: it is lost, and nothing breaks.
func TestAccessLogAfterItsEnd(t *testing.T) {
	var written int
	l := newAccessLog(func(Entry) { written++ }, newTallies())
	x := &exchange{port: &port{gateway: &gateway{}}, in: get(t, "http://any.test/")}
	for range 10 {
		l.add(x)
	}
	l.close()
	l.add(x)
	if written != 10 {
		t.Errorf("%d entries were written, want the 10 of before", written)
	}
}

// TestConnectionsKept keeps the backend connections of a pool that did not
// change, and drains those of one that did.
func TestConnectionsKept(t *testing.T) {
	a := echo(t, "a")
	gw := simple(a)
	p := newPlane(t, Config{}, gw)
	client := p.client(80, nil)
	link := func() *link {
		p.links.mu.Lock()
		defer p.links.mu.Unlock()
		for _, l := range p.links.live {
			return l.link
		}
		return nil
	}
	answerOf(t, client, get(t, "http://any.test/"))
	before := link()
	gw.Model.Listeners[0].Rules = append([]lbmodel.Rule{prefixRule("/x", to("b"))}, gw.Model.Listeners[0].Rules...)
	p.program(gw)
	if link() != before {
		t.Error("an unchanged pool lost its connections when a rule changed")
	}
	gw.Model.Pools = slices.Clone(gw.Model.Pools) // what was programmed is the plane's
	gw.Model.Pools[0].Protocol = lbmodel.PoolWebSocket
	p.program(gw)
	if link() == before || !before.retired.Load() {
		t.Error("a changed pool kept its old connections")
	}
}

// TestRemovedEndpointDrains lets what is under way at a removed endpoint finish.
func TestRemovedEndpointDrains(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	slow := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-release
		fmt.Fprint(w, "slow")
	}))
	fast := echo(t, "fast")
	p := newPlane(t, Config{}, simple(slow))
	result := make(chan fetched, 1)
	client := p.client(80, nil)
	go func() { result <- fetch(client, get(t, "http://any.test/")) }()
	<-started
	gw := simple(fast)
	p.program(gw)
	if _, body := answerOf(t, client, get(t, "http://any.test/")); !strings.HasPrefix(body, "fast") {
		t.Errorf("a new request went to %q", body)
	}
	close(release)
	if a := <-result; a.err != nil || a.body != "slow" {
		t.Errorf("the request under way ended with %q, %v", a.body, a.err)
	}
}

// TestListenerRemoved closes a removed listener gently: the request under way is
// answered and told that the connection ends, in both protocols.
func TestListenerRemoved(t *testing.T) {
	for _, protocol := range []string{"http1", "h2c"} {
		started, release := make(chan struct{}), make(chan struct{})
		slow := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(started)
			<-release
			fmt.Fprint(w, "done")
		}))
		gw := simple(slow)
		gw.Addresses = []netip.Addr{netip.MustParseAddr("127.71.0.9")} // nobody else takes its ports meanwhile
		p := newPlane(t, Config{}, gw)
		at := p.at(80)
		client := p.client(80, nil, protocol)
		result := make(chan fetched, 1)
		go func() { result <- fetch(client, get(t, "http://any.test/")) }()
		<-started
		p.program()
		eventually(t, "the port is closed", func() bool {
			conn, err := net.DialTimeout("tcp", at, time.Second)
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		close(release)
		if a := <-result; a.err != nil || a.body != "done" {
			t.Errorf("%s: %q, %v", protocol, a.body, a.err)
		} else if protocol == "http1" && !a.Close {
			t.Error("http1: the last answer does not say Connection: close")
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Errorf("%s: Shutdown: %v", protocol, err)
		}
	}
}

// TestShutdownIsBounded ends what does not end by itself.
func TestShutdownIsBounded(t *testing.T) {
	started := make(chan struct{})
	hang := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	}))
	p := newPlane(t, Config{DrainTimeout: 200 * time.Millisecond}, simple(hang))
	failed := make(chan error, 1)
	client := p.client(80, nil)
	request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://any.test/", nil)) // a GET might be repeated
	go func() {
		_, err := client.Do(request)
		failed <- err
	}()
	<-started
	begin := time.Now()
	var cut *CutError
	if err := p.Shutdown(context.Background()); !errors.As(err, &cut) || cut.Lost() != 1 || cut.Streams != 0 {
		t.Errorf("Shutdown: %v, want that one request was cut off", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("Shutdown took %v with a DrainTimeout of 200ms", took)
	}
	<-failed
}

// TestAccessLogAndCounters says what happened, in one line a request, without the
// query.
func TestAccessLogAndCounters(t *testing.T) {
	var text bytes.Buffer
	gw := simple(echo(t, "a"))
	p := newPlane(t, Config{AccessLog: LogTo(&text)}, gw)
	client := p.client(80, nil)
	answerOf(t, client, get(t, "http://any.test/p?secret=1"))
	answerOf(t, client, get(t, "http://any.test/a/../b"))
	p.Shutdown(t.Context())
	var got []string
	for line := range strings.Lines(text.String()) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Owner.Name, " ", e.Rule, " ", e.Pool, " ", e.Method, " ", e.Host, e.Path, " ", e.Status))
	}
	want := "edge HTTPRoute/apps/r#/ b GET any.test/p 200\nedge   GET any.test/a/../b 400"
	if strings.Join(got, "\n") != want || strings.Contains(text.String(), "secret") {
		t.Errorf("access log:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	counts := map[string]uint64{}
	for _, c := range p.Counters().Requests {
		counts[fmt.Sprint(c.Rule, " ", c.Pool, " ", c.Code)] = c.Count
	}
	if counts["HTTPRoute/apps/r#/ b 200"] != 1 || counts["  400"] != 1 {
		t.Errorf("counters: %v", counts)
	}
}

// TestOneAddressEach serves gateways with equal ports on addresses of their own.
func TestOneAddressEach(t *testing.T) {
	a, b := echo(t, "a"), echo(t, "b")
	port := endpoint(closedPort(t)).Port
	one := gatewayOf("one", []lbmodel.Listener{httpListener(port, prefixRule("/", to("p")))}, poolOf("p", lbmodel.PoolHTTP1, a.addr()))
	two := gatewayOf("two", []lbmodel.Listener{httpListener(port, prefixRule("/", to("p")))}, poolOf("p", lbmodel.PoolHTTP1, b.addr()))
	one.Addresses, two.Addresses = []netip.Addr{netip.MustParseAddr("127.71.0.1")}, []netip.Addr{netip.MustParseAddr("127.71.0.2")}
	d := New(Config{Ports: PortsExact})
	defer d.Shutdown(t.Context())
	if err := d.Program(t.Context(), []Gateway{one, two}); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for address, want := range map[string]string{"127.71.0.1": "a", "127.71.0.2": "b"} {
		if _, body := answerOf(t, client, get(t, fmt.Sprintf("http://%s:%d/", address, port))); !strings.HasPrefix(body, want) {
			t.Errorf("%s answered %q, want %s", address, body, want)
		}
	}
}
