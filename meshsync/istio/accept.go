package istio

import "gatehouse.dev/meshsync"

// What a sidecar negotiates by ALPN: where it reads HTTP, and where it does not.
// Behind the latter "h2" is a trap: it means that the application gets HTTP/2.
func readsALPN() []string  { return []string{"h2", "http/1.1"} }
func passesALPN() []string { return []string{"istio-peer-exchange", "h2", "http/1.1"} }

func readsHTTP(offer ...string) meshsync.Chain {
	return meshsync.Chain{Offer: offer, Selects: readsALPN(), HTTP: true}
}

func passesBytes(offer ...string) meshsync.Chain {
	return meshsync.Chain{Offer: offer, Selects: passesALPN()}
}

// accepts sets what a sidecar does with a connection in a mode, to a port of a
// protocol: the filter chains of istiod's inbound listener, in order. SNI is never
// looked at.
func accepts(in *meshsync.Inbound, m Mode, p protocol) {
	in.Otherwise = meshsync.Resets
	in.Plain = m != Strict
	switch m {
	case Strict:
		in.Chains = strictChains(p)
	case Permissive:
		in.Chains = permissiveChains(p)
		in.Blocked = meshsync.ReasonPermissiveInbound
	default:
		in.Blocked = meshsync.ReasonInboundDisabled
	}
	if m != Strict && p != isHTTP {
		in.Otherwise = meshsync.Passes
	}
}

// strictChains are those of PERMISSIVE, and one for everybody else behind them. In
// istiod's listener each pair is one chain, and who offers Istio's ALPN gets what
// others get. It stands apart to be preferred: a hop that offers it works in both
// modes, so that a mode can change before the gateway hears of it.
func strictChains(p protocol) []meshsync.Chain {
	if p == isHTTP {
		return append(permissiveChains(p), readsHTTP())
	}
	return append(permissiveChains(p), passesBytes())
}

func permissiveChains(p protocol) []meshsync.Chain {
	switch p {
	case isHTTP:
		return []meshsync.Chain{readsHTTP(Offers()...)}
	case isAuto:
		return []meshsync.Chain{readsHTTP(ownHTTP()...), passesBytes(ownTCP()...)}
	default:
		return []meshsync.Chain{passesBytes(Offers()...)}
	}
}

// Istio's own clients say by ALPN whether they speak HTTP.
func ownTCP() []string  { return Offers()[:2] }
func ownHTTP() []string { return Offers()[2:] }
