package linkerd

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// TestDefault is the whole answer for a default installation.
func TestDefault(t *testing.T) {
	w := cluster(t, nil)
	want := meshsync.Inbound{
		Membership: meshsync.Meshed,
		Account:    meshsync.Account{Namespace: "shop", Name: "cart"},
		Names:      []lbmodel.SAN{{Kind: lbmodel.SANDNS, Value: cartName}},
		SNI:        cartName,
		Chains:     []meshsync.Chain{{HTTP: true}},
		Otherwise:  meshsync.Passes,
		Plain:      true,
		AnyClient:  true,
		MinVersion: "1.3",
		ClientKeys: []string{meshsync.KeyECDSA},
		Health: &lbmodel.HealthCheck{
			Protocol: "HTTP", Port: 8080, Path: "/ready",
			Interval: lbmodel.Duration(10 * time.Second), Timeout: lbmodel.Duration(time.Second), Healthy: 1, Unhealthy: 3,
		},
	}
	if diff := cmp.Diff(want, w.Accepts(Dialect{}, "shop", "cart", "cart-1")); diff != "" {
		t.Errorf("the proxy ends TLS for its own name, negotiates nothing and asks nobody for a certificate (-want +got):\n%s", diff)
	}
}

// short is an answer in one line.
func short(in meshsync.Inbound) string {
	words := []string{string(in.Membership)}
	if in.Blocked != "" {
		words = append(words, string(in.Blocked))
	}
	for _, c := range in.Chains {
		if c.HTTP {
			words = append(words, "HTTP")
		} else {
			words = append(words, "bytes")
		}
	}
	if in.Plain {
		words = append(words, "plain")
	}
	if in.AnyClient {
		words = append(words, "any")
	}
	if in.Otherwise == meshsync.Resets {
		words = append(words, "resets")
	}
	if in.ProxyHealth {
		words = append(words, "proxyhealth")
	}
	return strings.Join(words, " ")
}

func TestInbound(t *testing.T) {
	const (
		fine     = "Meshed HTTP plain any"
		opaque   = "Meshed OpaquePort plain any"
		bypassed = "Meshed InboundDisabled plain any"
		closed   = "Meshed HTTP resets"
	)
	skip := change{"4190,4191,4567,4568", "4190,4191,8000-8100"}
	noInit := change{"  - {name: linkerd-init, args", "  - {name: other, args"}
	for _, c := range []struct {
		name    string
		why     string
		changes []change
		more    []string
		want    string
		detail  string // a part of it
	}{
		{"default", "any port is detected", nil, nil, fine, ""},
		{"pod opaque", "the pod's annotation is what the policy controller reads", []change{annotate(annotationOpaque, "3306,8080")}, nil, opaque, "the pods' annotation"},
		{"pod opaque range", "ranges count", []change{annotate(annotationOpaque, "8000-9000")}, nil, opaque, "port 8080"},
		{"pod opaque by name", "the injector resolves names", []change{annotate(annotationOpaque, "web")}, nil, opaque, "port 8080"},
		{"pod opaque other", "another port is no matter of this one", []change{annotate(annotationOpaque, "3306")}, nil, fine, ""},
		{"pod opaque garbage", "components disagree about a broken list, so nobody knows", []change{annotate(annotationOpaque, "8o80")}, nil, opaque, "cannot be read"},
		{"default opaque", "databases are opaque by default", []change{on("3306")}, nil, opaque, "proxy.opaquePorts"},
		{"pod over default", "an annotation stands in for the default list", []change{on("3306"), annotate(annotationOpaque, "25")}, nil, fine, ""},
		{"pod over default, empty", "also when it has nothing", []change{on("3306"), annotate(annotationOpaque, "")}, nil, fine, ""},
		{"mesh over default", "an installation has its own list", []change{{"25,587,3306,", "8080,"}}, nil, opaque, "proxy.opaquePorts"},
		{"namespace opaque", "a pod without an annotation may be older than it", []change{inNamespace(annotationOpaque, "8080")}, nil, opaque, "of namespace shop"},
		{"pod over namespace", "the injector copies what the pod does not say", []change{inNamespace(annotationOpaque, "8080"), annotate(annotationOpaque, "25")}, nil, fine, ""},
		{"Service opaque", "clients in the mesh obey the Service", []change{onService(annotationOpaque, "80")}, nil, opaque, "of the Service"},
		{"Service opaque by target", "a Service's annotation counts its own ports", []change{onService(annotationOpaque, "8080")}, nil, fine, ""},
		{"Service appProtocol", "newer releases read it", []change{app("linkerd.io/opaque")}, nil, opaque, "appProtocol"},
		{"proxy's own list", "a pod of before the annotation", []change{{"env:", "env:\n    - {name: LINKERD2_PROXY_INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION, value: '8080'}"}}, nil, opaque, "of the proxy"},
		{"Server opaque", "a Server decides", nil, []string{opaqueServer}, "Meshed OpaquePort plain any", "Server shop/cart"},
		{"Server over annotation", "a Server supersedes the annotation", []change{annotate(annotationOpaque, "8080")}, []string{srv("cart", "HTTP/1", "all-unauthenticated")}, fine, ""},
		{"Server TLS", "the mesh's TLS is ended, what is in it is not read", nil, []string{srv("cart", "TLS", "all-unauthenticated")}, "Meshed bytes plain any", ""},
		{"Server gRPC", "HTTP/1.1 would meet a server of HTTP/2", nil, []string{srv("cart", "gRPC", "all-unauthenticated")}, "Meshed ALPNUnsupported plain any", "gRPC"},
		{"Server gRPC, declared", "whoever speaks gRPC is served", []change{app("grpc")}, []string{srv("cart", "gRPC", "all-unauthenticated")}, fine, ""},
		{"Server of a new protocol", "an unknown word is no protocol that we know", nil, []string{srv("cart", "QUIC", "all-unauthenticated")}, opaque, ""},
		{"Server of others", "its selector does not select the pod", nil, []string{strings.Replace(opaqueServer, "app: cart", "app: other", 1)}, fine, ""},
		{"Server of all", "an empty selector selects all", nil, []string{strings.Replace(opaqueServer, "matchLabels: {app: cart}", "", 1)}, opaque, ""},
		{"Server of another port", "", nil, []string{strings.Replace(opaqueServer, "port: web", "port: sql", 1)}, fine, ""},
		{"Server unreadable", "Linkerd ignores it too", nil, []string{strings.Replace(opaqueServer, "matchLabels: {app: cart}", "matchExpressions: [{key: app, operator: Is}]", 1)}, fine, ""},
		{"two Servers", "the one that gives less counts", nil, []string{srv("a", "HTTP/1", "all-unauthenticated"), srv("b", "opaque", "all-unauthenticated")}, opaque, "a, b"},
		{"two versions of a Server", "the older version does not show the policy", nil, []string{srv("cart", "HTTP/1", "all-unauthenticated"),
			strings.Replace(strings.Replace(srv("cart", "HTTP/1", "deny"), "v1beta3", "v1beta1", 1), ", accessPolicy: deny", "", 1)}, fine, ""},
		{"Server without a policy", "it denies", nil, []string{strings.Replace(srv("cart", "HTTP/1", "x"), ", accessPolicy: x", "", 1)}, closed + " proxyhealth", "deny"},

		{"skipped", "the redirection decides", []change{skip}, nil, bypassed, "8080"},
		{"skipped over annotation", "an annotation of later changes no pod", []change{annotate(annotationSkip, "8080")}, nil, fine, ""},
		{"skipped with CNI", "without the init container the annotation decides", []change{noInit, annotate(annotationSkip, "8080")}, nil, bypassed, annotationSkip},
		{"skipped with CNI by namespace", "", []change{noInit, inNamespace(annotationSkip, "8080")}, nil, bypassed, "namespace shop"},
		{"skipped with CNI by default", "the chart's own list", []change{noInit, on("4567")}, nil, bypassed, "ignoreInboundPorts"},
		{"skipped garbage", "nobody knows what is redirected", []change{{"4190,4191,4567,4568", "4190;8080"}}, nil, bypassed, "cannot be read"},
		{"the admin port", "it is not captured", []change{on("4191")}, nil, bypassed, "4191"},
		{"the tunnel's port", "it wants ALPN and a header of Linkerd", []change{on("4143")}, nil, "Meshed TunnelRequired resets", "4143"},
		{"no identity", "a proxy of old may have none", []change{{"env:", "env:\n    - {name: LINKERD2_PROXY_IDENTITY_DISABLED, value: disabled}"}}, nil, bypassed, "without an identity"},

		{"all-authenticated", "any certificate of the mesh, and no other client", []change{annotate(annotationPolicy, "all-authenticated")}, nil, closed, ""},
		{"cluster-authenticated", "a load balancer's address may be outside", []change{annotate(annotationPolicy, "cluster-authenticated")}, nil, closed, "35.191.0.0/16"},
		{"cluster-unauthenticated", "", []change{annotate(annotationPolicy, "cluster-unauthenticated")}, nil, fine, "35.191.0.0/16"},
		{"deny", "only who is named", []change{annotate(annotationPolicy, "deny")}, nil, closed, "AuthorizationPolicy"},
		{"audit", "it lets in, and writes down", []change{annotate(annotationPolicy, "audit")}, nil, fine, ""},
		{"an unknown policy", "it lets in nobody for sure", []change{annotate(annotationPolicy, "all")}, nil, closed, "none that is known"},
		{"namespace policy", "", []change{inNamespace(annotationPolicy, "deny")}, nil, closed, "of namespace shop"},
		{"pod policy over namespace", "", []change{inNamespace(annotationPolicy, "deny"), annotate(annotationPolicy, "all-authenticated")}, nil, closed, ""},
		{"mesh policy", "", []change{{"defaultInboundPolicy: all-unauthenticated", "defaultInboundPolicy: all-authenticated"}}, nil, closed, ""},
		{"Server's policy", "it comes before all defaults; its routes may not be those of probes", nil, []string{srv("cart", "HTTP/1", "cluster-authenticated")}, closed + " proxyhealth", "Server shop/cart"},
		{"opaque and closed", "clear text is refused as well", []change{annotate(annotationOpaque, "8080"), annotate(annotationPolicy, "deny")}, nil, "Meshed OpaquePort resets proxyhealth", ""},
		{"values unreadable", "nobody knows what was meant", []change{{"    clusterDomain: cluster.local", "    }"}}, nil, closed, "deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := cluster(t, c.changes, c.more...).Accepts(Dialect{}, "shop", "cart", "cart-1")
			if diff := cmp.Diff(c.want, short(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s%s", c.why, diff, got.Detail)
			}
			if !strings.Contains(got.Detail, c.detail) {
				t.Errorf("%s: the detail %q does not say %q", c.why, got.Detail, c.detail)
			}
			if strings.Contains(got.Detail, "cart-1") {
				t.Errorf("the detail %q names one pod of many", got.Detail)
			}
			if (len(got.Chains) > 0) != (got.Blocked == "") {
				t.Errorf("a port is blocked or has a chain: %v, %q", got.Chains, got.Blocked)
			}
		})
	}
}

func TestMembership(t *testing.T) {
	for _, c := range []struct {
		name, why string
		changes   []change
		want      meshsync.Membership
		detail    string
	}{
		{"injected", "annotation, label and container", nil, meshsync.Meshed, ""},
		{"ordinary sidecar", "a sidecar of before native ones", []change{{"  - name: linkerd-proxy\n    restartPolicy: Always", "  containers:\n  - name: linkerd-proxy"},
			{"  containers:\n  - name: cart", "  x:\n  - name: cart"}}, meshsync.Meshed, ""},
		{"intent", "a namespace's annotation is no proxy: the pod is older", []change{{"{linkerd.io/proxy-version: edge-26.8.1}", "{}"}, {"- name: linkerd-proxy", "- name: x"}},
			meshsync.NotMeshed, "restart"},
		{"no intent", "", []change{{"{linkerd.io/proxy-version: edge-26.8.1}", "{linkerd.io/inject: disabled}"}, {"- name: linkerd-proxy", "- name: x"}},
			meshsync.NotMeshed, "no linkerd-proxy"},
		{"ingress mode", "", []change{{"{linkerd.io/proxy-version: edge-26.8.1}", "{linkerd.io/inject: ingress}"}, {"- name: linkerd-proxy", "- name: x"}},
			meshsync.NotMeshed, "restart"},
		{"annotation alone", "the injection is broken on a rollout", []change{{"- name: linkerd-proxy", "- name: x"}}, meshsync.NotMeshed, "broken"},
		{"container alone", "anybody may call a container so", []change{{"{linkerd.io/proxy-version: edge-26.8.1}", "{}"}}, meshsync.NotMeshed, "injector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := cluster(t, c.changes).Accepts(Dialect{}, "shop", "cart", "cart-1")
			if got.Membership != c.want || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("%s: %s, %q; want %s, ...%q", c.why, got.Membership, got.Detail, c.want, c.detail)
			}
		})
	}
}
