package translate

import (
	"strings"
	"testing"
)

const meshWorldText = `
kind: MeshBinding
metadata: {name: istio}
spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {matchLabels: {edge: "yes"}}}, labelSelector: {matchLabels: {mesh: "yes"}}}
---
kind: Namespace
metadata: {name: apps, labels: {edge: "yes"}}
---
kind: Namespace
metadata: {name: shop}
---
kind: Gateway
metadata: {name: edge, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Gateway
metadata: {name: second, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
kind: Gateway
metadata: {name: outside, namespace: shop}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}, {name: outside, namespace: shop}], rules: [{backendRefs: [{name: a, port: 80}]}]}
---
kind: Service
metadata: {name: s, namespace: shop}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
kind: EndpointSlice
metadata: {name: s-1, namespace: shop, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.1.0.1]}]
---
kind: Pod
metadata: {name: s-0, namespace: shop}
status: {podIP: 10.1.0.1}
---
kind: HTTPRoute
metadata: {name: r2, namespace: shop}
spec: {parentRefs: [{name: second, namespace: apps}, {name: outside}], rules: [{backendRefs: [{name: s, port: 80}]}]}
`

// TestMeshesAreExact: what a mesh is made of concerns the members that it can matter
// to, and gateways that no binding lets in never.
func TestMeshesAreExact(t *testing.T) {
	x := indexOf(t, meshWorldText)
	peer := func(namespace string) string {
		return "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: p, namespace: " + namespace + "}\nspec: {mtls: {mode: STRICT}}"
	}
	cases := []struct {
		name, why, put string
		want           string
	}{
		{"policy of a namespace", "only edge leads to pods in it", peer("apps"), "edge"},
		{"policy of another namespace", "", peer("shop"), "second"},
		{"policy of nobody's namespace", "", peer("vault"), ""},
		{"policy of the mesh", "it is about all pods", peer("istio-system"), "edge second"},
		{"object that no dialect reads", "", "apiVersion: telemetry.istio.io/v1\nkind: Telemetry\nmetadata: {name: t, namespace: istio-system}", ""},
		{"pod taken into the mesh", "its containers did not change its address", "kind: Pod\nmetadata: {name: a-0, namespace: apps}\nspec: {containers: [{name: istio-proxy}]}\nstatus: {podIP: 10.0.0.1}", "edge"},
		{"pod redirected", "an annotation is the truth of ambient", "kind: Pod\nmetadata: {name: s-0, namespace: shop, annotations: {ambient.istio.io/redirection: enabled}}\nstatus: {podIP: 10.1.0.1}", "second"},
		{"mesh configuration", "the trust domain is in every name", "kind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata: {mesh: \"trustDomain: other.test\"}", "edge second"},
		{"mesh configuration as before", "what we read of it is the same", "kind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata: {mesh: \"# nothing new\\ntrustDomain: cluster.local\"}", ""},
		{"roots", "", "kind: ConfigMap\nmetadata: {name: istio-ca-root-cert, namespace: istio-system}\ndata: {root-cert.pem: \"@ca2\"}", "edge second"},
		{"ConfigMap of somebody", "", "kind: ConfigMap\nmetadata: {name: c, namespace: istio-system}\ndata: {a: b}", ""},
		{"other mesh", "no binding names it", "kind: ConfigMap\nmetadata: {name: linkerd-config, namespace: linkerd}\ndata: {values: \"identityTrustDomain: other.test\"}", ""},
		{"namespace let in", "", "kind: Namespace\nmetadata: {name: shop, labels: {edge: \"yes\"}}", "second outside"},
		{"namespace let out", "", "kind: Namespace\nmetadata: {name: apps}", "edge second"},
		{"namespace selected", "second has routes of it", "kind: Namespace\nmetadata: {name: shop, labels: {mesh: \"yes\"}}", "second"},
		{"route selected", "its labels say so", "kind: HTTPRoute\nmetadata: {name: r, namespace: apps, labels: {mesh: \"yes\"}}\nspec: {parentRefs: [{name: edge}, {name: outside, namespace: shop}], rules: [{backendRefs: [{name: a, port: 80}]}]}", "edge"},
		{"route inside the mesh", "edge leads to its Service", "kind: HTTPRoute\nmetadata: {name: m, namespace: apps}\nspec: {parentRefs: [{group: \"\", kind: Service, name: a}], rules: [{backendRefs: [{name: b, port: 80}]}]}", "edge"},
		{"pod of nobody's landing pad", "", "kind: Pod\nmetadata: {name: pad, namespace: ingress, labels: {gateway.networking.k8s.io/gateway-name: pad}}\nstatus: {podIP: 10.9.0.1}", ""},
		{"binding", "", "kind: MeshBinding\nmetadata: {name: istio}\nspec: {controllerName: istio.io/istio, minimumTLS: ServerOnly, gateways: {namespaceSelector: {matchLabels: {edge: \"yes\"}}}}", "edge second"},
		{"binding's status", "it is ours", "kind: MeshBinding\nmetadata: {name: istio}\nspec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {matchLabels: {edge: \"yes\"}}}, labelSelector: {matchLabels: {mesh: \"yes\"}}}\nstatus: {gateways: {selected: 2, joined: 0}}", ""},
		{"new binding", "", "kind: MeshBinding\nmetadata: {name: second}\nspec: {controllerName: linkerd.io/linkerd, gateways: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}}", "outside"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, keys := x.With(Change{Put: decode(t, c.put)})
			var names []string
			for _, key := range keys {
				names = append(names, key.Name)
			}
			want(t, c.why, strings.Join(names, " "), c.want)
		})
	}
}
