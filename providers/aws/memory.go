package aws

import (
	"context"
	"maps"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// memory is what a process knows of the account and need not ask again: what never
// changes (whose an ARN is), what only we change (tags, contents of certificates by
// the time of their import), and what was tried. A process that starts has none; all
// that it costs to be without is reads.
type memory struct {
	looking chan struct{} // holds a token during a look at networks

	mu      sync.Mutex
	tags    map[string]tags         // by ARN; those of others are remembered as nil
	foreign map[lbmodel.ID]bool     // names that somebody else has
	tried   map[lbmodel.ID]bool     // creates of which the outcome may be unknown
	leaving map[string]struct{}     // ARNs of load balancers, listeners and groups that the last plan deletes
	usedBy  map[string][]string     // by whom such a group is used
	groups  map[string]*group       // target groups of ours, by ARN
	places  map[string]string       // virtual networks by site
	leaves  map[string]imported     // certificates by ARN
	buckets map[location]bool       // where bundles have been put
	ranges  map[string]cidrs        // of virtual networks
	subnets map[string]foundSubnets // by site
	swept   bool                    // strays were asked for
	strays  map[string]bool         // load balancers of others' that hold rules of ours
	cluster string                  // whose things are observed
}

// location is a place for bundles.
type location struct{ bucket, prefix string }

func newMemory() *memory {
	return &memory{
		looking: make(chan struct{}, 1),
		tags:    map[string]tags{}, foreign: map[lbmodel.ID]bool{}, tried: map[lbmodel.ID]bool{}, leaving: map[string]struct{}{}, usedBy: map[string][]string{},
		groups: map[string]*group{}, places: map[string]string{}, leaves: map[string]imported{},
		buckets: map[location]bool{}, strays: map[string]bool{}, ranges: map[string]cidrs{}, subnets: map[string]foundSubnets{},
	}
}

// look begins a look at networks, one at a time: many steps of a plan ask for the same.
// Who waits for another's requests can be cancelled.
func (m *memory) look(ctx context.Context) error {
	select {
	case m.looking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *memory) looked() { <-m.looking }

// with runs f alone with the memory.
func (m *memory) with(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// tagsOf are the tags of an ARN as far as they are known. Those of somebody else's are
// known to be nil.
func (m *memory) tagsOf(arn string) (t tags, known bool) {
	m.with(func() { t, known = m.tags[arn]; t = maps.Clone(t) })
	return t, known
}

func (m *memory) setTags(arn string, t tags) {
	m.with(func() { m.tags[arn] = maps.Clone(t) })
}

// retag changes some of the tags of an ARN.
func (m *memory) retag(arn string, set tags, remove []string) {
	m.with(func() {
		now := maps.Clone(m.tags[arn])
		if now == nil {
			return // not known: it will be asked
		}
		maps.Copy(now, set)
		for _, key := range remove {
			delete(now, key)
		}
		m.tags[arn] = now
	})
}

// forget drops what is known of a thing that is gone.
func (m *memory) forget(arn string) {
	m.with(func() {
		delete(m.tags, arn)
		delete(m.leaving, arn)
		delete(m.groups, arn)
		delete(m.leaves, arn)
	})
}

// attempt notes that a create is tried, and says whether it was before: then it may
// have had its effect.
func (m *memory) attempt(id lbmodel.ID) (again bool) {
	m.with(func() { again, m.tried[id] = m.tried[id], true })
	return again
}

// settle notes that the outcome of creates is known.
func (m *memory) settle(ids ...lbmodel.ID) {
	m.with(func() {
		for _, id := range ids {
			delete(m.tried, id)
		}
	})
}

// group is what is remembered of a target group of ours.
type group struct {
	id         lbmodel.ID
	attributes map[string]string
	readAt     time.Time // the attributes
	users      []string  // ARNs of the load balancers that lead to it
	health     map[lbmodel.Target]lbmodel.Health
	healthAt   time.Time // zero: read it
	full       bool      // it had no room for new targets
	draining   int       // targets that were deregistered, until
	drained    time.Time
}

// clusterName is the cluster whose things are observed.
func (m *memory) clusterName() (name string) {
	m.with(func() { name = m.cluster })
	return name
}
