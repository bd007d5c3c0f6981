package meshsync

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// The protocols of applications, as ALPN names them (RFC 7301, RFC 9113).
const (
	alpnHTTP1 = "http/1.1"
	alpnHTTP2 = "h2"
)

// talk is what is spoken over TLS with a proxy that ends it.
type talk struct {
	protocol lbmodel.PoolProtocol
	alpn     []string // see lbmodel.BackendTLS
	noALPN   bool
	losses   []Loss
}

// attempt is a protocol to try.
type attempt struct {
	protocol lbmodel.PoolProtocol
	// app says that the application itself speaks it, so that it may be spoken
	// through a proxy that reads nothing.
	app bool
	// bytes takes only proxies that read nothing.
	bytes bool
	loss  Loss
}

// attempts are the protocols that a hop could speak, what it asks for first.
// Clear-text HTTP/2 and gRPC never become HTTP/1.1: the application may speak
// nothing else. TCP may be anything, so a proxy that reads HTTP is only taken where
// there is no other way.
func attempts(protocol lbmodel.PoolProtocol) []attempt {
	switch protocol {
	case lbmodel.PoolH2C:
		return []attempt{{protocol: lbmodel.PoolHTTP2, app: true}}
	case lbmodel.PoolHTTP2:
		return []attempt{{protocol: lbmodel.PoolHTTP2}, {protocol: lbmodel.PoolHTTP1, app: true, loss: LossHTTP2}}
	case lbmodel.PoolTCP:
		return []attempt{{protocol: lbmodel.PoolTCP, app: true, bytes: true}, {protocol: lbmodel.PoolTCP, app: true}}
	default:
		return []attempt{{protocol: protocol, app: true}}
	}
}

// isHTTP2 says whether the protocol is HTTP/2 when it is spoken over TLS.
func isHTTP2(p lbmodel.PoolProtocol) bool {
	return p == lbmodel.PoolHTTP2 || p == lbmodel.PoolH2C || p == lbmodel.PoolGRPC
}

// standardALPN is what a client may offer that nobody tells what to offer: any of
// these lists.
func standardALPN(p lbmodel.PoolProtocol) [][]string {
	if isHTTP2(p) {
		return [][]string{{alpnHTTP2}}
	}
	return [][]string{{alpnHTTP1}, nil}
}

// negotiate picks the first chain, and what to offer for it, with which a provider
// can speak the hop's protocol; or says why there is none.
func (j judgement) negotiate() (talk, []lack) {
	reached := false
	for _, a := range attempts(j.hop.Protocol) {
		for i := range j.in.Chains {
			found, hit := j.over(i, a)
			if found != nil {
				return *found, nil
			}
			reached = reached || hit
		}
	}
	if reached {
		return talk{}, []lack{j.noALPN()}
	}
	return talk{}, []lack{{j.unended(), "the proxy ends no TLS that the provider can offer"}}
}

// over tries to reach a chain and speak the attempt's protocol over it; hit says
// that it was reached at all.
func (j judgement) over(i int, a attempt) (found *talk, hit bool) {
	chain := &j.in.Chains[i]
	for _, o := range j.offers(chain, a.protocol) {
		if !o.reaches(j.in.Chains, i) {
			continue
		}
		hit = true
		if !j.speaks(a.protocol) || !o.agrees(chain, a.protocol) || !a.suits(chain) {
			continue
		}
		t := o.talk
		t.protocol = a.protocol
		if !chain.HTTP && j.hop.Protocol != lbmodel.PoolTCP {
			t.losses = append(t.losses, LossL7Policy)
		}
		if a.loss != "" {
			t.losses = append(t.losses, a.loss)
		}
		return &t, true
	}
	return nil, hit
}

// speaks says whether the provider speaks HTTP/2 over TLS where that takes an
// ability.
func (j judgement) speaks(p lbmodel.PoolProtocol) bool {
	return !isHTTP2(p) || j.has.Offers(lbmodel.Feature(p))
}

// suits says whether the proxy reads what it must. Behind one that reads nothing,
// the application would get the bytes of an HTTP/2 that it never agreed to.
func (a attempt) suits(c *Chain) bool {
	if c.HTTP {
		return !a.bytes
	}
	return a.app
}

// offer is what a client can be made to offer.
type offer struct {
	talk
	sent [][]string // what is on the wire: any of these
}

// offers are what the provider can offer for a chain, the least settings first.
func (j judgement) offers(c *Chain, p lbmodel.PoolProtocol) []offer {
	out := []offer{{sent: standardALPN(p)}}
	if !j.has.Offers(lbmodel.FeatureBackendTLSALPN) {
		return out
	}
	for _, name := range c.Offer {
		out = append(out, offering(withOwn(name, p)), offering([]string{name}))
	}
	return append(out, offer{talk: talk{noALPN: true}, sent: [][]string{nil}})
}

func offering(names []string) offer {
	return offer{talk: talk{alpn: names}, sent: [][]string{names}}
}

// withOwn is a mesh's ALPN protocol next to the one that will be spoken.
func withOwn(name string, p lbmodel.PoolProtocol) []string {
	own := alpnHTTP1
	if isHTTP2(p) {
		own = alpnHTTP2
	}
	if name == own || p == lbmodel.PoolTCP {
		return []string{name}
	}
	return []string{name, own}
}

// reaches says whether the proxy takes chain i, whichever list is sent.
func (o offer) reaches(chains []Chain, i int) bool {
	return !slices.ContainsFunc(o.sent, func(sent []string) bool { return reach(chains, sent) != i })
}

// reach is the chain that the proxy takes for what the client sends; -1 is none.
func reach(chains []Chain, sent []string) int {
	return slices.IndexFunc(chains, func(c Chain) bool {
		return len(c.Offer) == 0 || slices.ContainsFunc(c.Offer, func(name string) bool { return slices.Contains(sent, name) })
	})
}

// agrees says whether what is negotiated is what is spoken, whichever list is sent.
func (o offer) agrees(c *Chain, p lbmodel.PoolProtocol) bool {
	return !slices.ContainsFunc(o.sent, func(sent []string) bool {
		if isHTTP2(p) {
			return selected(c.Selects, sent) != alpnHTTP2 && !priorKnowledge(c, sent)
		}
		got := selected(c.Selects, sent)
		return got != alpnHTTP1 && got != ""
	})
}

// priorKnowledge says whether HTTP/2 can be spoken without having been negotiated
// (RFC 9113, section 3.3): by a client that did not ask for it, since one that did
// must give up, to a proxy that negotiates no HTTP at all, since one that names
// HTTP/1.1 only means that.
func priorKnowledge(c *Chain, sent []string) bool {
	return selected(c.Selects, sent) == "" && !slices.Contains(sent, alpnHTTP2) && !slices.Contains(c.Selects, alpnHTTP1)
}

// selected is what a proxy negotiates: its own favourite among what is sent.
func selected(favourites, sent []string) string {
	i := slices.IndexFunc(favourites, func(name string) bool { return slices.Contains(sent, name) })
	if i < 0 {
		return ""
	}
	return favourites[i]
}
