package account

import (
	"cmp"
	"encoding/json/v2"
	"maps"
	"slices"
	"time"
)

// Rows are a kind of resource by its ARN or id. What a row points to is never
// changed, only replaced: copies of Rows are then cheap, and old ones stay true.
type Rows[T any] struct {
	byID  map[string]row[T]
	next  int
	owned bool // nobody else has this map
}

type row[T any] struct {
	number int // in the order of creation
	value  *T
}

// Fork is a copy; changes of either are not seen by the other.
func (r Rows[T]) Fork() Rows[T] {
	r.owned = false
	return r
}

// Get finds a row; nil if it is not there.
func (r *Rows[T]) Get(id string) *T { return r.byID[id].value }

// IsZero tells whether there are none.
func (r Rows[T]) IsZero() bool { return len(r.byID) == 0 }

// Len counts.
func (r *Rows[T]) Len() int { return len(r.byID) }

func (r *Rows[T]) own() {
	if r.owned {
		return
	}
	r.owned = true
	if r.byID = maps.Clone(r.byID); r.byID == nil {
		r.byID = map[string]row[T]{}
	}
}

// Put adds or replaces a row.
func (r *Rows[T]) Put(id string, value T) *T {
	r.own()
	number := r.next
	if old, ok := r.byID[id]; ok {
		number = old.number
	} else {
		r.next++
	}
	r.byID[id] = row[T]{number, &value}
	return &value
}

// Delete removes a row.
func (r *Rows[T]) Delete(id string) {
	r.own()
	delete(r.byID, id)
}

// All are the rows that keep lets through (all, if it is nil), oldest first.
func (r *Rows[T]) All(keep func(*T) bool) []*T {
	var found []row[T]
	for _, one := range r.byID {
		if keep == nil || keep(one.value) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b row[T]) int { return cmp.Compare(a.number, b.number) })
	out := make([]*T, len(found))
	for i, one := range found {
		out[i] = one.value
	}
	return out
}

// MarshalJSON writes the rows, oldest first.
func (r Rows[T]) MarshalJSON() ([]byte, error) { return json.Marshal(r.All(nil)) }

// History is a service's state with its past.
type History[S any] struct {
	Keep     time.Duration // how old a state somebody may still ask for
	versions []version[S]  // oldest first; the last one is now
}

type version[S any] struct {
	at    time.Time
	state S
}

// Now is the newest state.
func (h *History[S]) Now() S {
	var none S
	if len(h.versions) == 0 {
		return none
	}
	return h.versions[len(h.versions)-1].state
}

// View is the state that a read sees.
func (h *History[S]) View(call *Call) S {
	var none S
	last := len(h.versions) - 1
	if call.Stale {
		last--
	}
	for ; last >= 0; last-- {
		if !h.versions[last].at.After(call.Now.Add(-call.Lag)) {
			return h.versions[last].state
		}
	}
	return none
}

// Commit makes a state the newest. Of states of the same time only the last two are
// kept: what a lagging read sees, and what a stale one does.
func (h *History[S]) Commit(at time.Time, state S) {
	if n := len(h.versions); n > 1 && h.versions[n-2].at.Equal(at) {
		h.versions = slices.Delete(h.versions, n-2, n-1)
	}
	h.versions = append(h.versions, version[S]{at, state})
	old := 0
	for old < len(h.versions)-2 && h.versions[old+1].at.Before(at.Add(-h.Keep)) {
		old++
	}
	h.versions = slices.Delete(h.versions, 0, old)
}
