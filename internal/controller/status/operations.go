package status

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// operations lead from one status to another and touch nothing that is equal in
// both. want is a merge of live: it has live's entries in live's order.
func (s shape) operations(live, want map[string]any) []operation {
	if len(live) == 0 { // the field may be missing, and then nothing can be added in it
		return []operation{{"add", "/status", want}}
	}
	return s.changes("/status", live, want)
}

func (s shape) changes(path string, live, want map[string]any) []operation {
	fields := maps.Clone(live)
	maps.Copy(fields, want)
	var out []operation
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		at := path + "/" + escape(field)
		have, is := live[field].(map[string]any)
		next, stays := want[field].(map[string]any)
		l, isList := s[field]
		switch {
		case reflect.DeepEqual(live[field], want[field]):
		case is && stays:
			out = append(out, shape(nil).changes(at, have, next)...)
		case isList && live[field] != nil && want[field] != nil:
			out = append(out, l.changes(at, live[field], want[field])...)
		default:
			out = append(out, change(at, live[field], want[field]))
		}
	}
	return out
}

// removals are those of some operations that take something away.
func removals(all []operation) []operation {
	return slices.DeleteFunc(all, func(o operation) bool { return o.Op != "remove" })
}

// changes go from the end of a list to its start, so that what is removed
// moves nothing that comes after; new entries are added last.
func (l list) changes(path string, live, want any) []operation {
	after := l.index(want)
	var out []operation
	i := 0
	for key, entry := range l.each(live) {
		out = slices.Concat(l.change(fmt.Sprintf("%s/%d", path, i), entry, after[key]), out)
		delete(after, key)
		i++
	}
	for key, entry := range l.each(want) {
		if after[key] != nil {
			out = append(out, operation{"add", path + "/-", entry})
		}
	}
	return out
}

func (l list) change(at string, live, want map[string]any) []operation {
	switch {
	case reflect.DeepEqual(live, want):
		return nil
	case l.inside != nil && want != nil:
		return l.inside.changes(at, live, want)
	case want == nil:
		return []operation{{Op: "remove", Path: at}}
	default:
		return []operation{{"replace", at, want}}
	}
}

func change(at string, live, want any) operation {
	switch {
	case want == nil:
		return operation{Op: "remove", Path: at}
	case live == nil:
		return operation{"add", at, want}
	default:
		return operation{"replace", at, want}
	}
}

// escape is RFC 6901's.
func escape(field string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(field)
}
