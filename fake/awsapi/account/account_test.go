package account

import (
	"testing"
	"time"
)

type shelf struct{ Books Rows[string] }

// Copies of Rows go their own ways, and old states stay what they were.
func TestHistory(t *testing.T) {
	start := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	h := History[shelf]{Keep: time.Minute}
	add := func(at time.Time, id string) {
		next := shelf{h.Now().Books.Fork()}
		next.Books.Put(id, id)
		h.Commit(at, next)
	}
	seen := func(call Call) int {
		state := h.View(&call)
		return state.Books.Len()
	}
	add(start, "a")
	add(start, "b")
	add(start, "c")
	add(start.Add(10*time.Second), "d")
	now := start.Add(15 * time.Second)
	for _, c := range []struct {
		name string
		call Call
		want int
		why  string
	}{
		{"now", Call{Now: now}, 4, "everything"},
		{"stale", Call{Now: now, Stale: true}, 3, "before the last change"},
		{"lag", Call{Now: now, Lag: 6 * time.Second}, 3, "the newest that is old enough"},
		{"long lag", Call{Now: now, Lag: time.Hour}, 0, "before everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := seen(c.call); got != c.want {
				t.Errorf("%d, want %d: %s", got, c.want, c.why)
			}
		})
	}
	if len(h.versions) != 3 {
		t.Errorf("%d versions are kept, want 3: two of the first time, one of the second", len(h.versions))
	}
	add(start.Add(time.Hour), "e")
	if len(h.versions) != 2 {
		t.Errorf("%d versions are kept after an hour, want the last two", len(h.versions))
	}
	state := h.Now()
	if all := state.Books.All(nil); len(all) != 5 || *all[0] != "a" || *all[4] != "e" {
		t.Error("rows are not in the order of their creation")
	}
}

// A call takes from all of its buckets, or from none.
func TestMeter(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	m := NewMeter(map[string]Bucket{"all": {Capacity: 3, Refill: 1}, "one": {Capacity: 1, Refill: 0.2}})
	if !m.Take(at, "all", "one") || m.Take(at, "all", "one") || m.Tokens(at, "all") != 2 {
		t.Errorf("a refused call took a token: %v are left", m.Tokens(at, "all"))
	}
	if !m.Take(at, "all", "unsized") || !m.Take(at, "all") || m.Take(at, "all") {
		t.Error("three calls, not more and not less")
	}
	if at = at.Add(5 * time.Second); !m.Take(at, "all", "one") || m.Tokens(at, "all") != 2 {
		t.Errorf("after five seconds %v are left, want 2", m.Tokens(at, "all"))
	}
}

// Pages cover a list exactly, and strange markers are refused.
func TestPage(t *testing.T) {
	all, got, marker := []int{1, 2, 3, 4, 5}, []int(nil), ""
	for {
		page, next, ok := Page(all, marker, 2)
		if !ok {
			t.Fatalf("marker %q is refused", marker)
		}
		got = append(got, page...)
		if marker = next; marker == "" {
			break
		}
	}
	if len(got) != 5 || got[4] != 5 {
		t.Errorf("pages hold %v", got)
	}
	for _, strange := range []string{"x", "cGFnZTotMQ==", "MQ=="} {
		if _, _, ok := Page(all, strange, 2); ok {
			t.Errorf("marker %q is taken", strange)
		}
	}
}

// Names depend on nothing but their order.
func TestIDs(t *testing.T) {
	var a, b IDs
	if x, y := a.Hex(16)+a.Number()+a.UUID(), b.Hex(16)+b.Number()+b.UUID(); x != y || len(a.Number()) != 10 {
		t.Errorf("%s and %s", x, y)
	}
}
