package reconcile

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"gatehouse.dev/internal/translate"
)

// Difference is what changed between two snapshots.
type Difference struct {
	translate.Change
	// Backends are the Services whose EndpointSlices changed.
	Backends []translate.Key
}

// Empty says that nothing changed.
func (d Difference) Empty() bool { return len(d.Put)+len(d.Delete) == 0 }

// Absence says what it means that an object is no longer there.
type Absence string

// The meanings.
const (
	Removed  Absence = "Removed"  // it was removed
	Unproven Absence = "Unproven" // something could not be read: its last version stays
)

// Compare finds what changed. Objects are compared by content.
func Compare(old, next translate.Snapshot, absent Absence) Difference {
	var d Difference
	before := map[translate.Key]any{}
	for obj := range objects(old) {
		if key, ok := translate.KeyOf(obj); ok {
			before[key] = obj
		}
	}
	for obj := range objects(next) {
		key, ok := translate.KeyOf(obj)
		if !ok {
			continue
		}
		was := before[key]
		delete(before, key)
		if !reflect.DeepEqual(was, obj) {
			d.Put = append(d.Put, obj)
			d.backends(was, obj)
		}
	}
	if absent == Removed {
		for _, key := range slices.SortedFunc(maps.Keys(before), compareKeys) {
			d.Delete = append(d.Delete, key)
			d.backends(before[key])
		}
	}
	return d
}

func (d *Difference) backends(all ...any) {
	for _, obj := range all {
		if s, ok := obj.(*discoveryv1.EndpointSlice); ok && s != nil {
			if key := translate.ServiceKey(s); !slices.Contains(d.Backends, key) {
				d.Backends = append(d.Backends, key)
			}
		}
	}
}

// objects yields everything in a snapshot.
func objects(s translate.Snapshot) iter.Seq[any] {
	return func(yield func(any) bool) {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.Slice {
				continue
			}
			for j := range v.Field(i).Len() {
				if !yield(v.Field(i).Index(j).Interface()) {
					return
				}
			}
		}
	}
}

// SnapshotOf is a snapshot of some objects. What is of none of its types is left
// out.
func SnapshotOf(objs []any) translate.Snapshot {
	var out translate.Snapshot
	v := reflect.ValueOf(&out).Elem()
	lists := map[reflect.Type]reflect.Value{}
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			lists[f.Type().Elem()] = f
		}
	}
	for _, obj := range objs {
		if list, ok := lists[reflect.TypeOf(obj)]; ok {
			list.Set(reflect.Append(list, reflect.ValueOf(obj)))
		}
	}
	return out
}

// Overlay is next with those objects of old that next does not have, but for those
// that are gone.
func Overlay(old, next translate.Snapshot, gone ...translate.Key) translate.Snapshot {
	there := map[translate.Key]bool{}
	for _, key := range gone {
		there[key] = true
	}
	for obj := range objects(next) {
		if key, ok := translate.KeyOf(obj); ok {
			there[key] = true
		}
	}
	out := reflect.New(reflect.TypeFor[translate.Snapshot]()).Elem()
	out.Set(reflect.ValueOf(next))
	from := reflect.ValueOf(old)
	for i := range out.NumField() {
		if out.Field(i).Kind() != reflect.Slice {
			continue
		}
		list := reflect.AppendSlice(reflect.MakeSlice(out.Field(i).Type(), 0, 0), out.Field(i))
		for j := range from.Field(i).Len() {
			if key, ok := translate.KeyOf(from.Field(i).Index(j).Interface()); ok && !there[key] {
				list = reflect.Append(list, from.Field(i).Index(j))
			}
		}
		out.Field(i).Set(list)
	}
	return out.Interface().(translate.Snapshot)
}
