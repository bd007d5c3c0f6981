package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// Server serves a Config. Its methods are safe for concurrent use.
type Server struct {
	options Options
	origins origins

	mu         sync.Mutex // held by Apply and Close
	state      *state
	sockets    map[socketKey]socket
	links      map[linkKey]*link
	checks     map[*link]runningCheck
	known      map[*link]bool // links whose health is being followed
	turns      map[string]*atomic.Uint32
	closed     bool
	flows      flows
	albs       atomic.Pointer[map[albKey]netip.AddrPort] // where load balancers are, for those in front of them
	background sync.WaitGroup                            // checks and draining sockets
	life       context.Context                           //nolint:containedctx // a server's own life, not a call's
	end        context.CancelFunc
}

// state is a compiled Config.
type state struct {
	u       *Undocumented
	groups  map[string]*group
	ordered []*group // as in Config
	fronts  map[socketKey]*front
	links   map[linkKey]*link
}

// New makes a server that serves nothing yet.
func New(o Options) *Server {
	s := &Server{
		options: o.withDefaults(),
		state:   &state{u: Undocumented{}.withDefaults()},
		sockets: map[socketKey]socket{},
		links:   map[linkKey]*link{},
		checks:  map[*link]runningCheck{},
		known:   map[*link]bool{},
		turns:   map[string]*atomic.Uint32{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// ErrClosed is returned by Apply after Close.
var ErrClosed = errors.New("the server was closed")

// Apply makes the server serve exactly this. Sockets that are still meant stay
// bound, connections and requests under way go on as they began; the next request
// meets the new rules, also on an older connection.
//
// The error joins what could not be served: an address that is taken, a listener
// that needs a certificate and has none, a name that leads nowhere. Everything else
// is served.
func (s *Server) Apply(ctx context.Context, c Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	next, problems := s.compile(&c)
	s.close(next)
	problems = append(problems, s.open(ctx, next)...)
	s.publish()
	s.recheck(next)
	s.retire(next)
	s.state = next
	s.flows.review(next)
	return errors.Join(problems...)
}

// compile never changes what is served: it makes the next state beside it.
func (s *Server) compile(c *Config) (*state, []error) {
	next := &state{u: c.Undocumented.withDefaults(), groups: map[string]*group{}, fronts: map[socketKey]*front{}, links: map[linkKey]*link{}}
	var problems []error
	for _, g := range c.TargetGroups {
		compiled := s.newGroup(next, g)
		next.groups[g.Name] = compiled
		next.ordered = append(next.ordered, compiled)
	}
	for i := range c.LoadBalancers {
		b := &balancer{LoadBalancer: c.LoadBalancers[i], alb: newALBAttributes(c.LoadBalancers[i].Attributes)}
		b.guards = newGuards(b.SecurityGroups, c.SecurityGroups)
		for j := range b.Listeners {
			f, err := s.newFront(next, b, &b.Listeners[j], c.TrustStores)
			problems = append(problems, err...)
			for _, key := range f.keys() {
				if other, taken := next.fronts[key]; taken {
					problems = append(problems, fmt.Errorf("%s: port %d is %s's", f, key.port, other))
					continue
				}
				next.fronts[key] = f
			}
		}
	}
	return next, problems
}

func (s *Server) newGroup(next *state, g TargetGroup) *group {
	out := &group{TargetGroup: g, attributes: newGroupAttributes(&g)}
	out.network = g.Protocol != HTTP && g.Protocol != HTTPS
	if s.turns[g.Name] == nil {
		s.turns[g.Name] = new(atomic.Uint32)
		s.turns[g.Name].Store(rand.Uint32N(1 << 16)) // else every group begins with its first target
	}
	out.turn = s.turns[g.Name]
	for _, t := range g.Targets {
		key := linkKey{group: g.Name, target: t.ID, address: t.Address, protocol: g.Protocol, version: g.Version, sni: next.u.BackendSNI}
		l := next.links[key]
		if l == nil {
			l = s.links[key]
		}
		if l == nil {
			l = newLink(key, s.options.ConnectTimeout)
		}
		next.links[key] = l
		out.members = append(out.members, &member{t, l})
	}
	return out
}

// retire cuts off the targets that were taken out of their group, and lets
// those finish whose whole group went.
func (s *Server) retire(next *state) {
	for key, l := range s.links {
		if next.links[key] == l {
			continue
		}
		if _, stays := next.groups[key.group]; stays {
			l.cut()
		}
		l.closeIdle()
	}
	s.links = next.links
	for name := range s.turns {
		if next.groups[name] == nil {
			delete(s.turns, name)
		}
	}
}

// Bound is where the listeners are, ordered by address.
func (s *Server) Bound() []Bound {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Bound
	for _, socket := range s.sockets {
		out = append(out, socket.bound())
	}
	slices.SortFunc(out, func(a, b Bound) int { return a.Addr.Compare(b.Addr) })
	return out
}

// Close stops taking traffic at once and returns when what is under way is over, or
// DrainTimeout or ctx ends it.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	next := &state{u: s.state.u}
	s.close(next)
	s.recheck(next)
	s.state = next
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	s.background.Wait()
	s.end()
	for _, l := range s.links {
		l.cut()
		l.closeIdle()
	}
	return ctx.Err()
}
