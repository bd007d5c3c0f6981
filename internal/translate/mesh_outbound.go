package translate

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// meshParent is the point at which routes for traffic inside a mesh (GAMMA) meet:
// those with the Service as their parent.
func meshParent(service Key) Key {
	group, kind := gwv1.Group(groupCore), gwv1.Kind(KindService)
	return parentKey(gwv1.ParentReference{Group: &group, Kind: &kind, Name: gwv1.ObjectName(service.Name)}, service.Namespace)
}

// outbound says which route of a Service's own routes clients inside the mesh
// otherwise than the gateway does, which sends straight to the Service's pods; ""
// is none.
func (x *Index) outbound(service Key, port int32) string {
	var found []part[any]
	for key, obj := range x.at(meshParent(service)).parts.all() {
		found = append(found, part[any]{key, obj})
	}
	slices.SortFunc(found, comparePart)
	for _, f := range found {
		r, ok := routeOf(f.key, f.obj)
		if !ok || !r.isAt(service, port) {
			continue
		}
		if why := r.reroutes(service, port); why != "" {
			return fmt.Sprintf("%s, whose parent is Service %s, routes clients inside the mesh otherwise (%s); this gateway sends straight to the Service's pods", f.key, service.path(), why)
		}
	}
	return ""
}

// isAt says whether one of a route's parents is the port of a Service.
func (r route) isAt(service Key, port int32) bool {
	return slices.ContainsFunc(r.refs, func(ref gwv1.ParentReference) bool {
		return parentKey(ref, r.key.Namespace) == meshParent(service) && (ref.Port == nil || *ref.Port == port)
	})
}

// reroutes says what a route does beside sending everything to the Service that it
// is for.
func (r route) reroutes(service Key, port int32) (why string) {
	r.eachBackend(func(ref gwv1.BackendObjectReference) {
		to := Key{string(deref(ref.Kind, KindService)), string(deref(ref.Namespace, gwv1.Namespace(r.key.Namespace))), string(ref.Name)}
		if to != service || deref(ref.Port, port) != port {
			why = fmt.Sprintf("to %s:%d", to, deref(ref.Port, 0))
		}
	})
	if o, ok := r.obj.(*gwv1.HTTPRoute); ok && why == "" {
		for i, rule := range o.Spec.Rules {
			switch {
			case len(rule.Filters) > 0:
				why = fmt.Sprintf("rules[%d] has filters", i)
			case rule.Timeouts != nil || rule.Retry != nil:
				why = fmt.Sprintf("rules[%d] has timeouts or retries", i)
			case len(rule.BackendRefs) == 0:
				why = fmt.Sprintf("rules[%d] has no backend", i)
			}
		}
	}
	return why
}

// meshRoute concerns members that lead to a Service for which a route inside the
// mesh changed.
func (m *meshChange) meshRoute(key Key, objects ...any) {
	for _, obj := range objects {
		r, ok := routeOf(key, obj)
		if !ok {
			continue
		}
		for _, ref := range r.refs {
			at := Key{KindService, string(deref(ref.Namespace, gwv1.Namespace(key.Namespace))), string(ref.Name)}
			if parentKey(ref, key.Namespace) == meshParent(at) {
				m.walk(at, nil, nil)
			}
		}
	}
}

// outboundConflict is gatehouse.dev/OutboundConflict, which exists only while it is
// true.
func (e routeEntry) outboundConflict() verdict {
	var found []string
	for _, h := range e.state.hops {
		if h.mesh != nil && h.mesh.outbound != "" && len(e.parent.listeners) > 0 {
			found = append(found, fmt.Sprintf("%s: %s", h.at.section, h.mesh.outbound))
		}
	}
	if len(found) == 0 {
		return verdict{}
	}
	return yes(reasonMeshRoute, several(found))
}
