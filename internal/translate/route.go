package translate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// route is what the five kinds of Route have in common.
type route struct {
	key       Key
	meta      metav1.Object
	refs      []gwv1.ParentReference
	hostnames []gwv1.Hostname
	status    []gwv1.RouteParentStatus
	obj       any
}

// routeOf is the route in an object; ok is false for other kinds.
func routeOf(key Key, obj any) (r route, ok bool) {
	r = route{key: key, obj: obj}
	switch o := obj.(type) {
	case *gwv1.HTTPRoute:
		r.meta, r.refs, r.hostnames, r.status = o, o.Spec.ParentRefs, o.Spec.Hostnames, o.Status.Parents
	case *gwv1.GRPCRoute:
		r.meta, r.refs, r.hostnames, r.status = o, o.Spec.ParentRefs, o.Spec.Hostnames, o.Status.Parents
	case *gwv1.TLSRoute:
		r.meta, r.refs, r.hostnames, r.status = o, o.Spec.ParentRefs, o.Spec.Hostnames, o.Status.Parents
	case *gwv1.TCPRoute:
		r.meta, r.refs, r.status = o, o.Spec.ParentRefs, o.Status.Parents
	case *gwv1.UDPRoute:
		r.meta, r.refs, r.status = o, o.Spec.ParentRefs, o.Status.Parents
	default:
		return route{}, false
	}
	return r, true
}

// parentKey is the object that a parentRef or ancestorRef names. A group that is
// not Gateway API's gives a key that no Gateway or ListenerSet has.
func parentKey(ref gwv1.ParentReference, namespace string) Key {
	kind := string(deref(ref.Kind, KindGateway))
	if deref(ref.Group, groupGateway) != groupGateway {
		kind = "unknown " + kind
	}
	return Key{kind, string(deref(ref.Namespace, gwv1.Namespace(namespace))), string(ref.Name)}
}

// eachBackend visits every backend reference of a route, mirrors too.
func (r route) eachBackend(visit func(gwv1.BackendObjectReference)) {
	switch o := r.obj.(type) {
	case *gwv1.HTTPRoute:
		for _, rule := range o.Spec.Rules {
			eachMirror(httpFilters(rule.Filters), visit)
			for _, b := range rule.BackendRefs {
				visit(b.BackendObjectReference)
				eachMirror(httpFilters(b.Filters), visit)
			}
		}
	case *gwv1.GRPCRoute:
		for _, rule := range o.Spec.Rules {
			eachMirror(grpcFilters(rule.Filters), visit)
			for _, b := range rule.BackendRefs {
				visit(b.BackendObjectReference)
				eachMirror(grpcFilters(b.Filters), visit)
			}
		}
	default:
		for _, b := range r.l4Backends() {
			visit(b.BackendObjectReference)
		}
	}
}

func eachMirror(filters []filter, visit func(gwv1.BackendObjectReference)) {
	for _, f := range filters {
		if f.mirror != nil {
			visit(f.mirror.BackendRef)
		}
	}
}

// l4Backends are the backends of the one rule that a TLSRoute, TCPRoute or
// UDPRoute has.
func (r route) l4Backends() []gwv1.BackendRef {
	switch o := r.obj.(type) {
	case *gwv1.TLSRoute:
		if len(o.Spec.Rules) > 0 {
			return o.Spec.Rules[0].BackendRefs
		}
	case *gwv1.TCPRoute:
		if len(o.Spec.Rules) > 0 {
			return o.Spec.Rules[0].BackendRefs
		}
	case *gwv1.UDPRoute:
		if len(o.Spec.Rules) > 0 {
			return o.Spec.Rules[0].BackendRefs
		}
	}
	return nil
}

func (x *Index) routeEdges(r route) (e edges) {
	for _, ref := range r.refs {
		e.partOf = append(e.partOf, parentKey(ref, r.key.Namespace))
	}
	from := referrer{r.key.Kind, r.key.Namespace}
	r.eachBackend(func(ref gwv1.BackendObjectReference) {
		from.object(&e, string(deref(ref.Group, groupCore)), string(deref(ref.Kind, KindService)), ref.Namespace, string(ref.Name))
	})
	for _, p := range r.status {
		if x.ours(p.ControllerName) {
			e.claimed = append(e.claimed, parentKey(p.ParentRef, r.key.Namespace))
		}
	}
	return e
}
