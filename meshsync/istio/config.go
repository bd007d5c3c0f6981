package istio

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// defaultTrustDomain is that of an installation that says nothing.
const defaultTrustDomain = "cluster.local"

// configKey is where a mesh configuration is in its ConfigMap.
const configKey = "mesh"

// meshConfig is the part that concerns us of istio.mesh.v1alpha1.MeshConfig.
type meshConfig struct {
	TrustDomain        string          `json:"trustDomain"`
	TrustDomainAliases []string        `json:"trustDomainAliases"`
	RootNamespace      string          `json:"rootNamespace"`
	CACertificates     []caCertificate `json:"caCertificates"`
	MeshMTLS           struct {
		MinProtocolVersion string `json:"minProtocolVersion"`
	} `json:"meshMTLS"`
}

// caCertificate is an additional root, for certificates of some trust domains
// (none: of any).
type caCertificate struct {
	PEM             string   `json:"pem"`
	SPIFFEBundleURL string   `json:"spiffeBundleUrl"`
	TrustDomains    []string `json:"trustDomains"`
}

// A trust domain, as istiod validates it: labels of a DNS name.
var trustDomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*\.?$`)

// readConfig reads the mesh configuration of a ConfigMap; nil, and one without the
// key, are the defaults. Fields that are not ours may be anything.
func readConfig(cm *corev1.ConfigMap) (meshConfig, error) {
	config := meshConfig{TrustDomain: defaultTrustDomain}
	if cm == nil {
		return config, nil
	}
	if err := yaml.Unmarshal([]byte(cm.Data[configKey]), &config); err != nil {
		return meshConfig{}, fmt.Errorf("key %q is no mesh configuration: %w", configKey, err)
	}
	if config.TrustDomain == "" {
		config.TrustDomain = defaultTrustDomain
	}
	for _, td := range append([]string{config.TrustDomain}, config.TrustDomainAliases...) {
		if len(td) > 255 || !trustDomain.MatchString(td) {
			return meshConfig{}, fmt.Errorf("key %q: %q is no trust domain", configKey, td)
		}
	}
	return config, nil
}

// trustDomains are those that identities of the mesh may have, its own first.
func (c meshConfig) trustDomains() []string {
	return distinct(append([]string{c.TrustDomain}, c.TrustDomainAliases...))
}

// clientDomains are those of which a sidecar lets clients in: those of the mesh,
// and of the roots added for others.
func (c meshConfig) clientDomains() []string {
	all := c.trustDomains()
	for _, ca := range c.CACertificates {
		all = append(all, ca.TrustDomains...)
	}
	return distinct(all)
}

// signs says whether certificates of the mesh's own pods may come from this root.
// Others are for the clients of other meshes, and no backend of ours has one.
func (c meshConfig) signs(ca caCertificate) bool {
	return len(ca.TrustDomains) == 0 ||
		slices.ContainsFunc(c.trustDomains(), func(td string) bool { return slices.Contains(ca.TrustDomains, td) })
}

// distinct drops empty texts and repetitions.
func distinct(texts []string) []string {
	var out []string
	for _, t := range texts {
		if t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
