package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// routeEntry is what one gateway says about one parentRef of a route.
type routeEntry struct {
	gateway  *gatewayView
	state    *routeState
	parent   *parentState
	findings []lbmodel.Finding
}

// routes writes the parents of every route that results concern.
func (w *statusWriter) routes() {
	entries := map[Key][]routeEntry{}
	used := map[Key]bool{}
	for _, key := range w.keys {
		for _, e := range w.views[key].entries {
			entries[e.state.route.key] = append(entries[e.state.route.key], e)
		}
	}
	for key := range entries {
		used[key] = true
	}
	isRoute := func(k Key) bool { return strings.HasSuffix(k.Kind, "Route") }
	for _, key := range w.claimants(used, isRoute) {
		obj := w.x.at(key).obj
		if r, ok := routeOf(key, obj); ok {
			w.route(r, entries[key])
		}
	}
}

// concerns says whether a finding about the route is one about this parentRef:
// it names the parentRef, one of the listeners that took the route, or no parent
// at all. A finding about a part of the route that names the gateway concerns all
// parentRefs to it; one about the whole route is about an attachment, and so
// about one parentRef.
func (e routeEntry) concerns(f lbmodel.Finding) bool {
	whole := f.About.Section == ""
	if f.Parent == (lbmodel.Source{}) || f.Parent == e.parent.source || !whole && f.Parent == e.gateway.key.source("") {
		return true
	}
	return slices.ContainsFunc(e.parent.listeners, func(a attachment) bool {
		return f.Parent == a.listener.source() || f.Parent == e.gateway.key.source(a.listener.modelName())
	})
}

// route merges our entries into a route's parents: those of others stay where
// they are, ours follow the spec.
func (w *statusWriter) route(r route, entries []routeEntry) {
	parents := make([]gwv1.RouteParentStatus, 0, len(r.status)+len(entries))
	done := map[lbmodel.Source]bool{}
	for _, have := range r.status {
		if !w.x.ours(have.ControllerName) {
			parents = append(parents, have)
			continue
		}
		source := refSource(have.ParentRef, r.key.Namespace)
		i := slices.IndexFunc(entries, func(e routeEntry) bool { return e.parent.source == source })
		switch {
		case done[source]:
		case i >= 0:
			done[source] = true
			parents = append(parents, w.parent(r, entries[i], have))
		case w.keeps(w.gatewayOf(parentKey(have.ParentRef, r.key.Namespace))) && names(r, source):
			parents = append(parents, have)
		}
	}
	for _, ref := range r.refs {
		source := refSource(ref, r.key.Namespace)
		i := slices.IndexFunc(entries, func(e routeEntry) bool { return e.parent.source == source })
		if i < 0 || done[source] {
			continue
		}
		done[source] = true
		if controller := w.controller(entries[i].gateway.key); controller != "" { // without one the API server refuses it
			parents = append(parents, w.parent(r, entries[i], gwv1.RouteParentStatus{ControllerName: controller}))
		}
	}
	w.patchRoute(r, parents)
}

// names says whether a route's spec still has a parentRef.
func names(r route, source lbmodel.Source) bool {
	return slices.ContainsFunc(r.refs, func(ref gwv1.ParentReference) bool { return refSource(ref, r.key.Namespace) == source })
}

func (w *statusWriter) patchRoute(r route, parents []gwv1.RouteParentStatus) {
	status := gwv1.RouteStatus{Parents: parents}
	have := gwv1.RouteStatus{Parents: r.status}
	if len(have.Parents) == 0 && len(status.Parents) == 0 {
		return
	}
	w.patch(r.key, r.meta, have, status)
	if p, ok := w.patches[r.key]; ok {
		p.Base, p.Status = typedRouteStatus(r.key.Kind, have), typedRouteStatus(r.key.Kind, status)
		w.patches[r.key] = p
	}
}

// typedRouteStatus is the status as the route's own type has it.
func typedRouteStatus(kind string, s gwv1.RouteStatus) any {
	switch kind {
	case KindHTTPRoute:
		return &gwv1.HTTPRouteStatus{RouteStatus: s}
	case KindGRPCRoute:
		return &gwv1.GRPCRouteStatus{RouteStatus: s}
	case KindTLSRoute:
		return &gwv1.TLSRouteStatus{RouteStatus: s}
	case KindTCPRoute:
		return &gwv1.TCPRouteStatus{RouteStatus: s}
	default:
		return &gwv1.UDPRouteStatus{RouteStatus: s}
	}
}

func (w *statusWriter) parent(r route, e routeEntry, have gwv1.RouteParentStatus) gwv1.RouteParentStatus {
	c := newConditions(have.Conditions, r.meta.GetGeneration(), w.now)
	accepted, partial := e.accepted()
	c.set(condAccepted, accepted)
	resolved := yes(string(gwv1.RouteReasonResolvedRefs), "")
	if bad, ok := firstOf(e.findings, condResolvedRefs); ok {
		resolved = bad
	} else if bad, ok := firstOf(e.findings, CondBackendTLS); ok {
		resolved = bad // a backend whose TLS cannot be had is an invalid backendRef
	}
	c.set(condResolvedRefs, resolved)
	c.put(condPartial, partial)
	c.put(CondBackendTLS, e.backendTLS())
	c.put(CondOutboundConflict, e.outboundConflict())
	controller := w.controller(e.gateway.key)
	if controller == "" {
		controller = have.ControllerName // its class is not there, and the entry knows it
	}
	return gwv1.RouteParentStatus{ParentRef: e.parent.ref, ControllerName: controller, Conditions: c.list}
}

// controller is whose a gateway is; "" while its class is not there.
func (w *statusWriter) controller(gateway Key) gwv1.GatewayController {
	class, _, ok := w.x.gatewayClass(gateway)
	if !ok {
		return ""
	}
	return class.controller
}

// accepted is Accepted and PartiallyInvalid. Findings about the route as a whole
// refuse it. Findings about rules drop these rules; when that is all of them,
// the route is not accepted.
func (e routeEntry) accepted() (accepted, partial verdict) {
	broken := map[string]bool{}
	var dropped []lbmodel.Finding
	for _, f := range e.findings {
		if f.Condition != condAccepted && f.Condition != condPartial {
			continue
		}
		if f.About.Section == "" {
			return no(f.Reason, f.Detail), verdict{}
		}
		dropped = append(dropped, f)
		if rule, whole := ruleOf(f.About.Section); whole {
			broken[rule] = true
		}
	}
	if len(dropped) == 0 {
		return yes(string(gwv1.RouteReasonAccepted), ""), verdict{}
	}
	message := e.dropped(dropped)
	if len(broken) == e.state.rules {
		return no(dropped[0].Reason, message), verdict{}
	}
	return yes(string(gwv1.RouteReasonAccepted), ""), yes(string(gwv1.RouteReasonUnsupportedValue), message)
}

// ruleOf is the rule of a section such as rules[2].filters[0]; whole says
// whether all of it is concerned and not just one backend's share.
func ruleOf(section string) (rule string, whole bool) {
	rule, rest, _ := strings.Cut(section, "]")
	return rule + "]", !strings.HasPrefix(rest, ".backendRefs")
}

// dropped begins as PartiallyInvalid's documentation says it must.
func (e routeEntry) dropped(findings []lbmodel.Finding) string {
	var out []string
	for _, f := range findings {
		rule, _ := ruleOf(f.About.Section)
		text := f.About.Section + e.ruleName(rule) + ": " + f.Detail
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return "Dropped Rule " + strings.Join(out, "; ") + " (what is dropped answers 500)"
}

// ruleName is the rule's own name in brackets, if it has one.
func (e routeEntry) ruleName(rule string) string {
	i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(rule, "rules["), "]"))
	name := ""
	if err == nil {
		name = e.state.route.ruleName(i)
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", name)
}

func (r route) ruleName(i int) string {
	switch o := r.obj.(type) {
	case *gwv1.HTTPRoute:
		if i >= 0 && i < len(o.Spec.Rules) {
			return string(deref(o.Spec.Rules[i].Name, ""))
		}
	case *gwv1.GRPCRoute:
		if i >= 0 && i < len(o.Spec.Rules) {
			return string(deref(o.Spec.Rules[i].Name, ""))
		}
	}
	return ""
}

// backendTLS says how the hops to the route's backends are protected. It exists
// once one of them uses TLS, or was refused for want of it.
func (e routeEntry) backendTLS() verdict {
	var p protection
	if len(e.parent.listeners) == 0 {
		return verdict{}
	}
	for _, h := range e.state.hops {
		text := fmt.Sprintf("%s %s", h.at.section, h.to)
		switch {
		case h.mesh != nil:
			p.groups(text, h.mesh.groups)
		case h.tls != "":
			p.refuse(h.tls, text+": "+h.detail)
		case h.reason != "" || h.level == "":
		case h.level == lbmodel.TLSNone:
			p.plain = append(p.plain, text)
		default:
			p.safe = append(p.safe, fmt.Sprintf("%s %s", text, h.level))
		}
	}
	if f, ok := firstOf(e.findings, CondBackendTLS); ok {
		p.bad, p.reason = append(p.bad, f.message), f.reason
	}
	return p.verdict()
}
