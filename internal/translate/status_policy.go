package translate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/lbmodel"
)

// maxBackendAncestors bounds XBackend.status.ancestors.
const maxBackendAncestors = 32

// ancestorEntry is what one gateway says about a policy or backend that it uses.
type ancestorEntry struct {
	gateway    Key
	controller gwv1.GatewayController
	findings   []lbmodel.Finding
}

func (w *statusWriter) ancestorEntry(gateway, about Key) ancestorEntry {
	e := ancestorEntry{gateway: gateway, controller: w.controller(gateway)}
	for _, f := range w.findings(gateway) {
		if f.About.Object() == about.source("") {
			e.findings = append(e.findings, f)
		}
	}
	return e
}

// ref is the ancestorRef of a gateway.
func (e ancestorEntry) ref() gwv1.ParentReference {
	group, kind := gwv1.Group(groupGateway), gwv1.Kind(KindGateway)
	namespace := gwv1.Namespace(e.gateway.Namespace)
	return gwv1.ParentReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: gwv1.ObjectName(e.gateway.Name)}
}

// policies writes the ancestors of every BackendTLSPolicy that results concern.
func (w *statusWriter) policies() {
	entries, used := map[Key][]ancestorEntry{}, map[Key]bool{}
	for _, key := range w.keys {
		for _, p := range w.results[key].policies {
			used[p.key] = true
			if !p.full {
				entries[p.key] = append(entries[p.key], w.ancestorEntry(key, p.key))
			}
		}
	}
	for _, key := range w.claimants(used, func(k Key) bool { return k.Kind == KindBackendTLSPolicy }) {
		p, ok := lookup[*gwv1.BackendTLSPolicy](w.x, key.Kind, key.Namespace, key.Name)
		if !ok {
			continue
		}
		want := p.Status.DeepCopy()
		want.Ancestors = w.policyAncestors(p, entries[key])
		if len(p.Status.Ancestors)+len(want.Ancestors) > 0 {
			w.patch(key, p, &p.Status, want)
		}
	}
}

// ancestors are the entries of one object: others' as they are, ours as results
// have them now, new ones at the end while there is room.
func (w *statusWriter) ancestors(a ancestry) []gwv1.PolicyAncestorStatus {
	var out []gwv1.PolicyAncestorStatus
	done := map[Key]bool{}
	for _, have := range a.have {
		gateway := parentKey(have.AncestorRef, a.namespace)
		i := slices.IndexFunc(a.entries, func(e ancestorEntry) bool { return e.gateway == gateway })
		switch {
		case !w.x.ours(have.ControllerName), i < 0 && w.keeps(gateway):
			out = append(out, have)
		case i >= 0 && !done[gateway]:
			done[gateway] = true
			have.Conditions = a.conditions(have.Conditions, a.entries[i])
			out = append(out, have)
		}
	}
	for _, e := range a.entries {
		if !done[e.gateway] && len(out) < a.most && e.controller != "" { // without one the API server refuses it
			out = append(out, gwv1.PolicyAncestorStatus{AncestorRef: e.ref(), ControllerName: e.controller, Conditions: a.conditions(nil, e)})
		}
	}
	return out
}

// ancestry is what the entries of one object are made from.
type ancestry struct {
	namespace  string // of the object
	have       []gwv1.PolicyAncestorStatus
	entries    []ancestorEntry
	most       int
	conditions func(have []metav1.Condition, e ancestorEntry) []metav1.Condition
}

func (w *statusWriter) policyAncestors(p *gwv1.BackendTLSPolicy, entries []ancestorEntry) []gwv1.PolicyAncestorStatus {
	return w.ancestors(ancestry{
		namespace: p.Namespace, have: p.Status.Ancestors, entries: entries, most: maxAncestors,
		conditions: func(have []metav1.Condition, e ancestorEntry) []metav1.Condition {
			return w.policyConditions(have, p.Generation, e)
		},
	})
}

func (w *statusWriter) policyConditions(have []metav1.Condition, generation int64, e ancestorEntry) []metav1.Condition {
	c := newConditions(have, generation, w.now)
	accepted := yes(string(gwv1.PolicyReasonAccepted), "")
	if bad, ok := firstOf(e.findings, condAccepted); ok {
		accepted = bad
	}
	resolved := yes(string(gwv1.BackendTLSPolicyReasonResolvedRefs), "")
	if bad, ok := firstOf(e.findings, condResolvedRefs); ok {
		resolved = bad
	}
	c.set(condAccepted, accepted)
	c.set(condResolvedRefs, resolved)
	lack, _ := firstOf(e.findings, CondBackendTLS)
	c.put(CondBackendTLS, lack)
	return c.list
}

// xbackends writes the ancestors of every XBackend that results concern.
func (w *statusWriter) xbackends() {
	entries, used := map[Key][]ancestorEntry{}, map[Key]bool{}
	for _, key := range w.keys {
		for _, b := range w.results[key].backends {
			used[b] = true
			entries[b] = append(entries[b], w.ancestorEntry(key, b))
		}
	}
	for _, key := range w.claimants(used, func(k Key) bool { return k.Kind == KindXBackend }) {
		b, ok := lookup[*gwxv1alpha1.XBackend](w.x, key.Kind, key.Namespace, key.Name)
		if !ok {
			continue
		}
		want := b.Status.DeepCopy()
		want.Ancestors = w.backendAncestors(b, entries[key])
		if len(b.Status.Ancestors)+len(want.Ancestors) > 0 {
			w.patch(key, b, &b.Status, want)
		}
	}
}

// backendAncestors are the same for an XBackend, whose entries are of a type of
// their own with the same fields.
func (w *statusWriter) backendAncestors(b *gwxv1alpha1.XBackend, entries []ancestorEntry) []gwxv1alpha1.BackendAncestorStatus {
	a := ancestry{
		namespace: b.Namespace, entries: entries, most: maxBackendAncestors,
		conditions: func(have []metav1.Condition, e ancestorEntry) []metav1.Condition {
			return w.backendConditions(have, b.Generation, e)
		},
	}
	for _, h := range b.Status.Ancestors {
		a.have = append(a.have, gwv1.PolicyAncestorStatus{AncestorRef: h.AncestorRef, ControllerName: h.ControllerName, Conditions: h.Conditions})
	}
	var out []gwxv1alpha1.BackendAncestorStatus
	for _, e := range w.ancestors(a) {
		out = append(out, gwxv1alpha1.BackendAncestorStatus{AncestorRef: e.AncestorRef, ControllerName: e.ControllerName, Conditions: e.Conditions})
	}
	return out
}

func (w *statusWriter) backendConditions(have []metav1.Condition, generation int64, e ancestorEntry) []metav1.Condition {
	c := newConditions(have, generation, w.now)
	accepted := yes(string(gwxv1alpha1.BackendReasonAccepted), "")
	if bad, ok := firstOf(e.findings, condAccepted); ok {
		accepted = bad
	} else if bad, ok := firstOf(e.findings, condResolvedRefs); ok {
		accepted = bad
	}
	c.set(condAccepted, accepted)
	return c.list
}
