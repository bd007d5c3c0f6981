package store

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Resolve reads a reference: a URL of any of the API's addresses, a full name, a path
// from projects/ on, or one from the scope on (global/…, regions/…, zones/…), which is
// the project's that the reference is in. A project's number is its ID.
func (s *Store) Resolve(host, project, value string) (Name, bool) {
	path := value
	if rest, ok := strings.CutPrefix(value, "//"); ok {
		var found bool
		if host, path, found = strings.Cut(rest, "/"); !found {
			return "", false
		}
	} else if _, rest, ok := strings.Cut(value, "://"); ok {
		_, after, found := strings.Cut(rest, "/projects/")
		if !found {
			return "", false
		}
		path = "projects/" + after
	}
	parts := strings.Split(path, "/")
	switch {
	case slices.Contains(parts, ""):
		return "", false
	case parts[0] == "global" || parts[0] == "regions" || parts[0] == "zones":
		parts = append([]string{"projects", project}, parts...)
	case parts[0] != "projects" || len(parts) < 4:
		return "", false
	}
	if p, ok := s.Project(parts[1]); ok {
		parts[1] = p.ID
	}
	return NameOf(host, strings.Join(parts, "/")), true
}

// resolve reads a reference of a field. One without a service's name is of the service
// whose collections the field may name.
func (s *Store) resolve(kind *Kind, ref *Reference, project, text string) (Name, bool) {
	named, ok := s.Resolve(kind.Host, project, text)
	if !ok {
		return "", false
	}
	for _, to := range ref.To {
		host, collection, foreign := strings.Cut(to, "/")
		if !foreign {
			host, collection = kind.Host, to
		}
		if collection == named.Collection() && (host == named.Host() || !strings.HasPrefix(text, "//")) {
			return NameOf(host, named.Path()), true
		}
	}
	return "", false
}

// link gives all references of a resource their canonical form.
func (s *Store) link(kind *Kind, n Name, o Object) error {
	var bad error
	for i := range kind.References {
		ref := &kind.References[i]
		Visit(o, ref.Field, func(path string, value any) any {
			text, _ := value.(string)
			if text == "" || bad != nil {
				return value
			}
			to, ok := s.resolve(kind, ref, n.Project(), text)
			switch {
			case !ok && ref.Weak:
				return value
			case !ok:
				bad = BadField(path, text, "The URL is malformed. Must be a URL of one of: %s.", strings.Join(ref.To, ", "))
			case ref.Near && to.Location() != n.Location():
				bad = BadField(path, text, "Must be in the same location as the resource, %s.", n.Location())
			case ref.Link != nil:
				return ref.Link(to)
			default:
				return to.Path()
			}
			return value
		})
	}
	return bad
}

// Refers are the resources that one refers to so that they must be there.
func (s *Store) Refers(n Name, o Object) []Name {
	if kind := s.KindOf(n); kind != nil {
		return s.referred(kind, o)
	}
	return nil
}

func (s *Store) referred(kind *Kind, o Object) []Name {
	var out []Name
	for i := range kind.References {
		ref := &kind.References[i]
		if ref.Weak {
			continue
		}
		Each(o, ref.Field, func(_ string, value any) {
			text, _ := value.(string)
			if to, ok := s.resolve(kind, ref, s.home(), text); ok && !slices.Contains(out, to) {
				out = append(out, to)
			}
		})
	}
	return out
}

// home is the project of references that are not canonical.
func (s *Store) home() string {
	if len(s.Projects) == 0 {
		return ""
	}
	return s.Projects[0].ID
}

// usable tells whether a resource can be referred to now.
func (s *Store) usable(c *Call, n Name) *Error {
	r := s.records[n]
	switch {
	case s.KindOf(n) == nil:
		return nil // nobody emulates what it is
	case s.newest().Get(n) == nil && r != nil && r.busy.After(c.Now):
		return Unready(n) // it is being deleted
	case s.newest().Get(n) == nil:
		return refuse(http.StatusNotFound, NotFound, "The resource '%s' was not found", n.Path())
	case r.ready.After(c.Now):
		return Unready(n)
	}
	return nil
}

// same compares two values of JSON, where nothing and an empty value are the same.
func same(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

func plain(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	case Object:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// show is a value as messages have it.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case Object, []any:
		text, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	return fmt.Sprint(v)
}
