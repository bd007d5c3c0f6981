package serve

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lineServer greets each connection with its name and whom it sees, and then
// echoes.
func lineServer(t *testing.T, name string, config *tls.Config) Target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	var open sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		open.Wait()
	})
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			mu.Lock()
			conns[conn] = true
			mu.Unlock()
			open.Go(func() {
				defer conn.Close()
				host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
				fmt.Fprintf(conn, "%s %s\n", name, host)
				io.Copy(conn, conn)
			})
		}
	})
	return Target{ID: name, Address: netip.MustParseAddrPort(address), State: StateHealthy}
}

func tcpGroup(name string, targets ...Target) TargetGroup {
	g := groupOf(name, targets...)
	g.Protocol = TCP
	return g
}

// stream is a client's connection to a network load balancer.
type stream struct {
	net.Conn
	*bufio.Reader
	t        *testing.T
	greeting string
}

func (l *lab) stream(port int32, from string) *stream {
	l.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", l.at(port))
	if errors.Is(err, syscall.ECONNRESET) { // refused before the client knew that it was connected
		return &stream{t: l.t}
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return newStream(l.t, conn)
}

func newStream(t *testing.T, conn net.Conn) *stream {
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	s := &stream{conn, bufio.NewReader(conn), t, ""}
	line, err := s.ReadString('\n')
	if err == nil {
		s.greeting = strings.TrimSpace(line)
	}
	return s
}

func (s *stream) Read(b []byte) (int, error) { return s.Reader.Read(b) }

func (s *stream) echoes(word string) bool {
	fmt.Fprintln(s.Conn, word)
	line, err := s.ReadString('\n')
	return err == nil && line == word+"\n"
}

// ends says how the other side ended the connection.
func (s *stream) ends() error {
	_, err := s.ReadByte()
	return err
}

func (s *stream) isReset() {
	s.t.Helper()
	if err := s.ends(); !errors.Is(err, syscall.ECONNRESET) {
		s.t.Errorf("the connection ended with %v, want a reset", err)
	}
}

// TestStream: bytes both ways, the end of data, and the client's address.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		attributes map[string]string
		sees, why  string
	}{
		{"ip", TargetIP, nil, "127.0.0.1", "the load balancer's address by default"},
		{"ip preserved", TargetIP, map[string]string{"preserve_client_ip.enabled": "true"}, "127.0.0.9", "asked for"},
		{"instance", TargetInstance, nil, "127.0.0.9", "the client's by default"},
		{"instance not preserved", TargetInstance, map[string]string{"preserve_client_ip.enabled": "false"}, "127.0.0.1", "switched off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tcpGroup("g", lineServer(t, "a", nil))
			g.Type, g.Attributes = c.kind, c.attributes
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 7, Protocol: TCP, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
			s := l.stream(7, "127.0.0.9")
			if s.greeting != "a "+c.sees {
				t.Errorf("the target says %q, want it to see %s: %s", s.greeting, c.sees, c.why)
			}
			if !s.echoes("hello") {
				t.Error("no echo")
			}
			s.Conn.(*net.TCPConn).CloseWrite()
			if err := s.ends(); !errors.Is(err, io.EOF) {
				t.Errorf("after the end of data: %v, want the other's end", err)
			}
			e := l.entry(func(e Entry) bool { return e.Target == "a" })
			if e.Own || e.Client.Addr().String() != "127.0.0.9" {
				t.Errorf("the log says %+v", e)
			}
		})
	}
}

// TestNetworkRefusals are resets: there is no protocol to say why.
func TestNetworkRefusals(t *testing.T) {
	a := lineServer(t, "a", nil)
	closed := newBackend(t, "closed")
	closed.Close()
	two := func(f *Forward) []Action { return []Action{{Forward: f}} }
	for _, c := range []struct {
		name    string
		actions []Action
		u       Undocumented
		refused bool
		why     string
	}{
		{"empty", forwardTo("none"), Undocumented{}, true, "no target"},
		{"closed", forwardTo("closed"), Undocumented{}, true, "the target refuses"},
		{"empty share", two(weighted("none", 1, "a", 0)), Undocumented{}, true, "NetworkEmptyGroup: the other group has weight 0 anyway"},
		{"empty share to others", two(weighted("none", 999, "a", 1)), Undocumented{NetworkEmptyGroup: Others}, false, "NetworkEmptyGroup"},
		{"all zero", two(weighted("a", 0, "none", 0)), Undocumented{}, true, "AllWeightsZero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 7, Protocol: TCP, Default: c.actions})},
				TargetGroups: []TargetGroup{tcpGroup("a", a), tcpGroup("none"), tcpGroup("closed", closed.healthy())}, Undocumented: c.u})
			if s := l.stream(7, "127.0.0.1"); (s.greeting == "") != c.refused {
				t.Errorf("%q, want to be refused: %t, %s", s.greeting, c.refused, c.why)
			}
		})
	}
}

// TestNetworkLifetimes: what becomes of live connections when their target or
// their group's weight goes.
func TestNetworkLifetimes(t *testing.T) {
	for _, c := range []struct {
		name       string
		attributes map[string]string
		u          Undocumented
		change     func(*Config)
		lives      bool
		why        string
	}{
		{name: "draining", change: func(c *Config) { c.TargetGroups[0].Targets[0].State = StateDraining }, lives: true, why: "live flows continue"},
		{name: "gone", change: func(c *Config) { c.TargetGroups[0].Targets = nil }, lives: true, why: "connection_termination is off by default"},
		{name: "gone, terminated", attributes: map[string]string{"deregistration_delay.connection_termination.enabled": "true"},
			change: func(c *Config) { c.TargetGroups[0].Targets = nil }, why: "the delay has run out"},
		{name: "unhealthy", change: func(c *Config) { c.TargetGroups[0].Targets[0].State = StateUnhealthy }, why: "terminated by default"},
		{name: "unhealthy, kept", attributes: map[string]string{"target_health_state.unhealthy.connection_termination.enabled": "false"},
			change: func(c *Config) { c.TargetGroups[0].Targets[0].State = StateUnhealthy }, lives: true, why: "switched off"},
		{name: "weight 0", change: func(c *Config) {
			c.LoadBalancers[0].Listeners[0].Default = []Action{{Forward: weighted("g", 0, "b", 1)}}
		}, why: "NetworkZeroWeight"},
		{name: "weight 0, kept", u: Undocumented{NetworkZeroWeight: Kept}, change: func(c *Config) {
			c.LoadBalancers[0].Listeners[0].Default = []Action{{Forward: weighted("g", 0, "b", 1)}}
		}, lives: true, why: "NetworkZeroWeight"},
		{name: "other attributes", change: func(c *Config) { c.LoadBalancers[0].Listeners[0].Attributes = map[string]string{"x": "y"} }, lives: true, why: "nothing that concerns it"},
		{name: "listener gone", change: func(c *Config) { c.LoadBalancers = nil }, why: "after the drain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tcpGroup("g", lineServer(t, "a", nil))
			g.Attributes = c.attributes
			config := Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 7, Protocol: TCP, Default: []Action{{Forward: weighted("g", 1, "b", 0)}}})},
				TargetGroups: []TargetGroup{g, tcpGroup("b", lineServer(t, "b", nil))}, Undocumented: c.u}
			l := newLab(t, Options{DrainTimeout: 100 * time.Millisecond}, config)
			s := l.stream(7, "127.0.0.1")
			if !s.echoes("before") {
				t.Fatalf("no echo; the greeting is %q", s.greeting)
			}
			changed := Config{LoadBalancers: []LoadBalancer{config.LoadBalancers[0]}, TargetGroups: []TargetGroup{g, config.TargetGroups[1]}, Undocumented: c.u}
			changed.LoadBalancers[0].Listeners = []Listener{config.LoadBalancers[0].Listeners[0]}
			changed.TargetGroups[0].Targets = []Target{g.Targets[0]}
			c.change(&changed)
			l.apply(changed)
			if !c.lives {
				s.isReset()
			} else if !s.echoes("after") {
				t.Errorf("the connection is gone: %s", c.why)
			}
		})
	}
}

// TestProxyProtocol: the header tells the client, before its first byte, and
// health checks tell none.
func TestProxyProtocol(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	g := tcpGroup("g", Target{ID: "a", Address: netip.MustParseAddrPort(listener.Addr().String())})
	g.Attributes = map[string]string{"proxy_protocol_v2.enabled": "true"}
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 7, Protocol: TCP, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
	read := func(n int) string {
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		buffer := make([]byte, n)
		n, err = io.ReadFull(conn, buffer)
		if err != nil {
			t.Fatalf("%q, %v", buffer[:n], err)
		}
		return string(buffer)
	}
	if got := read(16); got != proxySignature+"\x20\x00\x00\x00" {
		t.Errorf("a check begins with %q", got)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	conn, err := dialer.Dial("tcp", l.at(7))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "hello")
	from, to := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
	want := proxySignature + "\x21\x11\x00\x0c\x7f\x00\x00\x09\x7f\x00\x00\x01" + string([]byte{byte(from.Port >> 8), byte(from.Port), byte(to.Port >> 8), byte(to.Port)}) + "hello"
	if got := read(len(want)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := proxyHeader(netip.MustParseAddrPort("[2001:db8::1]:1"), netip.MustParseAddrPort("127.0.0.1:2"), 2); len(got) != 16+36 || got[13] != 0x22 {
		t.Errorf("IPv6 over UDP: %x", got)
	}
}

// TestTLSListener ends TLS, and begins it again to TLS groups, by ALPN policy.
func TestTLSListener(t *testing.T) {
	ca := newAuthority(t, "root")
	cert := ca.issue([]string{"a.example.com"})
	inner := &tls.Config{Certificates: []tls.Certificate{ca.issue([]string{"inner"})}}
	for _, c := range []struct {
		name, alpn string
		protocol   Protocol
		config     *tls.Config
		offers     []string
		want       string
	}{
		{"to TCP", "", TCP, nil, []string{"h2"}, ""},
		{"to TLS", "", TLS, inner, nil, ""},
		{"HTTP2Preferred", "HTTP2Preferred", TCP, nil, []string{"http/1.1", "h2"}, "h2"},
		{"HTTP2Optional", "HTTP2Optional", TCP, nil, []string{"h2", "http/1.1"}, "http/1.1"},
		{"HTTP1Only", "HTTP1Only", TCP, nil, []string{"h2", "http/1.1"}, "http/1.1"},
		{"nothing in common", "HTTP2Only", TCP, nil, []string{"gopher"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tcpGroup("g", lineServer(t, "a", c.config))
			g.Protocol = c.protocol
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 443, Protocol: TLS, ALPN: c.alpn, Certificates: []tls.Certificate{cert}, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}})
			conn, err := tls.Dial("tcp", l.at(443), &tls.Config{ServerName: "a.example.com", RootCAs: ca.pool(), NextProtos: c.offers})
			if err != nil {
				t.Fatal(err)
			}
			if got := conn.ConnectionState().NegotiatedProtocol; got != c.want {
				t.Errorf("ALPN is %q, want %q", got, c.want)
			}
			if s := newStream(t, conn); !strings.HasPrefix(s.greeting, "a ") || !s.echoes("hello") {
				t.Errorf("greeting %q", s.greeting)
			}
		})
	}
}

// TestSourceStickiness sends a client to one target while that one is there.
func TestSourceStickiness(t *testing.T) {
	g := tcpGroup("g", lineServer(t, "a", nil), lineServer(t, "b", nil), lineServer(t, "c", nil))
	g.Attributes = map[string]string{"stickiness.enabled": "true", "stickiness.type": "source_ip"}
	balancer := nlbOf(Listener{Port: 7, Protocol: TCP, Default: forwardTo("g")})
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{balancer}, TargetGroups: []TargetGroup{g}})
	seen := map[string]bool{}
	for client := range 12 {
		from := fmt.Sprint("127.0.0.", client+2)
		first := l.stream(7, from).greeting
		seen[first] = true
		for range 3 {
			if again := l.stream(7, from).greeting; again != first {
				t.Errorf("%s got %q and then %q", from, first, again)
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("twelve clients all got %v", seen)
	}
}

// TestFamilies are the rules of a dualstack network load balancer.
func TestFamilies(t *testing.T) {
	listener := Listener{Port: 7, Protocol: TCP, Default: forwardTo("b"), Rules: []Rule{{Name: "four", Priority: 1,
		Conditions: []Condition{{Field: SourceIP, IPAddressType: "ipv4"}}, Actions: forwardTo("a")}}}
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{nlbOf(listener)}, TargetGroups: []TargetGroup{tcpGroup("a", lineServer(t, "a", nil)), tcpGroup("b", lineServer(t, "b", nil))}})
	s := l.stream(7, "127.0.0.1")
	s.Close()
	if !strings.HasPrefix(s.greeting, "a ") {
		t.Errorf("an IPv4 client got %q, want a", s.greeting)
	}
	l.entry(func(e Entry) bool { return e.Rule == "four" })
	c := Config{LoadBalancers: []LoadBalancer{nlbOf(listener)}}
	if got := must(Explain(c, "nlb", "listener-7", Request{Source: netip.MustParseAddr("2001:db8::1")})); got.Rule != defaultRule {
		t.Errorf("an IPv6 client's rule is %s: %v", got.Rule, got.Why)
	}
}
