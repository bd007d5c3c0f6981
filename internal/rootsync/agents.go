package rootsync

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/issue/spiffeca"
)

// agents follow the SPIFFE agents that have gateways' certificates, by one stream for
// each socket. A taint is in no bundle: that the agent has a certificate of another
// authority is all that can be seen of it. Sync.mu guards the maps.
type agents struct {
	running sync.WaitGroup
	all     map[string]*agent // by address
	given   map[translate.Key]*translate.Held
}

// agent is one that is followed.
type agent struct {
	stop    context.CancelFunc
	sockets []string // as bindings have it
	held    map[string]lbmodel.Held
}

func newAgents() *agents {
	return &agents{all: map[string]*agent{}, given: map[translate.Key]*translate.Held{}}
}

// follow has the agents followed that bindings name now, and no others. s.mu is held.
func (s *Sync) follow(bounds []translate.Bound) {
	want := map[string][]string{}
	for _, b := range bounds {
		socket, is := b.Agent()
		if at := cmp.Or(socket, s.config.Socket); is && at != "" && !slices.Contains(want[at], socket) {
			want[at] = append(want[at], socket)
		}
	}
	for at, a := range s.agents.all {
		if want[at] == nil {
			a.stop()
			delete(s.agents.all, at)
		}
	}
	for at, sockets := range want {
		if s.agents.all[at] == nil && !s.closed {
			s.agents.all[at] = s.watch(at)
		}
		if a := s.agents.all[at]; a != nil {
			a.sockets = sockets
		}
	}
}

func (s *Sync) watch(at string) *agent {
	ctx, stop := context.WithCancel(context.Background())
	a := &agent{stop: stop}
	s.agents.running.Go(func() {
		spiffeca.New(at).Watch(ctx, func(told map[string]lbmodel.Held) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if ctx.Err() == nil && a.take(told) {
				poke(s.changed)
			}
		})
	})
	return a
}

// take notes what an agent has, and says whether that is news: a certificate that is
// only newer is none, else every renewal of every gateway would be.
func (a *agent) take(told map[string]lbmodel.Held) (news bool) {
	for id, h := range told {
		was, known := a.held[id]
		if known && was.Authority == h.Authority {
			told[id] = was
		} else {
			news = true
		}
	}
	news = news || len(told) != len(a.held)
	a.held = told
	return news
}

// change adds what became known since it was asked last. s.mu is held.
func (a *agents) change(out *translate.Change) {
	there := map[translate.Key]bool{}
	for _, one := range a.all {
		for _, socket := range one.sockets {
			for id, h := range one.held {
				key := translate.HeldKey(socket, id)
				there[key] = true
				if was := a.given[key]; was == nil || was.Held != h {
					a.given[key] = &translate.Held{Socket: socket, SPIFFEID: id, Held: h}
					out.Put = append(out.Put, a.given[key])
				}
			}
		}
	}
	for key := range a.given {
		if !there[key] {
			delete(a.given, key)
			out.Delete = append(out.Delete, key)
		}
	}
}

// closeAgents ends all streams and waits for them.
func (s *Sync) closeAgents() {
	s.mu.Lock()
	s.closed = true
	for _, a := range s.agents.all {
		a.stop()
	}
	s.mu.Unlock()
	s.agents.running.Wait()
}
