package manifest

import (
	"encoding/json"
	"errors"

	"gatehouse.dev/internal/translate"
)

// salvage is what can be read of a bad object, in the type that a Snapshot has
// for it; nil when it has none or no name. Of a Secret that is its name alone.
func (i *item) salvage() any {
	if i.about.Name == "" || i.kind.add == nil {
		return nil
	}
	if i.kind.name == secretKind {
		return &translate.Secret{Namespace: i.about.Namespace, Name: i.about.Name}
	}
	for _, part := range []map[string]any{i.value, essence(i.value)} {
		object := i.kind.make()
		text, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(text, object)
		}
		// A value of a wrong type is passed over, and all others are taken.
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); err == nil || wrong {
			object.SetNamespace(i.about.Namespace)
			object.SetName(i.about.Name)
			return object
		}
	}
	return nil
}

// essence is the part of an object that says to what it belongs.
func essence(value map[string]any) map[string]any {
	out := map[string]any{}
	for section, fields := range map[string][]string{
		"metadata": {"labels"},
		"spec":     {"parentRefs", "parentRef", "targetRefs", "from", "to", "gatewayClassName", "controllerName"},
	} {
		from, _ := value[section].(map[string]any)
		to := map[string]any{}
		for _, field := range fields {
			if v, ok := from[field]; ok {
				to[field] = v
			}
		}
		out[section] = to
	}
	return out
}

// readable is a good object as its own remains: it is not taken because another
// document describes it differently.
func (i *item) readable() any {
	if i.kind.add == nil {
		return nil
	}
	if i.kind.name == secretKind {
		return &translate.Secret{Namespace: i.about.Namespace, Name: i.about.Name}
	}
	return i.object
}
