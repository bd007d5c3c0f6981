//go:build e2e

package scale

import (
	"fmt"
	"testing"
)

// small is a gateway as there are many of.
var small = shape{routes: 2, services: 1, endpoints: 4}

// How many gateways are made one after the other, and how many edits, to know what
// one costs; and how few gateways there are when that is looked at first.
const (
	fewGateways = 10
	batch       = 10
	flatEdits   = 40
)

// costFactor is how much more a gateway may cost among many. Only counts are held
// to it: they are nearly the same on every machine. Nearly, since what the watches
// bring at once, and what after that, is a matter of milliseconds.
const costFactor = 1.2

// TestFlat compares what a gateway, and an edit, cost among 10 gateways and among
// many. One after the other: what comes at once shares work, and would hide it.
func TestFlat(t *testing.T) {
	w, f := newWorld(t), newFigures(t)
	w.Apply(t, ground)
	w.start(t)
	p := follow(t, w.Cluster)
	one := func(from, to int) cost {
		return w.measure(t, func() {
			for n := from; n < to; n++ {
				apply(t, w.Cluster, small, n, n+1)
				p.await(t, n+1, (n+1)*small.routes)
			}
		}).each(to - from)
	}
	edits := func(among int) cost {
		return w.measure(t, func() {
			for k := range flatEdits {
				w.edit(t, p, k*among/flatEdits, k%small.routes, fmt.Sprint("among-", among, "-", k))
			}
		}).each(flatEdits)
	}
	one(0, 2) // what is done for the first time costs more
	few := one(2, fewGateways)
	fewEdits := edits(fewGateways)
	f.add("a gateway among 10", "", "%s", few)
	f.add("an edit among 10", "", "%s", fewEdits)

	most := *flatCount - batch
	bulk := w.measure(t, func() {
		apply(t, w.Cluster, small, fewGateways, most)
		p.await(t, most, most*small.routes)
	}).each(most - fewGateways)
	f.add("a gateway of many applied at once", "", "%s", bulk)
	many := one(most, *flatCount)
	manyEdits := edits(*flatCount)
	f.add(fmt.Sprintf("a gateway among %d", *flatCount), "", "%s", many)
	f.add(fmt.Sprintf("an edit among %d", *flatCount), "", "%s", manyEdits)
	f.flat("gateway", few, many)
	f.flat("edit", fewEdits, manyEdits)
}

// flat compares two costs of the same thing.
func (f *figures) flat(of string, few, many cost) {
	f.t.Helper()
	for _, c := range []struct {
		name      string
		few, many float64
	}{
		{"passes", few.passes, many.passes},
		{"cloud mutations", few.changes, many.changes},
		{"API writes", few.writes, many.writes},
	} {
		f.add(fmt.Sprintf("%s per %s, among many to among 10", c.name, of), "1", "%.2f", c.many/c.few)
		if c.many > c.few*costFactor {
			f.t.Errorf("%.2f %s per %s among many, and %.2f among 10: want the same", c.many, c.name, of, c.few)
		}
	}
	f.add(fmt.Sprintf("CPU time per %s, among many to among 10", of), "1", "%.2f", many.cpu.Seconds()/few.cpu.Seconds())
}
