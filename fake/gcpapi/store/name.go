package store

import "strings"

// Name is a resource's full name (https://google.aip.dev/122), such as
// //compute.googleapis.com/projects/p/global/backendServices/b.
type Name string

// NameOf joins a service's host and a path such as projects/p/global/addresses/a.
func NameOf(host, path string) Name { return Name("//" + host + "/" + path) }

// Host is the service's: compute.googleapis.com.
func (n Name) Host() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(string(n), "//"), "/")
	return host
}

// Path is the name within its service: projects/p/global/backendServices/b.
func (n Name) Path() string {
	_, path, _ := strings.Cut(strings.TrimPrefix(string(n), "//"), "/")
	return path
}

// ID is the last part: b.
func (n Name) ID() string { return string(n)[strings.LastIndexByte(string(n), '/')+1:] }

// Collection is the part before the last: backendServices.
func (n Name) Collection() string {
	parent := n.parent()
	return parent[strings.LastIndexByte(parent, '/')+1:]
}

// Scope is where the collection is: projects/p/global, projects/p/regions/r,
// projects/p/locations/l, projects/p/locations/l/certificateMaps/m.
func (n Name) Scope() string {
	scope, _, _ := cutLast(Name(n.parent()).Path())
	return scope
}

// Project is the project's ID: p.
func (n Name) Project() string {
	parts := strings.SplitN(n.Path(), "/", 3)
	if len(parts) < 2 || parts[0] != "projects" {
		return ""
	}
	return parts[1]
}

// Location is the region, zone or location; "global" without one.
func (n Name) Location() string {
	parts := strings.Split(n.Path(), "/")
	if len(parts) < 4 || parts[2] == "global" {
		return "global"
	}
	return parts[3]
}

func (n Name) parent() string {
	parent, _, _ := cutLast(string(n))
	return parent
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}
