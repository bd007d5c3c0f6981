package dataplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"gatehouse.dev/lbmodel"
)

// PoolRef names a pool of a gateway.
type PoolRef struct {
	Owner lbmodel.Owner
	Pool  string
}

// pool is a compiled lbmodel.Pool: the links to the endpoints that take new
// traffic now. It lives as long as its configuration, its links longer.
type pool struct {
	ref         PoolRef
	protocol    lbmodel.PoolProtocol
	links       []*link
	families    map[lbmodel.IPFamily][]*link // only of a pool with endpoints of both
	turn        atomic.Uint32
	broken      error // the pool must not be used: what its TLS asks for cannot be had
	persistence *lbmodel.Persistence
	plane       *DataPlane
}

// errForbidden is an endpoint that no gateway may send to.
var errForbidden = errors.New("the endpoint is forbidden")

// errNoEndpoint is the absence of anybody to send to: 503.
var errNoEndpoint = errors.New("no endpoint is ready")

// compilePool keeps the links that exist already. A pool whose TLS cannot be set
// up has none: it fails closed.
func (g *gateway) compilePool(model lbmodel.Pool) (*pool, error) {
	p := &pool{ref: PoolRef{g.owner, model.Name}, protocol: model.Protocol, plane: g.plane, persistence: model.Persistence}
	var secure *backendTLS
	if model.TLS != nil {
		secure, p.broken = g.compileBackendTLS(model)
		if p.broken != nil {
			return p, fmt.Errorf("pool %s: %w", model.Name, p.broken)
		}
	}
	var refused errorList
	for _, e := range usable(model.Endpoints) {
		l, err := g.link(model, e, secure)
		refused.add(err)
		if l != nil {
			p.links = append(p.links, l)
		}
	}
	p.families = byFamily(p.links)
	return p, refused.join()
}

// byFamily sorts links by the family of their address when there are both.
// Endpoints by name are of either.
func byFamily(links []*link) map[lbmodel.IPFamily][]*link {
	out := map[lbmodel.IPFamily][]*link{}
	for _, l := range links {
		for _, family := range []lbmodel.IPFamily{lbmodel.IPv4, lbmodel.IPv6} {
			if a := l.dial.address; !a.IsValid() || lbmodel.FamilyOf(a) == family {
				out[family] = append(out[family], l)
			}
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// near are the links of the family that a client came by, if there are any.
func (p *pool) near(client netip.Addr) []*link {
	if p.families == nil || !client.IsValid() {
		return p.links
	}
	return p.families[lbmodel.FamilyOf(client)]
}

// usable are the endpoints that take new traffic: the ready ones, or, when there
// is none, those that still serve while they terminate (EndpointSlice
// conditions).
func usable(all []lbmodel.Endpoint) []lbmodel.Endpoint {
	var ready, leaving []lbmodel.Endpoint
	for _, e := range all {
		switch {
		case e.Usable():
			ready = append(ready, e)
		case e.Serving && e.Terminating:
			leaving = append(leaving, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return leaving
}

// link is the existing link for the endpoint or a new one.
func (g *gateway) link(model lbmodel.Pool, e lbmodel.Endpoint, secure *backendTLS) (*link, error) {
	d := &dialer{backend: cmp.Or(model.Group, model.Name), endpoint: e, protocol: model.Protocol, tls: secure, resolver: g.plane.config.Resolver,
		limits: &g.plane.config.Limits, loopback: g.loopback}
	if err := d.aim(); err != nil {
		g.plane.tallies.fail(FailedForbidden)
		return nil, fmt.Errorf("pool %s: an endpoint is left out: %w", model.Name, err)
	}
	key := linkKey{owner: g.owner, pool: model.Name, target: d.target(), protocol: model.Protocol, loopback: g.loopback}
	if secure != nil {
		key.tls = secure.digest
	}
	return g.plane.links.use(key, d, model.Health), nil
}

// pick takes the endpoints in turn, and of two neighbours the one with less
// under way. Endpoints that fail, and those that have still to pass their first
// check, are left out while there are others, and those already tried for a
// request always.
func (p *pool) pick(client netip.Addr, tried []*link) *link {
	links := p.near(client)
	if len(links) == 0 {
		return nil
	}
	turn := int(p.turn.Add(1)-1) % len(links)
	for _, eligible := range []func(*link) bool{(*link).proven, (*link).available, anyLink} {
		if l := scan(links, turn, tried, eligible); l != nil {
			return l
		}
	}
	return nil
}

func anyLink(*link) bool { return true }

// scan finds the first eligible link from turn on, and compares it with its
// neighbour.
func scan(links []*link, turn int, tried []*link, eligible func(*link) bool) *link {
	var first *link
	for i := range links {
		l := links[(turn+i)%len(links)]
		if slices.Contains(tried, l) || !eligible(l) {
			continue
		}
		if first == nil {
			first = l
			continue
		}
		if l.load.Load() < first.load.Load() {
			return l
		}
		return first
	}
	return first
}

// sourceSeed makes the choice by client address stable while the process lives.
var sourceSeed = maphash.MakeSeed()

// bySource is the same link for the same client, whatever else changes: the one
// that the client had within the persistence's time, or else the one that its
// address leads to (rendezvous hashing).
func (p *pool) bySource(client netip.Addr, tried []*link) *link {
	links := p.near(client)
	key := stickKey{p.ref, client}
	idle := p.stickTime()
	if token, ok := p.plane.sticks.get(key, idle); ok {
		for _, l := range links {
			if l.token == token && l.available() && !slices.Contains(tried, l) {
				return l
			}
		}
	}
	best := closest(links, client, tried, (*link).proven)
	if best == nil {
		best = closest(links, client, tried, (*link).available)
	}
	if best == nil {
		return p.pick(client, tried)
	}
	if idle > 0 {
		p.plane.sticks.put(key, best.token, idle)
	}
	return best
}

// stickTime is how long a client that is silent keeps its endpoint; 0 is no time.
func (p *pool) stickTime() time.Duration {
	if p.persistence == nil || p.persistence.Kind != lbmodel.PersistSource {
		return 0
	}
	return time.Duration(p.persistence.IdleTimeout)
}

func closest(links []*link, client netip.Addr, tried []*link, eligible func(*link) bool) *link {
	var best *link
	var most uint64
	for _, l := range links {
		if slices.Contains(tried, l) || !eligible(l) {
			continue
		}
		score := maphash.Comparable(sourceSeed, [2]string{l.token, client.String()})
		if best == nil || score > most {
			best, most = l, score
		}
	}
	return best
}

// dial connects a stream to an endpoint of the pool, trying several. The caller
// ends the link's use.
func (p *pool) dial(ctx context.Context, client netip.Addr) (net.Conn, *link, error) {
	if p.broken != nil {
		return nil, nil, p.broken
	}
	var tried []*link
	failed := errNoEndpoint
	for range p.plane.config.Limits.ConnectAttempts {
		l := p.choose(client, tried)
		if l == nil {
			break
		}
		conn, err := p.dialLink(ctx, l)
		if err == nil {
			return conn, l, nil
		}
		failed, tried = err, append(tried, l)
	}
	return nil, nil, failed
}

func (p *pool) choose(client netip.Addr, tried []*link) *link {
	if p.persistence != nil && p.persistence.Kind == lbmodel.PersistSource {
		return p.bySource(client, tried)
	}
	return p.pick(client, tried)
}

func (p *pool) dialLink(ctx context.Context, l *link) (net.Conn, error) {
	l.begin()
	conn, err := l.dial.stream(ctx)
	if err == nil {
		l.worked()
		p.plane.relent(l)
		return conn, nil
	}
	l.end()
	if ctx.Err() == nil {
		l.failed()
		p.plane.tallies.fail(FailedConnect)
		p.plane.config.Log.Debug("endpoint did not accept", slog.String("pool", p.ref.Pool), slog.Any("error", err))
		p.plane.complain(l, err)
	}
	return nil, err
}
