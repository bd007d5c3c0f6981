package linkerd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

func hop(p lbmodel.PoolProtocol) meshsync.Hop {
	return meshsync.Hop{Protocol: p, Minimum: lbmodel.TLSClientAndServer, Roots: 2}
}

// TestVerdicts are the rows of Linkerd through the judge, with what providers can.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, why      string
		changes        []change
		more           []string
		protocol       lbmodel.PoolProtocol
		full, gcp, alb string
	}{
		{"default", "server name, TLS 1.3, ECDSA key", nil, nil, lbmodel.PoolHTTP1,
			"Direct ClientAndServer HTTP1", "Direct ClientAndServer HTTP1", "Blocked PrivateRootsUnsupported"},
		{"gRPC", "the proxy negotiates no h2: who cannot do without is blocked where HTTP/1.1 is not", nil, nil, lbmodel.PoolGRPC,
			"Direct ClientAndServer GRPC", "Blocked ALPNUnsupported", "Blocked PrivateRootsUnsupported"},
		{"TCP", "what is no HTTP is passed on after TLS", nil, nil, lbmodel.PoolTCP,
			"Direct ClientAndServer TCP", "Direct ClientAndServer TCP", "Blocked PrivateRootsUnsupported"},
		{"all-authenticated", "a provider without a client certificate is refused for that", []change{annotate(annotationPolicy, "all-authenticated")}, nil, lbmodel.PoolHTTP1,
			"Direct ClientAndServer HTTP1", "Direct ClientAndServer HTTP1", "Blocked ClientCertificateUnsupported"},
		{"opaque", "TLS is not looked for", []change{annotate(annotationOpaque, "8080")}, nil, lbmodel.PoolHTTP1,
			"Blocked OpaquePort", "Blocked OpaquePort", "Blocked OpaquePort"},
		{"Server TLS", "the proxy ends the mesh's TLS and reads no HTTP", nil, []string{srv("cart", "TLS", "all-unauthenticated")}, lbmodel.PoolHTTP1,
			"Direct ClientAndServer HTTP1 -L7Policy", "Direct ClientAndServer HTTP1 -L7Policy", "Blocked PrivateRootsUnsupported"},
		{"Server with its own policy", "18: the health check has no client certificate, so it asks the proxy at 4191", nil, []string{srv("cart", "HTTP/1", "deny")}, lbmodel.PoolHTTP1,
			"Direct ClientAndServer HTTP1 -AppHealth", "Direct ClientAndServer HTTP1 -AppHealth", "Blocked ClientCertificateUnsupported"},
		{"skipped", "connections bypass the proxy", []change{{"4190,4191,4567,4568", "8080"}}, nil, lbmodel.PoolHTTP1,
			"Blocked InboundDisabled", "Blocked InboundDisabled", "Blocked InboundDisabled"},
		{"not injected", "no member, and the minimum is mutual TLS", []change{{"- name: linkerd-proxy", "- name: x"}}, nil, lbmodel.PoolHTTP1,
			"Blocked BelowMinimum", "Blocked BelowMinimum", "Blocked BelowMinimum"},
		{"Server gRPC without a word", "HTTP/1.1 would not be understood", nil, []string{srv("cart", "gRPC", "all-unauthenticated")}, lbmodel.PoolHTTP1,
			"Blocked ALPNUnsupported", "Blocked ALPNUnsupported", "Blocked PrivateRootsUnsupported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes, c.more...).Accepts(Dialect{}, "shop", "cart", "cart-1")
			var got []string
			for _, f := range []lbmodel.Features{lbmodel.FullFeatures(), meshtest.GCP(), meshtest.ALB()} {
				got = append(got, meshtest.Outcome(meshsync.Judge(in, hop(c.protocol), f)))
			}
			if diff := cmp.Diff([]string{c.full, c.gcp, c.alb}, got); diff != "" {
				t.Errorf("%s (-want +got; everything, GCP, ALB):\n%s", c.why, diff)
			}
		})
	}
}

// TestSelectedAndOwnTLS are the two wishes that a mesh may contradict.
func TestSelectedAndOwnTLS(t *testing.T) {
	broken := cluster(t, []change{{"- name: linkerd-proxy", "- name: x"}}).Accepts(Dialect{}, "shop", "cart", "cart-1")
	selected := hop(lbmodel.PoolHTTP1)
	selected.Selected, selected.Minimum = true, lbmodel.TLSNone
	if v := meshsync.Judge(broken, selected, lbmodel.FullFeatures()); v.Reason != meshsync.ReasonNotMeshed || !strings.Contains(v.Detail, "broken") {
		t.Errorf("losing a sidecar is no permission: %s %s", meshtest.Outcome(v), v.Detail)
	}
	own := hop(lbmodel.PoolHTTP1)
	own.OwnTLS = true
	open := cluster(t, nil).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if v := meshsync.Judge(open, own, meshtest.GCP()); !v.OwnTLS {
		t.Errorf("TLS for another name passes through the proxy: %s", meshtest.Outcome(v))
	}
	closed := cluster(t, []change{annotate(annotationPolicy, "all-authenticated")}).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if v := meshsync.Judge(closed, own, meshtest.GCP()); v.Path != meshsync.Blocked {
		t.Errorf("a policy that wants certificates refuses TLS that it cannot see into: %s", meshtest.Outcome(v))
	}
}

// TestFix applies what is offered, and it makes the port Direct without changing
// whom the proxy lets in.
func TestFix(t *testing.T) {
	for _, c := range []struct {
		name, why string
		changes   []change
		more      []string
		protocol  lbmodel.PoolProtocol
		has, want string
	}{
		{"annotation", "a new Server takes over the policy of the port", []change{annotate(annotationOpaque, "8080"), annotate(annotationPolicy, "all-authenticated")}, nil,
			lbmodel.PoolHTTP1, "accessPolicy: all-authenticated", "Direct ClientAndServer HTTP1 -AppHealth"},
		{"Service", "", []change{onService(annotationOpaque, "80")}, nil, lbmodel.PoolHTTP1, "proxyProtocol: HTTP/1", "Direct ClientAndServer HTTP1"},
		{"gRPC, declared", "HTTP/1 detects HTTP/2 as well", []change{annotate(annotationOpaque, "8080"), app("grpc")}, nil, lbmodel.PoolGRPC, "proxyProtocol: HTTP/1", "Direct ClientAndServer GRPC"},
		{"a database", "what a database speaks is not read", []change{on("3306")}, nil, lbmodel.PoolTCP, "proxyProtocol: TLS", "Direct ClientAndServer TCP"},
		{"bytes, declared", "", []change{annotate(annotationOpaque, "8080"), app("mongo")}, nil, lbmodel.PoolTCP, "proxyProtocol: TLS", "Direct ClientAndServer TCP"},
		{"opaque Server", "it is changed, and keeps its selector and port", nil, []string{opaqueServer}, lbmodel.PoolHTTP1, "port: web", "Direct ClientAndServer HTTP1"},
		{"two Servers", "the one that gives less is changed", nil, []string{srv("a", "HTTP/1", "all-unauthenticated"), srv("b", "opaque", "all-unauthenticated")},
			lbmodel.PoolHTTP1, "name: b", "Direct ClientAndServer HTTP1"},
		{"Server gRPC", "", nil, []string{srv("cart", "gRPC", "all-unauthenticated")}, lbmodel.PoolHTTP1, "proxyProtocol: HTTP/1", "Direct ClientAndServer HTTP1"},
		{"garbage", "a Server supersedes the annotation, whatever it is", []change{annotate(annotationOpaque, "8080;")}, nil, lbmodel.PoolHTTP1, "kind: Server", "Direct ClientAndServer HTTP1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := cluster(t, c.changes, c.more...)
			before := w.Accepts(Dialect{}, "shop", "cart", "cart-1")
			v := meshsync.Judge(before, hop(c.protocol), lbmodel.FullFeatures())
			if v.Path != meshsync.Blocked || v.Fix == nil || !strings.Contains(v.Fix.YAML, c.has) {
				t.Fatalf("%s: %s, fix %+v, want one with %q", c.why, meshtest.Outcome(v), v.Fix, c.has)
			}
			w.Apply(v.Fix.YAML)
			after := w.Accepts(Dialect{}, "shop", "cart", "cart-1")
			if got := meshtest.Outcome(meshsync.Judge(after, hop(c.protocol), lbmodel.FullFeatures())); got != c.want {
				t.Errorf("%s: %s, want %s\n%s%s", c.why, got, c.want, v.Fix.YAML, after.Detail)
			}
			if before.AnyClient != after.AnyClient || before.Plain != after.Plain {
				t.Errorf("the fix changes who is let in: any client %v, then %v", before.AnyClient, after.AnyClient)
			}
		})
	}
}

// TestNoFix: without a selector there is nothing to write a Server for.
func TestNoFix(t *testing.T) {
	in := cluster(t, []change{annotate(annotationOpaque, "8080"), {"selector: {app: cart}, ", ""}}).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if in.Fix == nil || in.Fix.Say == "" || in.Fix.YAML != "" {
		t.Errorf("what is to be done is said, and no object is invented: %+v", in.Fix)
	}
}
