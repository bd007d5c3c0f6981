package istio

import (
	"slices"

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
	// Revisions are all that are installed, where those are several; the rest is then
	// that of the first, which issues the gateways' certificates.
	Revisions []Revision
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

// Mesh reads the mesh configuration and the mesh-wide PeerAuthentication, of every
// revision.
//
// The roots of the ConfigMap are those of istiod's own certificate. Where another
// CA signs the pods' (SPIRE, or a Kubernetes signer), they are elsewhere, and the
// MeshBinding must name them.
func (d Dialect) Mesh(w meshsync.World) meshsync.Mesh {
	all := d.revisions(w)
	config, s := all[0].config, d.settings(w, all[0])
	m := meshsync.Mesh{
		Installed:    all[0].there || w.ConfigMap(s.Root, rootsConfigMap) != nil || w.ConfigMap(d.namespace(), rootsConfigMap) != nil,
		Namespace:    d.namespace(),
		TrustDomain:  config.TrustDomain,
		TrustDomains: config.trustDomains(),
		Revision:     all[0].name,
		LeafLife:     leafLife,
		Propagation:  propagation,
	}
	for _, r := range all {
		own := d.settings(w, r)
		for _, at := range d.roots(own.Root, r) {
			if !slices.Contains(m.Roots, at) {
				m.Roots = append(m.Roots, at)
			}
		}
		if len(all) > 1 {
			s.Revisions = append(s.Revisions, Revision{called(r.name), r.config.trustDomains(), own})
		}
	}
	m.Settings, m.Says = s, append(says(s), d.sayRevisions(m, s.Revisions)...)
	return m
}

// settings are those of a revision.
func (d Dialect) settings(w meshsync.World, r installed) Settings {
	s := Settings{Root: r.config.RootNamespace, MinVersion: "1.2", Clients: r.config.clientDomains()}
	if s.Root == "" {
		s.Root = d.namespace()
	}
	if r.config.MeshMTLS.MinProtocolVersion == "TLSV1_3" {
		s.MinVersion = "1.3"
	}
	if r.err != nil {
		s.Problem = "ConfigMap " + d.namespace() + "/" + configName(r.name) + ": " + r.err.Error()
	}
	wide := meshWide(policiesOf(w, s.Root))
	s.Default, s.Decides = wide.mode, wide.decides
	if wide.problem != "" && s.Problem == "" {
		s.Problem = wide.problem
	}
	return s
}

func (d Dialect) roots(namespace string, r installed) []meshsync.RootsAt {
	config := r.config
	at := []meshsync.RootsAt{
		{Kind: "ConfigMap", Namespace: namespace, Name: rootsConfigMap, Key: rootsKey},
		{Kind: "ClusterTrustBundle", Name: rootsBundle, Signer: rootsSigner},
	}
	for _, ca := range config.CACertificates {
		switch {
		case !config.signs(ca):
		case ca.PEM != "":
			at = append(at, meshsync.RootsAt{Kind: "ConfigMap", Namespace: d.namespace(), Name: configName(r.name), Key: configKey, PEM: ca.PEM})
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
		return "The mode is PERMISSIVE (" + s.Decides + "): a sidecar then ends mutual TLS for Istio's own clients only, known by their ALPN, so a load balancer that cannot offer it (BackendTLSALPN) finds every port Blocked (PermissiveInbound) until that port's effective mode is STRICT, which shuts out clients in clear text."
	}
}
