package dataplane

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
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// tcpEcho answers each line with its name in front.
func tcpEcho(t *testing.T, name string) string {
	t.Helper()
	return lineServer(t, name, must(net.Listen("tcp", "127.0.0.1:0")))
}

func tlsEcho(t *testing.T, cert tls.Certificate, name string) string {
	t.Helper()
	return lineServer(t, name, must(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})))
}

func lineServer(t *testing.T, name string, l net.Listener) string {
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintf(conn, "%s %s\n", name, lines.Text())
				}
				fmt.Fprintf(conn, "%s end\n", name) // reached by a half close
			})
		}
	})
	t.Cleanup(func() { l.Close(); conns.Wait() })
	return l.Addr().String()
}

// exchangeLine sends a line and reads the answer.
func exchangeLine(t *testing.T, conn net.Conn, line string) string {
	t.Helper()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintln(conn, line)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Errorf("answer to %q: %v", line, err)
	}
	return strings.TrimSpace(answer)
}

func forwarding(port int32, protocol lbmodel.Protocol, backends ...lbmodel.Backend) lbmodel.Listener {
	return lbmodel.Listener{Name: "l4", Port: port, Protocol: protocol, Forward: &lbmodel.Forward{Backends: backends}}
}

// TestTCPForward chooses by weight for each connection, tries another endpoint
// when one does not accept, and passes a half close on.
func TestTCPForward(t *testing.T) {
	a, b := tcpEcho(t, "a"), tcpEcho(t, "b")
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{forwarding(9000, lbmodel.ProtocolTCP,
		lbmodel.Backend{Pool: "a", Weight: 3}, lbmodel.Backend{Pool: "b", Weight: 1})},
		poolOf("a", lbmodel.PoolTCP, a, closedPort(t)), poolOf("b", lbmodel.PoolTCP, b)))
	got := map[string]int{}
	for range 40 {
		conn := must(net.Dial("tcp", p.at(9000)))
		got[exchangeLine(t, conn, "x")]++
		conn.Close()
	}
	if got["a x"]+got["b x"] != 40 || got["b x"] < 8 || got["b x"] > 12 {
		t.Errorf("40 connections went %v, want a quarter to b and none lost to the closed port", got)
	}
	conn := must(net.Dial("tcp", p.at(9000))).(*net.TCPConn)
	defer conn.Close()
	conn.CloseWrite()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if rest, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(rest), " end\n") {
		t.Errorf("after a half close: %q, %v; want the backend's last words", rest, err)
	}
}

// TestOpenStreamAtShutdown is closed when the time is over, and no loss: it has no
// end that could be waited for.
func TestOpenStreamAtShutdown(t *testing.T) {
	p := newPlane(t, Config{DrainTimeout: 100 * time.Millisecond}, gatewayOf("edge",
		[]lbmodel.Listener{forwarding(9000, lbmodel.ProtocolTCP, to("a"))}, poolOf("a", lbmodel.PoolTCP, tcpEcho(t, "a"))))
	conn := must(net.Dial("tcp", p.at(9000)))
	defer conn.Close()
	exchangeLine(t, conn, "x")
	var cut *CutError
	if err := p.Shutdown(t.Context()); !errors.As(err, &cut) || cut.Lost() != 0 || cut.Streams != 1 {
		t.Errorf("Shutdown: %v, want that one stream was closed", err)
	}
}

// TestTCPBackendTLS carries a TCP stream in the pool's TLS.
func TestTCPBackendTLS(t *testing.T) {
	ca := newAuthority(t, "ca")
	pool := poolOf("a", lbmodel.PoolTCP, tlsEcho(t, ca.issue("a.test"), "a"))
	pool.TLS = &lbmodel.BackendTLS{SNI: "a.test", Trust: "ca"}
	gw := gatewayOf("edge", []lbmodel.Listener{forwarding(9000, lbmodel.ProtocolTCP, to("a"))}, pool)
	gw.Model.Trust = []lbmodel.Trust{trustOf("ca", ca)}
	p := newPlane(t, Config{}, gw)
	conn := must(net.Dial("tcp", p.at(9000)))
	defer conn.Close()
	if got := exchangeLine(t, conn, "x"); got != "a x" {
		t.Errorf("got %q", got)
	}
}

// TestIdleStream ends a connection that is silent both ways, and only then.
func TestIdleStream(t *testing.T) {
	const idle = 300 * time.Millisecond
	p := newPlane(t, Config{Limits: Limits{StreamIdle: idle}}, gatewayOf("edge",
		[]lbmodel.Listener{forwarding(9000, lbmodel.ProtocolTCP, to("a"))}, poolOf("a", lbmodel.PoolTCP, tcpEcho(t, "a"))))
	conn := must(net.Dial("tcp", p.at(9000)))
	defer conn.Close()
	for range 4 {
		time.Sleep(idle / 2)
		if got := exchangeLine(t, conn, "x"); got != "a x" {
			t.Fatalf("got %q while the stream was in use", got)
		}
	}
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 16)); err == nil || isTimeout(err) {
		t.Errorf("after silence: %v, want the connection ended", err)
	}
}

// closedPort is an address where nobody listens.
func closedPort(t testing.TB) string {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

// udpEcho answers datagrams with its name in front.
func udpEcho(t *testing.T, name string) string {
	t.Helper()
	conn := must(net.ListenPacket("udp", "127.0.0.1:0"))
	var loop sync.WaitGroup
	loop.Go(func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			conn.WriteTo([]byte(name+" "+string(buffer[:n])), from)
		}
	})
	t.Cleanup(func() { conn.Close(); loop.Wait() })
	return conn.LocalAddr().String()
}

func datagram(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	conn.Write([]byte(text))
	buffer := make([]byte, 2048)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Errorf("answer to %q: %v", text, err)
	}
	return string(buffer[:n])
}

// TestUDPForward keeps a client's datagrams together, shares clients by weight,
// moves a flow whose endpoint left, and forgets quiet flows.
func TestUDPForward(t *testing.T) {
	listeners := []lbmodel.Listener{forwarding(53, lbmodel.ProtocolUDP, to("a"), to("b"))}
	a, b := poolOf("a", lbmodel.PoolUDP, udpEcho(t, "a")), poolOf("b", lbmodel.PoolUDP, udpEcho(t, "b"))
	p := newPlane(t, Config{Limits: Limits{FlowIdle: 200 * time.Millisecond}}, gatewayOf("edge", listeners, a, b))
	got := map[string]int{}
	var stuck net.Conn
	for range 20 {
		conn := must(net.Dial("udp", p.at(53)))
		defer conn.Close()
		first := datagram(t, conn, "x")
		if again := datagram(t, conn, "x"); again != first {
			t.Errorf("one client was answered by %q, then by %q", first, again)
		}
		got[first]++
		if first == "a x" {
			stuck = conn
		}
	}
	if got["a x"] < 8 || got["b x"] < 8 {
		t.Errorf("20 clients went %v, want about half each", got)
	}
	p.program(gatewayOf("edge", listeners, poolOf("a", lbmodel.PoolUDP), b))
	p.program(gatewayOf("edge", []lbmodel.Listener{forwarding(53, lbmodel.ProtocolUDP, to("b"))}, b))
	if moved := datagram(t, stuck, "y"); moved != "b y" {
		t.Errorf("after its endpoint left, a flow was answered by %q, want b", moved)
	}
	s := p.sockets[socketKey{addr: netip.AddrPortFrom(local, 53), udp: true}].(*udpSocket)
	eventually(t, "quiet flows are forgotten", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.open)+len(s.flows) == 0
	})
}

// eventually waits for something that other goroutines do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("not in time: %s", what)
}
