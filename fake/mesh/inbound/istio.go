package inbound

import (
	"slices"
	"strings"
)

// Istio is a sidecar: the inbound filter chains that istiod programs, in their
// order. SNI never matters.
type Istio struct {
	Mode         Mode     // "" is Permissive, as in an installation without PeerAuthentication
	Protocol     Protocol // of the Service's port
	Undeclared   bool     // no Service names the port: it is dealt with as Auto
	TrustDomains []string // whose clients are taken; nil is cluster.local
	Policy       *Policy  // nil: no AuthorizationPolicy selects the pod
}

// Policy is an AuthorizationPolicy with action ALLOW. With Paths it reads HTTP, and
// then never matches where the proxy reads only bytes.
type Policy struct {
	Principals []string // cluster.local/ns/…/sa/…; nil is everybody
	Paths      []string // nil is all
}

// The ALPN protocols that only Istio's own proxies offer.
const (
	ALPNIstio        = "istio"
	ALPNPeerExchange = "istio-peer-exchange"
	ALPNIstioHTTP10  = "istio-http/1.0"
	ALPNIstioHTTP11  = "istio-http/1.1"
	ALPNIstioH2      = "istio-h2"
)

// match is a filter chain's: what a connection must be like.
type match struct {
	tls   bool
	offer []string // the client offers one of these; nil is no matter
	chain Chain
}

func (m match) fits(h Hello) bool {
	return m.tls == h.TLS && (m.offer == nil || overlap(m.offer, h.ALPN) != "")
}

// overlap is the first of ours that they have too.
func overlap(ours, theirs []string) string {
	for _, o := range ours {
		if slices.Contains(theirs, o) {
			return o
		}
	}
	return ""
}

// Accept implements Proxy.
func (i Istio) Accept(h Hello) Chain {
	if h.Own {
		return Chain{Name: "no listener", Do: Reset}
	}
	for _, m := range i.matches() {
		if m.fits(h) {
			return m.chain
		}
	}
	return Chain{Name: "no filter chain found", Do: Reset}
}

// Healthy implements Proxy: 15021 has the proxy's own answer, 15020 asks the
// application for /app-health.
func (Istio) Healthy(path string) bool { return path == "/healthz/ready" }

// matches are pilot's: filterchain_options.go and listener.go.
func (i Istio) matches() []match {
	http := []string{ALPNIstioHTTP10, ALPNIstioHTTP11, ALPNIstioH2}
	stream := []string{ALPNPeerExchange, ALPNIstio}
	all := slices.Concat(stream, http)
	protocol := i.Protocol
	if i.Undeclared {
		protocol = Auto
	}
	switch protocol {
	case HTTP, HTTP2:
		return i.pick(
			[]match{{tls: true, chain: i.mutual(Web)}},
			[]match{{tls: true, offer: all, chain: i.mutual(Web)}, {chain: i.raw(Web)}},
			// Without a TLS inspector a ClientHello is as clear text as anything.
			[]match{{chain: i.raw(Web)}, {tls: true, chain: i.raw(Web)}})
	case TCP:
		return i.pick(
			[]match{{tls: true, chain: i.mutual(Bytes)}},
			[]match{{tls: true, offer: all, chain: i.mutual(Bytes)}, {chain: i.raw(Bytes)}, {tls: true, chain: i.raw(Bytes)}},
			[]match{{chain: i.raw(Bytes)}, {tls: true, chain: i.raw(Bytes)}})
	}
	return i.pick(
		[]match{{tls: true, offer: http, chain: i.mutual(Web)}, {tls: true, chain: i.mutual(Bytes)}},
		[]match{
			{tls: true, offer: http, chain: i.mutual(Web)},
			{tls: true, offer: stream, chain: i.mutual(Bytes)},
			{chain: i.raw(Detect)},
			{tls: true, chain: i.raw(Bytes)},
		},
		[]match{{chain: i.raw(Detect)}, {tls: true, chain: i.raw(Bytes)}})
}

func (i Istio) pick(strict, permissive, disabled []match) []match {
	switch i.Mode {
	case Strict:
		return strict
	case Disable:
		return disabled
	}
	return permissive
}

// mutual ends TLS and asks for a client of a known trust domain.
func (i Istio) mutual(read Layer) Chain {
	c := Chain{
		Name: "mTLS " + string(read), Do: Terminate, Read: read,
		ALPN:     []string{"h2", "http/1.1"},
		Prefixes: trustDomains(i.TrustDomains),
		Admit:    i.admit(),
		Tell:     forwardedClientCert,
	}
	if read == Bytes {
		c.ALPN = append([]string{ALPNPeerExchange}, c.ALPN...)
	}
	return c
}

func (i Istio) raw(read Layer) Chain {
	return Chain{Name: "raw " + string(read), Do: Pass, Read: read, Admit: i.admit()}
}

// trustDomains are the prefixes that URIs of some trust domains have.
func trustDomains(all []string) []string {
	if all == nil {
		all = []string{"cluster.local"}
	}
	var out []string
	for _, td := range all {
		out = append(out, "spiffe://"+td+"/")
	}
	return out
}

func (i Istio) admit() func(Visit) bool {
	if i.Policy == nil {
		return nil
	}
	return i.Policy.allows
}

func (p *Policy) allows(v Visit) bool {
	principal := strings.TrimPrefix(v.Client, "spiffe://")
	return (p.Principals == nil || slices.Contains(p.Principals, principal)) &&
		(p.Paths == nil || slices.Contains(p.Paths, v.Path))
}
