package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// routeState is a route that names this gateway or one of its ListenerSets.
type routeState struct {
	route   *route
	parents []*parentState
	rules   int // how many rules it has
	// selected is the MeshBinding that wants its backends to be members
	selected string
	// protection of its backend hops, for gatehouse.dev/BackendTLS
	hops []hop
}

// parentState is one parentRef of it.
type parentState struct {
	ref       gwv1.ParentReference
	source    lbmodel.Source // how findings name this parentRef
	listeners []attachment
}

// attachment is a listener that takes a route, and the hostnames it takes.
type attachment struct {
	listener *listener
	names    []hostname
}

// hostname is an intersection of a listener's and a route's hostname. The
// original decides between routes whose intersections are equal
// (GatewayRouteHostnameIntersectionPrecedence).
type hostname struct{ name, original string }

// refSource names a parentRef: the parent and the part of it that is meant.
func refSource(ref gwv1.ParentReference, namespace string) lbmodel.Source {
	section := string(deref(ref.SectionName, ""))
	if ref.Port != nil {
		section += fmt.Sprintf(":%d", *ref.Port)
	}
	return parentKey(ref, namespace).source(section)
}

// attachRoutes attaches every route that names the gateway, and translates its
// rules once, whatever number of listeners takes it.
func (t *translation) attachRoutes() {
	routes := t.namingRoutes()
	t.pools = make(map[string]*poolState, len(routes))
	t.poolList = make([]*poolState, 0, len(routes))
	t.resolved = make(map[backendUse]*resolution, len(routes))
	t.routes = make([]*routeState, len(routes))
	states := make([]routeState, len(routes)) // one piece of memory rather than one a route
	for i := range routes {
		r, state := &routes[i], &states[i]
		state.route, t.routes[i] = r, state
		for _, ref := range r.refs {
			if t.isParent(parentKey(ref, r.key.Namespace)) {
				state.parents = append(state.parents, t.attach(r, ref))
			}
		}
		state.selected = t.selectedBy(r)
		t.addRoute(state)
	}
}

// isParent says whether a key is the gateway or one of its ListenerSets that it
// allows. A refused ListenerSet has no listeners to attach to.
func (t *translation) isParent(key Key) bool {
	return key == t.key || slices.ContainsFunc(t.sets, func(s *setState) bool { return s.key == key })
}

// namingRoutes are the routes with a parentRef to the gateway or its
// ListenerSets, sorted by kind, namespace and name.
func (t *translation) namingRoutes() []route {
	found := t.routesOf(nil, t.key)
	for _, s := range t.sets {
		found = t.routesOf(found, s.key)
	}
	slices.SortFunc(found, comparePart)
	found = slices.CompactFunc(found, func(a, b part[any]) bool { return a.key == b.key })
	out := make([]route, len(found))
	for i, p := range found {
		out[i], _ = routeOf(p.key, p.obj)
	}
	return out
}

func (t *translation) routesOf(found []part[any], parent Key) []part[any] {
	parts := t.x.at(parent).parts
	found = slices.Grow(found, parts.size)
	for key, obj := range parts.all() {
		if strings.HasSuffix(key.Kind, "Route") {
			found = append(found, part[any]{key, obj})
		}
	}
	return found
}

// attach finds the listeners that take a route through one parentRef. Each step
// that leaves none has its own reason.
func (t *translation) attach(r *route, ref gwv1.ParentReference) *parentState {
	p := &parentState{ref: ref, source: refSource(ref, r.key.Namespace)}
	refuse := func(reason gwv1.RouteConditionReason, detail string) *parentState {
		t.find(lbmodel.Finding{About: r.key.source(""), Parent: p.source, Condition: condAccepted, Reason: string(reason), Detail: detail, Code: lbmodel.CodeInvalid})
		return p
	}
	parent := parentKey(ref, r.key.Namespace)
	named, allowed := 0, 0
	for _, l := range t.listeners {
		if l.owner != parent || !selected(l, ref) {
			continue
		}
		named++
		if !t.allowsRoute(l, r) {
			continue
		}
		allowed++
		if names := intersect(l.hostname, r); len(names) > 0 {
			p.listeners = append(p.listeners, attachment{l, names})
		}
	}
	switch {
	case named == 0:
		return refuse(gwv1.RouteReasonNoMatchingParent, fmt.Sprintf("%s has no listener for this parentRef%s", parent, wanted(ref)))
	case allowed == 0:
		return refuse(gwv1.RouteReasonNotAllowedByListeners,
			fmt.Sprintf("no listener of %s%s allows a %s from namespace %s; see allowedRoutes and protocol", parent, wanted(ref), r.key.Kind, r.key.Namespace))
	case len(p.listeners) == 0:
		return refuse(gwv1.RouteReasonNoMatchingListenerHostname,
			fmt.Sprintf("no listener of %s%s has a hostname in common with %s", parent, wanted(ref), joinWords(r.hostnames)))
	default:
		return p
	}
}

func selected(l *listener, ref gwv1.ParentReference) bool {
	return (ref.SectionName == nil || *ref.SectionName == "" || *ref.SectionName == l.spec.Name) &&
		(ref.Port == nil || *ref.Port == l.spec.Port)
}

func wanted(ref gwv1.ParentReference) (out string) {
	if name := deref(ref.SectionName, ""); name != "" {
		out = fmt.Sprintf(" with name %s", name)
	}
	if ref.Port != nil {
		out += fmt.Sprintf(" on port %d", *ref.Port)
	}
	return out
}

func (t *translation) allowsRoute(l *listener, r *route) bool {
	from, selector := gwv1.NamespacesFromSame, routeSelector(l.spec.AllowedRoutes)
	if a := l.spec.AllowedRoutes; a != nil && a.Namespaces != nil {
		from = deref(a.Namespaces.From, gwv1.NamespacesFromSame)
	}
	return l.allowsKind(r.key.Kind) && t.allowsNamespace(from, selector, l.owner.Namespace, r.key.Namespace)
}

// intersect is what a listener's hostname leaves of a route's, without
// duplicates; a route without hostnames takes the listener's.
func intersect(listener string, r *route) []hostname {
	if len(r.hostnames) == 0 {
		return []hostname{{name: listener}}
	}
	var out []hostname
	for _, h := range r.hostnames {
		own := lbmodel.CanonicalHost(string(h))
		name, ok := lbmodel.IntersectHostnames(listener, own)
		if ok && own != "" && !badHostname(own) {
			out = addHostname(out, hostname{name, own})
		}
	}
	return out
}

// addHostname keeps one entry a name: the one with the most specific original.
func addHostname(list []hostname, h hostname) []hostname {
	for i := range list {
		if list[i].name == h.name {
			if lbmodel.CompareHostnames(h.original, list[i].original) < 0 {
				list[i] = h
			}
			return list
		}
	}
	return append(list, h)
}

// attachments are the listeners that take a route through any parentRef, each
// once.
func (s *routeState) attachments() []attachment {
	if len(s.parents) == 1 {
		return s.parents[0].listeners // one parentRef has no listener twice
	}
	var out []attachment
	for _, p := range s.parents {
		for _, a := range p.listeners {
			if !slices.ContainsFunc(out, func(o attachment) bool { return o.listener == a.listener }) {
				out = append(out, a)
			}
		}
	}
	return out
}

// entry is one rule of a listener before it is put in order.
type entry struct {
	rule     lbmodel.Rule
	original string // the route's own hostname
	route    *route
	rank     int // place in the route: rules in list order, matches within
}

// compareEntries is Gateway API's total order of rules (HTTPRoute.spec.hostnames
// and .rules.matches, GRPCRoute likewise): hostname, original hostname, match,
// age of the route, its name, place in the route. HTTPRoutes and GRPCRoutes may
// share a hostname: we accept both, and a gRPC request finds its own first.
func compareEntries(a, b *entry) int {
	// One after the other, and not cmp.Or, which would compute them all.
	if c := lbmodel.CompareHostnames(a.rule.Hostname, b.rule.Hostname); c != 0 {
		return c
	}
	if c := lbmodel.CompareHostnames(a.original, b.original); c != 0 {
		return c
	}
	if c := lbmodel.CompareMatch(a.rule.Match, b.rule.Match); c != 0 {
		return c
	}
	if c := compareRoutes(a.route, b.route); c != 0 {
		return c
	}
	return cmp.Compare(a.rank, b.rank)
}

func compareRoutes(a, b *route) int {
	if a == b {
		return 0
	}
	return cmp.Or(compareAge(a.meta, b.meta), compareKeys(a.key, b.key))
}

// finish orders what was attached to the listener.
func (l *listener) finish() {
	if l.owner.Kind == KindService {
		return // no route attaches to a Service's port
	}
	l.model.SNI, l.model.Forward = nil, nil
	slices.SortFunc(l.entries, compareEntries)
	l.model.Rules = slices.Grow([]lbmodel.Rule(nil), len(l.entries))
	for _, e := range l.entries {
		l.model.Rules = append(l.model.Rules, e.rule)
	}
	l.finishSNI()
	l.finishForward()
}
