package nodeport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// idle is how long a flow of UDP is remembered.
const idle = 30 * time.Second

// route is where a port leads; for a health check port, what it answers.
type route struct {
	service         string
	targets         []netip.AddrPort
	sticky          time.Duration
	namespace, name string
	local           int
}

// door is a port that listens.
type door struct {
	route  atomic.Pointer[route]
	closer io.Closer
	wait   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
	clung  map[netip.Addr]clung
}

// clung is the target that a client stays with.
type clung struct {
	target netip.AddrPort
	until  time.Time
}

func open(at place, r route) (*door, error) {
	d := &door{conns: map[net.Conn]bool{}, clung: map[netip.Addr]clung{}}
	d.route.Store(&r)
	var err error
	switch at.protocol {
	case corev1.ProtocolTCP:
		err = d.tcp(at.at)
	case corev1.ProtocolUDP:
		err = d.udp(at.at)
	case healthCheck:
		err = d.health(at.at)
	default:
		err = fmt.Errorf("protocol %s is not served", at.protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s of %s%s: %w", at.protocol, at.at, r.service, r.name, err)
	}
	return d, nil
}

// close ends the port and everything that came through it.
func (d *door) close() {
	_ = d.closer.Close() // a listener, which has nothing to lose
	d.mu.Lock()
	d.closed = true
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	d.wait.Wait()
}

// hold keeps a connection to be closed with the door; false if that is so by now.
func (d *door) hold(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		c.Close()
		return false
	}
	d.conns[c] = true
	return true
}

func (d *door) drop(c net.Conn) {
	c.Close()
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
}

// pick chooses a target for a client.
func (d *door) pick(client netip.Addr) (netip.AddrPort, bool) {
	r := d.route.Load()
	if len(r.targets) == 0 {
		return netip.AddrPort{}, false
	}
	target := r.targets[rand.IntN(len(r.targets))]
	if r.sticky == 0 {
		return target, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.clung[client]; ok && time.Now().Before(c.until) && slices.Contains(r.targets, c.target) {
		target = c.target
	}
	d.clung[client] = clung{target, time.Now().Add(r.sticky)}
	return target, true
}

func (d *door) tcp(at netip.AddrPort) error {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	d.closer = l
	d.wait.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return // closed
			}
			d.wait.Go(func() { d.carry(c) })
		}
	})
	return nil
}

// carry connects a client with a target. Without one the client is reset.
func (d *door) carry(client *net.TCPConn) {
	if !d.hold(client) {
		return
	}
	defer d.drop(client)
	refuse := func() { _ = client.SetLinger(0) } // closing then resets; a lost client needs no reset
	target, ok := d.pick(client.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap())
	if !ok {
		refuse()
		return
	}
	c, err := net.DialTimeout("tcp", target.String(), 5*time.Second)
	if err != nil {
		refuse()
		return
	}
	if !d.hold(c) {
		return
	}
	defer d.drop(c)
	back := make(chan struct{})
	go func() {
		defer close(back)
		pump(client, c.(*net.TCPConn))
	}()
	pump(c.(*net.TCPConn), client)
	<-back
}

// pump copies one direction and passes its end on.
func pump(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.SetLinger(0) // a connection that broke is broken for both
		_, _ = to.Close(), from.Close()
		return
	}
	_ = to.CloseWrite() // the other side may have gone
}

func (d *door) udp(at netip.AddrPort) error {
	l, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	d.closer = l
	d.wait.Go(func() {
		flows := map[netip.AddrPort]net.Conn{}
		buf := make([]byte, 64<<10)
		for {
			n, from, err := l.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			} else if err != nil {
				continue // an earlier answer was not wanted
			}
			c := flows[from]
			if c == nil || !d.holds(c) {
				if c = d.flow(l, from); c == nil {
					continue
				}
				flows[from] = c
			}
			_ = c.SetReadDeadline(time.Now().Add(idle))
			_, _ = c.Write(buf[:n]) // datagrams may be lost
		}
	})
	return nil
}

func (d *door) holds(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conns[c]
}

// flow is a socket for one client, whose answers go back to it.
func (d *door) flow(l *net.UDPConn, client netip.AddrPort) net.Conn {
	target, ok := d.pick(client.Addr().Unmap())
	if !ok {
		return nil
	}
	c, err := net.Dial("udp", target.String())
	if err != nil || !d.hold(c) {
		return nil
	}
	_ = c.SetReadDeadline(time.Now().Add(idle))
	d.wait.Go(func() {
		defer d.drop(c)
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return // idle, refused or closed
			}
			_, _ = l.WriteToUDPAddrPort(buf[:n], client) // datagrams may be lost
		}
	})
	return c
}

// health answers as kube-proxy does on a health check node port.
func (d *door) health(at netip.AddrPort) error {
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return err
	}
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r := d.route.Load()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Load-Balancing-Endpoint-Weight", fmt.Sprint(r.local))
		if r.local == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{ // the prober may have gone
			"service":             map[string]string{"namespace": r.namespace, "name": r.name},
			"localEndpoints":      r.local,
			"serviceProxyHealthy": true,
		})
	})}
	d.closer = s
	d.wait.Go(func() { _ = s.Serve(l) }) // until it is closed
	return nil
}
