package translate

import (
	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Snapshot is everything that translation may know: the objects of one cluster
// (or of a set of files) at one moment, with the API server's defaults applied.
// Order is meaningless. Objects are shared and must not be changed.
type Snapshot struct {
	Cluster string // the --cluster name, part of every Owner
	// LiveEndpoints says that EndpointSlices, Pods and Nodes come from a cluster,
	// so a Service without slices has no endpoints. Without it (files) the
	// endpoints of such a Service are unknown: existing targets stay.
	LiveEndpoints bool

	GatewayClasses     []*gwv1.GatewayClass
	Parameters         []*v1alpha1.GatewayParameters
	Gateways           []*gwv1.Gateway
	ListenerSets       []*gwv1.ListenerSet
	HTTPRoutes         []*gwv1.HTTPRoute
	GRPCRoutes         []*gwv1.GRPCRoute
	TLSRoutes          []*gwv1.TLSRoute
	TCPRoutes          []*gwv1.TCPRoute
	UDPRoutes          []*gwv1.UDPRoute
	ReferenceGrants    []*gwv1.ReferenceGrant
	BackendTLSPolicies []*gwv1.BackendTLSPolicy
	Backends           []*gwxv1alpha1.XBackend

	Namespaces     []*corev1.Namespace
	Services       []*corev1.Service
	EndpointSlices []*discoveryv1.EndpointSlice
	Pods           []*corev1.Pod
	Nodes          []*corev1.Node
	ConfigMaps     []*corev1.ConfigMap
	Secrets        []*Secret
	TrustBundles   []*certv1.ClusterTrustBundle

	MeshBindings []*v1alpha1.MeshBinding
	// MeshObjects are of the kinds that dialects read (meshsync.Dialect.Reads).
	MeshObjects []*unstructured.Unstructured
	// Bundles are the roots that no object has (meshsync.RootsAt.Outside), as far as
	// somebody fetches them.
	Bundles []*Bundle
	// Sights are what was seen on the wire, one for each binding that wants probes.
	Sights []*Sight
	// Held are the certificates that SPIFFE agents have for gateways now, as far as
	// somebody follows them.
	Held []*Held
}

// Bundle is what is known of the roots at a place outside of the cluster's objects.
// Whoever fetches them puts one in for each place from the beginning: one without
// roots, whose Problem says that they have not been read yet.
type Bundle struct {
	At meshsync.RootsAt // as meshsync.Mesh.Roots has it
	// Roots are the last good ones. They count also beside a Problem: what was
	// published last is nearer to what is than nothing.
	Roots []lbmodel.Root
	// Problem is what a person has to be told: that, and why, there are no roots, or
	// that nobody knows for too long whether they are those that are published. "" is
	// nothing.
	Problem string
}

// Secret is a Secret as it may enter a Snapshot: split at the edge, without key
// bytes.
type Secret struct {
	Namespace, Name, UID string
	Type                 corev1.SecretType
	// Leaf describes tls.crt's first certificate; nil when there is none.
	Leaf *lbmodel.Leaf
	// Problem is why the pair cannot be served ("" when it can): no tls.crt, not
	// PEM, a key that does not match, and so on. It never quotes key material.
	Problem string
	// CA is the PEM text of ca.crt, which is public.
	CA string
}
