package watch

import (
	"context"
	"math/rand/v2"
	"time"

	"gatehouse.dev/internal/translate"
)

// How often it is asked what is installed. A change of a CustomResourceDefinition
// asks at once; what it defines is served a moment later.
const (
	askSoon  = 250 * time.Millisecond
	askAgain = time.Minute
	askEver  = 5 * time.Minute
)

// discover follows what is installed until ctx ends.
func (s *Source) discover(ctx context.Context) {
	wait, first := askSoon, true
	for ctx.Err() == nil {
		err := s.config.Clients.Discover(ctx)
		switch {
		case err != nil:
			s.config.Log.Warn("what is installed cannot be told", "err", err)
			wait = min(2*wait, askAgain)
		default:
			s.adjust(ctx)
			if first {
				first = false
				s.group.Go(func() { s.sync(ctx) })
			}
			wait = s.patience(wait)
		}
		s.pending.learn(s.facts())
		select {
		case <-ctx.Done():
		case <-s.definitions.changed:
			wait = askSoon
		case <-time.After(time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))):
		}
	}
}

func (s *Source) facts() Facts {
	_, bundles := s.config.Clients.Resource(translate.KindTrustBundle)
	return Facts{VersionProblem: s.definitions.problem(), NoTrustBundles: !bundles}
}

// patience is how long to wait before the next question: not long while something
// is defined and not served yet.
func (s *Source) patience(last time.Duration) time.Duration {
	for _, k := range s.config.Clients.Kinds() {
		if _, served := s.config.Clients.Resource(k.Name); !served && k.Custom && s.definitions.has(k.Definition()) {
			return min(2*last, askAgain)
		}
	}
	return askEver
}

// adjust starts and ends followers so that exactly what is installed is watched.
func (s *Source) adjust(ctx context.Context) {
	for _, k := range s.config.Clients.Kinds() {
		if _, shared := s.shared[k.Name]; shared {
			continue
		}
		r, served := s.config.Clients.Resource(k.Name)
		f := s.follower(k.Name)
		if f != nil && (!served || f.resource.Version != r.Version) {
			s.end(f)
			s.set(k.Name, nil)
			f = nil
		}
		if f == nil && served {
			s.set(k.Name, s.start(ctx, r))
		}
	}
}

func (s *Source) follower(kind string) *follower {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[kind]
}

func (s *Source) set(kind string, f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == nil {
		delete(s.running, kind)
		return
	}
	s.running[kind] = f
}
