package linkerd

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Controller is the controllerName of Linkerd's MeshBindings.
const Controller = "linkerd.io/linkerd"

// What Linkerd's objects are called.
const (
	defaultNamespace = "linkerd"
	configMap        = "linkerd-config"
	rootsConfigMap   = "linkerd-identity-trust-roots"
	rootsKey         = "ca-bundle.crt"

	proxyContainer = "linkerd-proxy"
	initContainer  = "linkerd-init"

	annotationVersion = "linkerd.io/proxy-version"
	annotationInject  = "linkerd.io/inject"
	annotationOpaque  = "config.linkerd.io/opaque-ports"
	annotationSkip    = "config.linkerd.io/skip-inbound-ports"
	annotationPolicy  = "config.linkerd.io/default-inbound-policy"
	labelControlPlane = "linkerd.io/control-plane-ns"
)

// The proxy's own ports. The tunnel's takes only clients of the mesh: they offer
// ALPN transport.l5d.io/v1 and write a header. The other two are not captured.
const (
	portControl = 4190
	portAdmin   = 4191
	portTunnel  = 4143
)

// leafLife is identity.issuer.issuanceLifetime of an installation with defaults.
const leafLife = 24 * time.Hour

// Dialect is Linkerd's. The zero value is that of an installation in the namespace
// "linkerd".
type Dialect struct {
	Namespace string // of the control plane, unset is "linkerd"
}

var (
	_ meshsync.Dialect = Dialect{}
	_ meshsync.Namer   = Dialect{}
	_ meshsync.Fixer   = Dialect{}
)

// Controller implements meshsync.Dialect.
func (Dialect) Controller() string { return Controller }

// Reads implements meshsync.Dialect: Servers, at their newest version and at the
// one that every release since 2.11 serves. Both show the same objects.
func (Dialect) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: serverKind.Group, Version: "v1beta3", Kind: serverKind.Kind},
		{Group: serverKind.Group, Version: "v1beta1", Kind: serverKind.Kind},
	}
}

// Mesh implements meshsync.Dialect. Its Propagation is zero since roots reach a
// running proxy never: each pod keeps those of its injection, see [Anchors].
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	ns := d.namespace()
	config := w.ConfigMap(ns, configMap)
	roots := w.ConfigMap(ns, rootsConfigMap)
	s := readSettings(config)
	return meshsync.Mesh{
		Installed:    config != nil || roots != nil,
		Namespace:    ns,
		TrustDomain:  s.TrustDomain,
		TrustDomains: []string{s.TrustDomain},
		Roots:        []meshsync.RootsAt{{Kind: "ConfigMap", Namespace: ns, Name: rootsConfigMap, Key: rootsKey}},
		LeafLife:     max(leafLife, s.LeafLife),
		Settings:     s,
		Says:         s.says(ns),
	}
}

func (d Dialect) namespace() string {
	if d.Namespace == "" {
		return defaultNamespace
	}
	return d.Namespace
}

// Name implements meshsync.Namer: Linkerd's CA signs DNS names.
func (Dialect) Name(m meshsync.Mesh, a meshsync.Account) (spiffeID string, dnsNames []string) {
	return "", []string{Name(a.Name, a.Namespace, m.Namespace, m.TrustDomain)}
}

// Inbound implements meshsync.Dialect.
func (d Dialect) Inbound(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) meshsync.Inbound {
	if why := notMember(w, pod); why != "" {
		return meshsync.Inbound{
			Membership: meshsync.NotMeshed, Account: workload.Account(pod),
			Plain: true, Otherwise: meshsync.Passes, Detail: why,
		}
	}
	return inboundOf(asked{world: w, settings: settingsOf(m), port: port, pod: pod})
}

// Fix implements meshsync.Fixer: it is for a port of a member of which the proxy
// does not read what it should.
func (d Dialect) Fix(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) *meshsync.Fix {
	switch d.Inbound(w, m, port, pod).Blocked {
	case meshsync.ReasonOpaquePort, meshsync.ReasonALPN:
		a := asked{world: w, settings: settingsOf(m), port: port, pod: pod}
		srv := serverOf(w, pod, port.Target)
		return a.readable(srv, a.policyAt(srv))
	default:
		return nil
	}
}

func settingsOf(m meshsync.Mesh) settings {
	if s, ok := m.Settings.(settings); ok {
		return s
	}
	return readSettings(nil)
}

// notMember says why a pod is no member; "" when it is one. The annotation is the
// injector's, the container is what it injected: one without the other is a broken
// injection.
func notMember(w meshsync.World, pod *corev1.Pod) string {
	injected := workload.Container(pod, proxyContainer) != nil
	_, annotated := pod.Annotations[annotationVersion]
	switch {
	case injected && annotated && pod.Labels[labelControlPlane] != "":
		return ""
	case injected:
		return fmt.Sprintf("a container %s is there, but not the annotation %s and label %s of Linkerd's injector",
			proxyContainer, annotationVersion, labelControlPlane)
	case annotated:
		return fmt.Sprintf("the annotation %s is there, but no container %s: the injection is broken", annotationVersion, proxyContainer)
	case asksFor(w, pod):
		return fmt.Sprintf("%s asks for a proxy that was not injected: restart the workload", annotationInject)
	default:
		return "the pods have no linkerd-proxy"
	}
}

// asksFor is intent: what the injector would do with a pod created now.
func asksFor(w meshsync.World, pod *corev1.Pod) bool {
	asked, ok := pod.Annotations[annotationInject]
	if ns := w.Namespace(pod.Namespace); !ok && ns != nil {
		asked = ns.Annotations[annotationInject]
	}
	return asked == "enabled" || asked == "ingress"
}
