package aip

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/filter"
	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) get(c *store.Call, k *Kind) (store.Object, error) {
	v, n := s.store.Seen(c), c.Name()
	o := v.Get(n)
	if o == nil {
		return nil, store.Missing(n)
	}
	return s.encode(c, k.Schema, store.Output(v, n, o)), nil
}

func (s *service) list(c *store.Call, k *Kind) (store.Object, error) {
	keep, err := filter.Parse(c.Query.Get("filter"))
	if err != nil {
		return nil, store.Bad("Invalid list filter expression: %s.", err)
	}
	scope := strings.TrimSuffix(c.Scope, "/locations/-")
	v := s.store.Seen(c)
	var all []any
	for _, n := range v.List(s.API.Host, c.Collection, scope) {
		if o := store.Output(v, n, v.Get(n)); keep(o) {
			all = append(all, s.encode(c, k.Schema, o))
		}
	}
	size := 500
	if text := c.Query.Get("pageSize"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, store.Bad("Invalid page_size: %s.", text)
		}
		size = min(cmp.Or(n, 500), 1000)
	}
	all, next, err := store.Page(all, c.Query.Get("pageToken"), size)
	if err != nil {
		return nil, err
	}
	out := store.Object{}
	if len(all) > 0 {
		out[c.Collection] = all
	}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out, nil
}

func (s *service) create(c *store.Call, k *Kind) (store.Object, error) {
	id := c.Query.Get(k.ID)
	if !store.IsID(id) {
		return nil, store.Bad("Invalid %s: '%s'. It must be 1 to 63 lower case letters, digits and -, begin with a letter and not end with -.", snake(k.ID), id)
	}
	n := c.Member(id)
	if name := store.Text(c.Body, "name"); name != "" && name != n.Path() && name != id {
		return nil, store.Bad("The name '%s' does not fit the %s '%s'.", name, snake(k.ID), id)
	}
	want := store.Merge(store.Object{}, c.Body)
	want["name"], want["createTime"], want["updateTime"] = n.Path(), stamp(c.Now), stamp(c.Now)
	if k.Parent != "" {
		want[parentField] = c.Scope
	}
	if err := store.CheckLabels(want); err != nil {
		return nil, err
	}
	return s.started(c, k, store.Change{Kind: k.Kind, Name: n, Type: "create", Verb: store.Insert, Want: want})
}

// patch replaces what updateMask names by what the body has there (AIP-134).
func (s *service) patch(c *store.Call, k *Kind) (store.Object, error) {
	n := c.Name()
	was := s.store.Newest().Get(n)
	if was == nil {
		return nil, store.Missing(n)
	}
	mask, err := s.mask(c, k)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(was)
	for _, field := range mask {
		top, _, _ := strings.Cut(field, ".")
		if inside, ok := want[top].(store.Object); ok {
			want[top] = store.Clone(inside)
		}
		if value := store.Get(c.Body, field); value != nil {
			store.Put(want, field, value)
		} else {
			store.Strip(want, field)
		}
	}
	want["updateTime"] = stamp(c.Now)
	if err := store.CheckLabels(want); err != nil {
		return nil, err
	}
	change := store.Change{Kind: k.Kind, Name: n, Type: "update", Verb: store.Update, Want: want}
	if k.Stamp != "" {
		change.Stamp = store.Text(c.Body, k.Stamp)
	}
	return s.started(c, k, change)
}

// mask are the fields to replace, in the API's spelling.
func (s *service) mask(c *store.Call, k *Kind) ([]string, error) {
	text := c.Query.Get("updateMask")
	switch {
	case text == "" && s.NeedMask:
		return nil, store.Bad("update_mask is required.")
	case text == "" || text == "*":
		return k.Mutable, nil
	}
	var out, bad []string
	for path := range strings.SplitSeq(text, ",") {
		path = camel(path)
		top, _, _ := strings.Cut(path, ".")
		switch {
		case s.API.Schemas[k.Schema].Fields[top] == nil:
			return nil, store.Bad("Invalid field in update_mask: %s.", path)
		case !slices.Contains(k.Mutable, top):
			bad = append(bad, path)
		}
		out = append(out, path)
	}
	if len(bad) > 0 {
		return nil, store.Bad("Invalid update_mask: paths not permitted: %s.", strings.Join(bad, ", "))
	}
	return out, nil
}

func (s *service) remove(c *store.Call, k *Kind) (store.Object, error) {
	return s.started(c, k, store.Change{Kind: k.Kind, Name: c.Name(), Type: "delete", Verb: store.Remove, Stamp: c.Query.Get("etag")})
}

func (s *service) started(c *store.Call, k *Kind, change store.Change) (store.Object, error) {
	if k.Prepare != nil && change.Want != nil {
		change.Want = store.Clone(change.Want)
		k.Prepare(change.Want)
	}
	o, err := s.store.Apply(c, change)
	if err != nil {
		return nil, err
	}
	return s.shown(c, o), nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// camel is a path of a field mask in lowerCamelCase: clients for gRPC may write
// snake_case.
func camel(path string) string {
	var out strings.Builder
	upper := false
	for _, r := range strings.TrimSpace(path) {
		if r == '_' {
			upper = true
			continue
		}
		if upper {
			r = []rune(strings.ToUpper(string(r)))[0]
			upper = false
		}
		out.WriteRune(r)
	}
	return out.String()
}

// snake is a name as messages of these APIs have it.
func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
