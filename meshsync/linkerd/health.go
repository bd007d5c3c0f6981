package linkerd

import (
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/workload"
)

// health is the application's own probe where it reaches the application without a
// certificate, else the proxy's readiness. The Server is the port's.
func (a asked) health(srv *server) (check *lbmodel.HealthCheck, proxy bool) {
	probe := workload.Probe(a.pod, a.port.Target, proxyContainer)
	if probe != nil && a.letsIn(probe, srv) {
		return probe, false
	}
	return &lbmodel.HealthCheck{
		Protocol: "HTTP", Port: portAdmin, Path: "/ready",
		Interval: lbmodel.Duration(10 * time.Second), Timeout: lbmodel.Duration(time.Second), Healthy: 1, Unhealthy: 3,
	}, true
}

// letsIn says whether a probe without a certificate reaches the application. HTTP
// paths that pods probe are open by default, whatever the default policy says; but
// not where a Server selects the port, whose routes may take their place.
func (a asked) letsIn(probe *lbmodel.HealthCheck, srv *server) bool {
	at := a
	at.port.Target = probe.Port
	if at.bypassed() != "" {
		return true
	}
	if probe.Port != a.port.Target {
		srv = serverOf(a.world, a.pod, probe.Port)
	}
	if at.policyAt(srv).anybody() {
		return true
	}
	return probe.Protocol == "HTTP" && srv == nil && at.opaque(nil) == ""
}
