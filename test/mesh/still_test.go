package mesh

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// restartAll has another process take over, which remembers nothing.
func restartAll(w *world) { w.stack = w.open(w.first) }

// TestStill does what changes nothing, and costs nothing: no call that changes
// something, and no certificate.
func TestStill(t *testing.T) {
	reversed := func(w *world) {
		roots := w.ca.Roots()
		w.bundle = ca.PEM(roots[1], roots[0])
	}
	encoded := func(w *world) {
		text := "# the mesh's roots\n\n" + strings.ReplaceAll(string(w.ca.Bundle()), "-----\n-----", "-----\n\n# another\n-----")
		w.bundle = bytes.TrimSpace([]byte(text))
		w.bundle = append(w.bundle, '\n')
	}
	doubled := func(w *world) { w.bundle = append(w.ca.Bundle(), w.ca.Bundle()...) }
	for _, c := range []struct {
		name, why string
		do        func(*world)
	}{
		{"a bundle in another order", "istio #59909: roots are a set", reversed},
		{"a bundle written otherwise", "linkerd2 #3880: comments and blank lines are no roots", encoded},
		{"a bundle with everything twice", "istio #30947", doubled},
		{"a restart", "the live certificate is known by what the cloud says of it", restartAll},
		{"a failover in the middle of a rotation", "when a root was dropped is written with the cloud's object", restartAll},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, istioMesh(), options{})
			w.do(w.ca.Add(ca.Root{Name: "b"}))
			publish(w)
			trusting(w)
			w.settle()
			if strings.Contains(c.name, "rotation") {
				w.clock.pass(time.Hour)
				w.do(w.ca.Drop("b"))
				publish(w)
				w.settle()
			}
			w.writes.take()
			issued, load := w.issuers.count(), startLoad(w.url())
			for range 3 {
				c.do(w)
				w.settle()
				time.Sleep(*breath)
			}
			cost := w.writes.take()
			requests, failed := load.stop()
			if n := w.issuers.count() - issued; total(cost) > 0 || n > 0 || total(failed) > 0 || requests == 0 {
				t.Errorf("it cost %s and %d certificates, and of %d requests failed %v, want none: %s", told(cost), n, requests, failed, c.why)
			}
			figures.add(headStill, c.name, total(cost), w.issuers.count()-issued)
			if strings.Contains(c.name, "rotation") {
				w.endOfOverlap()
			}
		})
	}
}

// endOfOverlap wants the root to go a day after it was dropped, whoever has worked
// since.
func (w *world) endOfOverlap() {
	w.Helper()
	if got, want := w.last.Next, w.clock.now().Add(23*time.Hour); got.After(want.Add(2*time.Hour)) || got.Before(w.clock.now()) {
		w.Errorf("the next pass is due at %s, want by %s", got, want)
	}
	for range 2 {
		w.clock.pass(12*time.Hour + time.Minute)
		renewing(w)
		w.settle()
		restartAll(w)
	}
	w.settle()
	if got := w.writes.take(); got["UpdateTrust"] != 1 {
		w.Errorf("a day later: %s, want UpdateTrust once", told(got))
	}
}
