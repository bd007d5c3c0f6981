package serve

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// datagramServer answers each datagram with its name, the datagram and from whom.
func datagramServer(t *testing.T, name string) Target {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		buffer := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			conn.WriteToUDPAddrPort(fmt.Appendf(nil, "%s %s %s", name, buffer[:n], from.Addr()), from)
		}
	}()
	return Target{ID: name, Address: netip.MustParseAddrPort(conn.LocalAddr().String()), State: StateHealthy}
}

func (l *lab) udpAt(port int32) netip.AddrPort {
	l.t.Helper()
	for _, b := range l.Bound() {
		if b.Port == port && b.UDP {
			return b.Addr
		}
	}
	l.t.Fatalf("no UDP at %d", port)
	return netip.AddrPort{}
}

func udpClient(t *testing.T, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)}, net.UDPAddrFromAddrPort(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func ask(t *testing.T, conn *net.UDPConn, word string, wait time.Duration) string {
	t.Helper()
	buffer := make([]byte, 2048)
	conn.SetDeadline(time.Now().Add(wait))
	if _, err := conn.Write([]byte(word)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}

// TestDatagrams: a flow keeps its target, whose answers come from the listener's
// port; the client's address is always preserved.
func TestDatagrams(t *testing.T) {
	g := groupOf("g", datagramServer(t, "a"), datagramServer(t, "b"))
	g.Protocol = UDP
	c := Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 53, Protocol: UDP, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}}
	l := newLab(t, Options{}, c)
	client := udpClient(t, l.udpAt(53))
	first := ask(t, client, "x", 5*time.Second)
	name, rest, _ := strings.Cut(first, " ")
	if rest != "x 127.0.0.9" {
		t.Fatalf("the answer is %q", first)
	}
	for range 4 {
		if got := ask(t, client, "y", 5*time.Second); got != name+" y 127.0.0.9" {
			t.Errorf("%q, want the same target", got)
		}
	}
	seen := map[string]bool{}
	for range 8 {
		got, _, _ := strings.Cut(ask(t, udpClient(t, l.udpAt(53)), "z", 5*time.Second), " ")
		seen[got] = true
	}
	if len(seen) != 2 {
		t.Errorf("eight clients got %v, want both targets", seen)
	}
	other := g.Targets[0]
	if other.ID == name {
		other = g.Targets[1]
	}
	left := g
	left.Targets = []Target{other}
	c.TargetGroups = []TargetGroup{left}
	l.apply(c)
	if got, _, _ := strings.Cut(ask(t, client, "x", 5*time.Second), " "); got != other.ID {
		t.Errorf("after its target went the flow is at %q, want %q", got, other.ID)
	}
}

// TestBothTransports: TCP_UDP is one port number.
func TestBothTransports(t *testing.T) {
	g := groupOf("g", datagramServer(t, "a"))
	g.Protocol = TCPUDP
	c := Config{LoadBalancers: []LoadBalancer{nlbOf(Listener{Port: 53, Protocol: TCPUDP, Default: forwardTo("g")})}, TargetGroups: []TargetGroup{g}}
	l := newLab(t, Options{}, c)
	if tcp, udp := l.at(53), l.udpAt(53); tcp != udp.String() {
		t.Errorf("TCP at %s, UDP at %s", tcp, udp)
	}
	if got := ask(t, udpClient(t, l.udpAt(53)), "x", 5*time.Second); got != "a x 127.0.0.9" {
		t.Errorf("%q", got)
	}
	before := l.udpAt(53)
	l.apply(c)
	if l.udpAt(53) != before {
		t.Error("the same Config moved the socket")
	}
}
