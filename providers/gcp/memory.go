package gcp

import (
	"maps"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// memory is what a process knows of the project and need not ask again. A process that
// starts has none; all that it costs to be without is reads.
type memory struct {
	mu     sync.Mutex
	stamps map[string]stamps        // by path; of what was written since it was read they are not known
	doubts map[string]bool          // paths of which it is not known what became of the last change
	groups map[string]*group        // network endpoint groups of ours, by path
	notes  map[lbmodel.ID]time.Time // since when that is kept which nothing can be noted with
	waits  map[string]time.Time     // since when somebody is waited for to become healthy, by path
}

// stamps are what a change must name of what it changes.
type stamps struct {
	fingerprint string // of most of Compute's
	labels      string // the fingerprint of the labels
}

// group is what is remembered of a network endpoint group.
type group struct {
	id     lbmodel.ID
	spec   *NetworkEndpointGroup
	health map[lbmodel.Target]lbmodel.Health
	readAt time.Time // the health
}

func newMemory() *memory {
	return &memory{stamps: map[string]stamps{}, doubts: map[string]bool{}, groups: map[string]*group{}, notes: map[lbmodel.ID]time.Time{}, waits: map[string]time.Time{}}
}

// with runs f alone with the memory.
func (m *memory) with(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// see remembers a thing that was read.
func (m *memory) see(i *item) {
	m.with(func() {
		m.stamps[i.path] = stamps{i.fields.Fingerprint, i.fields.LabelFingerprint}
		delete(m.doubts, i.path)
	})
}

// stampsOf are those of a path, if they are known.
func (m *memory) stampsOf(path string) (s stamps, known bool) {
	m.with(func() { s, known = m.stamps[path] })
	return s, known
}

// begin notes that a path is about to be changed: what is known of it is no more, and
// nobody knows what becomes of it until it is settled. It says whether that was so.
func (m *memory) begin(path string) (doubted bool) {
	m.with(func() {
		doubted = m.doubts[path]
		m.doubts[path] = true
		delete(m.stamps, path)
	})
	return doubted
}

func (m *memory) doubted(path string) (is bool) {
	m.with(func() { is = m.doubts[path] })
	return is
}

// settle notes that a change has had its effect.
func (m *memory) settle(path string) { m.with(func() { delete(m.doubts, path) }) }

// forget drops what is known of a thing that is gone.
func (m *memory) forget(path string, id lbmodel.ID) {
	m.with(func() {
		delete(m.stamps, path)
		delete(m.doubts, path)
		delete(m.notes, id)
		delete(m.waits, path)
		delete(m.waits, path+endpointsOf)
		if id.Kind == KindNetworkEndpointGroup {
			delete(m.groups, path)
		}
	})
}

// group remembers a network endpoint group of which nobody has read the health yet.
func (m *memory) group(path string, id lbmodel.ID, spec *NetworkEndpointGroup) {
	m.with(func() {
		if m.groups[path] == nil {
			m.groups[path] = &group{id: id, spec: spec}
		}
	})
}

// waitsSince tells since when a path waits: since now, if it did not yet.
func (m *memory) waitsSince(path string, now time.Time) (since time.Time) {
	m.with(func() {
		if _, known := m.waits[path]; !known {
			m.waits[path] = now
		}
		since = m.waits[path]
	})
	return since
}

// restart ends what a path has waited for.
func (m *memory) restart(path string) { m.with(func() { delete(m.waits, path) }) }

// note remembers since when a resource is kept although nobody wants it.
func (m *memory) note(id lbmodel.ID, since time.Time) {
	m.with(func() {
		if since.IsZero() {
			delete(m.notes, id)
			return
		}
		m.notes[id] = since
	})
}

// look is what a whole observation has found: it is the truth about groups.
func (m *memory) look(found lbmodel.Graph, now time.Time) {
	m.with(func() {
		before := m.groups
		m.groups = map[string]*group{}
		for id, r := range found {
			spec, ok := r.Spec.(*NetworkEndpointGroup)
			if !ok || r.Hold == lbmodel.External {
				continue
			}
			g := &group{id: id, spec: spec, readAt: now, health: maps.Clone(found[endpointsID(id)].Facts.Health)}
			m.groups[string(r.Handle)] = g
		}
		for path, g := range before {
			if m.groups[path] == nil && found[g.id].Spec == nil {
				delete(m.doubts, path)
			}
		}
		for id, since := range m.notes {
			r, there := found[id]
			if there && r.Facts.DroppedAt.IsZero() {
				r.Facts.DroppedAt = since
				found[id] = r
			}
		}
	})
}
