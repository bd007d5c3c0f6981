package inbound

import "strings"

// Consul is a Consul Connect sidecar: one public listener that ends mutual TLS
// whatever the client offers, and asks intentions who may come.
type Consul struct {
	Protocol   Protocol // of service-defaults: HTTP, HTTP2 (gRPC too); everything else is TCP
	Permissive bool     // mutualTLSMode permissive: the application's port takes clear text
	// Bare says that nothing redirects the application's port to the proxy (no
	// transparent proxy); ProxyAddr is the public listener in any case.
	Bare        bool
	TrustDomain string // <uuid>.consul; "" takes any
	Intentions  []Intention
	// Refuse is the ACL default policy deny: whom no intention names is refused.
	Refuse bool
}

// Intention lets a source service in or keeps it out.
type Intention struct {
	Source string // the service's name; "*" is any
	Deny   bool
}

// Accept implements Proxy.
func (c Consul) Accept(h Hello) Chain {
	if !h.Own && (c.Bare || c.Permissive) {
		return Chain{Name: "bypass", Do: Pass}
	}
	out := Chain{Name: "public_listener", Do: Terminate, Read: Bytes, Admit: c.admit, Tell: forwardedClientCert}
	switch c.Protocol {
	case HTTP:
		out.ALPN, out.Read = []string{"http/1.1"}, Web
	case HTTP2:
		out.ALPN, out.Read = []string{"h2", "http/1.1"}, Web
	}
	if c.TrustDomain != "" {
		out.Prefixes = trustDomains([]string{c.TrustDomain})
	}
	return out
}

// Healthy implements Proxy: Consul's Envoy has /ready where envoy_ready_bind_port
// is set.
func (Consul) Healthy(path string) bool { return path == "/ready" }

// admit takes the first intention that names the source; an exact name is before
// the wildcard.
func (c Consul) admit(v Visit) bool {
	_, service, _ := strings.Cut(v.Client, "/svc/")
	for _, source := range []string{service, "*"} {
		for _, i := range c.Intentions {
			if i.Source == source {
				return !i.Deny
			}
		}
	}
	return !c.Refuse
}
