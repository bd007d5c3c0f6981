package workload

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Text is an object's field that holds text; "" when it is not there or holds
// anything else.
func Text(o *unstructured.Unstructured, fields ...string) string {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, fields...)
	text, _ := v.(string)
	return text
}

// Map is an object's field that holds a map, not to be changed; nil when it is not
// there or holds anything else.
func Map(o map[string]any, fields ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, fields...)
	m, _ := v.(map[string]any)
	return m
}

// List is an object's field that holds a list of maps, not to be changed; what is
// no map is left out.
func List(o map[string]any, fields ...string) []map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, fields...)
	items, _ := v.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Besides is a field that an object has besides some, the first in order; "" when it
// has no other.
func Besides(m map[string]any, fields ...string) string {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(fields, key) {
			return key
		}
	}
	return ""
}
