package istio

import (
	"testing"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// A pod with a sidecar, as injection leaves it, and its Service, whose port is
// declared as HTTP.
const (
	shopNamespace = `{apiVersion: v1, kind: Namespace, metadata: {name: apps, labels: {istio-injection: enabled}}}`
	shopService   = `
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: apps}
spec:
  selector: {app: shop}
  ports: [{name: http, port: 80, targetPort: 8080, protocol: TCP}]`
	shopAuto = `
apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: apps
  labels: {team: "1"}
  annotations: {note: 'a "quoted" note: yes', kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  selector: {app: shop}
  ports: [{name: web, port: 80, targetPort: 8080, protocol: TCP}, {name: other, port: 81, targetPort: 8081, protocol: TCP}]`
	shopPod = `
apiVersion: v1
kind: Pod
metadata:
  name: shop-1
  namespace: apps
  labels: {app: shop, version: v1, security.istio.io/tlsMode: istio}
  annotations: {sidecar.istio.io/status: '{"containers":["istio-proxy"],"revision":"default"}'}
spec:
  serviceAccountName: shop
  initContainers:
  - name: istio-init
    args: [istio-iptables, -m, REDIRECT, -b, "*", -d, "15090,15021,15020"]
  - {name: istio-proxy, restartPolicy: Always, args: [proxy, sidecar]}
  containers:
  - name: app
    ports: [{name: web, containerPort: 8080}, {name: admin, containerPort: 9000}]
    readinessProbe: {httpGet: {path: /app-health/app/readyz, port: 15020}, periodSeconds: 5}`
	ambientPod = `
apiVersion: v1
kind: Pod
metadata:
  name: shop-1
  namespace: apps
  labels: {app: shop}
  annotations: {ambient.istio.io/redirection: enabled}
spec: {serviceAccountName: shop, containers: [{name: app}]}`
)

// wide is a mesh-wide PeerAuthentication of a mode.
func wide(mode string) string {
	return `{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: istio-system, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {mtls: {mode: ` + mode + `}}}`
}

// meshConfigMap is a mesh configuration.
func meshConfigMap(config string) string {
	out := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata:\n  mesh: |\n"
	for _, line := range lines(config) {
		out += "    " + line + "\n"
	}
	return out
}

// shop is what the shop's pod accepts in a World of these documents.
func shop(t testing.TB, documents ...string) meshsync.Inbound {
	t.Helper()
	w := meshtest.Parse(t, documents...)
	return w.Accepts(Dialect{}, "apps", "shop", "shop-1")
}
