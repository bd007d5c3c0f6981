package istio

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Ports of Istio's own at a pod, which no sidecar captures.
const (
	agentPort  = 15020 // the agent: it asks the application for who asks it
	readyPort  = 15021 // Envoy's own readiness
	promPort   = 15090
	readyPath  = "/healthz/ready"
	agentPaths = "/app-health/"
)

// setHealth finds a way to ask for a pod's health without a client certificate:
// the readiness probe that injection points at the agent, a probe over HTTP of a
// port that is not captured, or at last the proxy's own readiness.
func setHealth(in *meshsync.Inbound, pod *corev1.Pod, port int32, captured func(int32) bool) {
	probe := workload.Probe(pod, port, proxyName)
	if probe != nil && probe.Protocol == "HTTP" && (isAgents(probe) || !captured(probe.Port)) {
		in.Health = probe
		return
	}
	in.Health, in.ProxyHealth = readiness(), true
}

func readiness() *lbmodel.HealthCheck {
	return &lbmodel.HealthCheck{Protocol: "HTTP", Port: readyPort, Path: readyPath}
}

// isAgents says that the agent answers the probe. Its port can be moved, so only
// the path tells.
func isAgents(probe *lbmodel.HealthCheck) bool {
	return strings.HasPrefix(probe.Path, agentPaths) && strings.HasSuffix(probe.Path, "/readyz")
}
