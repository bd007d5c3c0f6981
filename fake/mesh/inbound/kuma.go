package inbound

import "slices"

// Kuma is a Kuma data plane proxy.
type Kuma struct {
	Mode         Mode     // "" is Strict, as with MeshIdentity
	Protocol     Protocol // of the inbound
	TrustDomains []string // whose clients are taken: one for each MeshTrust
	Allow        []string // SPIFFE IDs that MeshTrafficPermission lets in; nil is everybody
}

// Accept implements Proxy.
func (k Kuma) Accept(h Hello) Chain {
	read := k.Protocol.layer()
	if read == Detect {
		read = Bytes
	}
	mutual := Chain{
		Name: "mTLS", Do: Terminate, Read: read,
		Prefixes: trustDomains(k.TrustDomains), Admit: k.admit, Tell: forwardedClientCert,
	}
	switch {
	case h.Own:
		return Chain{Name: "no listener", Do: Reset}
	case k.Mode == Permissive && (!h.TLS || !slices.Contains(h.ALPN, "kuma")):
		if h.TLS {
			read = Bytes
		}
		return Chain{Name: "passthrough", Do: Pass, Read: read}
	}
	return mutual
}

// Healthy implements Proxy: 9902.
func (Kuma) Healthy(path string) bool { return path == "/ready" }

func (k Kuma) admit(v Visit) bool { return k.Allow == nil || slices.Contains(k.Allow, v.Client) }

// Plain is a pod without a proxy. Its application may well have TLS of its own.
type Plain struct{}

// Accept implements Proxy.
func (Plain) Accept(h Hello) Chain {
	if h.Own {
		return Chain{Name: "no listener", Do: Reset}
	}
	return Chain{Name: "application", Do: Pass}
}

// Healthy implements Proxy: there is no proxy to ask.
func (Plain) Healthy(string) bool { return false }
