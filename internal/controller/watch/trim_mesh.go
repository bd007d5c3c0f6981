package watch

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// podAnnotations are those that dialects read of a Pod. TestAnnotations holds the
// list against their source.
func podAnnotations() []string {
	return []string{
		"alpha.istio.io/canonical-serviceaccounts",
		"ambient.istio.io/redirection",
		"config.linkerd.io/default-inbound-policy",
		"config.linkerd.io/opaque-ports",
		"config.linkerd.io/skip-inbound-ports",
		"consul.hashicorp.com/connect-inject",
		"consul.hashicorp.com/connect-service",
		"consul.hashicorp.com/connect-service-port",
		"consul.hashicorp.com/consul-namespace",
		"consul.hashicorp.com/transparent-proxy-status",
		"inject.istio.io/templates",
		"kuma.io/application-probe-proxy-port",
		"kuma.io/gateway",
		"kuma.io/mesh",
		"kuma.io/sidecar-injected",
		"kuma.io/transparent-proxying",
		"kuma.io/virtual-probes-port",
		"linkerd.io/inject",
		"linkerd.io/proxy-version",
		"sidecar.istio.io/inject",
		"sidecar.istio.io/interceptionMode",
		"sidecar.istio.io/status",
		"spiffe.io/spiffe-id",
		"traffic.kuma.io/exclude-inbound-ports",
		"traffic.sidecar.istio.io/excludeInboundPorts",
		"traffic.sidecar.istio.io/includeInboundPorts",
	}
}

// namespaceAnnotations are those that dialects read of a Namespace.
func namespaceAnnotations() []string {
	return []string{
		"config.linkerd.io/default-inbound-policy",
		"config.linkerd.io/opaque-ports",
		"config.linkerd.io/skip-inbound-ports",
		"kuma.io/mesh",
		"linkerd.io/inject",
	}
}

// only are the entries of some keys; nil for none.
func (t *trimmer) only(all map[string]string, keys []string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		value, there := all[key]
		if !there {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = t.texts.one(value)
	}
	return out
}

// The container whose environment is read, and what of it.
const linkerdProxy = "linkerd-proxy"

func linkerdVariables() []string {
	return []string{
		"LINKERD2_PROXY_IDENTITY_LOCAL_NAME",
		"LINKERD2_PROXY_IDENTITY_DISABLED",
		"LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS",
		"LINKERD2_PROXY_INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION",
		"_l5d_trustdomain",
	}
}

// inMesh says whether a Pod shows a sign of a mesh. Of others no mesh reads more
// than that they have none, and most pods of most clusters are such.
func inMesh(p *corev1.Pod) bool {
	proxy := func(c corev1.Container) bool {
		return slices.Contains([]string{"istio-proxy", linkerdProxy, "kuma-sidecar"}, c.Name) ||
			strings.HasPrefix(c.Name, "consul-dataplane") || strings.HasPrefix(c.Name, "envoy-sidecar")
	}
	return slices.ContainsFunc(p.Spec.Containers, proxy) || slices.ContainsFunc(p.Spec.InitContainers, proxy) ||
		p.Annotations["ambient.istio.io/redirection"] != "" ||
		p.Annotations["spiffe.io/spiffe-id"] != "" || p.Labels["spiffe.io/spiffe-id"] != "" || len(identityVolumes(p.Spec.Volumes)) > 0
}

// identityVolumes are those that mount SPIFFE's Workload API.
func identityVolumes(all []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for _, v := range all {
		if v.CSI != nil && v.CSI.Driver == "csi.spiffe.io" {
			out = append(out, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: v.CSI.Driver}}})
		}
	}
	return out
}

// containers keeps names, ports and readiness probes, and of the meshes' own
// containers the arguments and variables that say how they were set up.
func (t *trimmer) containers(all []corev1.Container) []corev1.Container {
	if len(all) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(all))
	for i, c := range all {
		out[i] = corev1.Container{Name: t.texts.one(c.Name), Ports: c.Ports, ReadinessProbe: trimProbe(c.ReadinessProbe)}
		switch c.Name {
		case "istio-proxy":
			out[i].Args = slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return a != "router" && a != "waypoint" })
			if len(out[i].Args) == 0 {
				out[i].Args = nil
			}
		case "istio-init", "istio-validation":
			out[i].Args = c.Args
			for j, a := range out[i].Args {
				out[i].Args[j] = t.texts.one(a)
			}
		case linkerdProxy:
			out[i].Env = t.variables(c.Env)
		}
	}
	return out
}

// trimProbe keeps that there is a probe, also where a load balancer cannot make it.
func trimProbe(p *corev1.Probe) *corev1.Probe {
	if p == nil {
		return nil
	}
	out := *p
	out.ProbeHandler = corev1.ProbeHandler{HTTPGet: p.HTTPGet, GRPC: p.GRPC}
	return &out
}

// reference is one variable's, to another that stands before it.
var reference = regexp.MustCompile(`\$\(([^)]+)\)`)

// variables are those that are read, and those that they refer to.
func (t *trimmer) variables(all []corev1.EnvVar) []corev1.EnvVar {
	read := linkerdVariables()
	var out []corev1.EnvVar
	for i := len(all) - 1; i >= 0; i-- {
		v := all[i]
		if !slices.Contains(read, v.Name) {
			continue
		}
		for _, ref := range reference.FindAllStringSubmatch(v.Value, -1) {
			read = append(read, ref[1])
		}
		v.Name, v.Value = t.texts.one(v.Name), t.texts.one(v.Value)
		out = append(out, v)
	}
	slices.Reverse(out)
	return slices.Clip(out)
}

// trimConfigMap keeps certificates, which is what a reference to a ConfigMap means,
// and the configuration of meshes.
func (t *trimmer) trimConfigMap(c *corev1.ConfigMap) {
	data := map[string]string{}
	for key, value := range c.Data {
		if key == corev1.ServiceAccountRootCAKey || holdsCertificates(value) || configures(c.Name, key) {
			data[key] = t.texts.one(withoutKeys(value))
		}
	}
	c.Data, c.BinaryData, c.Annotations = data, nil, nil
}

// holdsCertificates says whether a text may be roots. PEM that was encoded once more
// is a mistake that somebody should be told of.
func holdsCertificates(text string) bool {
	return strings.Contains(text, "-----BEGIN ") && strings.Contains(text, "CERTIFICATE-----") || strings.Contains(text, "LS0tLS1CRUdJTi")
}

// configures says whether an entry is the configuration of a mesh.
func configures(name, key string) bool {
	if name == "istio" || strings.HasPrefix(name, "istio-") {
		return key == "mesh"
	}
	return slices.Contains(map[string][]string{
		"linkerd-config":              {"values"},
		"cilium-config":               {"mesh-auth-enabled", "mesh-auth-mutual-enabled", "mesh-auth-spiffe-trust-domain", "enable-wireguard", "enable-ipsec"},
		"consul-server-config":        {"server.json"},
		"consul-consul-server-config": {"server.json"},
		"spire-server":                {"server.conf"},
	}[name], key)
}

// A key that somebody keeps in a ConfigMap is not kept here. That there was one is:
// a text with a key is no bundle of roots.
var keyBlock = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)

func withoutKeys(text string) string {
	if !strings.Contains(text, "PRIVATE KEY-----") {
		return text
	}
	return keyBlock.ReplaceAllString(text, "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----")
}
