package schema

import (
	"net/http"
	"strconv"
	"strings"
)

// Target is what a request is about.
type Target struct {
	Method     *Method
	Scope      string // projects/p/global
	Collection string // backendServices
	ID         string // b; "" for methods of a collection
}

// route is a method's path in parts; a part that is a parameter is "".
type route struct {
	method *Method
	parts  []string
	action bool // the last part is what to do: setUrlMap
}

func (a *API) index() {
	a.routes = map[string][]route{}
	for _, m := range a.Methods {
		r := route{method: m, parts: strings.Split(m.Path, "/")}
		last := r.parts[len(r.parts)-1]
		r.action = m.Verb() == last
		for i, p := range r.parts {
			if strings.HasPrefix(p, "{") {
				r.parts[i] = ""
			}
		}
		key := m.HTTP + strconv.Itoa(len(r.parts))
		a.routes[key] = append(a.routes[key], r)
	}
}

// Verb is the last part of a method's ID: insert, patch, setUrlMap.
func (m *Method) Verb() string { return m.ID[strings.LastIndexByte(m.ID, '.')+1:] }

// Reads tells whether a method changes nothing.
func (m *Method) Reads() bool {
	switch m.Verb() {
	case "getHealth", "listNetworkEndpoints", "validate", "wait":
		return true
	}
	return m.HTTP == http.MethodGet
}

// Find finds the method for a path after the API's base; false if there is none.
func (a *API) Find(verb, path string) (Target, bool) {
	parts := strings.Split(path, "/")
	best, found := route{}, false
	for _, r := range a.routes[verb+strconv.Itoa(len(parts))] {
		// A literal wins over a parameter: regions/operations is not an operation's.
		if r.fits(parts) && (!found || r.literals() > best.literals()) {
			best, found = r, true
		}
	}
	if !found {
		return Target{}, false
	}
	return best.target(parts), true
}

func (r route) fits(parts []string) bool {
	for i, p := range r.parts {
		if parts[i] == "" || p != "" && p != parts[i] {
			return false
		}
	}
	return true
}

func (r route) literals() int {
	n := 0
	for _, p := range r.parts {
		if p != "" {
			n++
		}
	}
	return n
}

// target takes a path apart. Paths of compute without a scope are global.
func (r route) target(parts []string) Target {
	t := Target{Method: r.method}
	end := len(parts)
	if r.action {
		end--
	}
	if r.parts[end-1] == "" { // a parameter
		t.ID = parts[end-1]
		end--
	}
	t.Collection = parts[end-1]
	t.Scope = strings.Join(parts[:end-1], "/")
	if unscoped(t.Collection, len(parts[:end-1])) {
		t.Scope += "/global"
	}
	return t
}

// unscoped tells of collections whose paths lack the scope that they are in, as some
// older methods of compute do: projects/p/targetHttpsProxies/x/setUrlMap.
func unscoped(collection string, before int) bool {
	switch collection {
	case "projects", "regions", "zones", "locations":
		return false
	}
	return before == 2
}
