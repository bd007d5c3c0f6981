package translate

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// sniEntry is a TLSRoute at a listener, claim a TCPRoute or UDPRoute.
type sniEntry struct {
	rule     lbmodel.SNIRule
	original string
	route    *route
}

type claim struct {
	route   *route
	forward lbmodel.Forward
}

// addL4Route forwards connections or flows. What a terminating listener decrypts
// may be encrypted again towards the backend, so it is a hop of our own with a
// TLS policy; otherwise the bytes are the client's and stay as they are.
func (t *translation) addL4Route(s *routeState) {
	s.rules = 1
	attachments := s.attachments()
	if len(attachments) == 0 {
		t.forwardL4(s, passedOn)
		return
	}
	forwards := map[streamMode]lbmodel.Forward{}
	for _, a := range attachments {
		mode := a.listener.streamMode()
		f, done := forwards[mode]
		if !done {
			f = t.forwardL4(s, mode)
			forwards[mode] = f
		}
		a.listener.addL4(s.route, a.names, f)
	}
}

// streamMode says whose bytes a listener forwards.
type streamMode uint8

const (
	passedOn  streamMode = iota // the client's, as they are
	decrypted                   // ours: a TLS listener ended the client's session
)

func (l *listener) streamMode() streamMode {
	if l.protocol() == lbmodel.ProtocolTLS && !l.passthrough() {
		return decrypted
	}
	return passedOn
}

func (l *listener) addL4(r *route, names []hostname, f lbmodel.Forward) {
	if r.key.Kind != KindTLSRoute {
		l.claims = append(l.claims, claim{r, f})
		return
	}
	for _, h := range names {
		l.sni = append(l.sni, sniEntry{
			rule:     lbmodel.SNIRule{Source: r.key.source("rules[0]"), Hostname: h.name, Forward: f},
			original: h.original, route: r,
		})
	}
}

func (t *translation) forwardL4(s *routeState, mode streamMode) lbmodel.Forward {
	var f lbmodel.Forward
	for i, b := range s.route.l4Backends() {
		at := ruleContext{state: s, section: fmt.Sprintf("rules[0].backendRefs[%d]", i), terminated: mode == decrypted}
		f.Backends = append(f.Backends, t.backend(at, b))
	}
	f.Backends = t.spread(f.Backends)
	return f
}

// finishSNI orders the names of a TLS listener. Of two routes with one name the
// first in precedence has it; the other is attached and waits.
func (l *listener) finishSNI() {
	slices.SortFunc(l.sni, func(a, b sniEntry) int {
		return cmp.Or(
			lbmodel.CompareHostnames(a.rule.Hostname, b.rule.Hostname),
			lbmodel.CompareHostnames(a.original, b.original),
			compareRoutes(a.route, b.route),
		)
	})
	for i, e := range l.sni {
		if i == 0 || l.sni[i-1].rule.Hostname != e.rule.Hostname {
			l.model.SNI = append(l.model.SNI, e.rule)
		}
	}
}

// finishForward gives the port to the oldest route (TCPRoute and UDPRoute have
// nothing to tell connections apart by). The others are attached and wait.
func (l *listener) finishForward() {
	if len(l.claims) == 0 {
		return
	}
	slices.SortFunc(l.claims, func(a, b claim) int { return compareRoutes(a.route, b.route) })
	first := l.claims[0]
	l.model.Forward, l.model.Route = &first.forward, first.route.key.source("rules[0]")
}

// weightOf is a backendRef's share, 1 by default, within the bounds of the API.
func weightOf(b gwv1.BackendRef) int32 { return min(max(deref(b.Weight, 1), 0), 1_000_000) }
