package istio

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
)

// Controller is the name by which a MeshBinding asks for this dialect.
const Controller = "istio.io/istio"

// How certificates come and go, unless istiod was told otherwise.
const (
	leafLife = 24 * time.Hour // DEFAULT_WORKLOAD_CERT_TTL
	// A proxy learns of a new root when it renews its own certificate: at half of
	// its life, give or take a hundredth of it.
	propagation = leafLife/2 + leafLife/100 + time.Minute
)

// The kinds that decide what a pod accepts.
var (
	peerAuthentication = schema.GroupKind{Group: "security.istio.io", Kind: "PeerAuthentication"}
	sidecar            = schema.GroupKind{Group: "networking.istio.io", Kind: "Sidecar"}
	istioGateway       = schema.GroupKind{Group: "networking.istio.io", Kind: "Gateway"}
	gateway            = schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "Gateway"}
)

// Dialect is Istio. The zero value is a default installation.
type Dialect struct {
	Namespace string // of the control plane; "" is istio-system
	// Revision is the only one that counts; "default" is the one without a name, and ""
	// is all that there are.
	Revision string
}

var (
	_ meshsync.Dialect = Dialect{}
	_ meshsync.Fixer   = Dialect{}
)

// Controller is the constant of that name.
func (Dialect) Controller() string { return Controller }

// Reads are PeerAuthentications, Sidecars, and the Gateways of both APIs: those
// say what a gateway of the mesh serves to us.
func (Dialect) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		peerAuthentication.WithVersion("v1"), peerAuthentication.WithVersion("v1beta1"),
		sidecar.WithVersion("v1"), sidecar.WithVersion("v1beta1"),
		istioGateway.WithVersion("v1"), istioGateway.WithVersion("v1beta1"),
		gateway.WithVersion("v1"),
	}
}

// Offers are the ALPN protocols of which Istio's own clients offer one: how a
// sidecar under PERMISSIVE tells them from everybody else.
func Offers() []string {
	return []string{"istio", "istio-peer-exchange", "istio-http/1.0", "istio-http/1.1", "istio-h2"}
}

func (d Dialect) namespace() string {
	if d.Namespace == "" {
		return "istio-system"
	}
	return d.Namespace
}
