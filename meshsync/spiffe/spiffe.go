package spiffe

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Controller is the controllerName of MeshBindings to workloads of SPIFFE.
const Controller = "spiffe.io/spiffe"

const (
	keyID     = "spiffe.io/spiffe-id" // a pod's label or annotation
	csiDriver = "csi.spiffe.io"       // mounts the Workload API

	// defaultTemplate is SPIRE's own for Kubernetes.
	defaultTemplate = "spiffe://{{ .TrustDomain }}/ns/{{ .PodMeta.Namespace }}/sa/{{ .PodSpec.ServiceAccountName }}"

	leafLife    = time.Hour       // SPIRE's default_x509_svid_ttl
	propagation = 5 * time.Minute // the Workload API streams bundles
)

var (
	clusterID    = schema.GroupKind{Group: "spire.spiffe.io", Kind: "ClusterSPIFFEID"}
	trustBundles = meshsync.RootsAt{Kind: "ConfigMap", Name: "spire-bundle", Key: "bundle.crt"}
)

// Dialect is that of SPIFFE's workloads. The zero value is a SPIRE in the namespace
// spire that names pods as its chart does.
type Dialect struct {
	Namespace   string // of SPIRE's server; unset is spire
	TrustDomain string // unset is what the server's ConfigMap says
	// Template makes SPIFFE IDs of pods that no ClusterSPIFFEID selects, in the form
	// of its spiffeIDTemplate. Unset is by namespace and ServiceAccount.
	Template string
}

var _ meshsync.Dialect = Dialect{}

// Controller implements meshsync.Dialect.
func (Dialect) Controller() string { return Controller }

// Reads implements meshsync.Dialect.
func (Dialect) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{clusterID.WithVersion("v1alpha1")}
}

// settings are what holds for all pods.
type settings struct {
	Domain, Template string
	Registrations    []registration
}

// Mesh implements meshsync.Dialect.
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	ns := or(d.Namespace, "spire")
	domain := or(d.TrustDomain, domainOf(w.ConfigMap(ns, "spire-server")))
	at := trustBundles
	at.Namespace = ns
	m := meshsync.Mesh{
		Installed: w.ConfigMap(ns, "spire-server") != nil || w.ConfigMap(ns, at.Name) != nil, Namespace: ns, TrustDomain: domain,
		Roots: []meshsync.RootsAt{at, {Kind: meshsync.RootsWorkload, Name: domain}}, Propagation: propagation,
		Says: []string{
			"Only pods that mount the Workload API (" + csiDriver + ") or say their SPIFFE ID (" + keyID + ") are taken for members: being registered is no sign that an application ends TLS.",
			"What an application asks of its clients is its own affair: mutual TLS is assumed, and a probe without a certificate is made only where it has a port of its own.",
		},
	}
	if domain != "" {
		m.TrustDomains = []string{domain}
	}
	s := settings{Domain: domain, Template: or(d.Template, defaultTemplate), Registrations: registrations(w)}
	m.LeafLife = leafLife
	for i := range s.Registrations {
		m.LeafLife = max(m.LeafLife, s.Registrations[i].life)
	}
	m.Settings = s
	return m
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// domainOf reads the server's configuration: JSON, as the chart writes it, or a
// line of HCL. "" is not known.
func domainOf(config *corev1.ConfigMap) string {
	if config == nil {
		return ""
	}
	text := config.Data["server.conf"]
	var conf struct {
		Server struct {
			TrustDomain string `json:"trust_domain"`
		} `json:"server"`
	}
	if json.Unmarshal([]byte(text), &conf) == nil {
		return conf.Server.TrustDomain
	}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); ok && strings.TrimSpace(key) == "trust_domain" && len(value) > 2 {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// Inbound implements meshsync.Dialect. The application negotiates what it declares:
// HTTP/2 only where the Service's port says so.
func (Dialect) Inbound(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) meshsync.Inbound {
	in := meshsync.Inbound{Account: workload.Account(pod)}
	if !isMember(pod) {
		in.Membership, in.Plain, in.Otherwise = meshsync.NotMeshed, true, meshsync.Passes
		in.Detail = "the pods neither mount the Workload API (" + csiDriver + ") nor say a SPIFFE ID (" + keyID + ")"
		return in
	}
	in.Membership, in.Otherwise, in.MinVersion = meshsync.Meshed, meshsync.Resets, "1.2"
	if probe := workload.Probe(pod, port.Target); probe != nil && probe.Port != port.Target {
		in.Health = probe
	}
	s, _ := m.Settings.(settings)
	names, why := s.names(w, pod)
	if why != "" {
		in.Blocked, in.Detail = meshsync.ReasonIdentityUnknown, why
		return in
	}
	in.Names = names
	in.Chains = []meshsync.Chain{{Selects: []string{"http/1.1"}, HTTP: true}}
	switch workload.ProtocolOf(port.Port) {
	case workload.HTTP2:
		in.Chains[0].Selects = []string{"h2", "http/1.1"}
	case workload.Bytes:
		in.Chains[0] = meshsync.Chain{}
	}
	return in
}

// isMember looks for a sign at the pod itself.
func isMember(pod *corev1.Pod) bool {
	if pod.Labels[keyID] != "" || pod.Annotations[keyID] != "" {
		return true
	}
	for _, v := range pod.Spec.Volumes {
		if v.CSI != nil && v.CSI.Driver == csiDriver {
			return true
		}
	}
	return false
}

func san(id string) lbmodel.SAN { return lbmodel.SAN{Kind: lbmodel.SANURI, Value: id} }
