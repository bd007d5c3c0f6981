package linkerd

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync/meshtest"
)

// A Service of one pod that was injected by an installation with defaults.
const (
	config = `
kind: ConfigMap
apiVersion: v1
metadata: {namespace: linkerd, name: linkerd-config}
data:
  values: |
    clusterDomain: cluster.local
    identityTrustDomain: cluster.local
    proxy: {defaultInboundPolicy: all-unauthenticated, opaquePorts: "25,587,3306,4444,5432,6379,9300,11211"}
    proxyInit: {ignoreInboundPorts: "4567,4568"}
    identity: {issuer: {issuanceLifetime: 24h0m0s}}
`
	namespace = `
kind: Namespace
apiVersion: v1
metadata: {name: shop, annotations: {linkerd.io/inject: enabled}}
`
	service = `
kind: Service
apiVersion: v1
metadata: {namespace: shop, name: cart}
spec: {selector: {app: cart}, ports: [{port: 80, targetPort: 8080}]}
`
	pod = `
kind: Pod
apiVersion: v1
metadata:
  namespace: shop
  name: cart-1
  labels: {app: cart, linkerd.io/control-plane-ns: linkerd}
  annotations: {linkerd.io/proxy-version: edge-26.8.1}
spec:
  serviceAccountName: cart
  containers:
  - name: cart
    ports: [{containerPort: 8080, name: web}, {containerPort: 3306, name: sql}]
    readinessProbe: {httpGet: {path: /ready, port: web}}
  initContainers:
  - {name: linkerd-init, args: [--incoming-proxy-port, "4143", --inbound-ports-to-ignore, "4190,4191,4567,4568"]}
  - name: linkerd-proxy
    restartPolicy: Always
    env:
    - {name: _pod_sa, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: _pod_ns, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: _l5d_ns, value: linkerd}
    - {name: _l5d_trustdomain, value: cluster.local}
    - {name: LINKERD2_PROXY_IDENTITY_LOCAL_NAME, value: $(_pod_sa).$(_pod_ns).serviceaccount.identity.$(_l5d_ns).$(_l5d_trustdomain)}
`
	opaqueServer = `
kind: Server
apiVersion: policy.linkerd.io/v1beta3
metadata: {namespace: shop, name: cart}
spec: {podSelector: {matchLabels: {app: cart}}, port: web, proxyProtocol: opaque, accessPolicy: all-unauthenticated}
`
)

const cartName = "cart.shop.serviceaccount.identity.linkerd.cluster.local"

// change is one text of the base in place of another.
type change struct{ old, with string }

// cluster is the base with changes, and more objects.
func cluster(t testing.TB, changes []change, more ...string) *meshtest.World {
	t.Helper()
	base := strings.Join([]string{config, namespace, service, pod}, "\n---\n")
	for _, c := range changes {
		if !strings.Contains(base, c.old) {
			t.Fatalf("the base has no %q", c.old)
		}
		base = strings.Replace(base, c.old, c.with, 1)
	}
	return meshtest.Parse(t, append([]string{base}, more...)...)
}

// annotate adds an annotation to the pod.
func annotate(key, value string) change {
	const version = "linkerd.io/proxy-version: edge-26.8.1"
	return change{version, version + ", " + key + ": '" + value + "'"}
}

// inNamespace adds an annotation to the namespace.
func inNamespace(key, value string) change {
	const inject = "annotations: {linkerd.io/inject: enabled"
	return change{inject, inject + ", " + key + ": '" + value + "'"}
}

// onService adds an annotation to the Service.
func onService(key, value string) change {
	const meta = "metadata: {namespace: shop, name: cart}"
	return change{meta, "metadata: {namespace: shop, name: cart, annotations: {" + key + ": '" + value + "'}}"}
}

// on moves the Service's target.
func on(port string) change { return change{"targetPort: 8080", "targetPort: " + port} }

// app gives the Service's port an appProtocol.
func app(protocol string) change {
	return change{"targetPort: 8080}", "targetPort: 8080, appProtocol: " + protocol + "}"}
}

// srv is a Server of port 8080.
func srv(name, protocol, policy string) string {
	return `
kind: Server
apiVersion: policy.linkerd.io/v1beta3
metadata: {namespace: shop, name: ` + name + `}
spec: {podSelector: {matchLabels: {app: cart}}, port: 8080, proxyProtocol: ` + protocol + `, accessPolicy: ` + policy + `}
`
}
