package aip

import (
	"net/http"
	"strings"

	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// Service says what an API of this form is like.
type Service struct {
	API *schema.API
	// Types is the prefix of its types' names: google.cloud.certificatemanager.v1.
	Types string
	Kinds []Kind
	// Group is the quota group of all its calls; "" is none.
	Group string
	// NeedMask refuses a patch without updateMask; else such a patch replaces all fields
	// that can change.
	NeedMask bool
}

// Kind is a kind with the rules that the store does not know.
type Kind struct {
	*store.Kind
	ID      string   // the query parameter of create that names the resource: trustConfigId
	Mutable []string // the fields that a patch may touch
	// GlobalOnly kinds are in location global only.
	GlobalOnly bool
	// Parent is the collection that it is in: certificateMaps; "" is the location.
	Parent string
	// Prepare gives a resource the form in which the store resolves its references; nil
	// is as it comes.
	Prepare func(store.Object)
}

// service is one API at work.
type service struct {
	Service
	store *store.Store
	kinds map[string]*Kind // by collection
	verbs map[string]func(*store.Call, *Kind) (store.Object, error)
}

// New makes the API of a store.
func New(shelf *store.Store, s Service) store.Service {
	out := &service{Service: s, store: shelf, kinds: map[string]*Kind{}}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		if k.Parent != "" {
			k.References = append(k.References, store.Reference{Field: parentField, To: []string{k.Parent}})
		}
		out.kinds[k.Collection] = k
		shelf.Register(k.Kind)
	}
	out.verbs = map[string]func(*store.Call, *Kind) (store.Object, error){
		"get": out.get, "list": out.list, "create": out.create, "patch": out.patch, "delete": out.remove,
	}
	return store.Service{API: s.API, Do: out.do, Refuse: Refuse, Group: func(*store.Call) string { return s.Group }}
}

// parentField is the emulator's own: it keeps the resource around another one in use.
const parentField = "@parent"

func (s *service) do(c *store.Call) (store.Object, error) {
	switch c.Collection {
	case "locations":
		return s.locations(c)
	case "operations":
		return s.operation(c)
	}
	k := s.kinds[c.Collection]
	run := s.verbs[c.Method.Verb()]
	if k == nil || run == nil {
		return nil, &store.Error{Status: http.StatusNotImplemented, Reason: store.Unimplemented, Message: c.Method.ID + " is not emulated"}
	}
	if err := s.located(c, k); err != nil {
		return nil, err
	}
	if !c.Method.Reads() {
		if o, err := s.store.Earlier(c); o != nil || err != nil {
			return s.shown(c, o), err
		}
	}
	out, err := run(c, k)
	return out, err
}

// located refuses locations that there are not.
func (s *service) located(c *store.Call, k *Kind) error {
	location := locationOf(c.Scope)
	if location == "-" && c.Method.Verb() == "list" {
		return nil
	}
	if !s.exists(c.Name().Project(), location) {
		return &store.Error{Status: http.StatusForbidden, Reason: store.Forbidden, Message: "Permission denied on 'locations/" + location + "' (or it may not exist)."}
	}
	if k.GlobalOnly && location != "global" {
		return store.Bad("%s can only be in location global, not in %s.", k.Schema, location)
	}
	if k.Parent != "" && s.store.Newest().Get(store.NameOf(s.API.Host, c.Scope)) == nil {
		return store.Missing(store.NameOf(s.API.Host, c.Scope))
	}
	return nil
}

// locationOf is the location of a scope: projects/p/locations/l/….
func locationOf(scope string) string {
	parts := strings.SplitN(scope, "/", 5)
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}

// computeHost is whose regions are every API's locations.
const computeHost = "compute.googleapis.com"

func (s *service) exists(project, location string) bool {
	return location == "global" || s.store.Newest().Get(store.NameOf(computeHost, "projects/"+project+"/regions/"+location)) != nil
}

// locations are global and the regions.
func (s *service) locations(c *store.Call) (store.Object, error) {
	project := strings.Split(c.Scope, "/")[1]
	describe := func(id string) store.Object {
		return store.Object{"name": "projects/" + project + "/locations/" + id, "locationId": id, "displayName": id}
	}
	if c.Method.Verb() == "get" {
		if !s.exists(project, c.ID) {
			return nil, store.Missing(c.Name())
		}
		return describe(c.ID), nil
	}
	all := []any{describe("global")}
	for _, n := range s.store.Newest().List(computeHost, "regions", "projects/"+project) {
		all = append(all, describe(n.ID()))
	}
	return store.Object{"locations": all}, nil
}
