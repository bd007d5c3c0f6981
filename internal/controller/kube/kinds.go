package kube

import (
	"slices"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
)

// KindPlan is the one kind that is read and is no part of a Snapshot.
const KindPlan = "GatewayPlan"

// The API groups of the table.
const (
	groupGateway      = "gateway.networking.k8s.io"
	groupGatewayX     = "gateway.networking.x-k8s.io"
	groupDiscovery    = "discovery.k8s.io"
	groupCertificates = "certificates.k8s.io"
)

// Object is what every kind's Go type is.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is one kind of object.
type Kind struct {
	Name       string // as in translate.Key
	Group      string // "" is the core group
	Resource   string // the plural, as in URLs
	Versions   []string
	Cluster    bool // it has no namespace
	Custom     bool // a CustomResourceDefinition defines it: JSON only, and it may be missing
	New        func() Object
	newList    func() runtime.Object
	definition string // the name of its CustomResourceDefinition
	untyped    bool   // it is read as it is, in no Go type
}

// Kinds are all kinds, by name. Versions stand in the order of preference.
func Kinds() []Kind {
	out := slices.Concat(gatewayKinds(), ourKinds(), builtinKinds())
	for i := range out {
		if out[i].Custom {
			out[i].definition = out[i].Resource + "." + out[i].Group
		}
	}
	return out
}

// Definition is the name of the CustomResourceDefinition of a kind, "" for those
// that are built in.
func (k Kind) Definition() string { return k.definition }

// object is a pointer to a Kubernetes type, and list to that of its lists.
type object[T any] interface {
	*T
	Object
}

type list[L any] interface {
	*L
	runtime.Object
}

// kindOf makes a row. The types of objects and lists are named once, here.
func kindOf[T, L any, P object[T], Q list[L]](k Kind) Kind {
	k.New = func() Object { return P(new(T)) }
	k.newList = func() runtime.Object { return Q(new(L)) }
	if k.Versions == nil {
		k.Versions = []string{"v1"}
	}
	return k
}

func gatewayKinds() []Kind {
	named := func(name, resource string, versions ...string) Kind {
		return Kind{Name: name, Group: groupGateway, Resource: resource, Custom: true, Versions: versions}
	}
	class := named(translate.KindGatewayClass, "gatewayclasses")
	class.Cluster = true
	backend := named(translate.KindXBackend, "xbackends", "v1alpha1")
	backend.Group = groupGatewayX
	return []Kind{
		kindOf[gwv1.GatewayClass, gwv1.GatewayClassList](class),
		kindOf[gwv1.Gateway, gwv1.GatewayList](named(translate.KindGateway, "gateways")),
		kindOf[gwv1.ListenerSet, gwv1.ListenerSetList](named(translate.KindListenerSet, "listenersets")),
		kindOf[gwv1.HTTPRoute, gwv1.HTTPRouteList](named(translate.KindHTTPRoute, "httproutes")),
		kindOf[gwv1.GRPCRoute, gwv1.GRPCRouteList](named(translate.KindGRPCRoute, "grpcroutes")),
		kindOf[gwv1.TLSRoute, gwv1.TLSRouteList](named(translate.KindTLSRoute, "tlsroutes")),
		kindOf[gwv1.TCPRoute, gwv1.TCPRouteList](named(translate.KindTCPRoute, "tcproutes")),
		kindOf[gwv1.UDPRoute, gwv1.UDPRouteList](named(translate.KindUDPRoute, "udproutes")),
		kindOf[gwv1.ReferenceGrant, gwv1.ReferenceGrantList](named(translate.KindReferenceGrant, "referencegrants", "v1", "v1beta1")),
		kindOf[gwv1.BackendTLSPolicy, gwv1.BackendTLSPolicyList](named(translate.KindBackendTLSPolicy, "backendtlspolicies")),
		kindOf[gwxv1alpha1.XBackend, gwxv1alpha1.XBackendList](backend),
	}
}

func ourKinds() []Kind {
	named := func(name, resource string) Kind {
		return Kind{Name: name, Group: v1alpha1.GroupName, Resource: resource, Custom: true, Versions: []string{v1alpha1.GroupVersion.Version}}
	}
	binding := named(translate.KindMeshBinding, "meshbindings")
	binding.Cluster = true
	return []Kind{
		kindOf[v1alpha1.GatewayParameters, v1alpha1.GatewayParametersList](named(translate.KindParameters, "gatewayparameters")),
		kindOf[v1alpha1.GatewayPlan, v1alpha1.GatewayPlanList](named(KindPlan, "gatewayplans")),
		kindOf[v1alpha1.MeshBinding, v1alpha1.MeshBindingList](binding),
	}
}

func builtinKinds() []Kind {
	return []Kind{
		kindOf[corev1.Namespace, corev1.NamespaceList](Kind{Name: translate.KindNamespace, Resource: "namespaces", Cluster: true}),
		kindOf[corev1.Service, corev1.ServiceList](Kind{Name: translate.KindService, Resource: "services"}),
		kindOf[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](Kind{Name: translate.KindEndpointSlice, Group: groupDiscovery, Resource: "endpointslices"}),
		kindOf[corev1.Pod, corev1.PodList](Kind{Name: translate.KindPod, Resource: "pods"}),
		kindOf[corev1.Node, corev1.NodeList](Kind{Name: translate.KindNode, Resource: "nodes", Cluster: true}),
		kindOf[corev1.ConfigMap, corev1.ConfigMapList](Kind{Name: translate.KindConfigMap, Resource: "configmaps"}),
		kindOf[corev1.Secret, corev1.SecretList](Kind{Name: translate.KindSecret, Resource: "secrets"}),
		kindOf[certv1.ClusterTrustBundle, certv1.ClusterTrustBundleList](Kind{
			Name: translate.KindTrustBundle, Group: groupCertificates, Resource: "clustertrustbundles", Cluster: true, Versions: []string{"v1", "v1beta1"},
		}),
	}
}

// groupVersions are all that some kinds name, each once.
func groupVersions(kinds []Kind) []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, k := range kinds {
		for _, v := range k.Versions {
			if gv := (schema.GroupVersion{Group: k.Group, Version: v}); !slices.Contains(out, gv) {
				out = append(out, gv)
			}
		}
	}
	return out
}
