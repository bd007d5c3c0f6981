package manifest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

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
		"spec":     {"parentRefs", "parentRef", "targetRefs", "from", "to", "gatewayClassName", "controllerName", "gateways", "labelSelector"},
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

// placed says whether it is certain what a bad object may concern: its name and
// what it is linked by were read whole, without a fault in them.
func placed(remains any, problems []Problem) bool {
	for _, p := range problems {
		for _, link := range []string{"metadata", "spec.parentRef", "spec.targetRef"} {
			if strings.HasPrefix(p.Field, link) {
				return false
			}
		}
	}
	switch o := remains.(type) {
	case *gwv1.HTTPRoute:
		return allNamed(o.Spec.ParentRefs, parentName)
	case *gwv1.GRPCRoute:
		return allNamed(o.Spec.ParentRefs, parentName)
	case *gwv1.TLSRoute:
		return allNamed(o.Spec.ParentRefs, parentName)
	case *gwv1.TCPRoute:
		return allNamed(o.Spec.ParentRefs, parentName)
	case *gwv1.UDPRoute:
		return allNamed(o.Spec.ParentRefs, parentName)
	case *gwv1.BackendTLSPolicy:
		return allNamed(o.Spec.TargetRefs, func(r gwv1.LocalPolicyTargetReferenceWithSectionName) string {
			return string(min(r.Name, gwv1.ObjectName(r.Kind))) // "" if either is
		})
	case *gwv1.ListenerSet:
		return o.Spec.ParentRef.Name != ""
	case *discoveryv1.EndpointSlice:
		return o.Labels[discoveryv1.LabelServiceName] != ""
	case *gwv1.ReferenceGrant, *corev1.Namespace, *corev1.Pod, *corev1.Node:
		return false // what they concern is said by fields, any of which may be the bad one
	default:
		return true // others are linked by their name
	}
}

func parentName(r gwv1.ParentReference) string { return string(r.Name) }

// allNamed says that there are references and all of them have a name.
func allNamed[R any](refs []R, name func(R) string) bool {
	return len(refs) > 0 && !slices.ContainsFunc(refs, func(r R) bool { return name(r) == "" })
}
