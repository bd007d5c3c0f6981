package store

import (
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
)

// Output is a resource as its API returns it: without what is write only, with what is
// computed when somebody reads. It is the caller's own.
func Output(v View, n Name, o Object) Object {
	if o == nil {
		return nil
	}
	out := make(Object, len(o))
	for k, value := range o {
		if !strings.HasPrefix(k, "@") {
			out[k] = cloneValue(value)
		}
	}
	kind := v.Kind(n)
	if kind == nil {
		return out
	}
	for _, secret := range kind.WriteOnly {
		Strip(out, secret)
	}
	if kind.Show != nil {
		kind.Show(v, n, out)
	}
	return out
}

// Page cuts a list: the part after a token, at most size long, and the next token, "" at
// the end. A token that no page ever gave is refused.
func Page[T any](all []T, token string, size int) ([]T, string, error) {
	from := 0
	if token != "" {
		text, err := base64.RawURLEncoding.DecodeString(token)
		number, found := strings.CutPrefix(string(text), "page:")
		at, bad := strconv.Atoi(number)
		if err != nil || !found || bad != nil || at < 0 {
			return nil, "", Bad("Invalid value for field 'pageToken': '%s'. The page token is invalid.", token)
		}
		from = min(at, len(all))
	}
	to := min(len(all), from+size)
	next := ""
	if to < len(all) {
		next = base64.RawURLEncoding.EncodeToString([]byte("page:" + strconv.Itoa(to)))
	}
	return all[from:to], next, nil
}

// Seed puts a resource into the store as if it had always been there.
func (s *Store) Seed(kind *Kind, n Name, o Object) {
	change := &Change{Kind: kind, Name: n, Verb: Insert, Want: o}
	r := s.record(change)
	s.count(r, change)
	refs := s.referred(kind, o)
	r.given = true
	r.versions = []version{{value: maps.Clone(o), refs: refs}}
	for _, to := range refs {
		if s.users[to] == nil {
			s.users[to] = map[Name]struct{}{}
		}
		s.users[to][n] = struct{}{}
	}
}

// Names are all resources that there are, as operations that still run will leave them.
func (v View) Names() []Name {
	var out []Name
	for n := range v.store.records {
		if v.Get(n) != nil {
			out = append(out, n)
		}
	}
	return out
}

// Count is how many resources a quota's metric counts in a location.
func (s *Store) Count(metric, location string) int { return s.counts[metric+"@"+location] }
