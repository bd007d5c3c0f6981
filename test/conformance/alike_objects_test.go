package conformance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func appIs(name string) metav1.ListOptions { return metav1.ListOptions{LabelSelector: "app=" + name} }

func ready(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// alikeBackends are two Services of one pod each. The pods say nothing of the
// connection that a request came by, which is the one thing that must differ.
var alikeBackends = "apiVersion: v1\nkind: Namespace\nmetadata: {name: alike}\n" + backend("a") + backend("b")

func backend(name string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: alike}
spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 3000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: alike}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: echo
        image: %[2]s
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        ports: [{containerPort: 3000}]
        readinessProbe: {httpGet: {port: 3000, path: /}, periodSeconds: 1}
`, name, alikeImage)
}

// inClusterPod is the gateway that runs inside, with all rights: what it may do
// is not what is tested.
const inClusterPod = `
apiVersion: v1
kind: Namespace
metadata: {name: in-cluster}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: gateway, namespace: in-cluster}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: in-cluster-gateway}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: gateway, namespace: in-cluster}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: in-cluster}
spec:
  selector: {matchLabels: {app: gateway}}
  template:
    metadata: {labels: {app: gateway}}
    spec:
      serviceAccountName: gateway
      containers:
      - name: gateway
        image: ` + inClusterImage + `
        env:
        - {name: CONTROLLER_NAME, value: ` + inClusterController + `}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
`

// inClusterClass wants the pod's address.
const inClusterClass = `
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: inside, namespace: in-cluster}
spec:
  fake: {addressPool: [%s/32]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: in-cluster}
spec:
  controllerName: ` + inClusterController + `
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: inside, namespace: in-cluster}
`

const alikeGateways = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: inside, namespace: alike}
spec: {gatewayClassName: in-cluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: outside, namespace: alike}
spec: {gatewayClassName: ` + className + `, listeners: [{name: http, port: 80, protocol: HTTP}]}
`

// alikeRoute says nothing about where its gateways are.
const alikeRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: alike}
spec:
  parentRefs: [{name: inside}, {name: outside}]
  hostnames: [shop.test]
  rules:
  - matches: [{path: {value: /exact, type: Exact}}]
    backendRefs: [{name: a, port: 80}]
  - matches: [{path: {value: /prefix/}}]
    filters: [{type: URLRewrite, urlRewrite: {hostname: inner.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]
    backendRefs: [{name: b, port: 80}]
  - matches: [{path: {value: /match}, headers: [{name: X-Canary, value: "yes"}]}, {path: {value: /match}, queryParams: [{name: canary, value: "1"}]}]
    backendRefs: [{name: b, port: 80}]
  - matches: [{path: {value: /match}, method: PUT}]
    backendRefs: [{name: a, port: 80}]
  - matches: [{path: {value: /headers}}]
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: X-Set, value: new}], add: [{name: X-Add, value: more}], remove: [X-Remove]}
    - type: ResponseHeaderModifier
      responseHeaderModifier: {set: [{name: X-Answer, value: edited}]}
    backendRefs: [{name: a, port: 80}]
  - matches: [{path: {value: /moved}}]
    filters: [{type: RequestRedirect, requestRedirect: {scheme: https, path: {type: ReplaceFullPath, replaceFullPath: /here}, statusCode: 308}}]
  - matches: [{path: {value: /cors}}]
    filters: [{type: CORS, cors: {allowOrigins: ["https://*.shop.test"], allowMethods: [GET, PUT], allowCredentials: true}}]
    backendRefs: [{name: a, port: 80}]
  - matches: [{path: {value: /slow}}]
    timeouts: {request: 300ms}
    backendRefs: [{name: a, port: 80}]
  - matches: [{path: {value: /missing}}]
    backendRefs: [{name: nobody, port: 80}]
  - matches: [{path: {value: /all-to-b}}]
    backendRefs: [{name: a, port: 80, weight: 0}, {name: b, port: 80, weight: 1}]
`
