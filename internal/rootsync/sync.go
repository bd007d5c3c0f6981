package rootsync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/roots"
)

// Config is what a Sync is made of. All of it may be left out.
type Config struct {
	Clock  roots.Clock    // zero is the system's
	Random func() float64 // from 0 to below 1; nil is math/rand
	// Token reads what a Consul is told from the Secret that a place names. Its errors
	// are fit for people. Nil: nobody has tokens.
	Token func(ctx context.Context, secret string) (string, error)
	// Socket is where the SPIFFE agent of this process is, for meshes that have their
	// roots there: SPIFFE_ENDPOINT_SOCKET. "" is that there is none.
	Socket string
}

// Sync reads roots outside of a cluster's objects. It may be used by many goroutines,
// but Change by one.
type Sync struct {
	config  Config
	hub     *roots.Hub
	changed chan struct{}
	wanted  chan struct{}

	mu     sync.Mutex
	places map[string]*place // by the name of their source
	last   map[string][]roots.Bundle
	tokens map[string]token // by Secret
	given  map[translate.Key]*translate.Bundle
	agents *agents
	closed bool
}

// place is one that is asked.
type place struct {
	at       meshsync.RootsAt // as the Bundle has it
	how      meshsync.RootsAt // with what the configuration adds
	bindings []string         // that name it
}

// token is what a Secret has.
type token struct {
	text    roots.Secret
	problem string
}

const (
	// tokensEvery is how often Secrets are looked at: nothing tells of their change.
	tokensEvery = time.Minute
	// tokenPatience bounds one look.
	tokenPatience = 10 * time.Second

	unread = "they have not been read yet"
)

// New makes a Sync that asks nobody yet. Close it.
func New(c Config) *Sync {
	if c.Clock.Now == nil {
		c.Clock = roots.Clock{Now: time.Now, After: time.After}
	}
	if c.Token == nil {
		c.Token = func(context.Context, string) (string, error) {
			return "", errors.New("nobody here has tokens for a Consul")
		}
	}
	return &Sync{
		config: c, hub: roots.NewHub(roots.Config{Clock: c.Clock, Random: c.Random}),
		changed: make(chan struct{}, 1), wanted: make(chan struct{}, 1),
		places: map[string]*place{}, last: map[string][]roots.Bundle{}, tokens: map[string]token{}, given: map[translate.Key]*translate.Bundle{}, agents: newAgents(),
	}
}

// Recall takes what was remembered of the places, before they are wanted.
func (s *Sync) Recall(last map[string][]roots.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	s.hub.Recall(last)
}

// Want has those places asked that bindings name now, and no others, and those agents
// followed that have their gateways' certificates. A place that nobody can ask is left
// to translation, which says so. It makes no call.
func (s *Sync) Want(bounds []translate.Bound) {
	places := map[string]*place{}
	for _, b := range bounds {
		for _, at := range b.Outside() {
			how := at
			if how.Kind == meshsync.RootsWorkload && how.URL == "" {
				how.URL = s.config.Socket
			}
			name := translate.BundleKey(at).String()
			switch _, can := roots.At(how, ""); {
			case !can:
				continue
			case places[name] == nil:
				places[name] = &place{at: at, how: how}
			}
			if p := places[name]; !slices.Contains(p.bindings, b.Binding.Name) {
				p.bindings = append(p.bindings, b.Binding.Name)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.places {
		if places[name] == nil {
			delete(s.last, name)
		}
	}
	s.places = places
	s.set()
	s.follow(bounds)
	poke(s.wanted)
}

// set runs the sources of the places, but for those whose token was never looked for.
// One whose Secret cannot be read goes on with the token that it had, or as anonymous:
// it may be let in, and otherwise says so. mu is held.
func (s *Sync) set() {
	sources := map[string]roots.Source{}
	for name, p := range s.places {
		t, known := s.tokens[p.at.Token]
		if p.at.Token != "" && !known {
			continue
		}
		sources[name], _ = roots.At(p.how, t.text)
	}
	s.hub.Set(sources)
}

// Run follows the places until ctx ends. Without it there are no tokens, and Changed
// tells nothing.
func (s *Sync) Run(ctx context.Context) {
	for {
		s.readTokens(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.hub.Changed():
			poke(s.changed)
		case <-s.wanted:
		case <-s.config.Clock.After(tokensEvery):
		}
	}
}

// readTokens looks at all Secrets that places name.
func (s *Sync) readTokens(ctx context.Context) {
	s.mu.Lock()
	secrets := map[string]token{}
	for _, p := range s.places {
		if p.at.Token != "" {
			secrets[p.at.Token] = s.tokens[p.at.Token]
		}
	}
	s.mu.Unlock()
	for name, t := range secrets {
		ctx, cancel := context.WithTimeout(ctx, tokenPatience)
		text, err := s.config.Token(ctx, name)
		cancel()
		if t.problem = ""; err != nil {
			t.problem = fmt.Sprintf("Secret %s: %v", name, err)
		} else {
			t.text = roots.Secret(text)
		}
		secrets[name] = t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reflect.DeepEqual(s.tokens, secrets) && ctx.Err() == nil {
		s.tokens = secrets
		s.set()
		poke(s.changed)
	}
}

// poke leaves word for whoever looks next.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Changed has a value whenever Change may have something to tell.
func (s *Sync) Changed() <-chan struct{} { return s.changed }

// Change is what became known since it was asked last: a Bundle for each place from the
// beginning, a Held for each certificate that an agent has, and the keys of those that
// nobody wants any more.
func (s *Sync) Change() translate.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out translate.Change
	now, wanted := s.config.Clock.Now(), map[translate.Key]bool{}
	for name, p := range s.places {
		key := translate.BundleKey(p.at)
		b := s.bundle(name, p, now)
		if wanted[key] = true; !reflect.DeepEqual(s.given[key], b) {
			s.given[key] = b
			out.Put = append(out.Put, b)
		}
	}
	for key := range s.given {
		if !wanted[key] {
			delete(s.given, key)
			out.Delete = append(out.Delete, key)
		}
	}
	s.agents.change(&out)
	return out
}

// All is Change for somebody who has heard nothing yet.
func (s *Sync) All() translate.Change {
	s.mu.Lock()
	s.given, s.agents.given = map[translate.Key]*translate.Bundle{}, map[translate.Key]*translate.Held{}
	s.mu.Unlock()
	return s.Change()
}

// bundle is what is known of a place. mu is held.
func (s *Sync) bundle(name string, p *place, now time.Time) *translate.Bundle {
	out := &translate.Bundle{At: p.at, Problem: unread}
	told := s.told(name)
	i := slices.IndexFunc(told, func(b roots.Bundle) bool { return b.Name == p.at.Name })
	if p.at.Name == "" && len(told) == 1 {
		i = 0
	}
	switch {
	case i >= 0:
		out.Roots, out.Problem = told[i].Roots, told[i].Condition(now)
	case p.at.Name == "" && len(told) > 1:
		out.Problem = "there are the bundles of several trust domains, and nobody says which is the mesh's: name it in spec.trustBundles"
	case len(told) > 0:
		out.Problem = fmt.Sprintf("there is no bundle of %s: %s", p.at.Name, told[0].Condition(now))
	}
	if t := s.tokens[p.at.Token]; out.Problem != "" && t.problem != "" {
		out.Problem = t.problem + "; " + out.Problem
	}
	return out
}

// told is what a source told last, in this process or before. mu is held.
func (s *Sync) told(name string) []roots.Bundle {
	if told := s.hub.Of(name); told != nil {
		return told
	}
	return s.last[name]
}

// Await waits until every place that is wanted has told something, or ctx ends, and
// returns those that have not, for people. It is for who reads once, beside Run.
func (s *Sync) Await(ctx context.Context) []string {
	for {
		left := s.unread()
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return s.unread()
		case <-s.changed:
		}
	}
}

func (s *Sync) unread() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.hub.Unread()
	for _, p := range s.places {
		if _, known := s.tokens[p.at.Token]; p.at.Token != "" && !known {
			out = append(out, fmt.Sprintf("%s %s (its token)", p.at.Kind, p.at.Name))
		}
	}
	return out
}

// Remember is what is known of the places, for Recall.
func (s *Sync) Remember() map[string][]roots.Bundle {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]roots.Bundle{}
	for name := range s.places {
		if told := s.told(name); len(told) > 0 {
			out[name] = told
		}
	}
	return out
}

// Figure is what is known of a place that a binding has roots from.
type Figure struct {
	Binding, Kind, Name string // Name is the trust domain
	Where               string // for people, without what may be secret
	roots.BundleFigures
}

// Figures are those of all places, in no order.
func (s *Sync) Figures() []Figure {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Figure
	for _, f := range s.hub.Figures() {
		p := s.places[f.Name]
		for _, b := range f.Bundles {
			if p == nil || p.at.Name != "" && b.Name != p.at.Name {
				continue
			}
			for _, binding := range p.bindings {
				out = append(out, Figure{binding, p.at.Kind, p.at.Name, f.Where, b})
			}
		}
	}
	return out
}

// Close ends all readings and waits for them.
func (s *Sync) Close() {
	s.closeAgents()
	s.hub.Close()
}
