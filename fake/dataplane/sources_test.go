package dataplane

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// from is a dialer whose connections come from an address of this machine.
func from(address string) net.Dialer {
	return net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 5 * time.Second}
}

// inside and outside are two clients of the tests' ranges.
const (
	inside  = "127.0.0.7"
	outside = "127.0.0.8"
)

func limited(l lbmodel.Listener, ranges ...string) lbmodel.Listener {
	l.SourceRanges = ranges
	return l
}

// TestSourceRangesOfStreams closes the connections of clients outside, of TCP and
// of TLS by the listener that the name leads to, and counts them.
func TestSourceRangesOfStreams(t *testing.T) {
	ca := newAuthority(t, "ca")
	secure := lbmodel.Listener{Name: "tls", Port: 443, Protocol: lbmodel.ProtocolTLS, Hostname: "a.test",
		TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"crt"}},
		SNI: []lbmodel.SNIRule{{Forward: lbmodel.Forward{Backends: []lbmodel.Backend{to("a")}}}}}
	open := secure
	open.Name, open.Hostname = "open", "b.test"
	gw := gatewayOf("edge", []lbmodel.Listener{
		limited(forwarding(9000, lbmodel.ProtocolTCP, to("a")), "10.0.0.0/8", inside+"/32"), limited(secure, inside+"/32"), open,
	}, poolOf("a", lbmodel.PoolTCP, tcpEcho(t, "a")))
	gw.Model.Identities = []lbmodel.Identity{{Name: "crt"}}
	gw.Keys["crt"] = ca.issue("a.test", "b.test")
	p := newPlane(t, Config{}, gw)
	dial := func(source string, port int32, name string) net.Conn {
		d := from(source)
		conn := must(d.Dial("tcp", p.at(port)))
		t.Cleanup(func() { conn.Close() })
		if name == "" {
			return conn
		}
		return tls.Client(conn, &tls.Config{ServerName: name, RootCAs: ca.pool()})
	}
	for _, c := range []struct {
		name, source string
		port         int32
		server       string
		served       bool
	}{
		{"TCP inside", inside, 9000, "", true},
		{"TCP outside", outside, 9000, "", false},
		{"TLS inside", inside, 443, "a.test", true},
		{"TLS outside", outside, 443, "a.test", false},
		{"TLS outside, another listener of the port", outside, 443, "b.test", true},
	} {
		conn := dial(c.source, c.port, c.server)
		if c.served {
			if got := exchangeLine(t, conn, "x"); got != "a x" {
				t.Errorf("%s: got %q", c.name, got)
			}
			continue
		}
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		conn.Write([]byte("x\n"))
		if n, err := conn.Read(make([]byte, 16)); err == nil || isTimeout(err) {
			t.Errorf("%s: read %d bytes and %v, want the connection closed", c.name, n, err)
		}
	}
	if n := p.Counters().Failures[FailedSource]; n != 2 {
		t.Errorf("%d clients were counted as outside, want 2", n)
	}
}

// TestSourceRangesOfRequests answers 403 to clients outside of the listener that
// the host leads to, also on a connection from before the ranges.
func TestSourceRangesOfRequests(t *testing.T) {
	named := httpListener(80, prefixRule("/", to("a")))
	named.Name, named.Hostname = "named", "a.test"
	anyone := httpListener(80, prefixRule("/", to("a")))
	pool := poolOf("a", lbmodel.PoolHTTP1, echo(t, "a").addr())
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{named, anyone}, pool))
	client := p.client(80, nil)
	ask := func(host string, want int) {
		t.Helper()
		if res, _ := answerOf(t, client, get(t, "http://"+host+"/")); res.StatusCode != want {
			t.Errorf("%s answers %d, want %d", host, res.StatusCode, want)
		}
	}
	ask("a.test", 200)
	p.program(gatewayOf("edge", []lbmodel.Listener{limited(named, "10.0.0.0/8"), anyone}, pool))
	ask("a.test", 403)
	ask("b.test", 200)
	p.program(gatewayOf("edge", []lbmodel.Listener{limited(named, "127.0.0.0/8"), anyone}, pool))
	ask("a.test", 200)
}

// TestSourceRangesOfDatagrams drops what comes from outside, and from a client
// that was inside until now.
func TestSourceRangesOfDatagrams(t *testing.T) {
	l, pool := forwarding(53, lbmodel.ProtocolUDP, to("a")), poolOf("a", lbmodel.PoolUDP, udpEcho(t, "a"))
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{limited(l, inside+"/32")}, pool))
	dial := func(source string) net.Conn {
		d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(source)}}
		conn := must(d.Dial("udp", p.at(53)))
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	client := dial(inside)
	if got := datagram(t, client, "x"); got != "a x" {
		t.Errorf("inside: %q", got)
	}
	dial(outside).Write([]byte("x"))
	eventually(t, "the datagram from outside is dropped", func() bool { return p.Counters().Failures[FailedSource] == 1 })
	p.program(gatewayOf("edge", []lbmodel.Listener{limited(l, outside+"/32")}, pool))
	client.Write([]byte("y"))
	eventually(t, "the flow is dropped too", func() bool { return p.Counters().Failures[FailedSource] == 2 })
}

// TestUnreadableSourceRangesServeNobody: failing open would be the worst mistake of
// a filter.
func TestUnreadableSourceRangesServeNobody(t *testing.T) {
	p := &plane{New(Config{Ports: PortsFree}), t}
	t.Cleanup(func() { p.Shutdown(t.Context()) })
	l := limited(forwarding(9000, lbmodel.ProtocolTCP, to("a")), "127.0.0.1")
	if err := p.Program(t.Context(), []Gateway{gatewayOf("edge", []lbmodel.Listener{l}, poolOf("a", lbmodel.PoolTCP, tcpEcho(t, "a")))}); err == nil {
		t.Error("Program says nothing of ranges that it cannot read")
	}
	conn := must(net.Dial("tcp", p.at(9000)))
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("read: %v, want the connection closed", err)
	}
}

// TestPersistBySource keeps a client address on its endpoint through other ports
// of the client, and when endpoints come, until it was silent for the time given.
func TestPersistBySource(t *testing.T) {
	for _, protocol := range []lbmodel.Protocol{lbmodel.ProtocolTCP, lbmodel.ProtocolUDP} {
		echo, network := tcpEcho, "tcp"
		if protocol == lbmodel.ProtocolUDP {
			echo, network = udpEcho, "udp"
		}
		addresses := []string{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			addresses = append(addresses, echo(t, name))
		}
		model := func(n int, idle time.Duration) Gateway {
			pool := poolOf("p", lbmodel.PoolProtocol(protocol), addresses[:n]...)
			pool.Persistence = &lbmodel.Persistence{Kind: lbmodel.PersistSource, IdleTimeout: lbmodel.Duration(idle)}
			return gatewayOf("edge", []lbmodel.Listener{forwarding(9000, protocol, to("p"))}, pool)
		}
		p := newPlane(t, Config{}, model(2, time.Hour))
		ask := func() string {
			conn := must(net.Dial(network, p.at(9000)))
			defer conn.Close()
			if network == "udp" {
				return datagram(t, conn, "x")
			}
			return exchangeLine(t, conn, "x")
		}
		first := ask()
		p.program(model(len(addresses), time.Hour))
		for range 8 {
			if got := ask(); got != first {
				t.Errorf("%s: a client of %q was sent to %q", protocol, first, got)
			}
		}
	}
}

// TestSticksEnd forgets clients that were silent, and never holds more than its
// bound.
func TestSticksEnd(t *testing.T) {
	s := sticks{last: map[stickKey]stick{}}
	key := stickKey{client: netip.MustParseAddr(inside)}
	s.put(key, "a", time.Hour)
	if token, ok := s.get(key, time.Hour); !ok || token != "a" {
		t.Errorf("%q, %v; want a", token, ok)
	}
	s.put(key, "a", -time.Second)
	if _, ok := s.get(key, time.Hour); ok {
		t.Error("a client that was silent for too long is kept")
	}
	at := netip.MustParseAddr("10.0.0.0")
	for range maxSticks + 10 {
		at = at.Next()
		s.put(stickKey{client: at}, "a", time.Hour)
	}
	if len(s.last) > maxSticks {
		t.Errorf("%d clients are remembered, the bound is %d", len(s.last), maxSticks)
	}
}

// TestFamilies sends a client to endpoints of the family that it came by, and to
// others when there is none.
func TestFamilies(t *testing.T) {
	v6 := lineServer(t, "six", must(net.Listen("tcp", "[::1]:0")))
	v4 := tcpEcho(t, "four")
	for _, c := range []struct {
		name      string
		endpoints []string
		at        netip.Addr
		want      string
	}{
		{"IPv4 of both", []string{v4, v6}, local, "four x"},
		{"IPv6 of both", []string{v4, v6}, netip.IPv6Loopback(), "six x"},
		{"IPv6 with IPv4 alone", []string{v4}, netip.IPv6Loopback(), "four x"},
	} {
		gw := gatewayOf("edge", []lbmodel.Listener{forwarding(9000, lbmodel.ProtocolTCP, to("p"))}, poolOf("p", lbmodel.PoolTCP, c.endpoints...))
		gw.Addresses = []netip.Addr{c.at}
		p := newPlane(t, Config{}, gw)
		for range 4 {
			conn := must(net.Dial("tcp", p.at(9000)))
			if got := exchangeLine(t, conn, "x"); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			conn.Close()
		}
	}
}

// TestUnprovenEndpoints get no traffic while others have passed their check: of
// nodes, only those with an endpoint answer their health check.
func TestUnprovenEndpoints(t *testing.T) {
	good, idle := serveHealth(t, 200), serveHealth(t, 503)
	for _, protocol := range []lbmodel.Protocol{lbmodel.ProtocolTCP, lbmodel.ProtocolUDP} {
		echo := tcpEcho
		if protocol == lbmodel.ProtocolUDP {
			echo = udpEcho
		}
		pools := []lbmodel.Pool{}
		for name, port := range map[string]int32{"good": good, "idle": idle} {
			pool := poolOf(name, lbmodel.PoolProtocol(protocol), echo(t, name))
			pool.Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/healthz", Port: port, Interval: lbmodel.Duration(10 * time.Millisecond)}
			pools = append(pools, pool)
		}
		gw := gatewayOf("edge", nil, pools...)
		p := newPlane(t, Config{}, gw)
		for name, want := range map[string]lbmodel.Health{"good": lbmodel.HealthHealthy, "idle": lbmodel.HealthUnhealthy} {
			eventually(t, string(protocol)+" "+name+" becomes "+string(want), func() bool {
				for _, health := range p.Health()[PoolRef{gw.Model.Owner, name}] {
					return health == want
				}
				return false
			})
		}
	}
	proven, fresh, sick := &link{}, &link{}, &link{}
	healthy, unhealthy := lbmodel.HealthHealthy, lbmodel.HealthUnhealthy
	for l, health := range map[*link]*lbmodel.Health{proven: &healthy, fresh: nil, sick: &unhealthy} {
		v := new(verdict)
		v.last.Store(health)
		l.checked.Store(v)
	}
	for _, c := range []struct {
		name  string
		links []*link
		want  *link
	}{
		{"one has passed", []*link{sick, fresh, proven}, proven},
		{"none has passed", []*link{sick, fresh}, fresh},
		{"all have failed", []*link{sick}, sick},
	} {
		p := &pool{links: c.links}
		for range 6 {
			if got := p.pick(netip.Addr{}, nil); got != c.want {
				t.Errorf("%s: another was picked", c.name)
			}
		}
	}
}

// serveHealth answers every request with a status, and gives its port.
func serveHealth(t *testing.T, status int) int32 {
	t.Helper()
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	return endpoint(b.addr()).Port
}
