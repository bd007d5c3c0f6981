package manifest

import (
	"cmp"
	"slices"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
)

// kind is one kind of object that files may hold. It is either defined by a
// CustomResourceDefinition (file is set) or built into Kubernetes.
type kind struct {
	group, name string
	cluster     bool   // it has no namespace
	file        string // the definition's
	hub         string // the version of the Go type; all others become it
	versions    []string
	raw         bool // a mesh's own: there is no definition of it here, and it is taken as it stands
	names       func(name string, prefix bool) []string

	make     func() metav1.Object
	defaults func(metav1.Object)                 // built-in kinds: the API server's defaults
	check    func(metav1.Object) field.ErrorList // built-in kinds: what the API server would refuse and we must not meet
	add      func(*assembly, metav1.Object)      // nil: read and checked, but no part of a Snapshot
}

// kinds are all that is read, in the order that the table of a Snapshot has.
func kinds() []kind {
	return slices.Concat(gatewayKinds(), ourKinds(), builtinKinds())
}

const (
	groupGateway      = "gateway.networking.k8s.io"
	groupGatewayX     = "gateway.networking.x-k8s.io"
	groupDiscovery    = "discovery.k8s.io"
	groupCertificates = "certificates.k8s.io"
)

func gatewayKinds() []kind {
	all := []kind{
		custom("gatewayclasses.json", "GatewayClass", func(s *translate.Snapshot) *[]*gwv1.GatewayClass { return &s.GatewayClasses }),
		custom("gateways.json", "Gateway", func(s *translate.Snapshot) *[]*gwv1.Gateway { return &s.Gateways }),
		custom("listenersets.json", "ListenerSet", func(s *translate.Snapshot) *[]*gwv1.ListenerSet { return &s.ListenerSets }),
		custom("httproutes.json", "HTTPRoute", func(s *translate.Snapshot) *[]*gwv1.HTTPRoute { return &s.HTTPRoutes }),
		custom("grpcroutes.json", "GRPCRoute", func(s *translate.Snapshot) *[]*gwv1.GRPCRoute { return &s.GRPCRoutes }),
		custom("tlsroutes.json", "TLSRoute", func(s *translate.Snapshot) *[]*gwv1.TLSRoute { return &s.TLSRoutes }),
		custom("tcproutes.json", "TCPRoute", func(s *translate.Snapshot) *[]*gwv1.TCPRoute { return &s.TCPRoutes }),
		custom("udproutes.json", "UDPRoute", func(s *translate.Snapshot) *[]*gwv1.UDPRoute { return &s.UDPRoutes }),
		custom("referencegrants.json", "ReferenceGrant", func(s *translate.Snapshot) *[]*gwv1.ReferenceGrant { return &s.ReferenceGrants }),
		custom("backendtlspolicies.json", "BackendTLSPolicy", func(s *translate.Snapshot) *[]*gwv1.BackendTLSPolicy { return &s.BackendTLSPolicies }),
		custom("xbackends.json", "XBackend", func(s *translate.Snapshot) *[]*gwxv1alpha1.XBackend { return &s.Backends }),
	}
	for i := range all {
		all[i].group, all[i].hub = groupGateway, "v1"
	}
	all[0].cluster = true
	all[len(all)-1].group, all[len(all)-1].hub = groupGatewayX, "v1alpha1"
	for i := range all {
		all[i].file = all[i].group + "_" + all[i].file
	}
	return all
}

func ourKinds() []kind {
	parameters := custom("gatehouse.dev_gatewayparameters.yaml", "GatewayParameters",
		func(s *translate.Snapshot) *[]*v1alpha1.GatewayParameters { return &s.Parameters })
	binding := custom("gatehouse.dev_meshbindings.yaml", translate.KindMeshBinding,
		func(s *translate.Snapshot) *[]*v1alpha1.MeshBinding { return &s.MeshBindings })
	binding.cluster = true
	plan := kind{name: "GatewayPlan", file: "gatehouse.dev_gatewayplans.yaml", make: fresh[v1alpha1.GatewayPlan]}
	all := []kind{parameters, binding, plan}
	for i := range all {
		all[i].group, all[i].hub = v1alpha1.GroupName, v1alpha1.GroupVersion.Version
		all[i].names = apivalidation.NameIsDNSSubdomain
	}
	return all
}

func builtinKinds() []kind {
	return []kind{
		{
			name: "Namespace", cluster: true, names: apivalidation.NameIsDNSLabel, defaults: on(defaultNamespace),
			make: fresh[corev1.Namespace], add: into(func(s *translate.Snapshot) *[]*corev1.Namespace { return &s.Namespaces }),
		},
		{
			name: "Service", names: apivalidation.NameIsDNSLabel, defaults: on(defaultService), check: on2(checkService),
			make: fresh[corev1.Service], add: into(func(s *translate.Snapshot) *[]*corev1.Service { return &s.Services }),
		},
		{
			group: groupDiscovery, name: "EndpointSlice", defaults: on(defaultEndpointSlice), check: on2(checkEndpointSlice),
			make: fresh[discoveryv1.EndpointSlice], add: into(func(s *translate.Snapshot) *[]*discoveryv1.EndpointSlice { return &s.EndpointSlices }),
		},
		{
			name: "Pod", defaults: on(defaultPod), check: on2(checkPod),
			make: fresh[corev1.Pod], add: into(func(s *translate.Snapshot) *[]*corev1.Pod { return &s.Pods }),
		},
		{
			name: "Node", cluster: true,
			make: fresh[corev1.Node], add: into(func(s *translate.Snapshot) *[]*corev1.Node { return &s.Nodes }),
		},
		{
			name: "ConfigMap", check: on2(checkConfigMap),
			make: fresh[corev1.ConfigMap], add: into(func(s *translate.Snapshot) *[]*corev1.ConfigMap { return &s.ConfigMaps }),
		},
		{
			name: secretKind, defaults: on(defaultSecret), check: on2(checkSecret),
			make: fresh[corev1.Secret], add: addSecret,
		},
		{
			group: groupCertificates, name: "ClusterTrustBundle", cluster: true, versions: []string{"v1", "v1alpha1", "v1beta1"},
			names: pathSegment, check: on2(checkTrustBundle),
			make: fresh[certv1.ClusterTrustBundle], add: into(func(s *translate.Snapshot) *[]*certv1.ClusterTrustBundle { return &s.TrustBundles }),
		},
	}
}

// object is a pointer to a Kubernetes type.
type object[T any] interface {
	*T
	metav1.Object
}

func custom[T any, P object[T]](file, name string, list func(*translate.Snapshot) *[]P) kind {
	return kind{name: name, file: file, make: fresh[T, P], add: into(list), names: apivalidation.NameIsDNSSubdomain}
}

func fresh[T any, P object[T]]() metav1.Object { return P(new(T)) }

func into[P metav1.Object](list func(*translate.Snapshot) *[]P) func(*assembly, metav1.Object) {
	return func(a *assembly, o metav1.Object) {
		to := list(&a.snapshot)
		*to = append(*to, o.(P))
	}
}

func on[P metav1.Object](f func(P)) func(metav1.Object) {
	return func(o metav1.Object) { f(o.(P)) }
}

func on2[P metav1.Object](f func(P) field.ErrorList) func(metav1.Object) field.ErrorList {
	return func(o metav1.Object) field.ErrorList { return f(o.(P)) }
}

// groupKind is what a kind is found by.
type groupKind struct{ group, name string }

// meshKind is a mesh's own kind. Nobody says which of them are in namespaces, so
// those that are not are listed.
func meshKind(at groupKind) *kind {
	return &kind{
		group: at.group, name: at.name, cluster: at == groupKind{"kuma.io", "Mesh"}, raw: true,
		names: apivalidation.NameIsDNSSubdomain, make: fresh[unstructured.Unstructured],
		add: into(func(s *translate.Snapshot) *[]*unstructured.Unstructured { return &s.MeshObjects }),
	}
}

// index makes the table's kinds complete and findable, with those of meshes.
func index(meshes []schema.GroupVersionKind) map[groupKind]*kind {
	out := map[groupKind]*kind{}
	for _, gvk := range meshes {
		at := groupKind{gvk.Group, gvk.Kind}
		out[at] = meshKind(at)
	}
	for _, k := range kinds() {
		if k.names == nil {
			k.names = apivalidation.NameIsDNSSubdomain
		}
		if k.file == "" && k.versions == nil {
			k.versions = []string{"v1"}
		}
		k.hub = cmp.Or(k.hub, "v1")
		out[groupKind{k.group, k.name}] = &k
	}
	return out
}
