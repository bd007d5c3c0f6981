package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Change is what a call wants to become of one resource.
type Change struct {
	Kind *Kind
	Name Name
	Type string // the operation's: insert or create, patch, delete, setUrlMap
	Verb Verb
	// Want is the whole resource as it is to be, without what the server computes anew;
	// of a removal it is nil. The store takes it over.
	Want Object
	// Stamp is the fingerprint or etag that the caller has seen; "" is none.
	Stamp string
	// NeedStamp refuses a change without one, of a kind that has one.
	NeedStamp bool
	// Beside lets it run beside other operations on the resource, as those do that attach
	// and detach endpoints.
	Beside bool
	// Force is a removal without asking who uses it.
	Force bool
}

// Verb is what a change does.
type Verb uint8

// The verbs.
const (
	Insert Verb = iota + 1 // it must not be there
	Update                 // it must be there
	Remove                 // it must be there, and nobody may use it
)

// Apply starts the operation that a change is, or refuses with an [*Error]: because of
// the resource itself, of what it says (Kind.Check), of what it refers to, of who uses
// it, or of a quota. A refused change has no effect at all.
func (s *Store) Apply(c *Call, change Change) (*Operation, error) {
	was := s.newest().Get(change.Name)
	if err := s.admit(c, &change, was); err != nil {
		return nil, err
	}
	if change.Want != nil {
		if err := s.complete(&change, was); err != nil {
			return nil, err
		}
	}
	if err := s.allowed(c, &change, was); err != nil {
		return nil, err
	}
	if err := s.outside(c, &change); err != nil {
		if !s.LateErrors {
			return nil, err
		}
		c.Fail = err
	}
	o := s.start(c, &change)
	if o.TargetID = Text(was, "id"); was == nil {
		o.TargetID = Text(change.Want, "id")
	}
	s.commit(c, &change, o)
	return o, nil
}

// admit looks at the resource itself.
func (s *Store) admit(c *Call, change *Change, was Object) error {
	r, kind := s.records[change.Name], change.Kind
	running := r != nil && r.busy.After(c.Now) && !change.Beside
	switch {
	case change.Verb == Insert && was != nil:
		return refuse(http.StatusConflict, AlreadyExists, "The resource '%s' already exists", change.Name.Path())
	case change.Verb != Insert && was == nil:
		return Missing(change.Name)
	case running:
		return Unready(change.Name)
	case kind.Stamp == "" || change.Verb == Insert:
		return nil
	case change.Stamp == "" && change.NeedStamp:
		return refuse(http.StatusPreconditionFailed, ConditionUnmet, "Supplied fingerprint does not match current metadata fingerprint.")
	case change.Stamp != "" && change.Stamp != Text(was, kind.Stamp):
		return refuse(http.StatusPreconditionFailed, ConditionUnmet, "Invalid fingerprint.")
	}
	return nil
}

// complete makes the resource whole, and looks at what it says.
func (s *Store) complete(change *Change, was Object) error {
	kind, v := change.Kind, s.newest()
	change.Want = own(change.Want)
	if err := s.link(kind, change.Name, change.Want); err != nil {
		return err
	}
	if kind.Default != nil {
		kind.Default(v, change.Name, change.Want)
	}
	if was != nil {
		if err := s.unchanged(kind, was, change.Want); err != nil {
			return err
		}
	}
	if kind.Check != nil {
		if err := kind.Check(v, change.Name, was, change.Want); err != nil {
			return err
		}
	}
	if kind.Stamp != "" {
		change.Want[kind.Stamp] = StampOf(change.Want, kind.Stamp)
	}
	return nil
}

// own is a copy that shares only what is the emulator's own and is never changed.
func own(o Object) Object {
	out := make(Object, len(o))
	for k, v := range o {
		if k[:min(1, len(k))] != "@" {
			v = cloneValue(v)
		}
		if v != nil {
			out[k] = v
		}
	}
	return out
}

// StampOf is the fingerprint of an object: a hash of what is in it besides.
func StampOf(o Object, field string) string {
	rest := maps.Clone(o)
	delete(rest, field)
	text, err := json.Marshal(rest, json.Deterministic(true))
	if err != nil {
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// unchanged refuses to touch what is immutable.
func (s *Store) unchanged(kind *Kind, was, want Object) error {
	for _, field := range kind.Immutable {
		before, after := Get(was, field), Get(want, field)
		if !same(before, after) {
			return BadField(field, after, "The field is immutable: it is '%s' and can't be changed.", show(before))
		}
	}
	return nil
}

// outside looks at what others have to do with the change.
func (s *Store) outside(c *Call, change *Change) *Error {
	switch change.Verb {
	case Remove:
		if by := s.usersOf(change.Name, c.Now); len(by) > 0 && !change.Force {
			if change.Kind.Used != nil {
				return change.Kind.Used(change.Name, by)
			}
			return usedBy(change.Kind, change.Name, by[0])
		}
		return nil
	case Insert:
		if err := s.room(change); err != nil {
			return err
		}
	}
	for _, ref := range s.referred(change.Kind, change.Want) {
		if err := s.usable(c, ref); err != nil {
			return err
		}
	}
	return nil
}

// allowed asks whether the caller may use what the resource did not refer to before.
func (s *Store) allowed(c *Call, change *Change, was Object) *Error {
	before := s.referred(change.Kind, was)
	for _, ref := range s.referred(change.Kind, change.Want) {
		if slices.Contains(before, ref) {
			continue
		}
		c.Uses = append(c.Uses, ref)
		if s.Use != nil {
			if err := s.Use(c, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// usersOf are the resources that refer to one now, or have lately.
func (s *Store) usersOf(n Name, now time.Time) []Name {
	var out []Name
	for user := range s.users[n] {
		if r := s.records[user]; r != nil && r.uses(n, now.Add(-s.Times.Linger)) {
			out = append(out, user)
		}
	}
	slices.Sort(out)
	return out
}

func usedBy(kind *Kind, n, by Name) *Error {
	return refuse(http.StatusBadRequest, InUse, "The %s resource '%s' is already being used by '%s'", kind.Noun, n.Path(), by.Path())
}

// room looks at the quota.
func (s *Store) room(change *Change) *Error {
	n := change.Name
	if change.Kind.Quota == nil {
		return nil
	}
	metric := change.Kind.Quota(n, change.Want)
	limit, limited := s.Limits[metric]
	if !limited || s.counts[metric+"@"+n.Location()] < limit {
		return nil
	}
	where := ""
	if n.Location() != "global" {
		where = " in region " + n.Location()
	}
	return refuse(http.StatusForbidden, QuotaExceeded, "Quota '%s' exceeded.  Limit: %d.0%s.", metric, limit, where)
}
