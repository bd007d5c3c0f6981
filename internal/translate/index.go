package translate

import (
	"encoding/json"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// Options say which gateways are ours and what their providers can do.
type Options struct {
	// Controllers maps GatewayClass.spec.controllerName to the provider's name. A
	// name that ends in "/" is a prefix: the provider is what follows it.
	Controllers map[string]string
	// Offers asks a provider what a class with these settings can have. Findings
	// are mistakes in the settings. Nil means that everything can be had.
	Offers func(provider string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding)
	// AllowLoopback says whether the provider's settings let traffic go to
	// loopback addresses, which examples need and nothing else should. Nil is no.
	// It is asked about the class's settings only, never about a Gateway's own.
	AllowLoopback func(provider string, settings json.RawMessage) bool
	// VersionProblem says why the installed Gateway API CRDs are not ones that we
	// know (GatewayClass SupportedVersion=False); "" is that they are.
	VersionProblem string
}

// Index is a Snapshot with everything findable, as an immutable value. It is
// safe for use by several goroutines.
type Index struct {
	options Options
	cluster string
	live    bool // see Snapshot.LiveEndpoints

	objects pmap[any]
	affects multimap[struct{}] // from an object to those that change with it
	parts   multimap[any]      // from a whole to its parts, which lie in the set: a route or a slice costs no further lookup
	orphans pmap[struct{}]
}

// New indexes a snapshot. The order of its lists means nothing; of two objects
// with one key, the later one counts.
func New(s Snapshot, o Options) *Index {
	x := &Index{options: o, cluster: s.Cluster, live: s.LiveEndpoints}
	by := new(edit)
	for obj := range s.objects() {
		if key, ok := KeyOf(obj); ok {
			x.put(key, obj, by)
		}
	}
	for key, obj := range x.objects.all() {
		x.findOrphan(key, obj, by)
	}
	return x
}

// Change is a set of objects that were created or updated, and of keys that
// were deleted. Put takes the types of a Snapshot's lists.
type Change struct {
	Put    []any
	Delete []Key
}

// EndpointsOnly says whether nothing but endpoints can differ after the change,
// so that [Index.PoolsOf] is all there is to do.
func (c Change) EndpointsOnly() bool {
	isSlice := func(obj any) bool { _, is := obj.(*discoveryv1.EndpointSlice); return is }
	return !slices.ContainsFunc(c.Put, func(obj any) bool { return !isSlice(obj) }) &&
		!slices.ContainsFunc(c.Delete, func(k Key) bool { return k.Kind != KindEndpointSlice })
}

// With is the index after the change, and the gateways that the change concerns,
// sorted: every other gateway translates as before. A gateway that is gone or no
// longer ours is among them, so that its status entries are cleaned up. The cost
// grows with the change and with what refers to it, not with the index.
func (x *Index) With(c Change) (*Index, []Key) {
	next, by := *x, new(edit)
	concerned := map[Key]bool{}
	for _, obj := range c.Put {
		key, ok := KeyOf(obj)
		if !ok {
			continue
		}
		old, _ := next.objects.get(key)
		changed := !x.equivalent(old, obj)
		if changed {
			next.walk(key, old, obj, concerned)
		}
		next.put(key, obj, by)
		next.findOrphan(key, obj, by)
		if changed {
			next.walk(key, old, obj, concerned)
		}
	}
	for _, key := range c.Delete {
		old, ok := next.objects.get(key)
		if !ok {
			continue
		}
		next.walk(key, old, nil, concerned)
		next.drop(key, by)
		next.orphan(key, by)
	}
	return &next, x.concernedOurs(&next, concerned)
}

// concernedOurs keeps the gateways that are ours before or after the change.
func (x *Index) concernedOurs(next *Index, concerned map[Key]bool) []Key {
	var out []Key
	for key := range concerned {
		if x.isOurs(key) || next.isOurs(key) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// put stores an object with its edges, in place of an older one.
func (x *Index) put(key Key, obj any, by *edit) {
	if x.objects.has(key) {
		x.drop(key, by)
	}
	e := x.edgesOf(key, obj)
	x.objects = x.objects.set(key, obj, by)
	for _, k := range e.reads {
		x.affects = x.affects.add(k, key, struct{}{}, by)
	}
	for _, k := range e.partOf {
		x.affects = x.affects.add(key, k, struct{}{}, by)
		x.parts = x.parts.add(k, key, obj, by)
	}
	for _, k := range e.listIn {
		x.parts = x.parts.add(k, key, obj, by)
	}
	for _, k := range e.claimed {
		x.parts = x.parts.add(claimPoint(k), key, obj, by)
	}
}

func (x *Index) drop(key Key, by *edit) {
	obj, _ := x.objects.get(key)
	e := x.edgesOf(key, obj)
	x.objects = x.objects.del(key, by)
	x.orphans = x.orphans.del(key, by)
	for _, k := range e.reads {
		x.affects = x.affects.remove(k, key, by)
	}
	for _, k := range e.partOf {
		x.affects = x.affects.remove(key, k, by)
		x.parts = x.parts.remove(k, key, by)
	}
	for _, k := range e.listIn {
		x.parts = x.parts.remove(k, key, by)
	}
	for _, k := range e.claimed {
		x.parts = x.parts.remove(claimPoint(k), key, by)
	}
}

// findOrphan remembers an object whose status has our entry for a parent that
// does not exist: nobody else would ever clean it up.
func (x *Index) findOrphan(key Key, obj any, by *edit) {
	for _, parent := range x.edgesOf(key, obj).claimed {
		if !x.objects.has(parent) {
			x.orphans = x.orphans.set(key, struct{}{}, by)
			return
		}
	}
}

// orphan does the same for everybody with an entry for a parent that went.
func (x *Index) orphan(parent Key, by *edit) {
	for key := range x.parts.of(claimPoint(parent)).all() {
		x.orphans = x.orphans.set(key, struct{}{}, by)
	}
}

// walk follows the edges from a changed object up to the gateways.
func (x *Index) walk(start Key, old, obj any, gateways map[Key]bool) {
	seen := map[Key]bool{start: true}
	for todo := []Key{start}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at.Kind == KindGateway {
			gateways[at] = true
			continue
		}
		for k := range x.affects.of(at).all() {
			if !seen[k] && x.matters(at, k, old, obj) {
				seen[k] = true
				todo = append(todo, k)
			}
		}
	}
}

// provider is the provider that serves a controller name.
func (o Options) provider(controller gwv1.GatewayController) (string, bool) {
	if p, ok := o.Controllers[string(controller)]; ok {
		return p, true
	}
	if i := strings.LastIndexByte(string(controller), '/') + 1; i > 0 {
		if _, ok := o.Controllers[string(controller[:i])]; ok {
			return string(controller[i:]), i < len(controller)
		}
	}
	return "", false
}

// ours says whether a controller name is one of those we answer for.
func (x *Index) ours(controller gwv1.GatewayController) bool {
	_, ok := x.options.provider(controller)
	return ok
}
