package mesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// step is one thing that happens to a mesh under load, and what it must cost the
// provider.
type step struct {
	name string
	do   func(*world)
	want map[string]int // changing calls, by name
	held bool           // not everything can be done yet
}

// run is what came of some steps under load.
type run struct {
	w         *world
	requests  int
	failed    map[string]int
	mutations map[string]int
	refused   int // handshakes that a pod refused
	issued    int
	root      map[string]string // names of roots
}

// under does the steps under load, each followed by a pass.
func (w *world) under(steps []step) run {
	w.Helper()
	r := run{w: w, mutations: map[string]int{}, root: map[string]string{}}
	w.settle()
	w.nameRoots(r.root)
	w.writes.take()
	issued := w.issuers.count()
	load := startLoad(w.url())
	time.Sleep(*breath)
	for _, s := range steps {
		w.step(s)
		w.nameRoots(r.root)
		got := w.writes.take()
		for name, n := range got {
			r.mutations[name] += n
		}
		if !maps.Equal(got, s.want) && len(got)+len(s.want) > 0 {
			w.Errorf("%s: the provider was changed by %s, want %s", s.name, told(got), told(s.want))
		}
		if _, failed := load.counts(); len(failed) > len(r.failed) {
			r.failed = failed
			w.Errorf("%s: requests failed: %v", s.name, failed)
		}
	}
	r.requests, r.failed = load.stop()
	r.refused, r.issued = w.seen.copy().outcomes["Refused"], w.issuers.count()-issued
	return r
}

func (w *world) step(s step) {
	w.Helper()
	if s.do != nil {
		s.do(w)
	}
	w.pass()
	if w.last.Settled == s.held {
		w.Errorf("%s: everything is there: %v, want %v: %v", s.name, w.last.Settled, !s.held, w.last.Failed)
	}
	time.Sleep(*breath)
}

// check wants what every run must have: no request failed, no hop unverified.
func (r run) check() {
	r.w.Helper()
	if n := total(r.failed); n > 0 || r.requests == 0 {
		r.w.Errorf("%d of %d requests failed: %v", n, r.requests, r.failed)
	}
	if n := r.w.unverified(); n > 0 {
		r.w.Errorf("%d hops were not verified on both sides: %+v", n, r.w.seen.copy())
	}
	if r.refused > 0 {
		r.w.Errorf("pods refused the gateway %d times: %v", r.refused, r.w.seen.copy().why)
	}
}

func told(counts map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// publish puts the CA's bundle where the mesh publishes it.
func publish(w *world) { w.bundle = w.ca.Bundle() }

// trusting has the pods trust the bundle.
func trusting(w *world) {
	for _, p := range w.pods {
		p.Trust(w.ca.Roots())
	}
}

// renewing gives each pod a new certificate.
func renewing(w *world) {
	for _, p := range w.pods {
		p.Renew(w.leaf(ca.Request{}, p.role))
	}
}

// slowly does something to one pod after the other.
func slowly(do func(*world, *pod)) func(*world) {
	return func(w *world) {
		for _, p := range slices.Clone(w.pods) {
			do(w, p)
			time.Sleep(*breath / 2)
		}
	}
}

// later lets time pass, in which pods renew their certificates: none holds one that is
// older than half of its life, so that no handshake meets one that has ended.
func later(d time.Duration) func(*world) {
	return func(w *world) {
		for left := d; left > 0; {
			part := min(left, w.mesh.leafLife/2)
			w.clock.pass(part)
			renewing(w)
			left -= part
		}
	}
}

// all does one thing after the other.
func all(do ...func(*world)) func(*world) {
	return func(w *world) {
		for _, f := range do {
			f(w)
		}
	}
}

func addB(w *world)  { w.do(w.ca.Add(ca.Root{Name: "b"})) }
func signB(w *world) { w.do(w.ca.SignBy("b")) }
func dropA(w *world) { w.do(w.ca.Drop("a")) }

// replace puts another pod in the place of one, as a rollout does: the new one is
// there before the old one goes.
func replace(w *world, old *pod, r role) { replaceBy(w, old, r, old.labels) }

// replaceBy is replace with other labels.
func replaceBy(w *world, old *pod, r role, labels map[string]string) {
	w.Helper()
	fresh := w.start(fmt.Sprintf("%s-%d", strings.SplitAfter(old.name, "cart-")[0]+"x", w.hosts), r)
	fresh.Trust(w.ca.Roots())
	fresh.labels = maps.Clone(labels)
	w.pass()
	old.gone = true
	w.pass()
	time.Sleep(*breath / 2)
	w.pods = slices.DeleteFunc(w.pods, func(p *pod) bool { return p == old })
	w.pass()
	old.end()
}

// restart replaces a pod by one like it: with the roots that the mesh publishes now.
func restart(w *world, p *pod) { replace(w, p, p.role) }
