package dataplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"gatehouse.dev/lbmodel"
)

// DataPlane serves gateways. Its methods are safe for concurrent use.
type DataPlane struct {
	config   Config
	tallies  *tallies
	links    *links
	access   *accessLog
	troubles *troubles
	mirrors  chan struct{} // one token a copy under way
	sticks   sticks
	cuts     cuts

	mu      sync.Mutex // held by Program and Shutdown
	sockets map[socketKey]socket
	known   knowledge
	closed  bool
	drains  sync.WaitGroup
	ending  context.Context //nolint:containedctx // the contexts of a plane's own life, not of a call; over when drains must be
	end     context.CancelFunc
}

// New makes a data plane that serves nothing yet.
func New(c Config) *DataPlane {
	d := &DataPlane{config: c.withDefaults(), tallies: newTallies(), sockets: map[socketKey]socket{}, sticks: sticks{last: map[stickKey]stick{}}}
	d.ending, d.end = context.WithCancel(context.Background())
	d.links = newLinks(d)
	d.troubles = newTroubles(&d.config)
	d.access = newAccessLog(d.config.AccessLog, d.tallies)
	d.mirrors = make(chan struct{}, d.config.Limits.Mirrors)
	return d
}

// ErrClosed is returned by Program after Shutdown.
var ErrClosed = errors.New("the data plane was shut down")

// Program makes the data plane serve exactly these gateways. Sockets that are
// still needed stay bound and change what they do from one request to the next;
// what is under way finishes as it began. A gateway that equals what was programmed
// last is not compiled again, so gateways must not be changed by the
// caller afterwards.
//
// The error joins what could not be served, each an *lbmodel.Error naming the
// gateway: a port that is taken (Conflict) or denied (Denied), a certificate that
// is not here or a pool that cannot be secured (Invalid). Everything else is
// served.
func (d *DataPlane) Program(ctx context.Context, gateways []Gateway) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	var broken errorList
	want := map[socketKey]*port{}
	live := map[lbmodel.Owner]bool{}
	next := knowledge{}
	for _, in := range gateways {
		g, err := d.compiled(in, next)
		broken.add(problem(lbmodel.CodeInvalid, g.owner, err))
		broken.add(claim(want, g, in.Addresses))
		live[g.owner] = true
	}
	d.known = next
	d.close(want)
	broken.add(d.open(ctx, want))
	d.links.sweep()
	d.tallies.keep(live)
	return broken.join()
}

// claim gives each socket to the first gateway that asks for it.
func claim(want map[socketKey]*port, g *gateway, addresses []netip.Addr) error {
	var broken errorList
	for key, p := range g.wants(addresses) {
		if other, taken := want[key]; taken {
			broken.add(problem(lbmodel.CodeConflict, g.owner, fmt.Errorf("%s is used by %s", key.addr, other.gateway.owner)))
			continue
		}
		want[key] = p
	}
	return broken.join()
}

func problem(code lbmodel.Code, owner lbmodel.Owner, err error) error {
	if err == nil {
		return nil
	}
	return lbmodel.Errorf(code, "program", lbmodel.ID{Kind: "gateway", Name: owner.String()}, "%w", err)
}

// close halts the sockets that are no longer wanted, so that their ports can be
// had again at once, and drains them in the background.
func (d *DataPlane) close(want map[socketKey]*port) {
	for key, s := range d.sockets {
		if _, kept := want[key]; kept {
			continue
		}
		delete(d.sockets, key)
		s.halt()
		d.drains.Go(func() {
			ctx, cancel := context.WithTimeout(d.ending, d.config.DrainTimeout)
			defer cancel()
			s.drain(ctx)
		})
	}
}

// open swaps the ports of the sockets that stay and binds the others, in order,
// so that the same one fails every time.
func (d *DataPlane) open(ctx context.Context, want map[socketKey]*port) error {
	var broken errorList
	keys := slices.SortedFunc(maps.Keys(want), func(a, b socketKey) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(fmt.Sprint(a.udp), fmt.Sprint(b.udp)))
	})
	for _, key := range keys {
		p := want[key]
		if s, ok := d.sockets[key]; ok {
			s.program(p)
			continue
		}
		s, err := d.bind(ctx, key, p)
		if err != nil {
			broken.add(problem(bindCode(err), p.gateway.owner, err))
			continue
		}
		d.sockets[key] = s
	}
	return broken.join()
}

func bindCode(err error) lbmodel.Code {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return lbmodel.CodeConflict
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return lbmodel.CodeDenied
	default:
		return lbmodel.CodeInvalid
	}
}

// bind opens a socket on the port that Ports allows.
func (d *DataPlane) bind(ctx context.Context, key socketKey, p *port) (socket, error) {
	free := socketKey{addr: netip.AddrPortFrom(key.addr.Addr(), 0), udp: key.udp}
	if d.config.Ports == PortsFree {
		return d.bindAt(ctx, free, p)
	}
	s, err := d.bindAt(ctx, key, p)
	if err != nil && d.config.Ports == PortsFreeIfDenied && bindCode(err) == lbmodel.CodeDenied {
		d.config.Log.Info("the port is denied, another is used", slog.Any("asked", key.addr))
		return d.bindAt(ctx, free, p)
	}
	return s, err
}

func (d *DataPlane) bindAt(ctx context.Context, key socketKey, p *port) (socket, error) {
	var config net.ListenConfig
	if key.udp {
		conn, err := config.ListenPacket(ctx, "udp", key.addr.String())
		if err != nil {
			return nil, err
		}
		return d.newUDPSocket(conn.(*net.UDPConn), p), nil
	}
	l, err := config.Listen(ctx, "tcp", key.addr.String())
	if err != nil {
		return nil, err
	}
	return d.newTCPSocket(l.(*net.TCPListener), p), nil
}

// Bound is where the gateways are served, ordered by address.
func (d *DataPlane) Bound() []Bound {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Bound
	for _, s := range d.sockets {
		out = append(out, s.bound())
	}
	slices.SortFunc(out, func(a, b Bound) int { return a.Addr.Compare(b.Addr) })
	return out
}

// Shutdown stops taking traffic at once and returns when what was under way is
// over, or when DrainTimeout or ctx ends it. The error is a *[CutError] when
// something had to be ended. It is an error to Program afterwards.
func (d *DataPlane) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.cuts.begin()
	ctx, cancel := context.WithTimeout(ctx, d.config.DrainTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, d.end)
	defer stop()
	for key, s := range d.sockets {
		delete(d.sockets, key)
		s.halt()
		d.drains.Go(func() { s.drain(ctx) })
	}
	d.drains.Wait()
	d.links.close()
	d.access.close()
	return d.cuts.err()
}
