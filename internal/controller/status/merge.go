package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
)

// merge carries what a pass changed between base and want over to live. Nothing
// is carried over to a status that was written for a later generation.
func (s shape) merge(base, want, live map[string]any) map[string]any {
	if s.newer(live, want) {
		return live
	}
	out := maps.Clone(live)
	if out == nil {
		out = map[string]any{}
	}
	fields := maps.Clone(base)
	if fields == nil {
		fields = map[string]any{}
	}
	maps.Copy(fields, want)
	for field := range fields {
		if l, ok := s[field]; ok {
			if merged := l.merge(base[field], want[field], live[field]); len(merged) > 0 || live[field] != nil {
				out[field] = merged
			}
		} else if !reflect.DeepEqual(base[field], want[field]) {
			put(out, field, want[field])
		}
	}
	return out
}

func put(m map[string]any, field string, value any) {
	if value == nil {
		delete(m, field)
	} else {
		m[field] = value
	}
}

// newer says whether a condition of ours was written for a later generation than
// the same one in another status.
func (s shape) newer(status, than map[string]any) bool {
	conditions := s["conditions"]
	old := conditions.index(than["conditions"])
	for key, c := range conditions.each(status["conditions"]) {
		if old[key] != nil && ownCondition(c) && generation(c) > generation(old[key]) {
			return true
		}
	}
	return false
}

func generation(condition map[string]any) int64 {
	n, _ := condition["observedGeneration"].(int64)
	return n
}

// merge keeps live's order; what is new comes at the end, while there is room.
func (l list) merge(base, want, live any) []any {
	before, after := l.index(base), l.index(want)
	out := []any{}
	have := l.index(nil)
	for key, entry := range l.each(live) {
		have[key] = entry
		b, w := before[key], after[key]
		switch {
		case reflect.DeepEqual(b, w), w == nil && l.newerEntry(entry, b):
			out = append(out, entry)
		case w != nil:
			out = append(out, l.entry(b, w, entry))
		}
	}
	for key, w := range l.each(want) {
		if have[key] == nil && !reflect.DeepEqual(before[key], w) && len(out) < l.most {
			out = append(out, w)
		}
	}
	return out
}

func (l list) newerEntry(entry, than map[string]any) bool {
	if l.inside != nil {
		return l.inside.newer(entry, than)
	}
	return generation(entry) > generation(than)
}

// entry carries a change over to one entry. The time of a condition's last
// transition moves only if its status does.
func (l list) entry(base, want, live map[string]any) map[string]any {
	switch {
	case l.inside != nil:
		return l.inside.merge(base, want, live)
	case generation(live) > generation(want):
		return live
	case live["lastTransitionTime"] != nil && live["status"] == want["status"]:
		want = maps.Clone(want)
		want["lastTransitionTime"] = live["lastTransitionTime"]
	}
	return want
}

// each yields the entries of a list with their keys, in order. A key that comes
// again is another key: the API's atomic lists may hold an entry twice.
func (l list) each(entries any) func(yield func(string, map[string]any) bool) {
	return func(yield func(string, map[string]any) bool) {
		seen := map[string]int{}
		for _, e := range entriesOf(entries) {
			key := l.key(e)
			seen[key]++
			if !yield(fmt.Sprintf("%s#%d", key, seen[key]), e) {
				return
			}
		}
	}
}

func (l list) index(entries any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for key, e := range l.each(entries) {
		out[key] = e
	}
	return out
}

func (l list) key(entry map[string]any) string {
	parts := make([]any, len(l.keys))
	for i, field := range l.keys {
		parts[i] = entry[field]
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return fmt.Sprint(parts...) // never: the values come from JSON
	}
	return string(text)
}

func entriesOf(list any) []map[string]any {
	entries, _ := list.([]any)
	out := make([]map[string]any, 0, len(entries))
	for _, e := range entries {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
