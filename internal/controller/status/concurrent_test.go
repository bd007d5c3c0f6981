package status

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/translate"
)

// routes are patches of that many routes, r0 and on, whose versions are known.
func (w *world) routes(n int) []translate.Patch {
	w.t.Helper()
	var out []translate.Patch
	for i := range n {
		key := route()
		key.Name = fmt.Sprint("r", i)
		w.create(key, &gwv1.HTTPRoute{})
		known := &gwv1.HTTPRoute{}
		w.get(key, known)
		w.cache[key] = known
		out = append(out, w.patch(key, &known.Status, parents(parent("edge", ours, condition("Accepted", "True", 1)))))
	}
	return out
}

// TestSeveralAtOnce: a gateway's many routes are not written one after the other, nor
// all at once. The server answers the first only when it has several. That they are
// always as many as there may be is not certain: now and then two share a lock.
func TestSeveralAtOnce(t *testing.T) {
	w := newWorld(t)
	patches := w.routes(3 * atOnce)
	var now, most atomic.Int32
	var once sync.Once
	full := make(chan struct{})
	w.server.Fault(func(fakeapi.Call) error {
		defer now.Add(-1)
		n := now.Add(1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		if n == atOnce/2 {
			once.Do(func() { close(full) })
		}
		select {
		case <-full:
			return nil
		case <-t.Context().Done():
			return t.Context().Err()
		case <-time.After(time.Minute):
			return errors.New("the others do not come")
		}
	})
	w.write(patches...)
	if n := int(most.Load()); n > atOnce {
		t.Errorf("%d are written at a time, want %d at most", n, atOnce)
	}
	wantEqual(t, "writes", len(w.server.Writes()), len(patches))
}

// TestOneObjectInOrder: patches of one object are not in each other's way, however
// many others there are.
func TestOneObjectInOrder(t *testing.T) {
	w := newWorld(t)
	patches := w.routes(4)
	accepted, refused := parents(parent("edge", ours, condition("Accepted", "True", 1))), parents(parent("edge", ours, later(condition("Accepted", "False", 1))))
	for i := range 4 {
		key := patches[i].Key
		patches = append(patches, w.patch(key, accepted, refused))
	}
	w.write(patches...)
	for i := range 4 {
		var got gwv1.HTTPRoute
		w.get(patches[i].Key, &got)
		wantEqual(t, patches[i].Key.Name, text(t, got.Status.Parents), text(t, refused.Parents))
	}
}

// TestErrorsInOrder: what failed is told in the order of the patches, whichever was
// answered first.
func TestErrorsInOrder(t *testing.T) {
	w := newWorld(t)
	patches := w.routes(2 * atOnce)
	w.server.Fault(func(c fakeapi.Call) error {
		if strings.HasSuffix(c.Path, "5/status") || strings.HasSuffix(c.Path, "1/status") {
			return errors.New("no")
		}
		return nil
	})
	err := w.writer.Write(t.Context(), patches)
	if err == nil {
		t.Fatal("no error")
	}
	var got []string
	for line := range strings.Lines(err.Error()) {
		about, _, _ := strings.Cut(strings.TrimPrefix(line, "status of "), ":")
		got = append(got, about)
	}
	var want []string
	for _, i := range []int{1, 5, 11, 15} {
		want = append(want, patches[i].Key.String())
	}
	wantEqual(t, "what failed", got, want)
	wantEqual(t, "written", int(w.wrote.Load()), len(patches)-len(want))
}

// BenchmarkFirstStatuses writes the statuses of a new gateway with 1,000 routes to an
// API server that takes 5 ms for each.
func BenchmarkFirstStatuses(b *testing.B) {
	w := newWorld(b)
	patches := w.routes(1000)
	w.server.Fault(func(fakeapi.Call) error { time.Sleep(5 * time.Millisecond); return nil })
	generation := int64(1)
	for b.Loop() {
		generation++
		for i := range patches {
			patches[i].Base = patches[i].Status
			patches[i].Status = parents(parent("edge", ours, condition("Accepted", "True", generation)))
		}
		if err := w.writer.Write(b.Context(), patches); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(patches)*b.N)/b.Elapsed().Seconds(), "statuses/s")
}
