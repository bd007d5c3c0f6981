package providers

import (
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// shadow is what an Account remembers of the cloud: what Observe read and what
// Apply returned since. It is guarded by Account.mu.
type shadow struct {
	seen    bool // observed in bulk once
	entries lbmodel.Graph
	owned   map[lbmodel.Owner]set // own resources by owner
	users   map[lbmodel.ID]set    // who needs a resource
	foreign set                   // adopted and external ones
	shared  set

	converging   set                         // accepted by the cloud, not finished
	reached      map[lbmodel.ID]reached      // the base of the next Diff
	writes       map[lbmodel.ID]write        // our own recent ones
	turn         uint64                      // counts writes and observations
	doubt        map[lbmodel.Owner]uint64    // owners that must be observed before they are planned, since when
	doubtful     uint64                      // likewise what is shared; 0 is not
	contradicted bool                        // the last observation disagreed with a recent write of ours
	looked       map[lbmodel.Handle]struct{} // named resources that were asked for
	read         map[lbmodel.ID]time.Time    // when the last Observe began that showed a resource
	dropped      map[lbmodel.ID]time.Time    // notes that the provider cannot keep: it is no Marker
}

type set = map[lbmodel.ID]struct{}

func has(s set, id lbmodel.ID) bool {
	_, ok := s[id]
	return ok
}

// reached is a wish that the cloud fulfilled.
type reached struct {
	placed lbmodel.Resource
	wish   lbmodel.Digest // of what Compile said before Place
}

// write is our last write of a resource.
type write struct {
	turn uint64
	at   time.Time
}

func newShadow() shadow {
	return shadow{
		entries: lbmodel.Graph{}, owned: map[lbmodel.Owner]set{}, users: map[lbmodel.ID]set{},
		foreign: set{}, shared: set{}, converging: set{},
		reached: map[lbmodel.ID]reached{}, writes: map[lbmodel.ID]write{},
		doubt: map[lbmodel.Owner]uint64{}, looked: map[lbmodel.Handle]struct{}{},
		read: map[lbmodel.ID]time.Time{}, dropped: map[lbmodel.ID]time.Time{},
	}
}

// put remembers what a resource now is.
func (s *shadow) put(r lbmodel.Resource) {
	s.unlink(r.ID)
	if at, noted := s.dropped[r.ID]; noted {
		r.Facts.DroppedAt = at
	}
	s.entries[r.ID] = r
	switch r.Hold {
	case lbmodel.Own:
		addTo(s.owned, r.Owner, r.ID)
	case lbmodel.Shared:
		s.shared[r.ID] = struct{}{}
	default:
		s.foreign[r.ID] = struct{}{}
	}
	for _, need := range needsOf(r) {
		addTo(s.users, need, r.ID)
	}
}

// remove forgets a resource, but not what was reached of it.
func (s *shadow) remove(id lbmodel.ID) {
	s.unlink(id)
	delete(s.read, id)
	delete(s.dropped, id)
}

func (s *shadow) unlink(id lbmodel.ID) {
	old, ok := s.entries[id]
	if !ok {
		return
	}
	delete(s.entries, id)
	delete(s.shared, id)
	delete(s.foreign, id)
	takeFrom(s.owned, old.Owner, id)
	for _, need := range needsOf(old) {
		takeFrom(s.users, need, id)
	}
}

// wrote remembers our own write, which outweighs reads that began before it.
func (s *shadow) wrote(id lbmodel.ID, at time.Time) {
	s.turn++
	s.writes[id] = write{turn: s.turn, at: at}
}

// suspect makes the owner of a resource (or everybody, if it is shared) be
// observed before the next plan: the outcome of a call on it is unknown.
func (s *shadow) suspect(owner lbmodel.Owner, hold lbmodel.Hold) {
	s.turn++
	if hold == lbmodel.Own {
		s.doubt[owner] = s.turn
		return
	}
	s.doubtful = s.turn
}

// observation is one answer of Observe, with what is needed to weigh it against
// our own writes.
type observation struct {
	owner lbmodel.Owner // a zero Name: all of the cluster
	named []lbmodel.Handle
	graph lbmodel.Graph
	began time.Time // when the read began
	since uint64    // the turn before the read
	trust time.Time // writes of ours after this one outweigh a read that contradicts them
}

// absorb takes an observation in and returns the resources that are not as they
// were remembered. Those that contradict a recent write of ours are left alone:
// clouds answer reads late.
func (s *shadow) absorb(o observation) []lbmodel.ID {
	var changed []lbmodel.ID
	s.contradicted = false
	for _, id := range s.missing(o) {
		if s.outweighs(id, o) {
			s.contradicted = true
			continue
		}
		s.remove(id)
		delete(s.converging, id)
		changed = append(changed, id)
	}
	for id, r := range o.graph {
		old, known := s.entries[id]
		same := known && old.Digest == r.Digest
		switch late := s.outweighs(id, o); {
		case late && !same:
			s.contradicted = true
			continue
		case late: // our note may be newer than the read
			r.Facts.DroppedAt = old.Facts.DroppedAt
		}
		if !same || !slices.Equal(old.Facts.Addresses, r.Facts.Addresses) {
			changed = append(changed, id)
		}
		s.put(r)
		s.read[id] = o.began
	}
	s.believe(o)
	slices.SortFunc(changed, lbmodel.ID.Compare)
	return changed
}

// missing are the remembered resources that the observation should have shown
// and did not.
func (s *shadow) missing(o observation) []lbmodel.ID {
	var out []lbmodel.ID
	scope := func(ids set) {
		for id := range ids {
			if _, there := o.graph[id]; !there {
				out = append(out, id)
			}
		}
	}
	for owner := range s.owned {
		if o.owner.Name == "" || owner == o.owner {
			scope(s.owned[owner])
		}
	}
	scope(s.shared)
	scope(s.foreign)
	return out
}

func (s *shadow) outweighs(id lbmodel.ID, o observation) bool {
	w, ok := s.writes[id]
	return ok && (w.turn > o.since || w.at.After(o.trust))
}

// believe settles the doubts that an observation answers: those that are older
// than it.
func (s *shadow) believe(o observation) {
	s.turn++
	if s.doubtful <= o.since {
		s.doubtful = 0
	}
	maps.DeleteFunc(s.doubt, func(owner lbmodel.Owner, since uint64) bool {
		return since <= o.since && (o.owner.Name == "" || owner == o.owner)
	})
	s.seen = s.seen || o.owner.Name == ""
	clear(s.looked) // every observation asks for all that is named
	for _, h := range o.named {
		s.looked[h] = struct{}{}
	}
	maps.DeleteFunc(s.writes, func(_ lbmodel.ID, w write) bool {
		return w.turn <= o.since && !w.at.After(o.trust)
	})
}

func needsOf(r lbmodel.Resource) []lbmodel.ID {
	if r.Spec == nil {
		return nil
	}
	return r.Spec.Needs()
}

func addTo[K comparable](m map[K]set, key K, id lbmodel.ID) {
	if m[key] == nil {
		m[key] = set{}
	}
	m[key][id] = struct{}{}
}

func takeFrom[K comparable](m map[K]set, key K, id lbmodel.ID) {
	delete(m[key], id)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
