package translate

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

// Retold are the gateways, and the classes, whose word in a status is another one after a
// change of which translation reads nothing: somebody removed or changed what we say of them, or took
// our finalizer away. It is asked before the change is taken; whoever wrote that word
// must know whether it was he.
func (x *Index) Retold(c Change) []Key {
	concerned, classes := map[Key]bool{}, []Key(nil)
	for _, obj := range c.Put {
		key, ok := KeyOf(obj)
		if !ok || x.word(obj) == nil {
			continue
		}
		old := x.at(key).obj
		if old == nil || !x.equivalent(old, obj) || x.sameWord(old, obj) {
			continue
		}
		switch key.Kind {
		case KindGatewayClass:
			classes = append(classes, key)
		case KindGateway, KindService:
			concerned[key] = true
		default:
			x.walk(key, old, obj, concerned)
		}
	}
	return append(x.concernedOurs(x, concerned), classes...)
}

// sameWord says whether two versions of an object say the same of us.
func (x *Index) sameWord(old, obj any) bool {
	a, b := x.word(old), x.word(obj)
	return reflect.DeepEqual(a, b) && (!finalized(old) || finalized(obj))
}

// word is what of an object's status is ours to say; nil for kinds without one.
func (x *Index) word(obj any) any {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		if x.ours(o.Spec.ControllerName) {
			return o.Status
		}
		return nil
	case *gwv1.Gateway:
		return o.Status
	case *gwv1.ListenerSet:
		return o.Status
	case *corev1.Service:
		return o.Status
	case *gwv1.BackendTLSPolicy:
		return slices.DeleteFunc(slices.Clone(o.Status.Ancestors), func(e gwv1.PolicyAncestorStatus) bool { return !x.ours(e.ControllerName) })
	case *gwxv1alpha1.XBackend:
		return slices.DeleteFunc(slices.Clone(o.Status.Ancestors), func(e gwxv1alpha1.BackendAncestorStatus) bool { return !x.ours(e.ControllerName) })
	}
	r, ok := routeOf(Key{}, obj)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.status), func(e gwv1.RouteParentStatus) bool { return !x.ours(e.ControllerName) })
}

func finalized(obj any) bool {
	meta, ok := obj.(metav1.Object)
	return ok && slices.Contains(meta.GetFinalizers(), Finalizer)
}
