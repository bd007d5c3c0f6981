package rootsync

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"go.uber.org/goleak"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/roots"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds what a test waits for that is on its way.
const soon = 20 * time.Second

// clock stands still unless it is moved.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	waiters map[chan time.Time]time.Time
}

func newClock() *clock {
	return &clock{now: time.Now().Truncate(time.Second), waiters: map[chan time.Time]time.Time{}}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	fire := make(chan time.Time, 1)
	c.waiters[fire] = c.now.Add(d)
	return fire
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for fire, at := range c.waiters {
		if !at.After(c.now) {
			fire <- c.now
			delete(c.waiters, fire)
		}
	}
}

// world is a Sync that runs, and what it has told so far.
type world struct {
	*testing.T
	*Sync
	clock *clock
	known map[translate.Key]*translate.Bundle
}

// newWorld runs a Sync until the test ends.
func newWorld(t *testing.T, c *clock, config Config) *world {
	t.Helper()
	config.Clock, config.Random = roots.Clock{Now: c.Now, After: c.After}, func() float64 { return 0 }
	w := &world{T: t, Sync: New(config), clock: c, known: map[translate.Key]*translate.Bundle{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Sync.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		w.Close()
	})
	return w
}

// take follows what the Sync tells.
func (w *world) take() translate.Change {
	change := w.Change()
	for _, obj := range change.Put {
		b := obj.(*translate.Bundle)
		w.known[translate.BundleKey(b.At)] = b
	}
	for _, key := range change.Delete {
		delete(w.known, key)
	}
	return change
}

// only is the one bundle that there is.
func (w *world) only() translate.Bundle {
	w.Helper()
	w.take()
	if len(w.known) != 1 {
		w.Fatalf("%d bundles, want one: %v", len(w.known), w.known)
	}
	for _, b := range w.known {
		return *b
	}
	return translate.Bundle{}
}

// until moves the time on, a minute at a time, until the bundle is as wanted.
func (w *world) until(what string, ok func(translate.Bundle) bool) translate.Bundle {
	w.Helper()
	for deadline := time.Now().Add(soon); ; w.clock.advance(time.Minute) {
		b := w.only()
		if ok(b) {
			return b
		}
		if time.Now().After(deadline) {
			w.Fatalf("waiting for %s: %d roots, problem %q", what, len(b.Roots), b.Problem)
		}
		select {
		case <-w.Changed():
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// has says whether a bundle has exactly the roots of a CA, and no problem.
func has(m *ca.CA) func(translate.Bundle) bool {
	return func(b translate.Bundle) bool {
		return b.Problem == "" && roots.SameRoots(b.Roots, parsed(m))
	}
}

func parsed(m *ca.CA) []lbmodel.Root {
	out, err := lbmodel.ParseRoots(m.Bundle())
	if err != nil {
		panic(err) // the double writes what it reads
	}
	return out
}

func newCA(t *testing.T, c ca.Config) *ca.CA {
	t.Helper()
	m, err := ca.New(c)
	do(t, err)
	return m
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// bound is a binding with roots at some places.
func bound(name string, refs ...v1alpha1.TrustBundleReference) translate.Bound {
	b := &v1alpha1.MeshBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.TrustBundles = refs
	return translate.Bound{Binding: b}
}

func says(t *testing.T, b translate.Bundle, parts ...string) {
	t.Helper()
	if i := slices.IndexFunc(parts, func(p string) bool { return !strings.Contains(b.Problem, p) }); i >= 0 {
		t.Errorf("problem %q, want %q in it", b.Problem, parts[i])
	}
}
