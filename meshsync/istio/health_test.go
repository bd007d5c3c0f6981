package istio

import (
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

func TestHealth(t *testing.T) {
	every := lbmodel.Duration(10 * time.Second)
	check := func(port int32, path string) *lbmodel.HealthCheck {
		return &lbmodel.HealthCheck{Protocol: "HTTP", Port: port, Path: path, Interval: every, Timeout: lbmodel.Duration(time.Second), Healthy: 1, Unhealthy: 3}
	}
	ready := &lbmodel.HealthCheck{Protocol: "HTTP", Port: 15021, Path: "/healthz/ready"}
	with := func(annotations, probe string) string {
		return podOf(`annotations: {`+annotations+`}`, `containers: [{name: app, ports: [{name: admin, containerPort: 9000}], readinessProbe: `+probe+`}, {name: istio-proxy, readinessProbe: {httpGet: {path: /x, port: 1}}}]`)
	}
	exclude := `traffic.sidecar.istio.io/excludeInboundPorts: "9000"`
	for _, c := range []struct {
		name, why, pod string
		want           *lbmodel.HealthCheck
		proxy          bool
	}{
		{"rewritten", "the agent asks the application", with("", `{httpGet: {path: /app-health/app/readyz, port: 15020}}`), check(15020, "/app-health/app/readyz"), false},
		{"rewritten at another port", "status.sidecar.istio.io/port", with("", `{httpGet: {path: /app-health/app/readyz, port: 15999}}`), check(15999, "/app-health/app/readyz"), false},
		{"excluded port", "it is not captured", with(exclude, `{httpGet: {path: /ready, port: 9000}}`), check(9000, "/ready"), false},
		{"excluded port by name", "", with(exclude, `{httpGet: {path: /ready, port: admin}}`), check(9000, "/ready"), false},
		{"captured port", "the sidecar would want a certificate", with("", `{httpGet: {path: /ready, port: 9000}}`), ready, true},
		{"HTTPS", "the application's own TLS is nobody's to verify", with(exclude, `{httpGet: {path: /ready, port: 9000, scheme: HTTPS}}`), ready, true},
		{"TCP", "a connection says nothing", with(exclude, `{tcpSocket: {port: 9000}}`), ready, true},
		{"none", "", podOf(`labels: {}`, proxy), ready, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, shopService, wide("STRICT"), c.pod)
			diff(t, in.Health, c.want, c.why)
			if in.ProxyHealth != c.proxy {
				t.Errorf("ProxyHealth %t, want %t", in.ProxyHealth, c.proxy)
			}
		})
	}
}

// A proxyless pod has an agent and no Envoy.
func TestProxylessHealth(t *testing.T) {
	in := shop(t, shopService, wide("STRICT"), podOf(`annotations: {inject.istio.io/templates: grpc-agent}`, proxy))
	diff(t, in.Health, &lbmodel.HealthCheck{Protocol: "HTTP", Port: 15020, Path: "/healthz/ready"}, "15021 is Envoy's")
}
