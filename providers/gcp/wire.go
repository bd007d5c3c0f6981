package gcp

import (
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"fmt"
	"strings"

	"gatehouse.dev/lbmodel"
)

// wired is a Spec whose body is another than its fields.
type wired interface {
	// wire is the body that the API gets, with references as they are in Specs.
	wire() any
}

// Body is what the API gets to make a resource like the spec: its fields are named as
// the API names them, and references are paths in the project. Certificates have no
// key in it, and NetworkEndpoints are attached by it. It has neither name nor marks.
func Body(spec lbmodel.Spec, project string) ([]byte, error) {
	var body any = spec
	if w, ok := spec.(wired); ok {
		body = w.wire()
	}
	out, err := jsonv2.Marshal(body, jsonv2.Deterministic(true), jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, r Ref) error { return e.WriteToken(jsontext.String(r.path(project))) }),
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, r NamedRef) error { return e.WriteToken(jsontext.String(r.path(project))) }),
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, r LocatedRef) error { return e.WriteToken(jsontext.String(r.path(project))) }),
	)))
	if err != nil {
		return nil, fmt.Errorf("%T cannot be encoded: %w", spec, err)
	}
	return out, nil
}

func (r Ref) path(project string) string {
	id, ok := r.id()
	if !ok {
		return string(r)
	}
	return Path(id, project)
}

// service is who has a kind.
func service(kind string) string {
	switch kind {
	case KindTrustConfig, KindCertificate, KindCertificateMap, KindCertificateMapEntry:
		return "certificatemanager.googleapis.com"
	case KindBackendAuthenticationConfig, KindServerTLSPolicy:
		return "networksecurity.googleapis.com"
	case KindTLSRoute:
		return "networkservices.googleapis.com"
	default:
		return "compute.googleapis.com"
	}
}

func (r NamedRef) path(project string) string {
	id, ok := Ref(r).id()
	if !ok {
		return string(r)
	}
	return "//" + service(id.Kind) + "/" + Path(id, project)
}

func (r LocatedRef) path(project string) string {
	id, ok := Ref(r).id()
	if !ok {
		return string(r)
	}
	return locatedPath(id, project)
}

func locatedPath(id lbmodel.ID, project string) string {
	return "projects/" + project + "/locations/" + id.Location + "/" + collection(id.Kind) + "/" + id.Name
}

// Path is where a resource is in the APIs, from projects/ on. One of somebody else's,
// whose name is a path, is there.
func Path(id lbmodel.ID, project string) string {
	switch {
	case strings.HasPrefix(id.Name, "projects/"):
		return id.Name
	case inLocations(id.Kind) != "":
		return locatedPath(id, project)
	default:
		return "projects/" + project + "/" + scope(id.Location) + "/" + collection(id.Kind) + "/" + id.Name
	}
}

// scope is a location as Compute has it in paths.
func scope(location string) string {
	switch {
	case location == global:
		return global
	case isZone(location):
		return "zones/" + location
	default:
		return "regions/" + location
	}
}

// isZone tells europe-west1-b from europe-west1.
func isZone(location string) bool {
	last := strings.LastIndexByte(location, '-')
	return last > 0 && len(location)-last == 2 && location[last+1] >= 'a'
}
