package roots

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config says by which clock and chance a Hub works.
type Config struct {
	Clock  Clock          // zero is the system's
	Random func() float64 // from 0 to below 1; nil is math/rand
}

// Hub runs sources and has what they know. It may be used by many goroutines.
type Hub struct {
	clock   Clock
	random  func() float64
	last    map[string][]Bundle
	changed chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	sources map[string]*watched
}

// watched is a source that runs.
type watched struct {
	source   Source
	stop     context.CancelFunc
	bundles  []Bundle
	said     string // what was told last, as far as it matters
	readings uint64
	failures uint64
	// rotations are how often roots became others, by trust domain.
	rotations map[string]uint64
}

// NewHub returns a Hub without sources. Close it.
func NewHub(c Config) *Hub {
	if c.Clock.Now == nil {
		c.Clock = Clock{Now: time.Now, After: time.After}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return &Hub{clock: c.Clock, random: c.Random, last: map[string][]Bundle{}, changed: make(chan struct{}, 1), sources: map[string]*watched{}}
}

// Recall takes what Of told of sources before, if somebody kept it over a restart, for
// those that are Set afterwards. Without it, a sequence could go back unnoticed, and an
// Endpoint of profile SPIFFE begins with its Bootstrap again.
func (h *Hub) Recall(last map[string][]Bundle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.Copy(h.last, last)
}

// Changed has a value whenever what Bundles and Conditions are made of has changed:
// roots, problems, and that one has lasted for a day. A value stands for all changes
// before it is taken. That roots were read again is no change.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Set has these sources run, under names of the caller's, and no others. One whose
// settings are the same goes on; one with other settings is started anew and keeps
// the roots that it had until it has read them.
func (h *Hub) Set(want map[string]Source) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	for name, w := range h.sources {
		if _, ok := want[name]; !ok {
			w.stop()
			delete(h.sources, name)
			delete(h.last, name)
			h.tell()
		}
	}
	for name, source := range want {
		old := h.sources[name]
		if old == nil {
			h.sources[name] = h.start(source, h.last[name])
		} else if !reflect.DeepEqual(old.source, source) {
			old.stop()
			h.sources[name] = h.start(source, old.bundles)
		}
	}
}

// start runs a source. What it tells after it was stopped is not heard.
func (h *Hub) start(source Source, last []Bundle) *watched {
	ctx, stop := context.WithCancel(context.Background())
	w := &watched{source: source, stop: stop, bundles: last, rotations: map[string]uint64{}}
	s := Start{Last: last, Clock: h.clock, Random: h.random}
	h.running.Go(func() {
		source.Watch(ctx, s, func(told []Bundle) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if ctx.Err() == nil {
				h.take(w, told)
			}
		})
	})
	return w
}

// take notes what a source told.
func (h *Hub) take(w *watched, told []Bundle) {
	w.readings++
	if slices.ContainsFunc(told, func(b Bundle) bool { return b.Problem != "" }) {
		w.failures++
	}
	for _, b := range told {
		i := slices.IndexFunc(w.bundles, func(was Bundle) bool { return was.Name == b.Name && len(was.Roots) > 0 })
		if i >= 0 && !SameRoots(w.bundles[i].Roots, b.Roots) {
			w.rotations[b.Name]++
		}
	}
	w.bundles = told
	if said := sayAll(told, h.clock.Now()); said != w.said {
		w.said = said
		h.tell()
	}
}

// sayAll is a text that changes when there is something to be told.
func sayAll(all []Bundle, now time.Time) string {
	var out strings.Builder
	for _, b := range all {
		stale := b.Problem != "" && now.Sub(b.Since) >= Stale
		fmt.Fprintf(&out, "%q %q %t %q\n", b.Name, b.Problem, stale, setOf(b.Roots, certificate))
	}
	return out.String()
}

func (h *Hub) tell() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Of is what is known of a source, one bundle for each trust domain, sorted by name;
// nil when it is not one of the Hub's, or has not been read yet.
func (h *Hub) Of(name string) []Bundle {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.sources[name]; w != nil {
		return slices.Clone(w.bundles)
	}
	return nil
}

// Unread are the places that have told nothing since they were Set, neither roots nor
// why there are none, sorted.
func (h *Hub) Unread() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, w := range h.sources {
		if w.readings == 0 {
			out = append(out, w.source.Where())
		}
	}
	slices.Sort(out)
	return out
}

// Close ends all sources and waits for them.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for _, w := range h.sources {
		w.stop()
	}
	h.mu.Unlock()
	h.running.Wait()
}
