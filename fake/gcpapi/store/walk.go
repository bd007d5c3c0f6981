package store

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// walk calls f for each place that a pattern names: with the object that has the last
// field, so that f can replace it. The elements of a list are given all at once: path
// then ends in [].
func walk(at Object, pattern []string, path string, f func(holder Object, field, path string)) {
	field, rest := pattern[0], pattern[1:]
	switch field {
	case "**":
		deep(at, rest, path, f)
	case "*":
		for _, key := range slices.Sorted(maps.Keys(at)) {
			step(at, key, rest, path+key, f)
		}
	default:
		step(at, field, rest, path+field, f)
	}
}

// deep looks for the rest of a pattern in an object and in everything inside of it.
func deep(at Object, rest []string, path string, f func(Object, string, string)) {
	walk(at, rest, path, f)
	for _, key := range slices.Sorted(maps.Keys(at)) {
		switch inside := at[key].(type) {
		case Object:
			deep(inside, rest, path+key+".", f)
		case []any:
			for i, e := range inside {
				if o, ok := e.(Object); ok {
					deep(o, rest, element(path+key+"[]", i)+".", f)
				}
			}
		}
	}
}

func step(at Object, field string, rest []string, path string, f func(Object, string, string)) {
	name, list := strings.CutSuffix(field, "[]")
	value, ok := at[name]
	switch {
	case !ok || value == nil:
	case len(rest) == 0:
		f(at, name, path)
	case !list:
		if inside, ok := value.(Object); ok {
			walk(inside, rest, path+".", f)
		}
	default:
		elements, _ := value.([]any)
		for i, e := range elements {
			if inside, ok := e.(Object); ok {
				walk(inside, rest, element(path, i)+".", f)
			}
		}
	}
}

// element is the path of a list's element: backends[0] from backends[].
func element(path string, i int) string {
	return strings.TrimSuffix(path, "[]") + "[" + strconv.Itoa(i) + "]"
}
