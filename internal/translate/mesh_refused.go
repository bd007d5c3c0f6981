package translate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// refuse notes of each part whether the mesh lets the gateway in at its pods, as it is
// with its certificate.
func (h *holding) refuse(x *Index, members []member) {
	if !x.options.Refusals || h.holder < 0 || members[h.holder].dialect == nil {
		return
	}
	m := &members[h.holder]
	client := clientOf(x, Key{}, m)
	for i := range h.parts {
		h.parts[i].refused = x.refusal(m, client, &h.parts[i])
	}
}

// refusal is what a mesh says of a client at a part's pods, as far as its objects alone
// refuse it; else the zero Allowance.
func (x *Index) refusal(m *member, c meshsync.Client, p *meshPart) meshsync.Allowance {
	authorizer, is := m.dialect.(meshsync.Authorizer)
	if !is || p.Inbound.Membership != meshsync.Meshed {
		return meshsync.Allowance{}
	}
	var before subject
	for _, s := range p.subjects {
		if s.pod == nil || before.pod != nil && sameToPolicies(before, s) {
			continue // pods come from templates, so that the next is mostly as the last
		}
		before = s
		if a := authorizer.Allow(meshWorld{x}, m.mesh, meshsync.Entry{Client: c, Port: s.at, Pod: s.pod}); a.Refused() {
			return meshsync.Allowance{Need: a.Need, Why: a.Why, Offers: a.Offers[:min(len(a.Offers), 1)]}
		}
	}
	return meshsync.Allowance{}
}

// sameToPolicies says that no policy of a mesh can tell two pods apart.
func sameToPolicies(a, b subject) bool {
	container := func(a, b corev1.Container) bool { return a.Name == b.Name && slices.Equal(a.Ports, b.Ports) }
	return a.at.Target == b.at.Target && maps.Equal(a.pod.Labels, b.pod.Labels) && maps.Equal(a.pod.Annotations, b.pod.Annotations) &&
		a.pod.Spec.ServiceAccountName == b.pod.Spec.ServiceAccountName &&
		slices.EqualFunc(a.pod.Spec.Containers, b.pod.Spec.Containers, container) &&
		slices.EqualFunc(a.pod.Spec.InitContainers, b.pod.Spec.InitContainers, container)
}

// refusedAt says to a person that a group whose TLS the mesh ends does not let the
// gateway in; "" is that nothing says so. A gateway that shows no certificate is judged
// as nobody.
func (j *judging) refusedAt(p *meshPart, v meshsync.Verdict) string {
	if !j.t.x.options.Refusals || v.Path != meshsync.Direct || v.BackendTLS == nil || j.member.dialect == nil {
		return ""
	}
	a := p.refused
	if j.member.identity != "" && !v.TLS.AtLeast(lbmodel.TLSClientAndServer) {
		a = j.t.x.refusal(j.member, meshsync.Client{}, p)
	}
	if a.Need != meshsync.Needed {
		return ""
	}
	gateway := j.t.key.Namespace + "/" + j.t.key.Name
	out := "the mesh does not let Gateway " + gateway + " in: " + a.Why
	if a.Helps() {
		out += " `gatehouse mesh allow " + gateway + "` prints what lets it in."
	}
	return out
}

// seen is the verdict on a group in the light of what is known besides: policies of its
// mesh, and what was seen on the wire. works is false when either is against it.
func (g MeshGroup) seen() (v meshsync.Verdict, works bool) {
	if g.Refused == "" {
		return g.failed()
	}
	v = g.Verdict
	v.Path, v.Reason = meshsync.Blocked, meshsync.ReasonNotAllowed
	return v, false
}

// besides is what is to be said of a group that is reached.
func (g MeshGroup) besides() (out []string) {
	if probe, told := g.probed(); told {
		out = append(out, probe)
	}
	if g.Refused != "" {
		out = append(out, g.Refused)
	}
	return out
}
