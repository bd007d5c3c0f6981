package translate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// gatewayListeners are the statuses of a Gateway's listeners, in spec's order.
func (v *gatewayView) gatewayListeners(g *gwv1.Gateway) []gwv1.ListenerStatus {
	var out []gwv1.ListenerStatus
	for _, l := range v.own() {
		var have []metav1.Condition
		if i := slices.IndexFunc(g.Status.Listeners, func(s gwv1.ListenerStatus) bool { return s.Name == l.spec.Name }); i >= 0 {
			have = g.Status.Listeners[i].Conditions
		}
		c := newConditions(have, g.Generation, v.w.now)
		v.listener(l, c)
		out = append(out, gwv1.ListenerStatus{
			Name: l.spec.Name, SupportedKinds: supported(l), AttachedRoutes: v.attached[l], Conditions: c.list,
		})
	}
	return out
}

// supported is never nil: the field is required, and an empty list says that no
// kind of Route can attach. Of TLS modes that cannot be mixed the conformance suite
// wants none.
func supported(l *listener) []gwv1.RouteGroupKind {
	if l.kinds == nil || l.mixed {
		return []gwv1.RouteGroupKind{}
	}
	return l.kinds
}

// listener writes one listener's conditions.
func (v *gatewayView) listener(l *listener, c *conditionList) {
	findings := v.about(l.source())
	accepted, conflicted := yes(string(gwv1.ListenerReasonAccepted), ""), no(string(gwv1.ListenerReasonNoConflicts), "")
	if bad, ok := firstOf(findings, condAccepted); ok {
		accepted = bad
	}
	if bad, ok := firstOf(findings, condConflicted); ok {
		conflicted = yes(bad.reason, bad.message)
	}
	resolved := yes(string(gwv1.ListenerReasonResolvedRefs), "")
	if bad, ok := firstOf(findings, condResolvedRefs); ok {
		resolved = bad
	}
	c.set(condAccepted, accepted)
	c.set(condConflicted, conflicted)
	c.set(condResolvedRefs, resolved)
	if programmed, known := v.listenerProgrammed(l, accepted, conflicted); known {
		c.set(condProgrammed, programmed)
	}
	overlap, exists := firstOf(findings, condOverlapping)
	if exists {
		overlap.status = metav1.ConditionTrue
	}
	c.put(condOverlapping, overlap)
}

func (v *gatewayView) listenerProgrammed(l *listener, accepted, conflicted verdict) (verdict, bool) {
	switch {
	case conflicted.status == metav1.ConditionTrue:
		return no(conflicted.reason, conflicted.message), true
	case accepted.status == metav1.ConditionFalse:
		return no(reasonInvalid, accepted.message), true
	case l.dropped:
		return no(reasonInvalid, v.nothingToServeWith(l)), true
	case !v.accepted:
		return no(reasonInvalid, v.notAccepted()), true
	case !v.applied:
		return verdict{}, false
	}
	if bad, ok := firstOf(v.about(l.source()), condProgrammed); ok {
		return bad, true
	}
	if err := v.failureOf(l.model); err != nil {
		reason := failureReason(lbmodel.CodeOf(err))
		return no(reason, err.Error()), reason != ""
	}
	gateway, known := v.gatewayProgrammed()
	if gateway.status == metav1.ConditionFalse {
		gateway.reason = reasonPending
	} else {
		gateway.reason = string(gwv1.ListenerReasonProgrammed)
	}
	return gateway, known
}

// nothingToServeWith says why none of a listener's certificates is good, and what
// becomes of the one that it had: taking a listener away may need somebody's word.
func (v *gatewayView) nothingToServeWith(l *listener) string {
	var bad []string
	for _, f := range v.about(l.source()) {
		if f.Reason == string(gwv1.ListenerReasonInvalidCertificateRef) || f.Reason == reasonRefNotPermitted {
			bad = append(bad, f.Detail)
		}
	}
	message := "no certificate reference is good, so there is nothing to serve with: " + several(bad)
	if v.waits() {
		message += ". If the listener was served before, it still is, with the certificate that it had: the change that takes it away waits, see " + CondInSync
	}
	return message
}

// listenerSet writes the status of a ListenerSet, which sums up its own
// listeners alone, except that a parent that is down takes it down.
func (w *statusWriter) listenerSet(v *gatewayView, s *setState) {
	want := s.obj.Status.DeepCopy()
	c := newConditions(s.obj.Status.Conditions, s.obj.Generation, w.now)
	c.set(condAccepted, v.setAccepted(s))
	if programmed, known := v.setProgrammed(s); known {
		c.set(condProgrammed, programmed)
	}
	want.Conditions = c.list
	want.Listeners = nil
	for _, l := range s.listeners {
		var have []metav1.Condition
		if i := slices.IndexFunc(s.obj.Status.Listeners, func(e gwv1.ListenerEntryStatus) bool { return e.Name == l.spec.Name }); i >= 0 {
			have = s.obj.Status.Listeners[i].Conditions
		}
		lc := newConditions(have, s.obj.Generation, w.now)
		v.listener(l, lc)
		want.Listeners = append(want.Listeners, gwv1.ListenerEntryStatus{
			Name: l.spec.Name, SupportedKinds: supported(l), AttachedRoutes: v.attached[l], Conditions: lc.list,
		})
	}
	w.patch(s.key, s.obj, &s.obj.Status, want)
}

func (v *gatewayView) setAccepted(s *setState) verdict {
	if bad, ok := firstOf(v.about(s.key.source("")), condAccepted); ok {
		return bad
	}
	if !v.accepted && !v.onlyListeners() {
		return no(string(gwv1.ListenerSetReasonParentNotAccepted), "the parent Gateway is not accepted")
	}
	good := 0
	for _, l := range s.listeners {
		if !v.refused(l) && !l.dropped {
			good++
		}
	}
	switch {
	case good == 0:
		return no(string(gwv1.ListenerSetReasonListenersNotValid), "no listener of the set can be served")
	case good < len(s.listeners):
		return yes(string(gwv1.ListenerSetReasonListenersNotValid), "some listeners of the set cannot be served")
	default:
		return yes(string(gwv1.ListenerSetReasonAccepted), "")
	}
}

// onlyListeners says whether the Gateway itself is fine and merely has no valid
// listener of its own: its ListenerSets may have.
func (v *gatewayView) onlyListeners() bool {
	return v.acceptedVerdict.reason == string(gwv1.GatewayReasonListenersNotValid)
}

func (v *gatewayView) setProgrammed(s *setState) (verdict, bool) {
	accepted := v.setAccepted(s)
	switch {
	case accepted.reason == string(gwv1.ListenerSetReasonParentNotAccepted):
		return no("ParentNotProgrammed", "the parent Gateway is not programmed"), true
	case accepted.status == metav1.ConditionFalse:
		return no(accepted.reason, accepted.message), true
	case !v.applied:
		return verdict{}, false
	}
	gateway, known := v.gatewayProgrammed()
	if gateway.status == metav1.ConditionFalse {
		return no("ParentNotProgrammed", gateway.message), true
	}
	return yes(string(gwv1.ListenerSetReasonProgrammed), ""), known
}
