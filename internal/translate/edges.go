package translate

import (
	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
)

// edges are what an object's own text says about its place among the others.
// They hold whether or not the other object exists, so an object that appears
// later finds everybody who waits for it.
type edges struct {
	reads   []Key // a change of these changes me
	partOf  []Key // a change of me changes these, and they list me
	listIn  []Key // these list me and do not care what I say
	claimed []Key // parents for which my status holds an entry of ours
}

// wholes yields everybody that lists me.
func (e edges) wholes(yield func(Key) bool) {
	for _, list := range [...][]Key{e.partOf, e.listIn} {
		for _, k := range list {
			if !yield(k) {
				return
			}
		}
	}
	for _, k := range e.claimed {
		if !yield(claimPoint(k)) {
			return
		}
	}
}

// Keys of things that are no objects: meeting points in the graph of edges.
const (
	kindSelectors = "namespace selectors" // who selects namespaces by label
	kindPodsIn    = "pods in"             // Name: a namespace
	kindPodIP     = "pod IP"              // Namespace/Name: a namespace and an address in it
	kindGrant     = "grant to"            // Namespace: who grants; Name: fromNamespace/fromKind
	kindOfClass   = "gateways of class"
	kindClasses   = "classes"
	kindOurs      = "status entries" // claimants of a parent
	kindBalanced  = "Services with a load balancer"
	kindNodes     = "nodes"
	kindBindings  = "mesh bindings"
	kindBundles   = "trust bundles"
	kindMapsIn    = "ConfigMaps in"  // Namespace
	kindMeshIn    = "mesh objects: " // and the kind; Namespace: theirs
)

func grantPoint(toNamespace, fromNamespace, fromKind string) Key {
	return Key{kindGrant, toNamespace, fromNamespace + "/" + fromKind}
}

// claimPoint lists the objects whose status has our entry for a parent.
func claimPoint(parent Key) Key {
	return Key{kindOurs + " of " + parent.Kind, parent.Namespace, parent.Name}
}

// edgesOf reads an object's edges. It looks at nothing but the object.
func (x *Index) edgesOf(key Key, obj any) edges {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		return classEdges(o)
	case *gwv1.Gateway:
		return gatewayEdges(o)
	case *gwv1.ListenerSet:
		return listenerSetEdges(o)
	case *gwv1.ReferenceGrant:
		return grantEdges(o)
	case *gwv1.BackendTLSPolicy:
		return x.policyEdges(o)
	case *gwxv1alpha1.XBackend:
		return x.xbackendEdges(o)
	case *corev1.Service:
		return x.serviceEdges(o)
	case *corev1.Node:
		return edges{partOf: []Key{{Kind: kindNodes}}}
	case *corev1.Namespace:
		return edges{partOf: []Key{{Kind: kindSelectors}}}
	case *discoveryv1.EndpointSlice:
		return sliceEdges(o)
	case *corev1.Pod:
		return podEdges(o)
	case *v1alpha1.MeshBinding:
		return edges{listIn: []Key{{Kind: kindBindings}}}
	case *certv1.ClusterTrustBundle:
		return edges{listIn: []Key{{Kind: kindBundles}}}
	case *corev1.ConfigMap:
		return edges{listIn: []Key{{Kind: kindMapsIn, Namespace: key.Namespace}}}
	case *unstructured.Unstructured:
		return meshEdges(o)
	default:
		if r, ok := routeOf(key, obj); ok {
			return x.routeEdges(r)
		}
		return edges{}
	}
}

func classEdges(c *gwv1.GatewayClass) (e edges) {
	e.listIn = []Key{{Kind: kindClasses}}
	if ref := c.Spec.ParametersRef; ref != nil {
		e.reads = append(e.reads, Key{KindParameters, string(deref(ref.Namespace, "")), ref.Name})
	}
	return e
}

func gatewayEdges(g *gwv1.Gateway) (e edges) {
	class := string(g.Spec.GatewayClassName)
	e.listIn = []Key{{Kind: kindOfClass, Name: class}, meshPoint(gatewayKind, g.Namespace)}
	e.reads = append(e.reads, Key{Kind: KindGatewayClass, Name: class})
	if i := g.Spec.Infrastructure; i != nil && i.ParametersRef != nil {
		e.reads = append(e.reads, Key{KindParameters, g.Namespace, i.ParametersRef.Name})
	}
	from := referrer{KindGateway, g.Namespace}
	for _, l := range g.Spec.Listeners {
		from.listener(&e, l)
	}
	if t := g.Spec.TLS; t != nil {
		if t.Backend != nil && t.Backend.ClientCertificateRef != nil {
			from.secret(&e, *t.Backend.ClientCertificateRef)
		}
		for _, v := range frontendValidations(t.Frontend) {
			for _, ref := range v.CACertificateRefs {
				from.object(&e, string(ref.Group), string(ref.Kind), ref.Namespace, string(ref.Name))
			}
		}
	}
	if a := g.Spec.AllowedListeners; a != nil && a.Namespaces != nil && a.Namespaces.Selector != nil {
		e.reads = append(e.reads, Key{Kind: kindSelectors})
	}
	return e
}

func listenerSetEdges(s *gwv1.ListenerSet) (e edges) {
	e.partOf = []Key{setParent(s)}
	from := referrer{KindListenerSet, s.Namespace}
	for _, l := range s.Spec.Listeners {
		from.listener(&e, gwv1.Listener(l))
	}
	return e
}

// setParent is the Gateway that a ListenerSet names. A parent of another kind
// gives a key that no object has.
func setParent(s *gwv1.ListenerSet) Key {
	ref := s.Spec.ParentRef
	kind := string(deref(ref.Kind, KindGateway))
	if deref(ref.Group, groupGateway) != groupGateway {
		kind = "unknown " + kind
	}
	return Key{kind, string(deref(ref.Namespace, gwv1.Namespace(s.Namespace))), string(ref.Name)}
}

func grantEdges(g *gwv1.ReferenceGrant) (e edges) {
	for _, from := range g.Spec.From {
		e.partOf = append(e.partOf, grantPoint(g.Namespace, string(from.Namespace), string(from.Kind)))
	}
	return e
}

func (x *Index) policyEdges(p *gwv1.BackendTLSPolicy) (e edges) {
	for _, t := range p.Spec.TargetRefs {
		if t.Group == groupCore && t.Kind == KindService {
			e.partOf = append(e.partOf, Key{KindService, p.Namespace, string(t.Name)})
		}
	}
	from := referrer{KindBackendTLSPolicy, p.Namespace}
	from.localObjects(&e, p.Spec.Validation.CACertificateRefs)
	for _, a := range p.Status.Ancestors {
		if x.ours(a.ControllerName) {
			e.claimed = append(e.claimed, parentKey(a.AncestorRef, p.Namespace))
		}
	}
	return e
}

func (x *Index) xbackendEdges(b *gwxv1alpha1.XBackend) (e edges) {
	from := referrer{KindXBackend, b.Namespace}
	if t := b.Spec.TLS; t != nil {
		if t.ClientCertificateRef != nil {
			from.secret(&e, *t.ClientCertificateRef)
		}
		if t.Validation != nil {
			from.localObjects(&e, t.Validation.CACertificateRefs)
		}
	}
	if b.Spec.EndpointSelector != nil {
		e.reads = append(e.reads, Key{Kind: kindPodsIn, Name: b.Namespace})
	}
	for _, a := range b.Status.Ancestors {
		if x.ours(a.ControllerName) {
			e.claimed = append(e.claimed, parentKey(a.AncestorRef, b.Namespace))
		}
	}
	return e
}

// SliceManager is the manager of the EndpointSlices that we make for gateways'
// own addresses. They are part of no Service that a route may send to: the gateway
// would send to itself.
const SliceManager = "gatehouse.dev"

func sliceEdges(s *discoveryv1.EndpointSlice) (e edges) {
	if s.Labels[discoveryv1.LabelManagedBy] == SliceManager {
		return e
	}
	e.partOf = []Key{{KindService, s.Namespace, s.Labels[discoveryv1.LabelServiceName]}}
	nodes := map[string]bool{}
	for _, ep := range s.Endpoints {
		if len(ep.Addresses) > 0 {
			e.reads = append(e.reads, Key{kindPodIP, s.Namespace, ep.Addresses[0]})
		}
		if n := deref(ep.NodeName, ""); n != "" && !nodes[n] {
			nodes[n] = true
			e.reads = append(e.reads, Key{Kind: KindNode, Name: n})
		}
	}
	return e
}

func podEdges(p *corev1.Pod) (e edges) {
	e.partOf = append(e.partOf, Key{Kind: kindPodsIn, Name: p.Namespace})
	for _, ip := range p.Status.PodIPs {
		e.partOf = append(e.partOf, Key{kindPodIP, p.Namespace, ip.IP})
	}
	if len(p.Status.PodIPs) == 0 && p.Status.PodIP != "" {
		e.partOf = append(e.partOf, Key{kindPodIP, p.Namespace, p.Status.PodIP})
	}
	if n := p.Spec.NodeName; n != "" {
		e.reads = append(e.reads, Key{Kind: KindNode, Name: n})
	}
	return e
}

// referrer is an object that refers to others; it collects the edges of its
// references, with the grants that decide those across namespaces.
type referrer struct{ kind, namespace string }

func (r referrer) listener(e *edges, l gwv1.Listener) {
	if l.TLS != nil {
		for _, ref := range l.TLS.CertificateRefs {
			r.secret(e, ref)
		}
	}
	if a := l.AllowedRoutes; a != nil && a.Namespaces != nil && a.Namespaces.Selector != nil {
		e.reads = append(e.reads, Key{Kind: kindSelectors})
	}
}

func (r referrer) secret(e *edges, ref gwv1.SecretObjectReference) {
	r.object(e, string(deref(ref.Group, groupCore)), string(deref(ref.Kind, KindSecret)), ref.Namespace, string(ref.Name))
}

func (r referrer) localObjects(e *edges, refs []gwv1.LocalObjectReference) {
	for _, ref := range refs {
		r.object(e, string(ref.Group), string(ref.Kind), nil, string(ref.Name))
	}
}

func (r referrer) object(e *edges, group, kind string, namespace *gwv1.Namespace, name string) {
	if group == groupCertificates && kind == KindTrustBundle {
		e.reads = append(e.reads, Key{Kind: kind, Name: name})
		return
	}
	ns := string(deref(namespace, gwv1.Namespace(r.namespace)))
	e.reads = append(e.reads, Key{kind, ns, name})
	if ns != r.namespace {
		e.reads = append(e.reads, grantPoint(ns, r.namespace, r.kind))
	}
}
