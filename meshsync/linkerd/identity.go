package linkerd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync/workload"
)

// What the injector sets in the proxy's environment, and the value that says that
// a proxy of old has no identity.
const (
	envName     = "LINKERD2_PROXY_IDENTITY_LOCAL_NAME"
	envDisabled = "LINKERD2_PROXY_IDENTITY_DISABLED"
	envAnchors  = "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS"
	envOpaque   = "LINKERD2_PROXY_INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION"
)

// Name is the identity of a ServiceAccount: the DNS name in a proxy's certificate,
// and the only server name for which the proxy ends TLS.
func Name(account, namespace, controlPlane, trustDomain string) string {
	return account + "." + namespace + ".serviceaccount.identity." + controlPlane + "." + trustDomain
}

// nameOf is the identity of a pod's proxy. What it was injected with counts, since
// a mesh may change its trust domain while it runs: pods that were not restarted
// keep the old one. It is not ok when the name cannot be known or is not that of
// the pod's own account, which the CA would not sign.
func nameOf(pod *corev1.Pod, s settings) (name string, ok bool) {
	account := workload.Account(pod)
	own := Name(account.Name, account.Namespace, pod.Labels[labelControlPlane], "")
	proxy := workload.Container(pod, proxyContainer)
	for _, v := range proxy.Env {
		if v.Name != envName {
			continue
		}
		name, ok = workload.Env(pod, proxy, envName)
		return name, ok && len(name) > len(own) && strings.HasPrefix(name, own) && !strings.Contains(name, "$")
	}
	domain, ok := workload.Env(pod, proxy, "_l5d_trustdomain")
	if !ok {
		domain = s.TrustDomain
	}
	return own + domain, domain != ""
}
