package reconcile

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// keepImmutable is next with the versions before of objects in which it changes what
// an API server lets nobody change. A slip in one of these names would give up a
// gateway, or take its backends out of their mesh, at once.
func keepImmutable(old, next translate.Snapshot) (translate.Snapshot, []lbmodel.Finding) {
	var classes, bindings []lbmodel.Finding
	next.GatewayClasses, classes = keepNames(old.GatewayClasses, next.GatewayClasses, func(c *gwv1.GatewayClass) string { return string(c.Spec.ControllerName) })
	next.MeshBindings, bindings = keepNames(old.MeshBindings, next.MeshBindings, func(b *v1alpha1.MeshBinding) string { return b.Spec.ControllerName })
	return next, slices.Concat(classes, bindings)
}

// keepNames is next with the version before of every object whose name of a
// controller is another one now.
func keepNames[T any](old, next []T, controller func(T) string) ([]T, []lbmodel.Finding) {
	before := map[translate.Key]T{}
	for _, obj := range old {
		if key, ok := translate.KeyOf(obj); ok {
			before[key] = obj
		}
	}
	var kept []lbmodel.Finding
	out := slices.Clone(next)
	for i, obj := range out {
		key, _ := translate.KeyOf(obj)
		was, known := before[key]
		if !known || controller(was) == controller(obj) {
			continue
		}
		out[i] = was
		kept = append(kept, lbmodel.Finding{
			About:     lbmodel.Source{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
			Condition: "Accepted", Reason: "Invalid", Code: lbmodel.CodeInvalid,
			Detail: fmt.Sprintf("spec.controllerName is immutable: it goes on as %s, and not as %s; write that back, or remove the object and add it again, or give the new one another name",
				controller(was), controller(obj)),
		})
	}
	return out, kept
}
