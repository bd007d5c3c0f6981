package translate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// gateway writes the status of a gateway and of its ListenerSets.
func (w *statusWriter) gateway(key Key, r Result) {
	g, ok := lookup[*gwv1.Gateway](w.x, key.Kind, key.Namespace, key.Name)
	if !ok {
		return
	}
	v := w.views[key]
	want := g.Status.DeepCopy()
	want.Listeners = v.gatewayListeners(g)
	want.AttachedListenerSets = v.attachedSets(g)
	if v.applied {
		want.Addresses = statusAddresses(v.outcome.Addresses)
	}
	c := newConditions(g.Status.Conditions, g.Generation, w.now)
	c.set(condAccepted, v.acceptedVerdict)
	c.set(condResolvedRefs, v.gatewayResolved())
	if verdict, known := v.gatewayProgrammed(); known {
		c.set(condProgrammed, verdict)
	} else if verdict, known := v.hindered(c.fresh(condProgrammed)); known {
		c.set(condProgrammed, verdict)
	}
	c.put(condInsecure, insecure(g))
	if verdict, known := v.meshMember(c.get(CondMeshMember)); known {
		c.put(CondMeshMember, verdict)
	}
	if verdict, known := v.inSync(); known {
		c.set(CondInSync, verdict)
	}
	want.Conditions = c.list
	w.patch(key, g, &g.Status, want)
	for _, s := range r.sets {
		w.listenerSet(v, s)
	}
}

// statusAddresses are as many as a status may hold.
func statusAddresses(in []lbmodel.Address) []gwv1.GatewayStatusAddress {
	var out []gwv1.GatewayStatusAddress
	for _, a := range in[:min(len(in), maxAddresses)] {
		kind := gwv1.AddressType(a.Type)
		address := gwv1.GatewayStatusAddress{Type: &kind, Value: a.Value}
		if a.Routability != "" {
			r := gwv1.GatewayAddressRoutabilityType(a.Routability)
			address.Routability = &r
		}
		out = append(out, address)
	}
	return out
}

// insecure is the warning that some client validation lets everybody through.
func insecure(g *gwv1.Gateway) verdict {
	if g.Spec.TLS == nil {
		return verdict{}
	}
	for _, v := range frontendValidations(g.Spec.TLS.Frontend) {
		if v.Mode == gwv1.AllowInsecureFallback {
			return yes(string(gwv1.GatewayReasonConfigurationChanged),
				"spec.tls.frontend has mode AllowInsecureFallback: clients without a valid certificate get through")
		}
	}
	return verdict{}
}

// gatewayView is a gateway as its status sees it.
type gatewayView struct {
	w               *statusWriter
	key             Key
	result          Result
	outcome         Outcome
	applied         bool // there is an outcome
	findings        []lbmodel.Finding
	acceptedVerdict verdict
	accepted        bool
	entries         []routeEntry
	attached        map[*listener]int32 // accepted routes
}

func (w *statusWriter) view(key Key, r Result) *gatewayView {
	v := &gatewayView{w: w, key: key, result: r, findings: w.findings(key)}
	v.outcome, v.applied = w.outcomes[key]
	v.applied = v.applied && !v.outcome.Underway && v.outcome.Unseen == nil
	if r.Deleting && len(v.outcome.Failed) == 0 {
		v.applied = false // it wants nothing any more: what its status says of the cloud stays
	}
	v.acceptedVerdict = v.gatewayAccepted()
	v.accepted = v.acceptedVerdict.status == metav1.ConditionTrue
	v.attachRoutes()
	return v
}

// attachRoutes judges every parentRef and counts, at each listener, the routes
// that are accepted there, whatever becomes of the listener itself.
func (v *gatewayView) attachRoutes() {
	about := map[lbmodel.Source][]lbmodel.Finding{}
	for _, f := range v.findings {
		about[f.About.Object()] = append(about[f.About.Object()], f)
	}
	v.attached = map[*listener]int32{}
	for _, s := range v.result.routes {
		counted := map[*listener]bool{}
		for _, p := range s.parents {
			e := routeEntry{gateway: v, state: s, parent: p}
			for _, f := range about[s.route.key.source("")] {
				if e.concerns(f) {
					e.findings = append(e.findings, f)
				}
			}
			v.entries = append(v.entries, e)
			v.count(e, counted)
		}
	}
}

func (v *gatewayView) count(e routeEntry, counted map[*listener]bool) {
	accepted, _ := e.accepted()
	for _, a := range e.parent.listeners {
		if accepted.status == metav1.ConditionTrue && !counted[a.listener] {
			counted[a.listener] = true
			v.attached[a.listener]++
		}
	}
}

// about are the findings about exactly this source.
func (v *gatewayView) about(s lbmodel.Source) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, f := range v.findings {
		if f.About == s {
			out = append(out, f)
		}
	}
	return out
}

// aboutItself are the findings about the Gateway and not about a listener of it:
// about all of it, or about a field such as addresses[1], which is no listener's
// name.
func (v *gatewayView) aboutItself() []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, f := range v.findings {
		if isAbout(f, v.key) {
			out = append(out, f)
		}
	}
	return out
}

func isAbout(f lbmodel.Finding, gateway Key) bool {
	return f.About.Object() == gateway.source("") && (f.About.Section == "" || strings.HasSuffix(f.About.Section, "]"))
}

// own are the Gateway's own listeners; those of ListenerSets count for their set
// alone.
func (v *gatewayView) own() []*listener { return v.of(v.key) }

func (v *gatewayView) of(owner Key) []*listener {
	var out []*listener
	for _, l := range v.result.listeners {
		if l.owner == owner {
			out = append(out, l)
		}
	}
	return out
}

// refused says whether a listener is not accepted, by us or by its provider.
func (v *gatewayView) refused(l *listener) bool {
	_, bad := firstOf(v.about(l.source()), condAccepted)
	return l.refused || bad
}

func (v *gatewayView) gatewayAccepted() verdict {
	if bad, ok := firstOf(v.aboutItself(), condAccepted); ok {
		return bad
	}
	var refused, useless []string
	for _, l := range v.own() {
		switch {
		case v.refused(l):
			refused = append(refused, string(l.spec.Name))
		case l.dropped:
			useless = append(useless, string(l.spec.Name))
		}
	}
	reason, what := string(gwv1.GatewayReasonListenersNotValid), "listener"
	if v.key.Kind == KindService {
		reason, what = reasonPortsNotValid, "port"
	}
	message := fmt.Sprintf("not served: %ss %s", what, strings.Join(slices.Concat(refused, useless), ", "))
	switch {
	case len(refused) > 0 && len(refused) == len(v.own()):
		return no(reason, fmt.Sprintf("%s; no %s is valid", message, what))
	case len(refused)+len(useless) > 0:
		return yes(reason, message)
	case v.result.loopback:
		return yes(string(gwv1.GatewayReasonAccepted), "the class's settings let traffic go to loopback addresses (allowLoopbackEndpoints)")
	default:
		return yes(string(gwv1.GatewayReasonAccepted), "")
	}
}

// gatewayResolved is about the Gateway's own references, then sums up its
// listeners'.
func (v *gatewayView) gatewayResolved() verdict {
	if bad, ok := firstOf(v.aboutItself(), condResolvedRefs); ok {
		return bad
	}
	var unresolved []string
	for _, l := range v.own() {
		if bad, ok := firstOf(v.about(l.source()), condResolvedRefs); ok {
			unresolved = append(unresolved, fmt.Sprintf("listener %s: %s", l.spec.Name, bad.message))
		}
	}
	if len(unresolved) == 0 {
		return yes(string(gwv1.GatewayReasonResolvedRefs), "")
	}
	return no(string(gwv1.GatewayReasonListenersNotResolved), several(unresolved))
}

// gatewayProgrammed is about the cloud; without an outcome there is no news.
func (v *gatewayView) gatewayProgrammed() (verdict, bool) {
	if !v.accepted {
		return no(reasonInvalid, v.notAccepted()), true
	}
	if bad, ok := firstOf(v.aboutItself(), condProgrammed); ok {
		return bad, true
	}
	if !v.applied {
		return verdict{}, false
	}
	if bad, ok := v.failure(v.concernsGateway); ok {
		return bad, bad.reason != ""
	}
	switch {
	case v.outcome.Pending:
		return no(reasonPending, "the provider has accepted the changes and is working on them"), true
	case len(v.outcome.Addresses) == 0:
		return no(string(gwv1.GatewayReasonAddressNotAssigned), "no address has been assigned yet"), true
	case len(v.result.Gateway.Listeners) == 0:
		return no(reasonInvalid, "no listener can be served"), true
	default:
		return yes(string(gwv1.GatewayReasonProgrammed), ""), true
	}
}

// notAccepted is what it means for the cloud that an object is not accepted.
func (v *gatewayView) notAccepted() string {
	if v.untouched() {
		return fmt.Sprintf("the %s is not accepted: nothing new is made for it, and what is in the cloud stays as it is", v.key.Kind)
	}
	return fmt.Sprintf("the %s is not accepted", v.key.Kind)
}

// untouched says that a Gateway itself, and not merely each of its listeners, is not
// accepted: then its last good state goes on being served.
func (v *gatewayView) untouched() bool { return Untouched(v.result, v.findings) }

// Untouched says whether something about a Gateway itself, such as an address of a
// type that its provider does not have, keeps it from being accepted: what it would
// come to without that is nothing that anybody has asked for, so its structure stays
// as it is. findings are those of its result and of its provider.
//
// A single listener, rule or certificate that is refused costs itself alone, and a
// Gateway that is going wants nothing any more.
func Untouched(r Result, findings []lbmodel.Finding) bool {
	o := r.Gateway.Owner
	if r.Deleting || o.Kind != KindGateway {
		return false
	}
	itself := Key{o.Kind, o.Namespace, o.Name}
	return slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return f.Condition == condAccepted && isAbout(f, itself) })
}

// inSync is gatehouse.dev/InSync. Of what is not accepted nothing can be as wanted.
func (v *gatewayView) inSync() (verdict, bool) {
	switch s := v.outcome.Sync; {
	case !v.accepted && !v.result.Deleting && (s.Reason == InSync || !v.applied):
		return no(string(NotAccepted), v.notAccepted()), true
	case v.outcome.Unseen != nil:
		open := "whether what is there is what is wanted"
		if v.outcome.Unplanned && !v.result.Deleting {
			open += ", nor, since this manager started, whether all that is wanted can be had"
		}
		return verdict{metav1.ConditionUnknown, string(Unseen), fmt.Sprintf(
			"the cloud cannot be looked at (%s), so nobody can say %s; it is tried again", lbmodel.CodeOf(v.outcome.Unseen), open)}, true
	case s.Reason == "":
		return verdict{}, false
	case s.Reason == InSync:
		return yes(string(s.Reason), s.Detail), true
	default:
		return no(string(s.Reason), s.Detail), true
	}
}

// waits says whether changes of the gateway are not made yet.
func (v *gatewayView) waits() bool {
	sync, known := v.inSync()
	return known && sync.status != metav1.ConditionTrue
}

// concernsGateway says whether a failed step is the Gateway's business: every one
// but those of single listeners, as long as there are others that are spared.
func (v *gatewayView) concernsGateway(s lbmodel.Source) bool {
	listeners := v.result.Gateway.Listeners
	needed := slices.ContainsFunc(listeners, func(l lbmodel.Listener) bool { return slices.Contains(v.needsOf(l), s) })
	spared := slices.ContainsFunc(listeners, func(l lbmodel.Listener) bool { return v.failureOf(l) == nil })
	return !needed || !spared
}

// needsOf are the sources without which a listener cannot be served: its own, and
// those of what its TLS is made of.
func (v *gatewayView) needsOf(l lbmodel.Listener) []lbmodel.Source {
	out := []lbmodel.Source{l.Source}
	if l.TLS == nil {
		return out
	}
	for _, id := range v.result.Gateway.Identities {
		if slices.Contains(l.TLS.Certificates, id.Name) {
			out = append(out, id.Source)
		}
	}
	for _, trust := range v.result.Gateway.Trust {
		if l.TLS.Validation != nil && trust.Name == l.TLS.Validation.Trust {
			out = append(out, trust.Source)
		}
	}
	return out
}

// failureOf is the error of the first step that failed and that a listener needs.
func (v *gatewayView) failureOf(l lbmodel.Listener) error {
	for _, s := range v.needsOf(l) {
		if err := v.outcome.Failed[s]; err != nil {
			return err
		}
	}
	return nil
}

// failure is the first failed step of those that concern, by source. Its reason
// is "" where the error only means to try again.
func (v *gatewayView) failure(concerns func(lbmodel.Source) bool) (verdict, bool) {
	var sources []lbmodel.Source
	for s := range v.outcome.Failed {
		if concerns(s) {
			sources = append(sources, s)
		}
	}
	if len(sources) == 0 {
		return verdict{}, false
	}
	slices.SortFunc(sources, func(a, b lbmodel.Source) int { return strings.Compare(a.String(), b.String()) })
	for _, s := range sources {
		err := v.outcome.Failed[s]
		if reason := failureReason(lbmodel.CodeOf(err)); reason != "" {
			return no(reason, fmt.Sprintf("%s: %v", s, err)), true
		}
	}
	return verdict{}, true
}

// attachedSets counts accepted ListenerSets. A Gateway that never heard of
// ListenerSets keeps the field unset.
func (v *gatewayView) attachedSets(g *gwv1.Gateway) *int32 {
	if len(v.result.sets) == 0 && g.Spec.AllowedListeners == nil && g.Status.AttachedListenerSets == nil {
		return nil
	}
	var n int32
	for _, s := range v.result.sets {
		if v.setAccepted(s).status == metav1.ConditionTrue {
			n++
		}
	}
	return &n
}
