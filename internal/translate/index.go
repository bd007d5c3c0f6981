package translate

import (
	"encoding/json"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
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
	// Infrastructure says that the labels and annotations of a Gateway's
	// spec.infrastructure reach an object of its own in the cluster.
	Infrastructure bool
	// NoTrustBundles says that the cluster does not serve ClusterTrustBundles, so
	// that a reference to one names a kind that is not there.
	NoTrustBundles bool
	// ServiceDefault is the provider of Services of type LoadBalancer without a
	// loadBalancerClass; "" leaves them to somebody else. A class is ours as a
	// controller name is: see Controllers.
	ServiceDefault string
	// ServiceKeeper is the finalizer of the service controller that asks for the load
	// balancers of Services without a class, and writes their status; "" is that there
	// is none, so that these Services are ours to keep like all others.
	ServiceKeeper string
	// ServiceParameters name the GatewayParameters of a provider's Services, as a
	// GatewayClass names those of its Gateways. A provider that is not in it has
	// the defaults.
	ServiceParameters map[string]types.NamespacedName
	// VersionProblem says why the installed Gateway API CRDs are not ones that we
	// know (GatewayClass SupportedVersion=False); "" is that they are.
	VersionProblem string
	// Dialects are the meshes that gateways can be members of, by the controllerName
	// that MeshBindings give them.
	Dialects map[string]meshsync.Dialect
	// Refusals has hops told whose mesh refuses the gateway. Whoever sets it reads the
	// kinds of meshsync.Authorizer.Permits too, all that there are: what is not there
	// lets nobody in.
	Refusals bool
	// MeshNamespace is the namespace of the ServiceAccounts by which meshes know
	// gateways: the controller's own. "" is gatehouse-system.
	MeshNamespace string
}

// Index is a Snapshot with everything findable, as an immutable value. It is
// safe for use by several goroutines.
type Index struct {
	options Options
	cluster string
	live    bool // see Snapshot.LiveEndpoints

	graph   pmap[vertex]
	orphans pmap[struct{}]
	meshes  *meshMemory
}

// New indexes a snapshot. The order of its lists means nothing; of two objects
// with one key, the later one counts.
func New(s Snapshot, o Options) *Index {
	x := &Index{options: o, cluster: s.Cluster, live: s.LiveEndpoints, meshes: newMeshMemory()}
	by := new(edit)
	var claimants []Key // judged at the end: whom they claim may come later in the snapshot
	for obj := range s.objects() {
		if key, ok := KeyOf(obj); ok {
			if e := x.put(key, obj, by); len(e.claimed) > 0 {
				claimants = append(claimants, key)
			}
		}
	}
	for _, key := range claimants {
		x.findOrphan(key, x.at(key).obj, by)
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
		old := next.at(key).obj
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
		old := next.at(key).obj
		if old == nil {
			continue
		}
		next.walk(key, old, nil, concerned)
		next.drop(key, by)
		next.orphan(key, by)
	}
	x.concernMeshes(&next, c, concerned)
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
