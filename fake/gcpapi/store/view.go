package store

import (
	"slices"
	"strings"
	"time"
)

// View is the project as somebody sees it who looks at a moment. It is valid until the
// call ends in which it was made.
type View struct {
	store  *Store
	at     time.Time
	before uint64 // changes from this one on are not seen
}

// newest is the view of whoever checks a change: it sees what operations that still run
// will do.
func (s *Store) newest() View {
	return View{s, time.Unix(1<<40, 0), ^uint64(0)}
}

// Newest is the state as operations that still run will leave it: what changes are
// checked against.
func (s *Store) Newest() View { return s.newest() }

// Seen is the state that a call reads: that of operations that have ended, lagging behind
// as [Times] say.
func (s *Store) Seen(c *Call) View {
	v := View{s, c.Now.Add(-s.Times.Read), ^uint64(0)}
	if s.EarlyReads {
		v.at = s.newest().at
	}
	if c.Stale {
		v.at, v.before = s.newest().at, s.sequence
	}
	return v
}

// At is the state that operations had left at a time, as what serves traffic sees it.
func (s *Store) At(now time.Time) View {
	return View{s, now.Add(-s.Times.Propagation), ^uint64(0)}
}

// Given tells of what was there from the beginning.
func (v View) Given(n Name) bool {
	r := v.store.records[n]
	return r != nil && r.given
}

// Store is what the view is of.
func (v View) Store() *Store { return v.store }

// Get finds a resource; nil if it is not there. It has the fields that are never
// returned. Nobody may change it.
func (v View) Get(n Name) Object {
	if r := v.store.records[n]; r != nil {
		return r.in(v).value
	}
	return nil
}

// List are the names of a collection in all scopes that a prefix fits ("" is all;
// projects/p/regions/r), in the order of their IDs and then of their scopes.
func (v View) List(host, collection, scope string) []Name {
	var out []Name
	for n := range v.store.collections[host+"/"+collection] {
		s := n.Scope()
		if (scope == "" || s == scope || strings.HasPrefix(s, scope+"/")) && v.Get(n) != nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b Name) int {
		if c := strings.Compare(a.ID(), b.ID()); c != 0 {
			return c
		}
		return strings.Compare(string(a), string(b))
	})
	return out
}

// Users are the resources that refer to one, in order.
func (v View) Users(n Name) []Name {
	var out []Name
	for user := range v.store.users[n] {
		if slices.Contains(v.store.records[user].in(v).refs, n) {
			out = append(out, user)
		}
	}
	slices.Sort(out)
	return out
}

// Kind is the kind of a resource; nil if nobody registered one.
func (v View) Kind(n Name) *Kind { return v.store.KindOf(n) }

// record is a resource with its past.
type record struct {
	kind     *Kind
	versions []version // oldest first; those of operations that still run are in the future
	busy     time.Time // the end of the operation that nothing may overtake
	ready    time.Time // when it can be referred to
	given    bool      // it was there from the beginning
	metric   string    // the quota and the location that it is counted in
}

type version struct {
	at       time.Time
	sequence uint64
	value    Object // nil: not there
	refs     []Name
}

func (r *record) in(v View) version {
	if r == nil {
		return version{}
	}
	for i := len(r.versions) - 1; i >= 0; i-- {
		if one := r.versions[i]; !one.at.After(v.at) && one.sequence < v.before {
			return one
		}
	}
	return version{}
}

// uses tells whether a resource refers to another one at a time, or will.
func (r *record) uses(n Name, at time.Time) bool {
	for i := len(r.versions) - 1; i >= 0; i-- {
		if slices.Contains(r.versions[i].refs, n) {
			return true
		}
		if !r.versions[i].at.After(at) {
			return false
		}
	}
	return false
}
