package meshsync_test

import (
	"slices"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// The three kinds of providers.
func fakeLike() lbmodel.Features { return lbmodel.FullFeatures() }

func gcpLike() lbmodel.Features {
	out := offering(
		lbmodel.FeatureHTTP2, lbmodel.FeatureGRPC, lbmodel.FeatureWebSocket,
		lbmodel.FeatureBackendTLSUnverified, lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSIdentity,
		lbmodel.FeatureBackendTLSSNI, lbmodel.FeatureBackendTLSURISAN, lbmodel.FeatureBackendTLSDNSSAN, lbmodel.FeatureBackendTLS13,
	)
	out.Limits.SANs = 5
	return out
}

func albLike() lbmodel.Features {
	return offering(lbmodel.FeatureHTTP2, lbmodel.FeatureGRPC, lbmodel.FeatureWebSocket, lbmodel.FeatureBackendTLSUnverified)
}

func offering(features ...lbmodel.Feature) lbmodel.Features {
	out := lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{}}
	for _, f := range features {
		out.Has[f] = lbmodel.Yes
	}
	return out
}

// without is a provider that lacks some abilities.
func without(f lbmodel.Features, lacks ...lbmodel.Feature) lbmodel.Features {
	out := lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{}, Limits: f.Limits}
	for feature, support := range f.Has {
		if !slices.Contains(lacks, feature) {
			out.Has[feature] = support
		}
	}
	return out
}

func uri(value string) lbmodel.SAN { return lbmodel.SAN{Kind: lbmodel.SANURI, Value: value} }
func dns(value string) lbmodel.SAN { return lbmodel.SAN{Kind: lbmodel.SANDNS, Value: value} }

func spiffe(account string) lbmodel.SAN {
	return uri("spiffe://cluster.local/ns/shop/sa/" + account)
}

// What Istio's proxies match and negotiate.
var (
	istioALPN     = []string{"istio", "istio-peer-exchange", "istio-http/1.0", "istio-http/1.1", "istio-h2"}
	istioHTTPALPN = []string{"istio-http/1.0", "istio-http/1.1", "istio-h2"}
	httpALPN      = []string{"h2", "http/1.1"}
	peerALPN      = []string{"istio-peer-exchange", "h2", "http/1.1"}
)

const linkerdName = "cart.shop.serviceaccount.identity.linkerd.cluster.local"

// istio is a sidecar: its certificate has a SPIFFE ID and no DNS name.
func istio(detail string, otherwise Otherwise, chains ...Chain) Inbound {
	return Inbound{
		Membership: Meshed, Account: Account{Namespace: "shop", Name: "cart"}, Names: []lbmodel.SAN{spiffe("cart")},
		Chains: chains, Otherwise: otherwise, Detail: detail, MinVersion: "1.2",
		Health: &lbmodel.HealthCheck{Protocol: "HTTP", Port: 15020, Path: "/app-health/cart/readyz"},
	}
}

func istioStrictHTTP() Inbound {
	return istio("PeerAuthentication shop/default is STRICT", Resets, Chain{Selects: httpALPN, HTTP: true})
}

func istioStrictAuto() Inbound {
	in := istio("PeerAuthentication shop/default is STRICT, Service shop/cart port 80 has no appProtocol", Resets,
		Chain{Offer: istioHTTPALPN, Selects: httpALPN, HTTP: true}, Chain{Selects: peerALPN})
	in.Fix = &Fix{Say: "Set appProtocol: http.", YAML: "appProtocol: http"}
	return in
}

func istioStrictTCP() Inbound {
	return istio("Service shop/cart port 80 is declared TCP", Resets, Chain{Selects: peerALPN})
}

func permissive(in Inbound) Inbound {
	in.Plain, in.Blocked = true, ReasonPermissiveInbound
	in.Detail = "no PeerAuthentication applies, so port 8080 is PERMISSIVE"
	in.Fix = &Fix{Say: "Set the port to STRICT.", YAML: "portLevelMtls: {8080: {mode: STRICT}}"}
	return in
}

func istioPermissiveHTTP() Inbound {
	return permissive(istio("", Resets, Chain{Offer: istioALPN, Selects: httpALPN, HTTP: true}))
}

func istioPermissiveAuto() Inbound {
	return permissive(istio("", Passes,
		Chain{Offer: istioHTTPALPN, Selects: httpALPN, HTTP: true}, Chain{Offer: istioALPN, Selects: peerALPN}))
}

func istioPermissiveTCP() Inbound {
	return permissive(istio("", Passes, Chain{Offer: istioALPN, Selects: peerALPN}))
}

func istioDisabled() Inbound {
	in := istio("PeerAuthentication shop/off is DISABLE", Passes)
	in.Plain, in.Blocked = true, ReasonInboundDisabled
	return in
}

func ambient() Inbound {
	in := istio("pod is redirected by istio-cni (ambient.istio.io/redirection)", Passes)
	in.Plain, in.Blocked = true, ReasonTunnelRequired
	return in
}

func ambientStrict() Inbound {
	in := ambient()
	in.Plain, in.Otherwise = false, Resets
	in.Detail = "PeerAuthentication istio-system/default is STRICT: ztunnel's istio_converted_static_strict denies what has no identity"
	return in
}

func linkerd() Inbound {
	return Inbound{
		Membership: Meshed, Account: Account{Namespace: "shop", Name: "cart"}, Names: []lbmodel.SAN{dns(linkerdName)}, SNI: linkerdName,
		Chains: []Chain{{HTTP: true}}, Otherwise: Passes, Plain: true, AnyClient: true, MinVersion: "1.3", ClientKeys: []string{KeyECDSA},
		Health: &lbmodel.HealthCheck{Protocol: "HTTP", Port: 4191, Path: "/ready"}, ProxyHealth: true,
		Detail: "linkerd-proxy of pod ends TLS for its own name",
	}
}

func linkerdOpaque() Inbound {
	in := linkerd()
	in.Chains, in.Blocked, in.Detail = nil, ReasonOpaquePort, "config.linkerd.io/opaque-ports names port 3306"
	in.Fix = &Fix{Say: "Let a Server name the protocol.", YAML: "kind: Server"}
	return in
}

func consul(selects ...string) Inbound {
	in := istio("service-defaults cart", Resets, Chain{Selects: selects, HTTP: selects != nil})
	in.Names, in.Port = []lbmodel.SAN{uri("spiffe://1.consul/ns/default/dc/dc1/svc/cart")}, 20000
	return in
}

func kumaStrict() Inbound { return istio("MeshTLS default is Strict", Resets, Chain{HTTP: true}) }

func kumaPermissive() Inbound {
	return permissive(istio("", Passes, Chain{Offer: []string{"kuma"}, HTTP: true}))
}

// simplePad is a mesh gateway that lets any client in (ISTIO_SIMPLE).
func simplePad() Inbound {
	in := istioStrictHTTP()
	in.AnyClient, in.Detail = true, "Gateway istio-ingress/pad is ISTIO_SIMPLE"
	return in
}

func notMeshed() Inbound {
	return Inbound{Membership: NotMeshed, Plain: true, Otherwise: Passes, Detail: "pod has no istio-proxy"}
}

func unknown() Inbound { return Inbound{Membership: MembershipUnknown} }

// hop is what most gateways want.
func hop(protocol lbmodel.PoolProtocol) Hop {
	return Hop{Protocol: protocol, Minimum: lbmodel.TLSClientAndServer, Roots: 1}
}

// lowered is a hop whose minimum an operator lowered by name.
func lowered(protocol lbmodel.PoolProtocol, minimum lbmodel.TLSLevel) Hop {
	h := hop(protocol)
	h.Minimum = minimum
	return h
}
