// Package schema is what Google's discovery documents say of the emulated APIs, without
// their prose: paths and parameters of methods, fields, enums, what is output only.
//
// The definitions are generated (see gen) from the pinned google.golang.org/api module.
// It checks what is sent, and knows nothing of what it means.
//
// Start with [Compute] and [API.Find].
package schema

// API is one API's definitions.
type API struct {
	Name    string             `json:"name"` // compute
	Host    string             `json:"host"` // compute.googleapis.com
	Base    string             `json:"base"` // /compute/v1/ or /v1/
	Methods []*Method          `json:"methods"`
	Schemas map[string]*Schema `json:"schemas"`
	routes  map[string][]route // by HTTP method and number of parts
}

// Method is a method of an API.
type Method struct {
	ID       string             `json:"id"`   // compute.backendServices.patch
	HTTP     string             `json:"http"` // PATCH
	Path     string             `json:"path"` // after the base: projects/{project}/global/backendServices/{backendService}
	Query    map[string]*Schema `json:"query,omitzero"`
	Request  string             `json:"request,omitzero"` // the schema of the body
	Response string             `json:"response,omitzero"`
}

// Schema is the type of a field, of a parameter, or of an object.
type Schema struct {
	Type   string             `json:"type,omitzero"`   // string, boolean, integer, number, array, object, any; "" with a Ref
	Format string             `json:"format,omitzero"` // int64, uint64, byte …
	Ref    string             `json:"ref,omitzero"`
	Enum   []string           `json:"enum,omitzero"`   // in the order of the definitions
	Items  *Schema            `json:"items,omitzero"`  // of an array
	Values *Schema            `json:"values,omitzero"` // of an object that is a map
	Fields map[string]*Schema `json:"fields,omitzero"`
	// Kind is the constant in the field of that name: compute#backendService.
	Kind     string `json:"kind,omitzero"`
	ReadOnly bool   `json:"readOnly,omitzero"`
	Repeated bool   `json:"repeated,omitzero"` // a parameter that may come several times
	Required bool   `json:"required,omitzero"` // a parameter that must come
}
