package kuma

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Controller is the controllerName of Kuma's MeshBindings.
const Controller = "kuma.io/kuma"

// Kuma's kinds that decide what a pod accepts.
var (
	meshKind     = schema.GroupKind{Group: "kuma.io", Kind: "Mesh"}
	trustKind    = schema.GroupKind{Group: "kuma.io", Kind: "MeshTrust"}
	identityKind = schema.GroupKind{Group: "kuma.io", Kind: "MeshIdentity"}
	tlsKind      = schema.GroupKind{Group: "kuma.io", Kind: "MeshTLS"}
)

// What Kuma's labels and annotations are called.
const (
	container       = "kuma-sidecar"
	keyMesh         = "kuma.io/mesh"
	keyZone         = "kuma.io/zone"
	keyInjected     = "kuma.io/sidecar-injected"
	keyInjection    = "kuma.io/sidecar-injection"
	keyGateway      = "kuma.io/gateway"
	keyTransparent  = "kuma.io/transparent-proxying"
	keyExclude      = "traffic.kuma.io/exclude-inbound-ports"
	keyProbePort    = "kuma.io/application-probe-proxy-port"
	keyVirtualPort  = "kuma.io/virtual-probes-port"
	suffixProtocol  = ".service.kuma.io/protocol"
	defaultMesh     = "default"
	clients         = "gatehouse" // see Dialect.Clients
	alpn            = "kuma"      // which clients of the mesh offer
	identityLife    = 24 * time.Hour
	backendLife     = 30 * 24 * time.Hour // of a builtin CA's certificates
	propagationTime = 5 * time.Minute     // roots are pushed to proxies
)

// Dialect is Kuma's. The zero value is the mesh "default" of a control plane in
// kuma-system.
type Dialect struct {
	Namespace string // of the control plane; unset is kuma-system
	MeshName  string // name of the Mesh; unset is default
	// Clients is the trust domain of the gateways: that of the MeshTrust by which
	// the mesh trusts their CA. Unset is gatehouse.
	Clients string
}

var (
	_ meshsync.Dialect = Dialect{}
	_ meshsync.Namer   = Dialect{}
	_ meshsync.Fixer   = Dialect{}
)

// Controller implements meshsync.Dialect.
func (Dialect) Controller() string { return Controller }

// Reads implements meshsync.Dialect.
func (Dialect) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		meshKind.WithVersion("v1alpha1"), trustKind.WithVersion("v1alpha1"),
		identityKind.WithVersion("v1alpha1"), tlsKind.WithVersion("v1alpha1"),
	}
}

// Name implements meshsync.Namer: Kuma's own CA signs for nobody outside the mesh,
// and another is trusted for a trust domain of its own.
func (d Dialect) Name(_ meshsync.Mesh, a meshsync.Account) (spiffeID string, dnsNames []string) {
	return "spiffe://" + or(d.Clients, clients) + "/ns/" + a.Namespace + "/sa/" + a.Name, nil
}

// settings are what holds for all pods of the mesh.
type settings struct {
	Mesh       string
	Backend    bool // the Mesh has a CA of its own (mtls.enabledBackend)
	Permissive bool // and its mode
	Identities []identity
	Policies   []policy // of the control plane's namespace
}

// Mesh implements meshsync.Dialect. Roots are those MeshTrusts that are of the
// trust domain of an identity: others are whom the mesh lets in, and say nothing of
// its proxies. Gateways are let in by that of their own trust domain (Mesh.Admits).
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	ns, name := or(d.Namespace, "kuma-system"), or(d.MeshName, defaultMesh)
	s := settings{Mesh: name, Policies: policiesIn(w, ns, name)}
	for _, o := range w.Objects(meshKind, "") {
		if o.GetName() == name {
			s.Backend, s.Permissive = backendOf(o)
		}
	}
	trusts := of(w.Objects(trustKind, ns), name)
	s.Identities = identitiesOf(of(w.Objects(identityKind, ns), name), name, zoneOf(trusts))
	m := meshsync.Mesh{
		Installed: len(w.Objects(meshKind, "")) > 0, Namespace: ns, Settings: s,
		LeafLife: s.leafLife(), Propagation: propagationTime, Says: s.says(),
	}
	for _, id := range s.Identities {
		if id.Domain != "" && !slices.Contains(m.TrustDomains, id.Domain) {
			m.TrustDomains = append(m.TrustDomains, id.Domain)
		}
	}
	if len(m.TrustDomains) > 0 {
		m.TrustDomain = m.TrustDomains[0]
	}
	for _, o := range trusts {
		switch domain := workload.Text(o, "spec", "trustDomain"); {
		case slices.Contains(m.TrustDomains, domain):
			m.Roots = append(m.Roots, rootsOf(o))
		case domain == or(d.Clients, clients):
			m.Admits = append(m.Admits, rootsOf(o))
		}
	}
	return m
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// of are the objects of a mesh: one without the label is of the mesh "default".
func of(objects []*unstructured.Unstructured, mesh string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		if or(o.GetLabels()[keyMesh], defaultMesh) == mesh {
			out = append(out, o)
		}
	}
	return out
}

// backendOf reads a Mesh's own CA. A mode that cannot be read is the one that gives
// less.
func backendOf(o *unstructured.Unstructured) (enabled, permissive bool) {
	name := workload.Text(o, "spec", "mtls", "enabledBackend")
	if name == "" {
		return false, false
	}
	for _, b := range workload.List(o.Object, "spec", "mtls", "backends") {
		if b["name"] == name {
			mode, set := b["mode"]
			return true, set && mode != "STRICT"
		}
	}
	return true, true
}

func (s settings) leafLife() time.Duration {
	life := identityLife
	if s.Backend {
		life = backendLife
	}
	for _, id := range s.Identities {
		life = max(life, id.Life)
	}
	return life
}

func (s settings) says() []string {
	says := []string{
		"Kuma signs nobody's certificate outside the mesh: bring a CA by a MeshTrust with a trust domain of its own, and allow the gateways by a MeshTrafficPermission.",
		"An inbound whose mode is Permissive ends TLS only of the mesh's own clients (ALPN kuma): it must be Strict for a load balancer.",
	}
	if s.Backend {
		says = append(says, fmt.Sprintf("Mesh %s has a CA backend, whose root is in a Secret that is not read: name its roots in the binding's trustBundles.", s.Mesh))
	}
	if !s.Backend && len(s.Identities) == 0 {
		says = append(says, fmt.Sprintf("Mesh %s has neither a MeshIdentity nor a CA backend: it has no mutual TLS.", s.Mesh))
	}
	return says
}

// notMember says why a pod is no member; "" when it is one.
func notMember(w meshsync.World, pod *corev1.Pod) string {
	injected := workload.Container(pod, container) != nil
	annotated := strings.EqualFold(pod.Annotations[keyInjected], "true")
	switch {
	case injected && annotated:
		return ""
	case injected:
		return fmt.Sprintf("a container %s is there, but not the annotation %s of Kuma's injector", container, keyInjected)
	case annotated:
		return fmt.Sprintf("the annotation %s is there, but no container %s: the injection is broken", keyInjected, container)
	case asksFor(w, pod):
		return fmt.Sprintf("%s asks for a sidecar that was not injected: restart the workload", keyInjection)
	default:
		return "the pods have no " + container
	}
}

// asksFor is intent: what the injector would do with a pod created now.
func asksFor(w meshsync.World, pod *corev1.Pod) bool {
	asked, ok := pod.Labels[keyInjection]
	if ns := w.Namespace(pod.Namespace); !ok && ns != nil {
		asked = ns.Labels[keyInjection]
	}
	return asked == "enabled" || asked == "true"
}

// meshOf is the name of the pod's mesh.
func meshOf(w meshsync.World, pod *corev1.Pod) string {
	if name := or(pod.Labels[keyMesh], pod.Annotations[keyMesh]); name != "" {
		return name
	}
	ns := w.Namespace(pod.Namespace)
	if ns == nil {
		return defaultMesh
	}
	return or(or(ns.Labels[keyMesh], ns.Annotations[keyMesh]), defaultMesh)
}
