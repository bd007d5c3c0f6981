package translate

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
)

// Key names one object: its kind, its namespace ("" for cluster-scoped kinds)
// and its name.
type Key struct{ Kind, Namespace, Name string }

// The kinds that translation reads.
const (
	KindGatewayClass     = "GatewayClass"
	KindParameters       = "GatewayParameters"
	KindGateway          = "Gateway"
	KindListenerSet      = "ListenerSet"
	KindHTTPRoute        = "HTTPRoute"
	KindGRPCRoute        = "GRPCRoute"
	KindTLSRoute         = "TLSRoute"
	KindTCPRoute         = "TCPRoute"
	KindUDPRoute         = "UDPRoute"
	KindReferenceGrant   = "ReferenceGrant"
	KindBackendTLSPolicy = "BackendTLSPolicy"
	KindXBackend         = "XBackend"
	KindNamespace        = "Namespace"
	KindService          = "Service"
	KindEndpointSlice    = "EndpointSlice"
	KindPod              = "Pod"
	KindNode             = "Node"
	KindConfigMap        = "ConfigMap"
	KindSecret           = "Secret"
	KindTrustBundle      = "ClusterTrustBundle"
	KindMeshBinding      = "MeshBinding"
	KindBundle           = "Bundle"
	KindSight            = "Sight"
	KindHeld             = "Held"
)

// The API groups of references.
const (
	groupCore         = ""
	groupGateway      = "gateway.networking.k8s.io"
	groupGatewayX     = "gateway.networking.x-k8s.io"
	groupCertificates = "certificates.k8s.io"
	groupGatehouse    = "gatehouse.dev"
)

// String is Kind/namespace/name without its empty parts.
func (k Key) String() string { return k.source("").String() }

func (k Key) source(section string) lbmodel.Source {
	return lbmodel.Source{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Section: section}
}

// path is namespace/name, the form in which the API breaks its ties.
func (k Key) path() string { return strings.TrimPrefix(k.Namespace+"/"+k.Name, "/") }

func compareKeys(a, b Key) int {
	switch {
	case a.Kind != b.Kind:
		return strings.Compare(a.Kind, b.Kind)
	case a.Namespace != b.Namespace:
		return strings.Compare(a.Namespace, b.Namespace)
	default:
		return strings.Compare(a.Name, b.Name) // cmp.Compare would read the names twice
	}
}

// compareAge orders by the API's rule for ties: the older object first, then the
// one that comes first by {namespace}/{name}.
func compareAge(a, b metav1.Object) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if c := at.Compare(bt.Time); c != 0 {
		return c
	}
	if a.GetNamespace() == b.GetNamespace() {
		return strings.Compare(a.GetName(), b.GetName())
	}
	return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
}

// deref is *p, or the default where p is nil.
func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
