package translate

import (
	"iter"
	"slices"
	"strings"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/meshsync"
)

// KeyOf is the key of an object of a Snapshot. ok is false for any other type.
func KeyOf(obj any) (key Key, ok bool) {
	kind := kindOf(obj)
	if o, is := obj.(*unstructured.Unstructured); is {
		kind = meshKind(o.GroupVersionKind().GroupKind())
	}
	switch o := obj.(type) {
	case *Secret:
		return Key{kind, o.Namespace, o.Name}, true
	case *Bundle:
		return BundleKey(o.At), true
	case *Sight:
		return Key{Kind: kind, Name: o.Binding}, true
	case *Held:
		return HeldKey(o.Socket, o.SPIFFEID), true
	}
	meta, is := obj.(metav1.Object)
	if !is || kind == "" {
		return Key{}, false
	}
	return Key{kind, meta.GetNamespace(), meta.GetName()}, true
}

// BundleKey is the key of the Bundle of a place. A URL, which may hold more than a
// place, is not readable in it. The same place asked in another way is another: nobody
// knows whether its answer is the same.
func BundleKey(at meshsync.RootsAt) Key {
	name := at.Kind + "/" + at.Name
	if at.URL != "" {
		how := []string{at.URL, at.Profile, at.ID, at.ServerRoots, at.ServerName, at.Token}
		name += "/" + shortHash(strings.TrimRight(strings.Join(how, "\n"), "\n"))
	}
	return Key{KindBundle, at.Namespace, name}
}

// kindOf is a table: one line for each kind of a Snapshot.
func kindOf(obj any) string {
	switch obj.(type) {
	case *gwv1.GatewayClass:
		return KindGatewayClass
	case *v1alpha1.GatewayParameters:
		return KindParameters
	case *gwv1.Gateway:
		return KindGateway
	case *gwv1.ListenerSet:
		return KindListenerSet
	case *gwv1.HTTPRoute:
		return KindHTTPRoute
	case *gwv1.GRPCRoute:
		return KindGRPCRoute
	case *gwv1.TLSRoute:
		return KindTLSRoute
	case *gwv1.TCPRoute:
		return KindTCPRoute
	case *gwv1.UDPRoute:
		return KindUDPRoute
	case *gwv1.ReferenceGrant:
		return KindReferenceGrant
	case *gwv1.BackendTLSPolicy:
		return KindBackendTLSPolicy
	case *gwxv1alpha1.XBackend:
		return KindXBackend
	case *corev1.Namespace:
		return KindNamespace
	case *corev1.Service:
		return KindService
	case *discoveryv1.EndpointSlice:
		return KindEndpointSlice
	case *corev1.Pod:
		return KindPod
	case *corev1.Node:
		return KindNode
	case *corev1.ConfigMap:
		return KindConfigMap
	case *Secret:
		return KindSecret
	case *certv1.ClusterTrustBundle:
		return KindTrustBundle
	case *v1alpha1.MeshBinding:
		return KindMeshBinding
	case *Bundle:
		return KindBundle
	case *Sight:
		return KindSight
	case *Held:
		return KindHeld
	default:
		return ""
	}
}

// objects yields everything in the snapshot.
func (s Snapshot) objects() iter.Seq[any] {
	return func(yield func(any) bool) {
		_ = each(s.GatewayClasses, yield) && each(s.Parameters, yield) && each(s.Gateways, yield) &&
			each(s.ListenerSets, yield) && each(s.HTTPRoutes, yield) && each(s.GRPCRoutes, yield) &&
			each(s.TLSRoutes, yield) && each(s.TCPRoutes, yield) && each(s.UDPRoutes, yield) &&
			each(s.ReferenceGrants, yield) && each(s.BackendTLSPolicies, yield) && each(s.Backends, yield) &&
			each(s.Namespaces, yield) && each(s.Services, yield) && each(s.EndpointSlices, yield) &&
			each(s.Pods, yield) && each(s.Nodes, yield) && each(s.ConfigMaps, yield) &&
			each(s.Secrets, yield) && each(s.TrustBundles, yield) &&
			each(s.MeshBindings, yield) && each(s.MeshObjects, yield) && each(s.Bundles, yield) &&
			each(s.Sights, yield) && each(s.Held, yield)
	}
}

func each[T any](list []T, yield func(any) bool) bool {
	for _, v := range list {
		if !yield(v) {
			return false
		}
	}
	return true
}

// lookup finds an object by its kind's type.
func lookup[T any](x *Index, kind, namespace, name string) (obj T, ok bool) {
	obj, ok = x.at(Key{kind, namespace, name}).obj.(T)
	return obj, ok
}

// part is a part of something, to put in order.
type part[T any] struct {
	key Key
	obj T
}

func comparePart[T any](a, b part[T]) int { return compareKeys(a.key, b.key) }

// partsOf are the parts of one type (the slices of a Service, the sets of a
// Gateway), sorted by key.
func partsOf[T any](parts pmap[any]) []T {
	found := make([]part[T], 0, 4) // most wholes have few parts, and these need no heap
	for key, v := range parts.all() {
		if obj, ok := v.(T); ok {
			found = append(found, part[T]{key, obj})
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, comparePart)
	out := make([]T, len(found))
	for i, p := range found {
		out[i] = p.obj
	}
	return out
}
