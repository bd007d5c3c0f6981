package store

import (
	"maps"
	"strings"
)

// Object is a resource as JSON: values are string, float64, bool, nil, []any and
// Object. Numbers of 64 bits are strings, as in Google's JSON. An object that the store
// has is never changed, only replaced.
type Object = map[string]any

// Clone is a deep copy.
func Clone(o Object) Object {
	out, _ := cloneValue(o).(Object)
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case Object:
		out := make(Object, len(v))
		for k, e := range v {
			out[k] = cloneValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	}
	return v
}

// Merge is a JSON merge patch (RFC 7396): null removes, objects are merged, everything
// else, lists included, is replaced. Neither argument is changed.
func Merge(into, patch Object) Object {
	out := maps.Clone(into)
	if out == nil {
		out = Object{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case Object:
			old, _ := out[k].(Object)
			out[k] = Merge(old, v)
		default:
			out[k] = v
		}
	}
	return out
}

// Text is the string at a path of object fields (tlsSettings.sni); "" without one.
func Text(o Object, path string) string {
	s, _ := Get(o, path).(string)
	return s
}

// List is the list at a path; nil without one.
func List(o Object, path string) []any {
	l, _ := Get(o, path).([]any)
	return l
}

// Get is the value at a path of object fields; nil without one.
func Get(o Object, path string) any {
	var at any = o
	for field := range strings.SplitSeq(path, ".") {
		inside, ok := at.(Object)
		if !ok {
			return nil
		}
		at = inside[field]
	}
	return at
}

// Put puts a value at a path of object fields, and makes the objects on the way.
func Put(o Object, path string, value any) {
	for {
		field, rest, more := strings.Cut(path, ".")
		if !more {
			o[field] = value
			return
		}
		inside, ok := o[field].(Object)
		if !ok {
			inside = Object{}
			o[field] = inside
		}
		o, path = inside, rest
	}
}

// Strip takes away what is at the places that a pattern names.
func Strip(o Object, pattern string) {
	walk(o, strings.Split(pattern, "."), "", func(holder Object, field, _ string) { delete(holder, field) })
}

// Each calls a function with each value that a pattern names: fields with dots between;
// "backends[]" is each element of a list, "*" each value of an object, and "**" any
// number of fields and elements.
func Each(o Object, pattern string, f func(path string, value any)) {
	walk(o, strings.Split(pattern, "."), "", func(holder Object, field, path string) {
		list, ok := holder[field].([]any)
		if !ok || !strings.HasSuffix(path, "[]") {
			f(path, holder[field])
			return
		}
		for i := range list {
			f(element(path, i), list[i])
		}
	})
}

// Visit is Each with a function whose answer replaces the value.
func Visit(o Object, pattern string, f func(path string, value any) any) {
	walk(o, strings.Split(pattern, "."), "", func(holder Object, field, path string) {
		list, ok := holder[field].([]any)
		if !ok || !strings.HasSuffix(path, "[]") {
			holder[field] = f(path, holder[field])
			return
		}
		for i := range list {
			list[i] = f(element(path, i), list[i])
		}
	})
}
