package inbound

import "slices"

// IstioGateway is a listener of an Istio Gateway: where a load balancer lands that
// cannot reach pods.
type IstioGateway struct {
	Mode  GatewayMode
	Hosts []string // server names; nil or "*" is any, and none
}

// GatewayMode is a listener's TLS mode.
type GatewayMode string

// The modes.
const (
	IstioMutual     GatewayMode = "ISTIO_MUTUAL"     // the mesh's certificate, and a client's of the mesh
	IstioSimple     GatewayMode = "ISTIO_SIMPLE"     // the mesh's certificate
	AutoPassthrough GatewayMode = "AUTO_PASSTHROUGH" // east-west: SNI chooses, and only Istio's own ALPN is taken
)

// Accept implements Proxy.
func (g IstioGateway) Accept(h Hello) Chain {
	everyName := len(g.Hosts) == 0 || slices.Contains(g.Hosts, "*")
	if h.Own || !h.TLS || !everyName && !slices.Contains(g.Hosts, h.SNI) {
		return Chain{Name: "no filter chain found", Do: Reset}
	}
	if g.Mode == AutoPassthrough {
		ours := []string{ALPNIstio, ALPNPeerExchange, ALPNIstioHTTP10, ALPNIstioHTTP11, ALPNIstioH2}
		if overlap(ours, h.ALPN) == "" {
			return Chain{Name: "no filter chain found", Do: Reset}
		}
		return Chain{Name: "passthrough", Do: Pass}
	}
	c := Chain{Name: string(g.Mode), Do: Terminate, Read: Web, ALPN: []string{"h2", "http/1.1"}, Tell: forwardedClientCert}
	if g.Mode == IstioSimple {
		c.Client = Unasked
	}
	return c
}

// Healthy implements Proxy.
func (IstioGateway) Healthy(path string) bool { return path == "/healthz/ready" }
