package roots

import (
	"context"
	"crypto/x509"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds what a test waits for that is on its way.
const soon = 20 * time.Second

// clock stands still unless it is moved.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
	added   chan struct{}
}

type waiter struct {
	at   time.Time
	fire chan time.Time
}

func newClock() *clock { return &clock{now: time.Now(), added: make(chan struct{}, 1)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{c.now.Add(d), make(chan time.Time, 1)}
	c.waiters = append(c.waiters, w)
	select {
	case c.added <- struct{}{}:
	default:
	}
	return w.fire
}

// next waits until somebody waits for less than within, and moves on to then. It
// returns how long that was.
func (c *clock) next(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	d := c.await(t, within)
	c.advance(d)
	return d
}

// await waits until somebody waits for less than within, and returns for how long.
func (c *clock) await(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	deadline := time.After(soon)
	for {
		if d, ok := c.earliest(within); ok {
			return d
		}
		select {
		case <-c.added:
		case <-deadline:
			t.Fatalf("nobody waits for less than %s", within)
		}
	}
}

func (c *clock) earliest(within time.Duration) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := within, false
	for _, w := range c.waiters {
		if left := w.at.Sub(c.now); left <= d {
			d, ok = left, true
		}
	}
	return d, ok
}

// advance moves on.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.waiters = slices.DeleteFunc(c.waiters, func(w waiter) bool {
		due := !w.at.After(c.now)
		if due {
			w.fire <- c.now
		}
		return due
	})
}

func (c *clock) clock() Clock { return Clock{Now: c.Now, After: c.After} }

// heard is what a source tells.
type heard struct {
	t    *testing.T
	told chan []Bundle
	stop func() // ends the source and waits for it
}

// watch runs a source until the test ends.
func watch(t *testing.T, source Source, c *clock, last ...Bundle) *heard {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	h := &heard{t: t, told: make(chan []Bundle, 1024)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		source.Watch(ctx, Start{Last: last, Clock: c.clock(), Random: func() float64 { return 0.5 }}, func(b []Bundle) { h.told <- b })
	}()
	h.stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(soon):
			t.Error("the source does not end")
		}
	}
	t.Cleanup(h.stop)
	return h
}

// all is what is told next.
func (h *heard) all() []Bundle {
	h.t.Helper()
	select {
	case b := <-h.told:
		return b
	case <-time.After(soon):
		h.t.Fatal("the source tells nothing")
		return nil
	}
}

// one is the only bundle of what is told next.
func (h *heard) one() Bundle {
	h.t.Helper()
	all := h.all()
	if len(all) != 1 {
		h.t.Fatalf("%d bundles, want one: %+v", len(all), all)
	}
	return all[0]
}

// wants checks a bundle's roots, and that the problem, if there should be one, says
// what is given.
func wants(t *testing.T, b Bundle, problem string, want ...*x509.Certificate) {
	t.Helper()
	roots, err := rootsOf(want)
	do(t, err)
	if !SameRoots(b.Roots, roots) {
		t.Errorf("%d roots %s, want %d: problem %q", len(b.Roots), names(b), len(want), b.Problem)
	}
	if problem == "" && b.Problem != "" || !strings.Contains(b.Problem, problem) {
		t.Errorf("problem %q, want %q in it", b.Problem, problem)
	}
}

func rootsOf(certs []*x509.Certificate) ([]lbmodel.Root, error) {
	if len(certs) == 0 {
		return nil, nil
	}
	return normal(certs)
}

func names(b Bundle) (out []string) {
	for _, r := range b.Roots {
		out = append(out, r.Subject)
	}
	return out
}

// keeps checks that a failure changed no roots.
func keeps(t *testing.T, before, after Bundle, problem string) {
	t.Helper()
	wants(t, after, problem, certificates(before.Roots)...)
	if after.Sequence != before.Sequence || !after.At.Equal(before.At) {
		t.Errorf("sequence %d at %s, want %d at %s", after.Sequence, after.At, before.Sequence, before.At)
	}
	if after.Problem == "" {
		t.Error("a failure without a problem")
	}
}

func newCA(t *testing.T) *ca.CA {
	t.Helper()
	m, err := ca.New(ca.Config{})
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

// root is a lone root.
func root(t *testing.T) *x509.Certificate {
	t.Helper()
	return newCA(t).Roots()[0]
}
