package dataplane

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// slowResolver finds loopback, but only when it is let.
type slowResolver struct {
	asked chan struct{} // gets one token a question
	let   chan struct{} // closed when it may answer
}

func (r *slowResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	r.asked <- struct{}{}
	select {
	case <-r.let:
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// namedUDP sends half of the clients to an endpoint by address, half to one by name.
func namedUDP(t *testing.T) Gateway {
	t.Helper()
	near := poolOf("near", lbmodel.PoolUDP, udpEcho(t, "near"))
	far := lbmodel.Pool{Name: "far", Protocol: lbmodel.PoolUDP,
		Endpoints: []lbmodel.Endpoint{{FQDN: "far.test", Port: endpoint(udpEcho(t, "far")).Port, Ready: true}}}
	return gatewayOf("edge", []lbmodel.Listener{forwarding(53, lbmodel.ProtocolUDP, to("near"), to("far"))}, near, far)
}

// TestUDPWaitsForNobody: a client whose endpoint's name is being looked up keeps no
// other client waiting, and its first datagrams are sent when the answer is there.
func TestUDPWaitsForNobody(t *testing.T) {
	r := &slowResolver{asked: make(chan struct{}, 100), let: make(chan struct{})}
	p := newPlane(t, Config{Resolver: r}, namedUDP(t))
	var waiting []net.Conn
	answered := 0
	for range 12 {
		conn := must(net.Dial("udp", p.at(53)))
		defer conn.Close()
		must(conn.Write([]byte("x")))
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		buffer := make([]byte, 100)
		if n, err := conn.Read(buffer); err != nil {
			waiting = append(waiting, conn)
		} else if string(buffer[:n]) == "near x" {
			answered++
		}
	}
	if answered < 3 || len(waiting) < 3 || answered+len(waiting) != 12 {
		t.Fatalf("%d clients were answered and %d wait, want about half of 12 each", answered, len(waiting))
	}
	close(r.let)
	for _, conn := range waiting {
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		buffer := make([]byte, 100)
		if n, err := conn.Read(buffer); err != nil || string(buffer[:n]) != "far x" {
			t.Errorf("a client that waited got %q, %v", buffer[:n], err)
		}
	}
}

// TestUDPEndsWhileItLooks: a look-up that does not end does not keep a shutdown
// waiting until its own time is over, and leaves nothing behind (goleak).
func TestUDPEndsWhileItLooks(t *testing.T) {
	r := &slowResolver{asked: make(chan struct{}, 100), let: make(chan struct{})}
	p := newPlane(t, Config{Resolver: r, Limits: Limits{ConnectTime: time.Hour}}, namedUDP(t))
	for range 4 { // of two, both may be near ones
		conn := must(net.Dial("udp", p.at(53)))
		defer conn.Close()
		must(conn.Write([]byte("x")))
	}
	<-r.asked
	began := time.Now()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the shutdown took %s", took)
	}
}
