package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/schema"
)

// document is the part of a discovery document that is read
// (https://developers.google.com/discovery/v1/reference/apis).
type document struct {
	Name        string               `json:"name"`
	RootURL     string               `json:"rootUrl"`
	ServicePath string               `json:"servicePath"`
	Resources   map[string]*resource `json:"resources"`
	Schemas     map[string]*property `json:"schemas"`
}

type resource struct {
	Methods   map[string]*method   `json:"methods"`
	Resources map[string]*resource `json:"resources"`
}

type method struct {
	ID         string               `json:"id"`
	HTTPMethod string               `json:"httpMethod"`
	Path       string               `json:"path"`
	FlatPath   string               `json:"flatPath"`
	Parameters map[string]*property `json:"parameters"`
	Request    *property            `json:"request"`
	Response   *property            `json:"response"`
}

type property struct {
	Type       string               `json:"type"`
	Format     string               `json:"format"`
	Ref        string               `json:"$ref"`
	Enum       []string             `json:"enum"`
	Items      *property            `json:"items"`
	Values     *property            `json:"additionalProperties"`
	Properties map[string]*property `json:"properties"`
	ReadOnly   bool                 `json:"readOnly"`
	Repeated   bool                 `json:"repeated"`
	Required   bool                 `json:"required"`
	Location   string               `json:"location"`
	Default    string               `json:"default"`
	// Description is read for what else only prose tells.
	Description string `json:"description"`
}

// reduce keeps what is wanted, and the schemas that it needs.
func reduce(from *document, want wanted) (*schema.API, error) {
	root, err := url.Parse(from.RootURL)
	if err != nil {
		return nil, err
	}
	api := &schema.API{Name: from.Name, Host: root.Host, Base: "/" + cmp.Or(from.ServicePath, "v1/"), Schemas: map[string]*schema.Schema{}}
	for path, names := range want.methods {
		at := find(from, path)
		if at == nil {
			return nil, fmt.Errorf("there is no resource %s", path)
		}
		for name := range strings.FieldsSeq(names) {
			m := at.Methods[name]
			if m == nil {
				return nil, fmt.Errorf("%s has no method %s", path, name)
			}
			api.Methods = append(api.Methods, one(m, api.Base))
		}
	}
	slices.SortFunc(api.Methods, func(a, b *schema.Method) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range api.Methods {
		for _, name := range []string{m.Request, m.Response} {
			if err := reach(from, api, want.opaque, name); err != nil {
				return nil, err
			}
		}
	}
	return api, nil
}

func find(from *document, path string) *resource {
	at := &resource{Resources: from.Resources}
	for name := range strings.SplitSeq(path, ".") {
		if at = at.Resources[name]; at == nil {
			return nil
		}
	}
	return at
}

func one(m *method, base string) *schema.Method {
	out := &schema.Method{ID: m.ID, HTTP: m.HTTPMethod, Path: cmp.Or(m.FlatPath, m.Path)}
	out.Path = strings.TrimPrefix("/"+out.Path, base)
	out.Path = strings.TrimPrefix(out.Path, "/")
	for name, p := range m.Parameters {
		if p.Location != "query" {
			continue
		}
		if out.Query == nil {
			out.Query = map[string]*schema.Schema{}
		}
		out.Query[name] = plain(p)
	}
	if m.Request != nil {
		out.Request = m.Request.Ref
	}
	if m.Response != nil {
		out.Response = m.Response.Ref
	}
	return out
}

// reach keeps a schema and all that it refers to.
func reach(from *document, api *schema.API, opaque []string, name string) error {
	if name == "" || api.Schemas[name] != nil {
		return nil
	}
	p := from.Schemas[name]
	switch {
	case p == nil:
		return fmt.Errorf("there is no schema %s", name)
	case slices.Contains(opaque, name):
		api.Schemas[name] = &schema.Schema{Type: "any"}
		return nil
	}
	api.Schemas[name] = plain(p)
	return inside(p, func(ref string) error { return reach(from, api, opaque, ref) })
}

// inside calls f with all references of a property.
func inside(p *property, f func(string) error) error {
	if p == nil {
		return nil
	}
	if p.Ref != "" {
		return f(p.Ref)
	}
	for name, q := range p.Properties {
		if strings.HasPrefix(name, "warning") {
			continue
		}
		if err := inside(q, f); err != nil {
			return err
		}
	}
	if err := inside(p.Items, f); err != nil {
		return err
	}
	return inside(p.Values, f)
}

func plain(p *property) *schema.Schema {
	if p == nil {
		return nil
	}
	out := &schema.Schema{Type: p.Type, Format: p.Format, Ref: p.Ref, Enum: p.Enum, Items: plain(p.Items), Values: plain(p.Values),
		ReadOnly: p.ReadOnly, Repeated: p.Repeated, Required: p.Required}
	out.ReadOnly = out.ReadOnly || strings.HasPrefix(p.Description, "[Output Only]")
	for name, q := range p.Properties {
		if out.Fields == nil {
			out.Fields = map[string]*schema.Schema{}
		}
		out.Fields[name] = plain(q)
		if name == "kind" {
			out.Kind = q.Default
		}
		if strings.HasPrefix(name, "warning") { // a server's, with half a hundred codes in each list
			out.Fields[name] = &schema.Schema{Type: "any", ReadOnly: q.ReadOnly}
		}
	}
	return out
}
