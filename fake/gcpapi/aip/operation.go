package aip

import (
	"net/http"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// operation are the methods of long-running operations (AIP-151).
func (s *service) operation(c *store.Call) (store.Object, error) {
	if c.Method.Verb() == "list" {
		return s.operations(c)
	}
	id, cancels := strings.CutSuffix(c.ID, ":cancel")
	o := s.store.Operation(id)
	if o == nil || o.Host != s.API.Host || locationScope(o.Scope) != c.Scope {
		return nil, store.Missing(c.Name())
	}
	switch {
	case cancels:
		return nil, &store.Error{Status: http.StatusNotImplemented, Reason: store.Unimplemented, Message: "The operation cannot be cancelled."}
	case c.Method.Verb() == "delete":
		s.store.Forget(o)
		return store.Object{}, nil
	}
	return s.shown(c, o), nil
}

func (s *service) operations(c *store.Call) (store.Object, error) {
	var all []any
	for _, o := range s.store.Operations(s.API.Host, "") {
		if locationScope(o.Scope) == c.Scope {
			all = append(all, s.shown(c, o))
		}
	}
	slices.Reverse(all)
	all, next, err := store.Page(all, c.Query.Get("pageToken"), 100)
	out := store.Object{"operations": all}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out, err
}

// locationScope is where a resource's operations are, also of one within another.
func locationScope(scope string) string {
	parts := strings.SplitN(scope, "/", 5)
	return strings.Join(parts[:min(4, len(parts))], "/")
}

// shown is an operation with its metadata and, at its end, what came of it.
func (s *service) shown(c *store.Call, o *store.Operation) store.Object {
	if o == nil {
		return nil
	}
	metadata := store.Object{"@type": "type.googleapis.com/" + s.metadata(), "createTime": stamp(o.Start), "target": o.Target.Path(), "verb": o.Type, "requestedCancellation": false, "apiVersion": "v1"}
	out := store.Object{"name": locationScope(o.Scope) + "/operations/" + o.Name, "metadata": metadata, "done": o.Done(c.Now)}
	if !o.Done(c.Now) {
		return out
	}
	metadata["endTime"] = stamp(o.End)
	if o.Err != nil {
		_, number := code(o.Err)
		out["error"] = store.Object{"code": float64(number), "message": o.Err.Message}
		return out
	}
	out["response"] = s.response(c, o)
	return out
}

// metadata is the type of operations' metadata.
func (s *service) metadata() string { return s.Types + ".OperationMetadata" }

func (s *service) response(c *store.Call, o *store.Operation) store.Object {
	kind := s.store.KindOf(o.Target)
	v := s.store.Newest()
	value := v.Get(o.Target)
	if o.Type == "delete" || value == nil {
		return store.Object{"@type": "type.googleapis.com/google.protobuf.Empty"}
	}
	out := s.encode(c, kind.Schema, store.Output(v, o.Target, value))
	out["@type"] = "type.googleapis.com/" + s.Types + "." + kind.Schema
	return out
}

// encode writes enums as numbers for clients that ask for it
// ($alt=json;enum-encoding=int).
func (s *service) encode(c *store.Call, name string, o store.Object) store.Object {
	if strings.Contains(c.Query.Get("$alt"), "enum-encoding=int") {
		s.number(&schema.Schema{Ref: name}, o)
	}
	return o
}

// number replaces enum values in v, and tells what v itself becomes.
func (s *service) number(definition *schema.Schema, v any) any {
	if definition.Ref != "" {
		definition = s.API.Schemas[definition.Ref]
	}
	switch v := v.(type) {
	case string:
		if i := slices.Index(definition.Enum, v); i >= 0 {
			return float64(i)
		}
	case []any:
		for i := range v {
			v[i] = s.number(definition.Items, v[i])
		}
	case store.Object:
		for key, value := range v {
			field := definition.Fields[key]
			if field == nil {
				field = definition.Values
			}
			if field != nil {
				v[key] = s.number(field, value)
			}
		}
	}
	return v
}
