package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keepTimes gives the conditions of a new status, a pointer to any of our kinds'
// statuses, the times of those recorded that say the same. In a cluster the
// object itself has the old conditions; files have none.
func keepTimes(status any, recorded jsontext.Value) {
	now := reflect.ValueOf(status)
	if now.Kind() != reflect.Pointer || len(recorded) == 0 {
		return
	}
	was := reflect.New(now.Type().Elem())
	if json.Unmarshal(recorded, was.Interface()) != nil {
		return // written by another version: every condition is new
	}
	times := map[string]metav1.Time{}
	eachCondition(was.Elem(), "", func(path string, c *metav1.Condition) { times[path+string(c.Status)] = c.LastTransitionTime })
	eachCondition(now.Elem(), "", func(path string, c *metav1.Condition) {
		if at, ok := times[path+string(c.Status)]; ok {
			c.LastTransitionTime = at
		}
	})
}

// eachCondition visits the conditions of a status, each with a path that names
// its listener or parent, so that a moved entry is the same one.
func eachCondition(v reflect.Value, path string, visit func(path string, c *metav1.Condition)) {
	switch {
	case v.Type() == reflect.TypeFor[metav1.Condition]():
		c := v.Addr().Interface().(*metav1.Condition)
		visit(path+"/"+c.Type+"=", c)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachCondition(v.Field(i), path+nameOfEntry(v), visit)
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachCondition(v.Index(i), path, visit)
		}
	}
}

// nameOfEntry is what tells an entry of a status from its neighbours.
func nameOfEntry(v reflect.Value) string {
	for _, field := range []string{"Name", "ParentRef", "AncestorRef"} {
		if f := v.FieldByName(field); f.IsValid() {
			text, err := json.Marshal(f.Interface(), json.Deterministic(true))
			if err == nil {
				return fmt.Sprintf("/%s", text)
			}
		}
	}
	return ""
}
