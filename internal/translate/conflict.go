package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// Two listeners conflict when some traffic could belong to both. UDP and TCP
// ports are different ports. On one TCP port a TCP listener tolerates no other,
// clear text and TLS tolerate no mixture, and what is left is told apart by
// hostname; TLS settings never tell listeners apart.
//
// Among the listeners of one object there is no winner: all that conflict are
// refused. Across objects the precedence of ListenerSets decides, so only the
// later one is refused. What one object's own conflict took off the network
// still holds its port and hostname: a mistake in a Gateway is no way for a
// ListenerSet to take its traffic.

// findConflicts refuses the listeners that conflict.
func (t *translation) findConflicts() {
	holders := map[int32][]*listener{}
	for start := 0; start < len(t.listeners); {
		end := start
		for end < len(t.listeners) && t.listeners[end].owner == t.listeners[start].owner {
			end++
		}
		t.conflictsOf(t.listeners[start:end], holders)
		start = end
	}
}

// conflictsOf judges the listeners of one object: first against what objects of
// higher precedence hold, then those that are left against each other. One that
// lost to an earlier object holds nothing, so it takes none of its siblings down.
func (t *translation) conflictsOf(own []*listener, holders map[int32][]*listener) {
	left := map[int32][]*listener{}
	for _, l := range own {
		if l.refused {
			continue
		}
		if other, reason := t.firstConflict(l, holders[l.spec.Port]); other != nil {
			t.conflicted(l, reason, fmt.Sprintf("another listener of Gateway %s, which comes first, holds port %d", t.key.path(), l.spec.Port))
			continue
		}
		left[l.spec.Port] = append(left[l.spec.Port], l)
	}
	for _, l := range own {
		if l.refused {
			continue
		}
		if other, reason := t.firstConflict(l, left[l.spec.Port]); other != nil {
			t.conflicted(l, reason, fmt.Sprintf("cannot be told apart from listener %s on port %d; neither is served", other.spec.Name, l.spec.Port))
		}
	}
	for port, list := range left {
		holders[port] = append(holders[port], list...)
	}
}

func (t *translation) firstConflict(l *listener, others []*listener) (*listener, string) {
	for _, o := range others {
		if o == l {
			continue
		}
		if reason := t.conflict(l, o); reason != "" {
			l.mixed = needsTLS(l) && needsTLS(o) && l.passthrough() != o.passthrough()
			return o, reason
		}
	}
	return nil, ""
}

// conflict says why two listeners on one port cannot both be served; "" is that
// they can.
func (t *translation) conflict(a, b *listener) string {
	ap, bp := a.protocol(), b.protocol()
	switch {
	case (ap == lbmodel.ProtocolUDP) != (bp == lbmodel.ProtocolUDP):
		return ""
	case ap == lbmodel.ProtocolUDP, ap == lbmodel.ProtocolTCP, bp == lbmodel.ProtocolTCP:
		return string(gwv1.ListenerReasonProtocolConflict)
	case needsTLS(a) != needsTLS(b):
		return string(gwv1.ListenerReasonProtocolConflict)
	case ap != bp && a.hostname == b.hostname:
		return string(gwv1.ListenerReasonProtocolConflict)
	case a.hostname == b.hostname:
		return string(gwv1.ListenerReasonHostnameConflict)
	case needsTLS(a) && a.passthrough() != b.passthrough() && !t.class.offers(lbmodel.FeatureTLSMixed):
		return string(gwv1.ListenerReasonProtocolConflict)
	default:
		return ""
	}
}

// conflicted reports both sides of it: Conflicted=True and Accepted=False.
func (t *translation) conflicted(l *listener, reason, detail string) {
	t.find(lbmodel.Finding{About: l.source(), Condition: condConflicted, Reason: reason, Detail: detail, Code: lbmodel.CodeConflict})
	t.refuse(l, reason, detail, lbmodel.CodeConflict)
}

// overlaps reports listeners whose TLS settings a reused connection could mix
// up: hostnames on one port where one covers the other, or certificates that are
// good for a name of both. It is a warning; both are served.
func (t *translation) overlaps() {
	for i, a := range t.listeners {
		for _, b := range t.listeners[i+1:] {
			if a.spec.Port != b.spec.Port || !needsTLS(a) || !needsTLS(b) || a.refused || b.refused {
				continue
			}
			if reason := t.overlap(a, b); reason != "" {
				t.overlapping(a, b, reason)
				t.overlapping(b, a, reason)
			}
		}
	}
}

func (t *translation) overlapping(l, with *listener, reason string) {
	t.find(lbmodel.Finding{About: l.source(), Condition: condOverlapping, Reason: reason, Code: lbmodel.CodeOK,
		Detail: fmt.Sprintf("a client that reuses a connection can reach this listener with the TLS settings of %s, and the other way round", with.model.Name)})
}

func (t *translation) overlap(a, b *listener) string {
	for _, name := range t.certificateNames(a) {
		for _, other := range t.certificateNames(b) {
			if _, ok := lbmodel.IntersectHostnames(name, other); ok {
				return string(gwv1.ListenerReasonOverlappingCertificates)
			}
		}
	}
	if _, ok := lbmodel.IntersectHostnames(a.hostname, b.hostname); ok {
		return string(gwv1.ListenerReasonOverlappingHostnames)
	}
	return ""
}

func (t *translation) certificateNames(l *listener) []string {
	if l.model.TLS == nil {
		return nil
	}
	var names []string
	for _, id := range l.model.TLS.Certificates {
		if leaf := t.identities[id].Leaf; leaf != nil {
			names = append(names, leaf.DNSNames...)
		}
	}
	return names
}
