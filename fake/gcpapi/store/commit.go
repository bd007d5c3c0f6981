package store

import (
	"slices"
	"time"
)

// commit makes a change the newest state, to be seen when its operation ends. One whose
// operation fails only keeps the resource busy.
func (s *Store) commit(c *Call, change *Change, o *Operation) {
	if o.Err != nil {
		if r := s.records[change.Name]; r != nil {
			r.busy = later(r.busy, o.End)
		}
		return
	}
	r := s.record(change)
	s.count(r, change)
	s.sequence++
	next := version{at: o.End, sequence: s.sequence, value: change.Want}
	if change.Want != nil {
		next.refs = s.referred(change.Kind, change.Want)
	}
	if n := len(r.versions); n > 0 {
		next.at = later(next.at, r.versions[n-1].at)
	}
	r.versions, r.busy = append(s.trim(r, c.Now), next), later(r.busy, o.End)
	s.due = append(s.due, next.at)
	if change.Verb == Insert {
		r.ready = o.End.Add(c.NotReady)
	}
	for _, to := range next.refs {
		if s.users[to] == nil {
			s.users[to] = map[Name]struct{}{}
		}
		s.users[to][change.Name] = struct{}{}
	}
	if change.Want == nil {
		s.gone = append(s.gone, change.Name)
	}
	s.sweep(c.Now)
}

func (s *Store) record(change *Change) *record {
	r := s.records[change.Name]
	if r == nil {
		r = &record{kind: change.Kind}
		s.records[change.Name] = r
		all := change.Kind.Host + "/" + change.Kind.Collection
		if s.collections[all] == nil {
			s.collections[all] = map[Name]struct{}{}
		}
		s.collections[all][change.Name] = struct{}{}
	}
	return r
}

// count keeps what quotas are about.
func (s *Store) count(r *record, change *Change) {
	switch {
	case change.Kind.Quota == nil:
	case change.Verb == Insert:
		r.metric = change.Kind.Quota(change.Name, change.Want) + "@" + change.Name.Location()
		s.counts[r.metric]++
	case change.Verb == Remove:
		s.counts[r.metric]--
	}
}

// keep is how old a state somebody may still ask for.
func (s *Store) keep() time.Duration { return s.Times.Read + s.Times.Propagation + s.Times.Linger }

// trim drops versions that nobody can ask for any more. The last one stays: it is what
// was before the last change.
func (s *Store) trim(r *record, now time.Time) []version {
	old := 0
	for old+1 < len(r.versions) && r.versions[old+1].at.Before(now.Add(-s.keep())) {
		old++
	}
	return slices.Delete(r.versions, 0, old)
}

// sweep drops what is gone for good.
func (s *Store) sweep(now time.Time) {
	for len(s.gone) > 0 {
		n := s.gone[0]
		r := s.records[n]
		if r != nil {
			last := r.versions[len(r.versions)-1]
			switch {
			case last.value != nil: // made anew
			case last.sequence == s.sequence || last.at.After(now.Add(-s.keep())):
				return
			default:
				s.drop(n, r)
			}
		}
		s.gone = s.gone[1:]
	}
}

func (s *Store) drop(n Name, r *record) {
	for _, v := range r.versions {
		for _, to := range v.refs {
			delete(s.users[to], n)
			if len(s.users[to]) == 0 {
				delete(s.users, to)
			}
		}
	}
	delete(s.records, n)
	delete(s.collections[r.kind.Host+"/"+r.kind.Collection], n)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
