package consul

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Controller is the controllerName of Consul's MeshBindings.
const Controller = "consul.hashicorp.com/consul"

// Consul's configuration entries, as consul-k8s has them.
var (
	serviceDefaults = schema.GroupKind{Group: "consul.hashicorp.com", Kind: "ServiceDefaults"}
	proxyDefaults   = schema.GroupKind{Group: "consul.hashicorp.com", Kind: "ProxyDefaults"}
	meshKind        = schema.GroupKind{Group: "consul.hashicorp.com", Kind: "Mesh"}
)

// What consul-k8s writes at pods.
const (
	prefix         = "consul.hashicorp.com/"
	keyStatus      = prefix + "connect-inject-status"
	keyInject      = prefix + "connect-inject"
	keyService     = prefix + "connect-service"
	keyPort        = prefix + "connect-service-port"
	keyTransparent = prefix + "transparent-proxy-status"
	keyNamespace   = prefix + "consul-namespace"

	publicPort = 20000 // of the public listener; the next service of a pod has the next
)

// The defaults of Consul's CA.
const (
	leafLife    = 72 * time.Hour  // LeafCertTTL
	propagation = 5 * time.Minute // roots are pushed to proxies
)

// Dialect is Consul's. What only its CA knows is to be set by who has asked it:
// without a trust domain no proxy's name is known, and everything is Blocked.
type Dialect struct {
	Namespace   string // of the control plane; unset is consul
	TrustDomain string // of the CA: <uuid>.consul
	Datacenter  string // unset is what the servers' ConfigMap says, else dc1
}

var (
	_ meshsync.Dialect = Dialect{}
	_ meshsync.Namer   = Dialect{}
)

// Controller implements meshsync.Dialect.
func (Dialect) Controller() string { return Controller }

// Reads implements meshsync.Dialect.
func (Dialect) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{serviceDefaults.WithVersion("v1alpha1"), proxyDefaults.WithVersion("v1alpha1"), meshKind.WithVersion("v1alpha1")}
}

// settings are what holds for all pods.
type settings struct {
	Domain, Datacenter string
	Namespace          string // where configuration entries for all may be
	MinVersion         string
}

// Mesh implements meshsync.Dialect. No object of the cluster holds Consul's roots:
// they are asked for at its CA.
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	ns := or(d.Namespace, "consul")
	config := serverConfig(w, ns)
	s := settings{Domain: d.TrustDomain, Datacenter: or(d.Datacenter, datacenter(config)), Namespace: ns, MinVersion: minVersion(w, ns)}
	m := meshsync.Mesh{
		Installed: config != nil, Namespace: ns, TrustDomain: d.TrustDomain,
		Roots:    []meshsync.RootsAt{{Kind: meshsync.RootsConsul, Namespace: ns, Name: d.TrustDomain}},
		LeafLife: leafLife, Propagation: propagation, Settings: s,
		Says: []string{
			"A gateway is known to intentions by the service name of its certificate: where the default is deny, a ServiceIntentions must allow it.",
			"Connections go to the proxy's public listener (port 20000), not to the application's port.",
		},
	}
	if d.TrustDomain != "" {
		m.TrustDomains = []string{d.TrustDomain}
	}
	return m
}

// Name implements meshsync.Namer: to Consul a gateway is a service, named as its
// account.
func (d Dialect) Name(m meshsync.Mesh, a meshsync.Account) (spiffeID string, dnsNames []string) {
	s, _ := m.Settings.(settings)
	return s.id("default", a.Name), nil
}

// id is a service's name in certificates.
func (s settings) id(namespace, service string) string {
	return "spiffe://" + s.Domain + "/ns/" + namespace + "/dc/" + s.Datacenter + "/svc/" + service
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// serverConfig is the servers' ConfigMap, which is called after the release.
func serverConfig(w meshsync.World, namespace string) *corev1.ConfigMap {
	for _, name := range []string{"consul-server-config", "consul-consul-server-config"} {
		if c := w.ConfigMap(namespace, name); c != nil {
			return c
		}
	}
	return nil
}

func datacenter(config *corev1.ConfigMap) string {
	var server struct {
		Datacenter string `json:"datacenter"`
	}
	if config == nil || json.Unmarshal([]byte(config.Data["server.json"]), &server) != nil {
		return "dc1"
	}
	return or(server.Datacenter, "dc1")
}

// minVersion is the least version of TLS of all public listeners.
func minVersion(w meshsync.World, namespace string) string {
	for _, ns := range []string{namespace, "default"} {
		for _, o := range w.Objects(meshKind, ns) {
			if workload.Text(o, "spec", "tls", "incoming", "tlsMinVersion") == "TLSv1_3" {
				return "1.3"
			}
		}
	}
	return "1.2"
}

// notMember says why a pod is no member; "" when it is one.
func notMember(pod *corev1.Pod) string {
	labelled, injected := pod.Labels[keyStatus] == "injected", len(sidecars(pod)) > 0
	switch {
	case labelled && injected:
		return ""
	case labelled:
		return fmt.Sprintf("the label %s is there, but no container consul-dataplane: the injection is broken", keyStatus)
	case injected:
		return fmt.Sprintf("a container consul-dataplane is there, but not the label %s of Consul's injector", keyStatus)
	case pod.Annotations[keyInject] == "true":
		return fmt.Sprintf("%s asks for a sidecar that was not injected: restart the workload", keyInject)
	default:
		return "the pods have no sidecar of Consul"
	}
}

// sidecars are the names of the proxy's containers: of several services in a pod
// each has its own, with the service's name at the end.
func sidecars(pod *corev1.Pod) []string {
	var names []string
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if name := list[i].Name; strings.HasPrefix(name, "consul-dataplane") || strings.HasPrefix(name, "envoy-sidecar") {
				names = append(names, name)
			}
		}
	}
	return names
}
