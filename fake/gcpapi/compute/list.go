package compute

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/gcpapi/filter"
	"gatehouse.dev/fake/gcpapi/store"
)

// item is a resource in a list.
type item struct {
	name   store.Name
	object store.Object
}

func (s *service) get(c *store.Call) (store.Object, error) {
	v, n := s.store.Seen(c), c.Name()
	o := v.Get(n)
	if o == nil {
		return nil, store.Missing(n)
	}
	return store.Output(v, n, o), nil
}

func (s *service) list(c *store.Call) (store.Object, error) {
	return s.listed(c, s.items(c, c.Scope))
}

func (s *service) aggregated(c *store.Call) (store.Object, error) {
	return s.aggregate(c, s.items(c, ""))
}

// items are a collection's resources in a scope, or in all.
func (s *service) items(c *store.Call, scope string) []item {
	v := s.store.Seen(c)
	var out []item
	for _, n := range v.List(Host, c.Collection, scope) {
		if scope != "" && n.Scope() != scope || n.Project() != c.Name().Project() {
			continue
		}
		out = append(out, item{n, store.Output(v, n, v.Get(n))})
	}
	return out
}

// page filters, orders and cuts a list as the call asks for.
func page(c *store.Call, all []item) ([]item, string, error) {
	keep, err := filter.Parse(c.Query.Get("filter"))
	if err != nil {
		return nil, "", store.Bad("Invalid value for field 'filter': '%s'. Invalid list filter expression: %s.", c.Query.Get("filter"), err)
	}
	all = slices.DeleteFunc(all, func(i item) bool { return !keep(i.object) })
	switch order := c.Query.Get("orderBy"); order {
	case "", "name":
	case "creationTimestamp desc":
		slices.SortStableFunc(all, func(a, b item) int { return strings.Compare(created(b), created(a)) })
	default:
		return nil, "", store.Bad("Invalid value for field 'orderBy': '%s'. Must be name or creationTimestamp desc.", order)
	}
	size := 500
	if text := c.Query.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n > 500 {
			return nil, "", store.Bad("Invalid value for field 'maxResults': '%s'. Must be between 0 and 500.", text)
		}
		size = cmp.Or(n, 500)
	}
	return store.Page(all, c.Query.Get("pageToken"), size)
}

func created(i item) string {
	return cmp.Or(store.Text(i.object, "creationTimestamp"), store.Text(i.object, "insertTime"))
}

// listed is a page of a list.
func (s *service) listed(c *store.Call, all []item) (store.Object, error) {
	all, next, err := page(c, all)
	if err != nil {
		return nil, err
	}
	out := s.frame(c, next)
	if len(all) > 0 {
		items := make([]any, len(all))
		for i, one := range all {
			items[i] = one.object
		}
		out["items"] = items
	}
	return out, nil
}

// frame is what is around a list's items.
func (s *service) frame(c *store.Call, next string) store.Object {
	path := c.Scope + "/" + c.Collection
	fields := s.api.Schemas[c.Method.Response].Fields
	out := store.Object{"kind": fields["kind"].Kind, "id": path}
	if fields["selfLink"] != nil {
		out["selfLink"] = "https://www.googleapis.com/compute/v1/" + path
	}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out
}

// aggregate is a page of a list of all scopes, by scope. Scopes with nothing on the page
// are there, with a warning.
func (s *service) aggregate(c *store.Call, all []item) (store.Object, error) {
	all, next, err := page(c, all)
	if err != nil {
		return nil, err
	}
	by := map[string][]any{}
	for _, i := range all {
		scope := strings.SplitN(i.name.Scope(), "/", 3)[2]
		by[scope] = append(by[scope], i.object)
	}
	items := store.Object{}
	for _, scope := range s.scopes(c.Name().Project()) {
		items[scope] = store.Object{"warning": store.Object{"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for scope '" + scope + "' on this page.",
			"data": []any{store.Object{"key": "scope", "value": scope}}}}
	}
	for _, scope := range slices.Sorted(maps.Keys(by)) {
		items[scope] = store.Object{c.Collection: by[scope]}
	}
	out := s.frame(c, next)
	out["items"] = items
	return out, nil
}

// scopes are all scopes that there are.
func (s *service) scopes(project string) []string {
	out := []string{"global"}
	for _, collection := range []string{"regions", "zones"} {
		for _, n := range s.store.Newest().List(Host, collection, "projects/"+project) {
			out = append(out, collection+"/"+n.ID())
		}
	}
	return out
}
