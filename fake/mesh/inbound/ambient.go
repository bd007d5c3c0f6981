package inbound

import "slices"

// Ambient is a pod of an ambient mesh: ztunnel reads nothing of what comes to the
// application's port, and takes mutual TLS only on its own (HBONE).
type Ambient struct {
	Mode  Mode     // Strict resets whoever has no identity, which is everybody at the application's port
	Allow []string // SPIFFE IDs that may come through the tunnel; nil is everybody
}

// Accept implements Proxy.
func (a Ambient) Accept(h Hello) Chain {
	switch {
	case h.Own:
		return Chain{Name: "HBONE", Do: Terminate, Read: Tunnel, ALPN: []string{"h2"}, MustAgree: true, Admit: a.admit}
	case a.Mode == Strict:
		return Chain{Name: "istio_converted_static_strict", Do: Reset}
	}
	return Chain{Name: "passthrough", Do: Pass, Admit: a.admit}
}

// Healthy implements Proxy: ztunnel tells its health on its own pod's 15021.
func (Ambient) Healthy(path string) bool { return path == "/healthz/ready" }

func (a Ambient) admit(v Visit) bool { return a.Allow == nil || slices.Contains(a.Allow, v.Client) }
