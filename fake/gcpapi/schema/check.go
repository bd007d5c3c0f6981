package schema

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Fault is a value that the definitions don't allow.
type Fault struct {
	Path   string // of the field: backends[0].balancingMode
	Value  any
	Detail string
	// Unknown: there is no such field; Path is where, and Detail its name.
	Unknown bool
}

// Error implements error.
func (f *Fault) Error() string {
	if f.Unknown {
		return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", f.Detail, "resource"+prefixed(f.Path))
	}
	return fmt.Sprintf("Invalid value for field 'resource%s': '%v'. %s", prefixed(f.Path), f.Value, f.Detail)
}

func prefixed(path string) string {
	if path == "" {
		return ""
	}
	return "." + path
}

// Clean checks an object against a schema, and returns it as it is kept: without what
// is output only, numbers of 64 bits as strings, enums by name. Nulls stay.
func (a *API) Clean(name string, o map[string]any) (map[string]any, error) {
	out, err := cleaner{API: a}.clean(&Schema{Ref: name}, "", o)
	if err != nil {
		return nil, err
	}
	cleaned, _ := out.(map[string]any)
	return cleaned, nil
}

// Conforms checks what the API itself says against a schema: what is output only has to
// be right as well.
func (a *API) Conforms(name string, o map[string]any) error {
	_, err := cleaner{a, true}.clean(&Schema{Ref: name}, "", o)
	return err
}

// cleaner checks values; with outputs, those that are output only too.
type cleaner struct {
	*API
	outputs bool
}

func (a cleaner) clean(s *Schema, path string, v any) (any, error) {
	if s.Ref != "" {
		s = a.Schemas[s.Ref]
	}
	if v == nil {
		return nil, nil
	}
	switch s.Type {
	case "object":
		return a.object(s, path, v)
	case "array":
		return a.array(s, path, v)
	case "string":
		return text(s, path, v)
	case "boolean":
		if _, ok := v.(bool); !ok {
			return nil, &Fault{Path: path, Value: v, Detail: "Must be true or false."}
		}
	case "integer", "number":
		return number(s, path, v)
	}
	return v, nil
}

func (a cleaner) object(s *Schema, path string, v any) (any, error) {
	o, ok := v.(map[string]any)
	if !ok {
		return nil, &Fault{Path: path, Value: v, Detail: "Must be an object."}
	}
	if s.Fields == nil && s.Values == nil {
		return v, nil // any object
	}
	out := make(map[string]any, len(o))
	for key, value := range o {
		field := s.Fields[key]
		if field == nil {
			field = s.Values
		}
		switch {
		case field == nil:
			return nil, &Fault{Path: path, Detail: key, Unknown: true}
		case field.ReadOnly && !a.outputs:
			continue
		}
		cleaned, err := a.clean(field, join(path, key), value)
		if err != nil {
			return nil, err
		}
		out[key] = cleaned
	}
	return out, nil
}

func (a cleaner) array(s *Schema, path string, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, &Fault{Path: path, Value: v, Detail: "Must be a list."}
	}
	out := make([]any, len(list))
	for i, e := range list {
		at := path + "[" + strconv.Itoa(i) + "]"
		if e == nil {
			return nil, &Fault{Path: at, Value: e, Detail: "Must not be null."}
		}
		cleaned, err := a.clean(s.Items, at, e)
		if err != nil {
			return nil, err
		}
		out[i] = cleaned
	}
	return out, nil
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// text is a string, a number of 64 bits, or an enum.
func text(s *Schema, path string, v any) (any, error) {
	n, isNumber := v.(float64)
	switch {
	case len(s.Enum) > 0:
		return enum(s, path, v)
	case isNumber && strings.HasSuffix(s.Format, "int64") && n == math.Trunc(n) && math.Abs(n) < 1<<53:
		return strconv.FormatFloat(n, 'f', -1, 64), nil
	}
	value, ok := v.(string)
	if !ok {
		return nil, &Fault{Path: path, Value: v, Detail: "Must be a string."}
	}
	if detail := formatted(s.Format, value); detail != "" {
		return nil, &Fault{Path: path, Value: v, Detail: detail}
	}
	return value, nil
}

// enum is a value by its name, or by its number: clients for gRPC's APIs send those
// (enum-encoding=int), and definitions are in the numbers' order.
func enum(s *Schema, path string, v any) (any, error) {
	if n, ok := v.(float64); ok && n == math.Trunc(n) && n >= 0 && int(n) < len(s.Enum) {
		return s.Enum[int(n)], nil
	}
	if value, ok := v.(string); ok && slices.Contains(s.Enum, value) {
		return value, nil
	}
	return nil, &Fault{Path: path, Value: v, Detail: "Must be one of: " + strings.Join(s.Enum, ", ") + "."}
}

// formatted says what is wrong with a string of a format; "" is nothing.
func formatted(format, value string) string {
	var err error
	switch format {
	case "int64":
		_, err = strconv.ParseInt(value, 10, 64)
	case "uint64":
		_, err = strconv.ParseUint(value, 10, 64)
	case "byte":
		// Both alphabets are read, with or without padding.
		plain := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(value), "=")
		_, err = base64.RawStdEncoding.DecodeString(plain)
	}
	if err != nil {
		return "Must be " + format + "."
	}
	return ""
}

func number(s *Schema, path string, v any) (any, error) {
	n, ok := v.(float64)
	if written, isText := v.(string); isText {
		parsed, err := strconv.ParseFloat(written, 64)
		n, ok = parsed, err == nil
	}
	switch {
	case !ok:
		return nil, &Fault{Path: path, Value: v, Detail: "Must be a number."}
	case s.Type == "integer" && (n != math.Trunc(n) || n < math.MinInt32 || n > math.MaxUint32 || s.Format == "int32" && n > math.MaxInt32 || s.Format == "uint32" && n < 0):
		return nil, &Fault{Path: path, Value: v, Detail: "Must be a whole number of 32 bits."}
	}
	return n, nil
}

// Output are the names of a schema's own fields that are output only.
func (a *API) Output(name string) []string {
	var out []string
	for field, s := range a.Schemas[name].Fields {
		if s.ReadOnly {
			out = append(out, field)
		}
	}
	slices.Sort(out)
	return out
}
