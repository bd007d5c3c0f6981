package wire

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// node is a form as a tree.
type node struct {
	value string
	set   bool
	kids  map[string]*node
}

func (n *node) put(path []string, value string) {
	if len(path) == 0 {
		n.value, n.set = value, true
		return
	}
	if n.kids == nil {
		n.kids = map[string]*node{}
	}
	kid := n.kids[path[0]]
	if kid == nil {
		kid = &node{}
		n.kids[path[0]] = kid
	}
	kid.put(path[1:], value)
}

// join names a parameter below another.
func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}

func (d Dialect) read(n *node, path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.read(n, path, v.Elem())
	case reflect.Slice:
		return d.readList(n, path, v)
	case reflect.Map:
		return d.readMap(n, path, v)
	case reflect.Struct:
		if v.Type() != timeType {
			return d.readStruct(n, path, v)
		}
	}
	if len(n.kids) > 0 {
		return &Malformed{path, "it has no parts"}
	}
	return scalar(n.value, path, v)
}

func (d Dialect) readStruct(n *node, path string, v reflect.Value) error {
	if n.set && n.value != "" {
		return &Malformed{path, "it is a structure, not a value"}
	}
	known := map[string][]int{}
	for _, f := range fieldsOf(v.Type()) {
		known[f.name] = f.index
	}
	for _, name := range slices.Sorted(maps.Keys(n.kids)) {
		index, ok := known[name]
		if !ok {
			return &Malformed{join(path, name), "there is no such parameter"}
		}
		if err := d.read(n.kids[name], join(path, name), v.FieldByIndex(index)); err != nil {
			return err
		}
	}
	return nil
}

// items are a list's parts, in the order of their numbers.
func (n *node) items(path, step string) ([]*node, error) {
	if step != "" && len(n.kids) > 0 {
		inner := n.kids[step]
		if inner == nil || len(n.kids) > 1 {
			return nil, &Malformed{path, "it is a list: want " + path + "." + step + ".1"}
		}
		n = inner
	}
	byNumber := map[int]*node{}
	for name, kid := range n.kids {
		number, err := strconv.Atoi(name)
		if err != nil || number < 1 {
			return nil, &Malformed{join(path, name), "a list's items are numbered from 1"}
		}
		byNumber[number] = kid
	}
	var out []*node
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		out = append(out, byNumber[number])
	}
	return out, nil
}

func (d Dialect) readList(n *node, path string, v reflect.Value) error {
	items, err := n.items(path, d.Request)
	if err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		if err := d.read(item, join(path, strconv.Itoa(i+1)), v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d Dialect) readMap(n *node, path string, v reflect.Value) error {
	items, err := n.items(path, d.Entries)
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, item := range items {
		var entry struct {
			Key   string `wire:"key"`
			Value string `wire:"value"`
		}
		if err := d.readStruct(item, path, reflect.ValueOf(&entry).Elem()); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(entry.Key), reflect.ValueOf(entry.Value))
	}
	return nil
}

func scalar(text, path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		is, err := strconv.ParseBool(text)
		if err != nil {
			return &Malformed{path, "want true or false"}
		}
		v.SetBool(is)
	case reflect.Int, reflect.Int64:
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &Malformed{path, "want an integer"}
		}
		v.SetInt(number)
	case reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return &Malformed{path, "want a number"}
		}
		v.SetFloat(number)
	case reflect.Struct:
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return &Malformed{path, "want a time"}
		}
		v.Set(reflect.ValueOf(at))
	}
	return nil
}
