package wire

import (
	"bytes"
	"encoding/xml"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// TimeLayout is how times are written in XML.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Element writes a value as an element of that name. Nil pointers and nil slices
// write nothing.
func (d Dialect) Element(out *bytes.Buffer, name string, value any) {
	d.write(out, field{name: name}, reflect.ValueOf(value))
}

// Content writes a struct's fields, without an element around them.
func (d Dialect) Content(out *bytes.Buffer, value any) {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	for _, f := range fieldsOf(v.Type()) {
		d.write(out, f, v.FieldByIndex(f.index))
	}
}

func open(out *bytes.Buffer, name string)  { out.WriteString("<" + name + ">") }
func shut(out *bytes.Buffer, name string)  { out.WriteString("</" + name + ">") }
func text(out *bytes.Buffer, value string) { _ = xml.EscapeText(out, []byte(value)) } // a buffer takes everything

func (d Dialect) write(out *bytes.Buffer, f field, v reflect.Value) {
	pointer := v.Kind() == reflect.Pointer
	if pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		d.writeList(out, f.name, v)
		return
	case reflect.Map:
		d.writeMap(out, f.name, v)
		return
	case reflect.Struct:
		if v.Type() != timeType {
			open(out, f.name)
			d.Content(out, v.Interface())
			shut(out, f.name)
			return
		}
	}
	if v.IsZero() && !pointer && !f.always {
		return
	}
	open(out, f.name)
	text(out, scalarText(v))
	shut(out, f.name)
}

func (d Dialect) writeList(out *bytes.Buffer, name string, v reflect.Value) {
	if v.IsNil() {
		return
	}
	open(out, name)
	for i := range v.Len() {
		d.write(out, field{name: d.Reply, always: true}, v.Index(i))
	}
	shut(out, name)
}

func (d Dialect) writeMap(out *bytes.Buffer, name string, v reflect.Value) {
	if v.IsNil() {
		return
	}
	entries, _ := v.Interface().(map[string]string)
	open(out, name)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		open(out, d.Entries)
		d.Element(out, "key", new(key))
		d.Element(out, "value", new(entries[key]))
		shut(out, d.Entries)
	}
	shut(out, name)
}

func scalarText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	at, _ := v.Interface().(time.Time)
	return at.UTC().Format(TimeLayout)
}
