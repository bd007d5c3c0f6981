package store

import (
	"crypto/sha256"
	"encoding/json/v2"
	"slices"
	"time"
)

// Project is a project that there is.
type Project struct {
	ID     string
	Number string
}

// Times are how long things take.
type Times struct {
	// Operations is how long an operation runs, by the collection; "" is all others.
	Operations  map[string]time.Duration
	Read        time.Duration // how far reads lag behind the end of operations
	Propagation time.Duration // from the end of an operation until traffic is served by it
	Linger      time.Duration // how long a resource stays in use after its last user
}

func (t Times) of(collection string) time.Duration {
	if d, ok := t.Operations[collection]; ok {
		return d
	}
	return t.Operations[""]
}

// Config says what a store is like.
type Config struct {
	Projects []Project // the first one is the default of references without one
	Times    Times
	// Limits are quotas by metric. A metric counts by location, so that regional ones
	// count by region.
	Limits map[string]int
	// LateErrors: what only the state decides (references that are missing or not ready,
	// use by others, quotas) is told by the operation and not by the call. Google does
	// either, and documents neither.
	LateErrors bool
	// EarlyReads: reads see what an operation does while it still runs.
	EarlyReads bool
	// LoosePatches: a PATCH of a resource with a fingerprint may come without it.
	LoosePatches bool
	// Use refuses callers who may not have one resource refer to another one; nil lets
	// everybody.
	Use func(c *Call, to Name) *Error
}

// Store is what a project holds.
type Store struct {
	Config
	kinds       map[string]*Kind // by host/collection
	records     map[Name]*record
	collections map[string]map[Name]struct{} // by host/collection
	users       map[Name]map[Name]struct{}   // who has ever referred to a resource, as far as is remembered
	counts      map[string]int               // by metric and location
	gone        []Name                       // deleted, oldest first
	due         []time.Time                  // when changes take effect
	operations  map[string]*Operation
	started     []*Operation
	requests    map[string]request
	sequence    uint64 // of the last change
	named       uint64
}

// New is an empty store.
func New(config Config) *Store {
	return &Store{
		Config: config, kinds: map[string]*Kind{}, records: map[Name]*record{}, collections: map[string]map[Name]struct{}{},
		users: map[Name]map[Name]struct{}{}, counts: map[string]int{}, operations: map[string]*Operation{}, requests: map[string]request{},
	}
}

// Register makes kinds known.
func (s *Store) Register(kinds ...*Kind) {
	for _, k := range kinds {
		s.kinds[k.Host+"/"+k.Collection] = k
	}
}

// KindOf is the kind of a name; nil if nobody registered it.
func (s *Store) KindOf(n Name) *Kind { return s.kinds[n.Host()+"/"+n.Collection()] }

// Project finds a project by its ID or number; false if there is none.
func (s *Store) Project(idOrNumber string) (Project, bool) {
	for _, p := range s.Projects {
		if p.ID == idOrNumber || p.Number == idOrNumber {
			return p, true
		}
	}
	return Project{}, false
}

// Due is when traffic will next be served differently than now; false if nothing is on
// its way.
func (s *Store) Due(now time.Time) (time.Time, bool) {
	s.due = slices.DeleteFunc(s.due, func(at time.Time) bool { return !at.Add(s.Times.Propagation).After(now) })
	if len(s.due) == 0 {
		return time.Time{}, false
	}
	return slices.MinFunc(s.due, time.Time.Compare).Add(s.Times.Propagation), true
}

// digestOf is of all that a call asks for.
func digestOf(c *Call) string {
	text, err := json.Marshal([]any{c.Method.ID, c.Name(), c.Query, c.Body}, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}
