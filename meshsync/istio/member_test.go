package istio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/meshsync"
)

func diff(t *testing.T, got, want any, why string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", why, d)
	}
}

// podOf is the shop's pod with what a case adds.
func podOf(meta, spec string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: shop-1, namespace: apps, ` + meta + `}, spec: {serviceAccountName: shop, ` + spec + `}}`
}

const (
	app   = `containers: [{name: app}]`
	proxy = `containers: [{name: app}, {name: istio-proxy, args: [proxy, sidecar]}]`
)

func TestMembership(t *testing.T) {
	injected := `annotations: {sidecar.istio.io/status: "{}"}`
	for _, c := range []struct {
		name, why, pod, namespace string
		want                      meshsync.Membership
		detail                    string
	}{
		{name: "sidecar", pod: podOf(injected, proxy), want: meshsync.Meshed},
		{name: "by label", pod: podOf(`labels: {security.istio.io/tlsMode: istio}`, proxy), want: meshsync.Meshed},
		{name: "native sidecar", pod: podOf(injected, app+`, initContainers: [{name: istio-proxy, restartPolicy: Always}]`), want: meshsync.Meshed},
		{name: "proxy without marks", why: "clear text into it would be worse", pod: podOf(`labels: {}`, proxy), want: meshsync.Meshed},
		{name: "marks without proxy", pod: podOf(injected, app), want: meshsync.NotMeshed, detail: "no container istio-proxy"},
		{name: "ambient", pod: podOf(`annotations: {ambient.istio.io/redirection: enabled}`, app), want: meshsync.Meshed, detail: "HBONE"},
		{name: "sidecar in ambient", why: "istio-cni leaves pods with a sidecar alone", pod: podOf(`annotations: {ambient.istio.io/redirection: enabled}`, proxy), want: meshsync.Meshed, detail: "mode PERMISSIVE"},
		{name: "ambient only asked for", pod: podOf(`labels: {istio.io/dataplane-mode: ambient}`, app), want: meshsync.NotMeshed, detail: "not redirected"},
		{name: "ambient asked for by the namespace", namespace: `istio.io/dataplane-mode: ambient`, pod: podOf(`labels: {}`, app), want: meshsync.NotMeshed, detail: "not redirected"},
		{name: "ambient refused by the pod", namespace: `istio.io/dataplane-mode: ambient`, pod: podOf(`labels: {istio.io/dataplane-mode: none}`, app), want: meshsync.NotMeshed, detail: "nothing asks"},
		{name: "injection asked for by the namespace", why: "a label is an intent", namespace: `istio-injection: enabled`, pod: podOf(`labels: {}`, app), want: meshsync.NotMeshed, detail: "needs a restart"},
		{name: "by revision", namespace: `istio.io/rev: blue`, pod: podOf(`labels: {}`, app), want: meshsync.NotMeshed, detail: "needs a restart"},
		{name: "by the pod", pod: podOf(`labels: {sidecar.istio.io/inject: "true"}`, app), want: meshsync.NotMeshed, detail: "needs a restart"},
		{name: "refused by the pod", namespace: `istio-injection: enabled`, pod: podOf(`labels: {sidecar.istio.io/inject: "false"}`, app), want: meshsync.NotMeshed, detail: "nothing asks"},
		{name: "refused by the namespace", namespace: `istio-injection: disabled, istio.io/rev: blue`, pod: podOf(`labels: {}`, app), want: meshsync.NotMeshed, detail: "nothing asks"},
		{name: "on the node's network", namespace: `istio-injection: enabled`, pod: podOf(`labels: {}`, app+`, hostNetwork: true`), want: meshsync.NotMeshed, detail: "node's network"},
		{name: "plain", pod: podOf(`labels: {}`, app), want: meshsync.NotMeshed, detail: "nothing asks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, shopService, c.pod, `{apiVersion: v1, kind: Namespace, metadata: {name: apps, labels: {`+c.namespace+`}}}`)
			if in.Membership != c.want || !strings.Contains(in.Detail, c.detail) {
				t.Errorf("got %s, %q; want %s, %q: %s", in.Membership, in.Detail, c.want, c.detail, c.why)
			}
			if c.want == meshsync.NotMeshed && (!in.Plain || in.Otherwise != meshsync.Passes || in.Names != nil) {
				t.Errorf("got %+v, want a pod that is reached as without a mesh", in)
			}
		})
	}
}

func TestCapture(t *testing.T) {
	initArgs := func(args string) string {
		return proxy + `, initContainers: [{name: istio-init, args: [` + args + `]}]`
	}
	for _, c := range []struct {
		name, why, pod string
		want           meshsync.Membership
	}{
		{"all", "", podOf(`labels: {}`, proxy), meshsync.Meshed},
		{"excluded", "", podOf(`annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "9000, 8080"}`, proxy), meshsync.NotMeshed},
		{"others excluded", "", podOf(`annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "9000,80"}`, proxy), meshsync.Meshed},
		{"not included", "", podOf(`annotations: {traffic.sidecar.istio.io/includeInboundPorts: "9000"}`, proxy), meshsync.NotMeshed},
		{"none included", "", podOf(`annotations: {traffic.sidecar.istio.io/includeInboundPorts: ""}`, proxy), meshsync.NotMeshed},
		{"included", "", podOf(`annotations: {traffic.sidecar.istio.io/includeInboundPorts: "8080"}`, proxy), meshsync.Meshed},
		{"all included", "", podOf(`annotations: {traffic.sidecar.istio.io/includeInboundPorts: "*"}`, proxy), meshsync.Meshed},
		{"by the installation", "the chart's value is only in the arguments", podOf(`labels: {}`, initArgs(`"-d", "15090,15021,8080"`)), meshsync.NotMeshed},
		{"annotated too late", "annotations can change, rules in the pod do not", podOf(`annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "8080"}`, initArgs(`"-d", "15090"`)), meshsync.Meshed},
		{"no interception", "", podOf(`annotations: {sidecar.istio.io/interceptionMode: NONE}`, proxy), meshsync.NotMeshed},
		{"no interception, by arguments", "", podOf(`labels: {}`, initArgs(`"-m", "NONE"`)), meshsync.NotMeshed},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, shopService, wide("STRICT"), c.pod)
			if in.Membership != c.want {
				t.Errorf("got %s (%s), want %s: %s", in.Membership, in.Detail, c.want, c.why)
			}
			if c.want == meshsync.NotMeshed && !strings.Contains(in.Detail, "8080") {
				t.Errorf("detail %q does not name the port", in.Detail)
			}
		})
	}
}

// A list of ports that cannot be read says nothing of any port.
func TestGarbageCapture(t *testing.T) {
	in := shop(t, shopService, wide("STRICT"), podOf(`annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "80, all"}`, proxy))
	if in.Membership != meshsync.Meshed || len(in.Chains) > 0 || in.Plain || in.Blocked != meshsync.ReasonIdentityUnknown {
		t.Errorf("got %+v, want nothing sent there", in)
	}
}

func TestOtherParts(t *testing.T) {
	grpc := podOf(`labels: {security.istio.io/tlsMode: istio}, annotations: {inject.istio.io/templates: "grpc-agent"}`, proxy)
	h2 := []meshsync.Chain{{Selects: []string{"h2"}, HTTP: true}}
	for _, c := range []struct {
		name, why, pod, mode string
		chains               []meshsync.Chain
		otherwise            meshsync.Otherwise
		plain                bool
		blocked              meshsync.Reason
	}{
		{"ambient, permissive", "ciphertext reaches the application", ambientPod, "PERMISSIVE", nil, meshsync.Passes, true, meshsync.ReasonTunnelRequired},
		{"ambient, strict", "ztunnel refuses who has no identity", ambientPod, "STRICT", nil, meshsync.Resets, false, meshsync.ReasonTunnelRequired},
		{"waypoint", "", podOf(`labels: {gateway.networking.k8s.io/gateway-name: w}`, `containers: [{name: istio-proxy, args: [proxy, waypoint]}]`), "PERMISSIVE", nil, meshsync.Resets, false, meshsync.ReasonTunnelRequired},
		{"proxyless, strict", "", grpc, "STRICT", h2, meshsync.Resets, false, ""},
		{"proxyless, permissive", "there is nothing between clear text and mutual TLS", grpc, "PERMISSIVE", h2, meshsync.Resets, false, ""},
		{"proxyless, permissive, without the label", "", strings.Replace(grpc, "tlsMode: istio", "tlsMode: disabled", 1), "PERMISSIVE", nil, meshsync.Passes, true, meshsync.ReasonInboundDisabled},
		{"proxyless, disabled", "", grpc, "DISABLE", nil, meshsync.Passes, true, meshsync.ReasonInboundDisabled},
		{"sidecar, disabled, HTTP", "TLS is no HTTP", shopPod, "DISABLE", nil, meshsync.Resets, true, meshsync.ReasonInboundDisabled},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, shopService, wide(c.mode), c.pod)
			diff(t, in.Chains, c.chains, c.why)
			if in.Membership != meshsync.Meshed || in.Otherwise != c.otherwise || in.Plain != c.plain || in.Blocked != c.blocked {
				t.Errorf("got %+v, want %+v", in, c)
			}
		})
	}
}

func TestUDP(t *testing.T) {
	in := shop(t, strings.Replace(shopService, "protocol: TCP", "protocol: UDP", 1), wide("STRICT"), shopPod)
	if in.Blocked != meshsync.ReasonUnmeshedProtocol || !in.Plain || len(in.Chains) > 0 {
		t.Errorf("got %+v, want a port that the mesh leaves alone", in)
	}
}

func TestUnknownPod(t *testing.T) {
	in := Dialect{}.Inbound(nil, meshsync.Mesh{}, meshsync.Port{}, nil)
	if in.Membership != meshsync.MembershipUnknown || in.Plain || len(in.Chains) > 0 {
		t.Errorf("got %+v, want nothing said and nothing allowed", in)
	}
}
