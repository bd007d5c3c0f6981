package meshsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// outcome is a verdict in one line: the path's reason, or what is spoken, what ALPN
// is set for it, and what is lost.
func outcome(v Verdict) string {
	if v.Path != Direct {
		return string(v.Path) + " " + string(v.Reason)
	}
	parts := []string{string(v.Path), string(v.TLS), string(v.Protocol)}
	if v.OwnTLS {
		parts = []string{string(v.Path), "OwnTLS", string(v.Protocol)}
	}
	if t := v.BackendTLS; t != nil && (t.NoALPN || t.ALPN != nil) {
		parts = append(parts, "alpn=["+strings.Join(t.ALPN, ",")+"]")
	}
	for _, l := range v.Losses {
		parts = append(parts, "-"+string(l))
	}
	return strings.Join(parts, " ")
}

// TestMeshes is the table of what every mesh's proxy gives each kind of provider.
func TestMeshes(t *testing.T) {
	const mutual1 = "Direct ClientAndServer HTTP1"
	for _, c := range []struct {
		name, why      string
		in             Inbound
		protocol       lbmodel.PoolProtocol
		fake, gcp, alb string
	}{
		{"Istio STRICT HTTP", "the one chain ends any TLS and reads HTTP", istioStrictHTTP(), lbmodel.PoolHTTP1,
			mutual1, mutual1, "Blocked ClientCertificateUnsupported"},
		{"Istio STRICT HTTP, h2c", "clear-text HTTP/2 becomes HTTP/2 over TLS, which the proxy negotiates", istioStrictHTTP(), lbmodel.PoolH2C,
			"Direct ClientAndServer HTTP2", "Direct ClientAndServer HTTP2", "Blocked ClientCertificateUnsupported"},
		{"Istio STRICT AUTO", "only Istio's ALPN reaches the chain that reads HTTP", istioStrictAuto(), lbmodel.PoolHTTP1,
			mutual1 + " alpn=[istio-http/1.0,http/1.1]", mutual1 + " -L7Policy", "Blocked ClientCertificateUnsupported"},
		{"Istio STRICT TCP", "no chain reads HTTP, so its policy is lost", istioStrictTCP(), lbmodel.PoolHTTP1,
			mutual1 + " -L7Policy", mutual1 + " -L7Policy", "Blocked ClientCertificateUnsupported"},
		{"Istio STRICT TCP, TCP", "nothing is lost that was there", istioStrictTCP(), lbmodel.PoolTCP,
			"Direct ClientAndServer TCP", "Direct ClientAndServer TCP", "Blocked ClientCertificateUnsupported"},
		{"Istio PERMISSIVE HTTP", "standard ALPN finds no chain: more open, and yet broken", istioPermissiveHTTP(), lbmodel.PoolHTTP1,
			mutual1 + " alpn=[istio,http/1.1]", "Blocked PermissiveInbound", "Blocked PermissiveInbound"},
		{"Istio PERMISSIVE AUTO", "TLS is passed on to the application", istioPermissiveAuto(), lbmodel.PoolHTTP1,
			mutual1 + " alpn=[istio-http/1.0,http/1.1]", "Blocked PermissiveInbound", "Blocked PermissiveInbound"},
		{"Istio PERMISSIVE TCP", "the mesh's ALPN is offered without the one that it would negotiate", istioPermissiveTCP(), lbmodel.PoolTCP,
			"Direct ClientAndServer TCP alpn=[istio]", "Blocked PermissiveInbound", "Blocked PermissiveInbound"},
		{"Istio DISABLE", "there is no chain at all", istioDisabled(), lbmodel.PoolHTTP1,
			"Blocked InboundDisabled", "Blocked InboundDisabled", "Blocked InboundDisabled"},
		{"Istio ambient", "mutual TLS is only inside HBONE", ambient(), lbmodel.PoolHTTP1,
			"Blocked TunnelRequired", "Blocked TunnelRequired", "Blocked TunnelRequired"},
		{"Linkerd", "server name, TLS 1.3, DNS name", linkerd(), lbmodel.PoolHTTP1,
			mutual1 + " -AppHealth", mutual1 + " -AppHealth", "Blocked PrivateRootsUnsupported"},
		{"Linkerd, gRPC", "the proxy negotiates nothing, so HTTP/2 must be spoken unasked", linkerd(), lbmodel.PoolGRPC,
			"Direct ClientAndServer GRPC alpn=[] -AppHealth", "Blocked ALPNUnsupported", "Blocked PrivateRootsUnsupported"},
		{"Linkerd, WebSocket", "an upgrade of HTTP/1.1", linkerd(), lbmodel.PoolWebSocket,
			"Direct ClientAndServer WebSocket -AppHealth", "Direct ClientAndServer WebSocket -AppHealth", "Blocked PrivateRootsUnsupported"},
		{"Linkerd opaque port", "TLS is not looked for", linkerdOpaque(), lbmodel.PoolHTTP1,
			"Blocked OpaquePort", "Blocked OpaquePort", "Blocked OpaquePort"},
		{"Consul http", "one chain for all", consul("http/1.1"), lbmodel.PoolHTTP1,
			mutual1, mutual1, "Blocked ClientCertificateUnsupported"},
		{"Consul http, gRPC", "a proxy that negotiates only HTTP/1.1 means it", consul("http/1.1"), lbmodel.PoolGRPC,
			"Blocked ALPNUnsupported", "Blocked ALPNUnsupported", "Blocked ClientCertificateUnsupported"},
		{"Consul grpc", "h2 is negotiated", consul(httpALPN...), lbmodel.PoolGRPC,
			"Direct ClientAndServer GRPC", "Direct ClientAndServer GRPC", "Blocked ClientCertificateUnsupported"},
		{"Consul tcp", "bytes, no ALPN", consul(), lbmodel.PoolTCP,
			"Direct ClientAndServer TCP", "Direct ClientAndServer TCP", "Blocked ClientCertificateUnsupported"},
		{"Kuma STRICT", "one chain for all, without ALPN", kumaStrict(), lbmodel.PoolHTTP1,
			mutual1, mutual1, "Blocked ClientCertificateUnsupported"},
		{"Kuma PERMISSIVE", "the chain needs ALPN kuma", kumaPermissive(), lbmodel.PoolHTTP1,
			mutual1 + " alpn=[kuma,http/1.1]", "Blocked PermissiveInbound", "Blocked PermissiveInbound"},
		{"Kuma PERMISSIVE, gRPC", "kuma alone is offered: whoever offers h2 as well must have it negotiated", kumaPermissive(), lbmodel.PoolGRPC,
			"Direct ClientAndServer GRPC alpn=[kuma]", "Blocked PermissiveInbound", "Blocked PermissiveInbound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := []string{outcome(Judge(c.in, hop(c.protocol), fakeLike())), outcome(Judge(c.in, hop(c.protocol), gcpLike())), outcome(Judge(c.in, hop(c.protocol), albLike()))}
			if diff := cmp.Diff([]string{c.fake, c.gcp, c.alb}, got); diff != "" {
				t.Errorf("%s (-want +got; everything, GCP-like, ALB-like):\n%s", c.why, diff)
			}
		})
	}
}

// TestProgram is what has to be programmed, in full, for the meshes that differ
// most.
func TestProgram(t *testing.T) {
	istioHealth, linkerdHealth := istioStrictHTTP().Health, linkerd().Health
	for _, c := range []struct {
		name, why string
		in        Inbound
		has       lbmodel.Features
		want      Verdict
	}{
		{"Istio", "a list of names, no server name, the application's rewritten probe", istioStrictHTTP(), gcpLike(), Verdict{
			Membership: Meshed, Path: Direct, TLS: lbmodel.TLSClientAndServer, Detail: "PeerAuthentication shop/default is STRICT",
			Protocol: lbmodel.PoolHTTP1, Health: istioHealth,
			BackendTLS: &lbmodel.BackendTLS{SANs: []lbmodel.SAN{spiffe("cart")}, Floor: lbmodel.TLSClientAndServer, MinVersion: "1.2"},
		}},
		{"Linkerd", "the server name is the name to verify, and TLS 1.3 is demanded by who can", linkerd(), fakeLike(), Verdict{
			Membership: Meshed, Path: Direct, TLS: lbmodel.TLSClientAndServer, Detail: "linkerd-proxy of pod ends TLS for its own name",
			Losses: []Loss{LossAppHealth}, Protocol: lbmodel.PoolHTTP1, ClientKeys: []string{KeyECDSA}, Health: linkerdHealth,
			BackendTLS: &lbmodel.BackendTLS{SNI: linkerdName, Floor: lbmodel.TLSClientAndServer, MinVersion: "1.3"},
		}},
		{"Linkerd over GCP", "it speaks TLS 1.3 and cannot demand it, which the proxy does", linkerd(), gcpLike(), Verdict{
			Membership: Meshed, Path: Direct, TLS: lbmodel.TLSClientAndServer, Detail: "linkerd-proxy of pod ends TLS for its own name",
			Losses: []Loss{LossAppHealth}, Protocol: lbmodel.PoolHTTP1, ClientKeys: []string{KeyECDSA}, Health: linkerdHealth,
			BackendTLS: &lbmodel.BackendTLS{SNI: linkerdName, Floor: lbmodel.TLSClientAndServer},
		}},
		{"Consul", "TLS ends at the proxy's own port", consul("http/1.1"), gcpLike(), Verdict{
			Membership: Meshed, Path: Direct, TLS: lbmodel.TLSClientAndServer, Detail: "service-defaults cart",
			Protocol: lbmodel.PoolHTTP1, Port: 20000, Health: istioHealth,
			BackendTLS: &lbmodel.BackendTLS{SANs: consul().Names, Floor: lbmodel.TLSClientAndServer, MinVersion: "1.2"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Judge(c.in, hop(lbmodel.PoolHTTP1), c.has)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}
