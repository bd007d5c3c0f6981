package meshsync

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Dialect knows one mesh. All its methods are pure.
type Dialect interface {
	// Controller is the mesh's controllerName, as MeshBinding.spec.controllerName
	// has it.
	Controller() string
	// Reads are the mesh's own kinds that decide what a pod accepts. A cluster
	// that does not serve one has none of it.
	Reads() []schema.GroupVersionKind
	// Mesh is what holds for all of the mesh. It is what an installation with
	// defaults has where the cluster does not say otherwise.
	Mesh(World) Mesh
	// Inbound is what a pod accepts at a Service's port. The pod is one whose
	// address the Service's endpoints have.
	Inbound(World, Mesh, Port, *corev1.Pod) Inbound
}

// Fixer is a Dialect whose Inbounds come without a Fix, for it costs more than all
// the rest, and is only told of groups of pods that are not reached, or not without
// a loss.
type Fixer interface {
	// Fix is what to change at a pod's port so that it becomes Direct without a
	// loss; nil is nothing, or nothing that the dialect could write down.
	Fix(World, Mesh, Port, *corev1.Pod) *Fix
}

// World is what a Dialect may look at. Lists are sorted by name. Objects are
// shared and must not be changed.
type World interface {
	Namespace(name string) *corev1.Namespace            // nil: there is none
	ConfigMap(namespace, name string) *corev1.ConfigMap // nil: there is none
	ConfigMaps(namespace string) []*corev1.ConfigMap
	// Objects are those of a kind of Dialect.Reads, in one namespace ("": those
	// that have none).
	Objects(kind schema.GroupKind, namespace string) []*unstructured.Unstructured
}

// Port is a Service's port and where it leads.
type Port struct {
	Service *corev1.Service
	Port    corev1.ServicePort
	Target  int32 // the pod's own port, as the EndpointSlice has it
}

// Mesh is what holds for all of a mesh. It is comparable with reflect.DeepEqual.
type Mesh struct {
	Installed    bool     // something of it was seen in the cluster
	Namespace    string   // of the control plane, and root of its configuration
	TrustDomain  string   // of its identities
	TrustDomains []string // all that identities may have, TrustDomain first
	Revision     string
	Roots        []RootsAt // where its roots are: all that are there count
	// Admits are where the roots are under which its proxies take gateways, of a mesh
	// that keeps them apart; none: they are the same.
	Admits      []RootsAt
	LeafLife    time.Duration // the longest life of a proxy's certificate: the least overlap of two roots
	Propagation time.Duration // how long a root takes from where it is published to every proxy
	// Settings are the dialect's own findings, so that Inbound need not read them
	// for each pod again.
	Settings any
	// Says is what a person should know before a gateway joins: what the mesh's
	// defaults mean for it. One sentence each.
	Says []string
}

// RootsAt is where roots are published in a cluster: a ConfigMap's key, or a
// ClusterTrustBundle (by name, or all of a signer), or an object of the mesh's own,
// which the dialect reads; or outside of it, for the trust domain in Name.
type RootsAt struct {
	Kind, Namespace, Name, Key string
	Signer                     string // of ClusterTrustBundles
	// PEM are the roots themselves, where they are only a part of the object, and
	// Problem is why it has none that can be read.
	PEM     string
	Problem string
	// URL is where a place outside is asked: a SPIFFE bundle endpoint by https, a Consul
	// by https (its HTTP API) or grpcs, a SPIFFE agent by its socket (unix). "" is not
	// known.
	URL string
	// Profile is a bundle endpoint's, https_web where it is unset, and ID whom one of
	// profile https_spiffe proves to be.
	Profile, ID string
	// ServerRoots, in PEM, are whom the server itself is verified by, and ServerName is
	// its name there; unset are the system's roots, and the URL's name.
	ServerRoots, ServerName string
	// Token is the name of the Secret with the token for a Consul, in the namespace of
	// whoever asks. It is never the token.
	Token string
}

// The Kinds of places outside of the cluster's objects.
const (
	RootsSPIFFE   = "SPIFFEBundle" // a SPIFFE bundle endpoint
	RootsConsul   = "ConsulRoots"  // Consul's CA
	RootsWorkload = "WorkloadAPI"  // a SPIFFE agent
)

// Outside says whether the roots are in no object of the cluster, so that somebody
// must fetch them.
func (at RootsAt) Outside() bool {
	return at.Kind == RootsSPIFFE || at.Kind == RootsConsul || at.Kind == RootsWorkload
}
