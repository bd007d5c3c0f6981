package linkerd

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What an installation with defaults has (the chart's values).
const (
	defaultTrustDomain = "cluster.local"
	defaultOpaque      = "25,587,3306,4444,5432,6379,9300,11211"
	defaultSkip        = "4567,4568"
)

// settings are what the chart's values say for all of the mesh.
type settings struct {
	TrustDomain string
	Policy      policy
	Opaque      string
	Skip        string
	LeafLife    time.Duration
	Unread      string // why the values could not be read, for a person
}

// values are the part of ConfigMap linkerd-config's values that matters here.
type values struct {
	IdentityTrustDomain string `json:"identityTrustDomain"`
	ClusterDomain       string `json:"clusterDomain"`
	Proxy               struct {
		DefaultInboundPolicy string  `json:"defaultInboundPolicy"`
		OpaquePorts          *string `json:"opaquePorts"`
	} `json:"proxy"`
	ProxyInit struct {
		IgnoreInboundPorts *string `json:"ignoreInboundPorts"`
	} `json:"proxyInit"`
	Identity struct {
		Issuer struct {
			IssuanceLifetime string `json:"issuanceLifetime"`
		} `json:"issuer"`
	} `json:"identity"`
}

// readSettings reads the values. Nothing to read is an installation with defaults;
// what cannot be read denies, since nobody knows what was meant.
func readSettings(config *corev1.ConfigMap) settings {
	s := settings{TrustDomain: defaultTrustDomain, Policy: allUnauthenticated, Opaque: defaultOpaque, Skip: defaultSkip}
	if config == nil {
		return s
	}
	var v values
	if err := yaml.Unmarshal([]byte(config.Data["values"]), &v); err != nil {
		s.Policy = deny
		s.Unread = fmt.Sprintf("ConfigMap %s/%s: values: %v", config.Namespace, config.Name, err)
		return s
	}
	for _, domain := range []string{v.ClusterDomain, v.IdentityTrustDomain} {
		if domain != "" {
			s.TrustDomain = domain
		}
	}
	if v.Proxy.DefaultInboundPolicy != "" {
		s.Policy = parsePolicy(v.Proxy.DefaultInboundPolicy)
	}
	if v.Proxy.OpaquePorts != nil {
		s.Opaque = *v.Proxy.OpaquePorts
	}
	if v.ProxyInit.IgnoreInboundPorts != nil {
		s.Skip = *v.ProxyInit.IgnoreInboundPorts
	}
	if life, err := time.ParseDuration(v.Identity.Issuer.IssuanceLifetime); err == nil {
		s.LeafLife = life
	}
	return s
}

// says is what a person should know before a gateway joins.
func (s settings) says(namespace string) []string {
	says := []string{
		"A linkerd-proxy ends TLS only for its own name: pods of one port that run as several ServiceAccounts are reached as several groups.",
		fmt.Sprintf("Proxies keep the roots of %s/%s that they were injected with: after a change of roots, workloads must be restarted before a gateway gets a certificate of the new one.", namespace, rootsConfigMap),
		fmt.Sprintf("Ports %s are opaque unless a pod says otherwise, and cannot be reached over mutual TLS.", s.Opaque),
	}
	if s.Unread != "" {
		return append(says, s.Unread)
	}
	return append(says, s.Policy.says())
}
