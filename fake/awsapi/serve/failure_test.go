package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// inFlight is a request that a target has and does not answer yet.
func inFlight(t *testing.T, l *lab) (answer <-chan fetched) {
	t.Helper()
	out := make(chan fetched, 1)
	client := l.client(80, nil)
	r := get(t, "http://a/slow")
	go func() {
		res, err := client.Do(r)
		if err != nil {
			out <- fetched{nil, err.Error()}
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		out <- fetched{res, string(body)}
	}()
	return out
}

// TestDraining: no new request, the old one finishes, and is cut when its time
// is over.
func TestDraining(t *testing.T) {
	for _, c := range []struct {
		name   string
		wait   bool // until the old request is answered
		status int
	}{{"finishes", true, 200}, {"is cut", false, 502}} {
		t.Run(c.name, func(t *testing.T) {
			arrived, release := make(chan bool, 1), make(chan bool)
			slow := newBackend(t, "slow", answering(func(_ http.ResponseWriter, r *http.Request) {
				arrived <- true
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}))
			other := newBackend(t, "other")
			balancer := albOf(Listener{Port: 80, Default: forwardTo("g")})
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{balancer}, TargetGroups: []TargetGroup{groupOf("g", slow.healthy())}})
			answer := inFlight(t, l)
			<-arrived
			leaving := slow.target()
			leaving.State = StateDraining
			l.apply(Config{LoadBalancers: []LoadBalancer{balancer}, TargetGroups: []TargetGroup{groupOf("g", leaving, other.healthy())}})
			if h := l.state("slow"); h.State != StateDraining || h.Reason != "Target.DeregistrationInProgress" {
				t.Errorf("health %+v", h)
			}
			if got := spread(t, l.client(80, nil), 4); got["other"] != 4 {
				t.Errorf("%v, want none at the draining target", got)
			}
			if c.wait {
				close(release)
			} else {
				l.apply(Config{LoadBalancers: []LoadBalancer{balancer}, TargetGroups: []TargetGroup{groupOf("g", other.healthy())}})
			}
			if res := <-answer; res.Response == nil || res.StatusCode != c.status {
				t.Errorf("%+v, want %d", res, c.status)
			}
		})
	}
}

// TestTargetFailures are 502 and 504 by their causes.
func TestTargetFailures(t *testing.T) {
	hijack := func(text string) func(*backend) {
		return answering(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(conn, text)
				conn.Close()
			}
		})
	}
	closed := newBackend(t, "closed")
	closed.Close()
	for _, c := range []struct {
		name   string
		b      *backend
		status int
	}{
		{"refused", closed, 502},
		{"closed with an outstanding request", newBackend(t, "x", hijack("")), 502},
		{"malformed", newBackend(t, "x", hijack("nonsense\r\n\r\n")), 502},
		{"headers above 32K", newBackend(t, "x", hijack("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 40<<10)+"\r\n\r\n")), 502},
		{"silent past the idle timeout", newBackend(t, "x", answering(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })), 504},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := albOf(Listener{Port: 80, Default: forwardTo("g")})
			if c.status == http.StatusGatewayTimeout {
				b.Attributes["idle_timeout.timeout_seconds"] = "0.3"
			}
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{b}, TargetGroups: []TargetGroup{groupOf("g", c.b.healthy())}})
			if res := do(t, l.client(80, nil), get(t, "http://a/")); res.StatusCode != c.status {
				t.Errorf("%d, want %d", res.StatusCode, c.status)
			}
		})
	}
}

// TestTargetHandshake: an HTTPS target that does not speak TLS, or says nothing.
func TestTargetHandshake(t *testing.T) {
	plain := newBackend(t, "plain")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		name    string
		address string
		u       Undocumented
		want    int
	}{
		{"no TLS", plain.Listener.Addr().String(), Undocumented{}, 502},
		{"silent", silent.Addr().String(), Undocumented{}, 504},
		{"silent, TargetTLSTimeout", silent.Addr().String(), Undocumented{TargetTLSTimeout: BadGateway}, 502},
	} {
		g := groupOf("g", Target{ID: "a", Address: netip.MustParseAddrPort(c.address), State: StateHealthy})
		g.Protocol = HTTPS
		l := newLab(t, Options{ConnectTimeout: 300 * time.Millisecond}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})},
			TargetGroups: []TargetGroup{g}, Undocumented: c.u})
		if res := do(t, l.client(80, nil), get(t, "http://a/")); res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, res.StatusCode, c.want)
		}
	}
}

// TestSlowClients: 408 for a body that stops coming, 400 for one that ends too
// early, 460 in the log for a client that does not wait.
func TestSlowClients(t *testing.T) {
	waiting := make(chan bool, 1)
	a := newBackend(t, "a", answering(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			waiting <- true
			<-r.Context().Done()
		}
		io.Copy(io.Discard, r.Body)
	}))
	b := albOf(Listener{Port: 80, Default: forwardTo("g")})
	b.Attributes["idle_timeout.timeout_seconds"] = "0.3"
	c := Config{LoadBalancers: []LoadBalancer{b}, TargetGroups: []TargetGroup{groupOf("g", a.healthy())}}
	l := newLab(t, Options{}, c)
	if res := l.raw(80, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123"); res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a silent client: %d, want 408", res.StatusCode)
	}
	if res := l.raw(80, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a broken body: %d, want 400", res.StatusCode)
	}
	c.LoadBalancers[0].Attributes = map[string]string{}
	l.apply(c)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-waiting; cancel() }()
	if res, err := l.client(80, nil).Do(get(t, "http://a/").WithContext(ctx)); err == nil {
		res.Body.Close()
	}
	l.entry(func(e Entry) bool { return e.Status == 460 })
}

// slowly hands out its text in pieces, over a longer time than may be idle.
type slowly struct{ left int }

// Read implements io.Reader.
func (s *slowly) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	time.Sleep(80 * time.Millisecond)
	return copy(p, "x"), nil
}

// TestSteady: what keeps moving either way is not idle.
func TestSteady(t *testing.T) {
	a := newBackend(t, "a", answering(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Write(body)
		for pieces := (&slowly{10}); pieces.left > 0; {
			io.CopyN(w, pieces, 1)
			http.NewResponseController(w).Flush()
		}
	}))
	b := albOf(Listener{Port: 80, Default: forwardTo("g")})
	b.Attributes["idle_timeout.timeout_seconds"] = "0.5"
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{b}, TargetGroups: []TargetGroup{groupOf("g", a.healthy())}})
	if res := do(t, l.client(80, nil), request(t, "POST", "http://a/", &slowly{10})); res.StatusCode != 200 || res.body != strings.Repeat("x", 20) {
		t.Errorf("%d %q, want 200 and 20 bytes", res.StatusCode, res.body)
	}
}

// TestRetries: a lost connection is the client's to repeat, unless the switch says
// otherwise.
func TestRetries(t *testing.T) {
	closed, open := newBackend(t, "closed"), newBackend(t, "open")
	closed.Close()
	for position, want := range map[Position]bool{Never: false, Connect: true} {
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})},
			TargetGroups: []TargetGroup{groupOf("g", closed.healthy(), open.healthy())}, Undocumented: Undocumented{Retries: position}})
		got := spread(t, l.client(80, nil), 4)
		if (got["502"] == 0) != want {
			t.Errorf("Retries=%s: %v", position, got)
		}
	}
}

// TestLostConnection: a target that ends kept connections costs requests, as AWS's
// guide warns, unless the switch says otherwise.
func TestLostConnection(t *testing.T) {
	for position, want := range map[Position]int{Never: 502, LostConnection: 200} {
		b := halfServer(t)
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("g")})},
			TargetGroups: []TargetGroup{groupOf("g", Target{ID: "a", Address: b, State: StateHealthy})}, Undocumented: Undocumented{Retries: position}})
		client := l.client(80, nil)
		if res := do(t, client, get(t, "http://a/")); res.StatusCode != 200 {
			t.Fatalf("first: %d", res.StatusCode)
		}
		if res := do(t, client, get(t, "http://a/")); res.StatusCode != want {
			t.Errorf("Retries=%s: %d, want %d", position, res.StatusCode, want)
		}
	}
}

// halfServer answers the first request of a connection and resets it at the
// second.
func halfServer(t *testing.T) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() { listener.Close(); open.Wait() })
	serve := func(conn net.Conn) {
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		buffer := make([]byte, 4096)
		if _, err := conn.Read(buffer); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			_, _ = conn.Read(buffer)
		}
	}
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			open.Go(func() { serve(conn) })
		}
	})
	return netip.MustParseAddrPort(listener.Addr().String())
}
