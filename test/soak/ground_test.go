//go:build e2e

package soak

import (
	"fmt"
	"strings"
)

// The namespaces of what is edited, and of what is referred to across.
const (
	namespace = "soak"
	elsewhere = "elsewhere"
)

const ground = `
apiVersion: v1
kind: Namespace
metadata: {name: soak}
---
apiVersion: v1
kind: Namespace
metadata: {name: elsewhere}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: edge, namespace: soak}
spec: {fake: {addressPool: [` + pool + `]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: edge, namespace: soak}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: soak}
spec:
  gatewayClassName: edge
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: rotated, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: rotated}]}}
  - {name: steady, protocol: HTTPS, port: 8443, tls: {certificateRefs: [{name: steady}]}}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: always, namespace: elsewhere}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: soak}]
  to: [{group: "", kind: Service, name: c}]
`

// grant lets routes refer to one more Service elsewhere.
const grant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: sometimes, namespace: elsewhere}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: soak}]
  to: [{group: "", kind: Service, name: granted}]
`

// linger is for how long a pod that is told to end goes on serving. It is more than
// the time until another manager leads after a kill, and until the cluster's own
// controllers tell of endpoints again after an API server was away (half a minute), so
// that a pod's end loses no request even then.
const linger = "40s"

func app(ns, name string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 60
      containers:
      - name: echo
        image: gatehouse.test/echo
        ports: [{name: http, containerPort: 8080}]
        env: [{name: LINGER, value: %[4]s}]
        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 1, failureThreshold: 1}
`, ns, name, replicas, linger)
}

// service has ports by number, of one app.
func service(ns, name, app, more string, ports ...int) string {
	var list []string
	for _, p := range ports {
		list = append(list, fmt.Sprintf("{name: p%[1]d, port: %[1]d, targetPort: http}", p))
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {selector: {app: %s}, ports: [%s]%s}
`, name, ns, app, strings.Join(list, ", "), more)
}

// configuration is the manager's, and serviceParameters what it names; they are part
// of the installation.
const (
	configuration = `
apiVersion: config.gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
services: {parameters: {fake: {namespace: gatehouse-system, name: services}}}
`
	serviceParameters = `
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: services, namespace: gatehouse-system}
spec: {fake: {addressPool: [` + pool + `]}}
`
)

// outside makes a Service one with a load balancer.
const outside = ", type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake"

func gateway(name string, listeners ...string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: soak}
spec: {gatewayClassName: edge, listeners: [%s]}
`, name, strings.Join(listeners, ", "))
}

func listener(name string, port int, more string) string {
	return fmt.Sprintf("{name: %s, protocol: HTTP, port: %d%s}", name, port, more)
}

// routing is what of a route is edited.
type routing struct {
	name, parent  string
	mark          string
	path          string
	backends      string // in flow style
	parentSection string
}

func (r routing) host() string { return r.name + ".example" }

func (r routing) String() string {
	section := ""
	if r.parentSection != "" {
		section = ", sectionName: " + r.parentSection
	}
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: soak}
spec:
  parentRefs: [{name: %s%s}]
  hostnames: [%s]
  rules:
  - matches: [{path: {type: PathPrefix, value: %s}}]
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Edit, value: %q}]}}]
    backendRefs: [%s]
`, r.name, r.parent, section, r.host(), r.path, r.mark, r.backends)
}

// plain is a route of one Service, that nobody edits.
func plain(name, parent, service string) routing {
	return routing{name: name, parent: parent, mark: "0", path: "/", backends: backend(service, "")}
}

func backend(service, more string) string {
	return fmt.Sprintf("{name: %s, port: 80%s}", service, more)
}
