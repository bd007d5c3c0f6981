package translate

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

// equivalent says whether nothing that translation reads differs. Heartbeats of
// nodes and our own status writes end here.
func (x *Index) equivalent(old, obj any) bool {
	switch n := obj.(type) {
	case *corev1.Node:
		o, ok := old.(*corev1.Node)
		return ok && nodeTargetOf(o).equal(nodeTargetOf(n))
	case *corev1.Service:
		o, ok := old.(*corev1.Service)
		return ok && sameSpec(o, n) && x.sameClaim(o, n)
	case *corev1.Namespace:
		o, ok := old.(*corev1.Namespace)
		return ok && maps.Equal(o.Labels, n.Labels)
	case *corev1.Pod:
		o, ok := old.(*corev1.Pod)
		return ok && equivalentPods(o, n)
	case *discoveryv1.EndpointSlice:
		o, ok := old.(*discoveryv1.EndpointSlice)
		return ok && o.AddressType == n.AddressType && maps.Equal(o.Labels, n.Labels) &&
			reflect.DeepEqual(o.Ports, n.Ports) && reflect.DeepEqual(o.Endpoints, n.Endpoints)
	case *corev1.ConfigMap:
		o, ok := old.(*corev1.ConfigMap)
		return ok && maps.Equal(o.Data, n.Data)
	case *Secret:
		o, ok := old.(*Secret)
		return ok && reflect.DeepEqual(o, n)
	case *gwv1.BackendTLSPolicy:
		o, ok := old.(*gwv1.BackendTLSPolicy)
		return ok && x.sameRoom(o, n) && sameSpec(o, n)
	default:
		return sameSpec(old, obj)
	}
}

// sameRoom says whether a policy's status leaves as much room for our gateways as
// before. Our own entries matter only once the list can be full.
func (x *Index) sameRoom(a, b *gwv1.BackendTLSPolicy) bool {
	foreign := func(p *gwv1.BackendTLSPolicy) (n int) {
		for _, entry := range p.Status.Ancestors {
			if !x.ours(entry.ControllerName) {
				n++
			}
		}
		return n
	}
	before, after := len(a.Status.Ancestors), len(b.Status.Ancestors)
	return foreign(a) == foreign(b) && (before == after || max(before, after) < maxAncestors)
}

func equivalentPods(a, b *corev1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && a.Status.PodIP == b.Status.PodIP &&
		slices.Equal(a.Status.PodIPs, b.Status.PodIPs) && a.Spec.NodeName == b.Spec.NodeName &&
		podReady(a) == podReady(b) && gateStateOf(a) == gateStateOf(b) && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// sameSpec compares all of two objects but their status and the parts of their
// metadata that mean nothing to us.
func sameSpec(old, obj any) bool {
	o, ok := old.(metav1.Object)
	n, ok2 := obj.(metav1.Object)
	if !ok || !ok2 || reflect.TypeOf(old) != reflect.TypeOf(obj) {
		return false
	}
	if o.GetUID() != n.GetUID() || o.GetGeneration() != n.GetGeneration() ||
		!o.GetCreationTimestamp().Time.Equal(n.GetCreationTimestamp().Time) ||
		(o.GetDeletionTimestamp() == nil) != (n.GetDeletionTimestamp() == nil) ||
		!maps.Equal(o.GetAnnotations(), n.GetAnnotations()) {
		return false
	}
	a, b := reflect.ValueOf(old).Elem().FieldByName("Spec"), reflect.ValueOf(obj).Elem().FieldByName("Spec")
	return a.IsValid() && reflect.DeepEqual(a.Interface(), b.Interface())
}

// matters says whether a change of an object reaches across a meeting point: a
// namespace's labels matter to those whose selector now answers differently, a
// pod to the backends that select it before or after.
func (x *Index) matters(at, to Key, old, obj any) bool {
	switch at.Kind {
	case kindSelectors:
		name := namespaceName(old, obj)
		return x.selectorsDiffer(to, namespaceLabels(name, old), namespaceLabels(name, obj))
	case KindNode:
		return to.Kind == kindNodes || !sameLocation(old, obj)
	case kindNodes:
		return x.usesNodes(to)
	case kindPodsIn:
		b, ok := lookup[*gwxv1alpha1.XBackend](x, to.Kind, to.Namespace, to.Name)
		return ok && (selectsPod(b, old) || selectsPod(b, obj))
	default:
		return true
	}
}

// namespaceLabels are a namespace's labels with the one that the API server gives
// to each, which selectors by name rely on. Files may leave the Namespace out; its
// objects show that it exists.
func namespaceLabels(name string, obj any) map[string]string {
	out := map[string]string{corev1.LabelMetadataName: name}
	if ns, ok := obj.(*corev1.Namespace); ok {
		maps.Copy(out, ns.Labels)
	}
	return out
}

func namespaceName(old, obj any) string {
	for _, o := range []any{old, obj} {
		if ns, ok := o.(*corev1.Namespace); ok {
			return ns.Name
		}
	}
	return ""
}

// selectorsDiffer asks every namespace selector of a Gateway or ListenerSet.
func (x *Index) selectorsDiffer(key Key, before, after map[string]string) bool {
	obj := x.at(key).obj
	var selectors []*metav1.LabelSelector
	switch o := obj.(type) {
	case *gwv1.Gateway:
		if a := o.Spec.AllowedListeners; a != nil && a.Namespaces != nil {
			selectors = append(selectors, a.Namespaces.Selector)
		}
		for _, l := range o.Spec.Listeners {
			selectors = append(selectors, routeSelector(l.AllowedRoutes))
		}
	case *gwv1.ListenerSet:
		for _, l := range o.Spec.Listeners {
			selectors = append(selectors, routeSelector(l.AllowedRoutes))
		}
	}
	return slices.ContainsFunc(selectors, func(s *metav1.LabelSelector) bool {
		return s != nil && selects(s, before) != selects(s, after)
	})
}

func routeSelector(a *gwv1.AllowedRoutes) *metav1.LabelSelector {
	if a == nil || a.Namespaces == nil {
		return nil
	}
	return a.Namespaces.Selector
}

// selects says whether a selector matches. A malformed one matches nothing.
func selects(s *metav1.LabelSelector, set map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(set))
}
