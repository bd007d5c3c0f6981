package istio

import (
	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
)

// Settings are what Inbound needs of the whole mesh; it is Mesh.Settings.
type Settings struct {
	Root       string   // namespace whose policies hold for all of the mesh
	Default    Mode     // of the mesh-wide PeerAuthentication, or Istio's own
	Decides    string   // which object and field says so
	Clients    []string // trust domains of the clients that a sidecar lets in
	MinVersion string   // of TLS at sidecars
	// Problem is why nothing can be said of any pod; "" is none.
	Problem string
}

// Where istiod publishes its roots. The ConfigMap is in every namespace. Told to
// publish a ClusterTrustBundle instead, istiod leaves the ConfigMaps of before as
// they are: those roots are stale, and only a MeshBinding that names the bundle
// in its trustBundles gets rid of them.
const (
	rootsConfigMap = "istio-ca-root-cert"
	rootsKey       = "root-cert.pem"
	rootsBundle    = "istio.io:istiod-ca:root-cert"
	rootsSigner    = "istio.io/istiod-ca"
)

// Mesh reads the mesh configuration and the mesh-wide PeerAuthentication.
//
// The roots of the ConfigMap are those of istiod's own certificate. Where another
// CA signs the pods' (SPIRE, or a Kubernetes signer), they are elsewhere, and the
// MeshBinding must name them.
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	cm := w.ConfigMap(d.namespace(), d.configName())
	config, err := readConfig(cm)
	s := Settings{Root: config.RootNamespace, MinVersion: "1.2", Clients: config.clientDomains()}
	if s.Root == "" {
		s.Root = d.namespace()
	}
	if config.MeshMTLS.MinProtocolVersion == "TLSV1_3" {
		s.MinVersion = "1.3"
	}
	if err != nil {
		s.Problem = "ConfigMap " + d.namespace() + "/" + d.configName() + ": " + err.Error()
	}
	wide := meshWide(policiesOf(w, s.Root))
	s.Default, s.Decides = wide.mode, wide.decides
	if wide.problem != "" && s.Problem == "" {
		s.Problem = wide.problem
	}
	m := meshsync.Mesh{
		Installed:    d.installed(w, cm, s.Root),
		Namespace:    d.namespace(),
		TrustDomain:  config.TrustDomain,
		TrustDomains: config.trustDomains(),
		Revision:     d.Revision,
		Roots:        d.roots(s.Root, config),
		LeafLife:     leafLife,
		Propagation:  propagation,
		Settings:     s,
	}
	m.Says = says(s)
	return m
}

func (d Dialect) installed(w meshsync.World, config *corev1.ConfigMap, root string) bool {
	return config != nil || w.ConfigMap(root, rootsConfigMap) != nil || w.ConfigMap(d.namespace(), rootsConfigMap) != nil
}

func (d Dialect) roots(namespace string, config meshConfig) []meshsync.RootsAt {
	at := []meshsync.RootsAt{
		{Kind: "ConfigMap", Namespace: namespace, Name: rootsConfigMap, Key: rootsKey},
		{Kind: "ClusterTrustBundle", Name: rootsBundle, Signer: rootsSigner},
	}
	for _, ca := range config.CACertificates {
		switch {
		case !config.signs(ca):
		case ca.PEM != "":
			at = append(at, meshsync.RootsAt{Kind: "ConfigMap", Namespace: d.namespace(), Name: d.configName(), Key: configKey, PEM: ca.PEM})
		case ca.SPIFFEBundleURL != "":
			at = append(at, meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: config.TrustDomain, URL: ca.SPIFFEBundleURL})
		}
	}
	return at
}

func says(s Settings) []string {
	out := []string{mode(s)}
	if s.Problem != "" {
		out = []string{"Nothing can be said of any pod: " + s.Problem + "."}
	}
	return append(out,
		"Pods of ambient mode end mutual TLS only inside the mesh's tunnel (HBONE): they are reached through a landing pad.",
		"Names are taken from namespace and ServiceAccount; where SPIRE issues them after a template of its own, they differ, and a probe finds out before anything is programmed.",
		"An istiod that publishes a ClusterTrustBundle leaves its old ConfigMaps behind, and their roots stay trusted until spec.trustBundles names the bundle.")
}

// mode says what the mesh-wide mode means for a gateway that would join.
func mode(s Settings) string {
	switch s.Default {
	case Strict:
		return "The mode is STRICT (" + s.Decides + "): ports whose Service declares HTTP are reached directly, others as bytes, without the proxy's HTTP policy."
	case Disable:
		return "Mutual TLS is switched off (" + s.Decides + "): every port is Blocked (InboundDisabled) until its effective mode is STRICT."
	default:
		return "The mode is PERMISSIVE (" + s.Decides + "): a sidecar then ends mutual TLS for Istio's own clients only, known by their ALPN, so a load balancer finds every port Blocked (PermissiveInbound) until that port's effective mode is STRICT, which shuts out clients in clear text."
	}
}
