//go:build e2e

package e2e

// configuration gives Services the addresses that the fake cloud has.
const configuration = `
apiVersion: config.gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
services: {parameters: {fake: {namespace: shop, name: services}}}
`

// careful are parameters whose plans wait for a person.
const careful = `
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: careful, namespace: shop}
spec: {apply: Approve, fake: {addressPool: [198.18.0.0/16]}}
`

// scraper may read metrics.
const scraper = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: scraper, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scraper}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects: [{kind: ServiceAccount, name: scraper, namespace: shop}]
`

// shared are the parameters of Services. The configuration uses them as long as
// it names them.
const shared = `
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: services, namespace: shop}
spec: {fake: {addressPool: [198.18.0.0/16]}}
`

const retained = `
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: retained, namespace: shop}
spec: {deletion: Retain, fake: {addressPool: [198.18.0.0/16]}}
`

// all has something of every kind that the manager does anything about.
const all = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: shop}
spec:
  gatewayClassName: edge
  allowedListeners: {namespaces: {from: Same}}
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: front}]}}
  - {name: tls, protocol: TLS, port: 8443, tls: {mode: Passthrough}}
  - {name: tcp, protocol: TCP, port: 9000}
  - {name: udp, protocol: UDP, port: 9001}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: retained, namespace: shop}
spec:
  gatewayClassName: edge
  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: retained}}
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: approved, namespace: shop}
spec:
  gatewayClassName: edge
  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: careful}}
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec:
  parentRef: {name: front}
  listeners: [{name: more, protocol: HTTP, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: front}]
  rules:
  - backendRefs: [{name: web, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /gated}}]
    backendRefs: [{name: gated, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /outside}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: outside}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: rpc, namespace: shop}
spec:
  parentRefs: [{name: front, sectionName: https}]
  hostnames: [rpc.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: through, namespace: shop}
spec:
  parentRefs: [{name: front, sectionName: tls}]
  hostnames: [through.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: tcp, namespace: shop}
spec:
  parentRefs: [{name: front, sectionName: tcp}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: udp, namespace: shop}
spec:
  parentRefs: [{name: front, sectionName: udp}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: web, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: gated}]
  validation: {hostname: gated.example, wellKnownCACertificates: System}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: outside, namespace: shop}
spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: outside.example}, protocol: HTTP}
---
apiVersion: v1
kind: Service
metadata: {name: balanced, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: gatehouse.dev/fake
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
---` + gatedPods
