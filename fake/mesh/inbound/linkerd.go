package inbound

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/netip"
	"slices"
)

// Linkerd is a Linkerd proxy: TLS is ended only for a client that asks for the
// proxy's own name.
type Linkerd struct {
	// Identity is that name: <sa>.<ns>.serviceaccount.identity.linkerd.cluster.local.
	Identity string
	Opaque   bool // the port is opaque: nothing is looked at
	Policy   LinkerdPolicy
	// Identities are who a MeshTLSAuthentication lets in beside the policy.
	Identities []string
	// Networks are the clusterNetworks; nil is Linkerd's default, with loopback, so
	// that tests of one machine are inside.
	Networks []netip.Prefix
}

// LinkerdPolicy is config.linkerd.io/default-inbound-policy.
type LinkerdPolicy string

// The policies; "" is AllUnauthenticated.
const (
	AllUnauthenticated     LinkerdPolicy = "all-unauthenticated"
	AllAuthenticated       LinkerdPolicy = "all-authenticated"
	ClusterUnauthenticated LinkerdPolicy = "cluster-unauthenticated"
	ClusterAuthenticated   LinkerdPolicy = "cluster-authenticated"
	Deny                   LinkerdPolicy = "deny"
)

// Accept implements Proxy.
func (l Linkerd) Accept(h Hello) Chain {
	switch {
	case h.Own:
		// 4143 wants ALPN transport.l5d.io/v1 and a header that only Linkerd writes.
		return Chain{Name: "direct", Do: Reset}
	case l.Opaque:
		return Chain{Name: "opaque", Do: Pass, Admit: l.admit}
	case !h.TLS:
		return Chain{Name: "clear", Do: Pass, Read: Detect, Admit: l.admit, Tell: l5dClient}
	case h.SNI != l.Identity:
		return Chain{Name: "foreign SNI", Do: Pass, Admit: l.admit}
	}
	return Chain{
		Name: "identity", Do: Terminate, Read: Detect,
		MinVersion: tls.VersionTLS13,
		Client:     Optional,
		Keys:       []x509.PublicKeyAlgorithm{x509.ECDSA, x509.Ed25519},
		Admit:      l.admit,
		Tell:       l5dClient,
	}
}

// Healthy implements Proxy: 4191.
func (Linkerd) Healthy(path string) bool { return path == "/ready" || path == "/live" }

func (l Linkerd) admit(v Visit) bool {
	if v.Client != "" && slices.Contains(l.Identities, v.Client) {
		return true
	}
	switch l.Policy {
	case Deny:
		return false
	case AllAuthenticated:
		return v.Client != ""
	case ClusterUnauthenticated:
		return l.inside(v.From)
	case ClusterAuthenticated:
		return v.Client != "" && l.inside(v.From)
	}
	return true
}

func (l Linkerd) inside(a netip.Addr) bool {
	networks := l.Networks
	if networks == nil {
		for _, text := range []string{"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fd00::/8", "127.0.0.0/8"} {
			networks = append(networks, netip.MustParsePrefix(text))
		}
	}
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}

// l5dClient is the header by which Linkerd tells who came.
func l5dClient(v Visit, h http.Header) {
	h.Del("l5d-client-id")
	if v.Client != "" {
		h.Set("l5d-client-id", v.Client)
	}
}
