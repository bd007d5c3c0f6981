package manifest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// strictInto decodes a converted value into what target makes, as a strict API
// server does: names are case-sensitive, and what the type does not know is a
// fault. Faults name their field below prefix and never quote a value, for it
// may be a key. It is not ok when the result cannot be used at all.
func strictInto[T any](value any, target func() T, prefix string) (into T, faults []fault, ok bool) {
	into = target()
	unknown, err := unmarshal(value, into)
	for _, err := range unknown {
		if f, ok := errors.AsType[kjson.FieldError](err); ok {
			faults = append(faults, unknownField(join(prefix, f.FieldPath())))
		}
	}
	if err != nil {
		path := culprit(value, func(part any) bool {
			_, err := unmarshal(part, target())
			return err != nil
		})
		faults = append(faults, fault{field: join(prefix, path), message: mismatch(err)})
	}
	return into, faults, err == nil
}

func unmarshal(value, into any) (unknown []error, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return kjson.UnmarshalStrict(text, into)
}

// culprit finds the value that a decoder refuses, by giving it one part at a
// time: decoders of single types tell neither where they were nor, safely, why
// they failed.
func culprit(value any, fails func(any) bool) string {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			only := func(part any) bool { return fails(map[string]any{key: part}) }
			if only(v[key]) {
				return join(key, culprit(v[key], only))
			}
		}
	case []any:
		only := func(part any) bool { return fails([]any{part}) }
		for i := range v {
			if only(v[i]) {
				return join("["+strconv.Itoa(i)+"]", culprit(v[i], only))
			}
		}
	}
	return ""
}

func unknownField(path string) fault {
	return fault{field: path, message: "unknown field: check its spelling and place"}
}

func join(prefix, path string) string {
	if prefix == "" || path == "" || strings.HasPrefix(path, "[") {
		return prefix + path
	}
	return prefix + "." + path
}

// mismatch says what was wanted, without the value.
func mismatch(err error) string {
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return "is not base64 text: encode it, or use stringData in a Secret and data in a ConfigMap"
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return "has a form that its type does not take"
	}
	got, _, _ := strings.Cut(wrong.Value, " ")
	return "must be " + wanted(wrong) + ", not " + got
}

// wanted names a Go type in JSON's words.
func wanted(err *json.UnmarshalTypeError) string {
	switch kind := err.Type.Kind().String(); kind {
	case "slice", "array":
		return "a list"
	case "map", "struct", "ptr":
		return "an object"
	case "bool":
		return "true or false"
	case "string":
		return "text"
	default:
		return "a number (" + kind + ")"
	}
}
