package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// The reasons of gatehouse.dev/MeshMember, and those of gatehouse.dev/BackendTLS
// that are not meshsync's.
const (
	reasonProtectedWithLosses = "ProtectedWithLosses"

	reasonJoined            = "Joined"
	reasonIdentityPending   = "IdentityPending"
	reasonIdentityRefused   = "IdentityRefused"
	reasonIdentityExpired   = "IdentityExpired"
	reasonTrustPending      = "TrustPending"
	reasonTrustStale        = "TrustStale"
	reasonClientCertificate = string(meshsync.ReasonClientCertificate)
)

// who names a group of pods for a person.
func (g MeshGroup) who() string {
	pods := fmt.Sprintf("%d pods", len(g.Group.Pods))
	if len(g.Group.Pods) == 1 {
		pods = "pod " + g.Group.Pods[0]
	}
	switch {
	case g.Verdict.Membership == meshsync.NotMeshed:
		return pods + " outside of the mesh"
	case len(g.Group.Accounts) == 0:
		return pods
	}
	names := make([]string, len(g.Group.Accounts))
	for i, a := range g.Group.Accounts {
		names[i] = a.Name
	}
	return pods + " of ServiceAccount " + strings.Join(names, ", ")
}

// text says why a group is not reached, and the way out.
func (g MeshGroup) text() string {
	out := g.who() + ": " + cmp.Or(g.Verdict.Detail, string(g.Verdict.Reason))
	if g.Verdict.Fix != nil {
		out += "; fix: " + g.Verdict.Fix.Say
	}
	return out
}

// protection collects what is to be said about the backend hops of a route.
type protection struct {
	bad, plain, safe []string
	reason           string
	verdicts         []meshsync.Verdict // of blocked groups
	losses           bool
}

// refuse notes a hop that is not had; the first reason counts.
func (p *protection) refuse(reason, text string) {
	p.bad = append(p.bad, text)
	p.reason = cmp.Or(p.reason, reason)
}

// groups notes the groups of a backend of a mesh's member.
func (p *protection) groups(place string, list []MeshGroup) {
	for _, g := range list {
		v := g.Verdict
		where := place
		if len(list) > 1 {
			where += " (" + g.who() + ")"
		}
		switch {
		case v.Path == meshsync.Blocked:
			p.bad = append(p.bad, place+": "+g.text())
			p.verdicts = append(p.verdicts, v)
		case v.BackendTLS == nil && !v.OwnTLS:
			p.plain = append(p.plain, where)
		default:
			p.losses = p.losses || len(v.Losses) > 0
			p.reached(where+levelText(v), g)
		}
	}
}

// reached notes a group that is reached, in the light of what is known besides.
func (p *protection) reached(text string, g MeshGroup) {
	if says := g.besides(); len(says) > 0 {
		text += ": " + strings.Join(says, "; ")
	}
	if v, works := g.seen(); !works {
		p.bad, p.verdicts = append(p.bad, text), append(p.verdicts, v)
		return
	}
	p.safe = append(p.safe, text)
}

func levelText(v meshsync.Verdict) string {
	out := ""
	if v.Path == meshsync.LandingPad {
		out = " over the landing pad"
	}
	if v.TLS != "" {
		out += " " + string(v.TLS)
	}
	if len(v.Losses) > 0 {
		out += " without " + joinWords(v.Losses)
	}
	return out
}

// verdict is the condition. Groups of a mesh are told by the worst of their
// reasons.
func (p *protection) verdict() verdict {
	if worst := meshsync.WorstReason(p.verdicts); worst != "" {
		p.reason = cmp.Or(p.reason, string(worst))
	}
	switch {
	case len(p.bad) > 0:
		return no(p.reason, strings.Join(p.bad, "; "))
	case len(p.safe) == 0:
		return verdict{}
	case len(p.plain) > 0:
		return no(reasonNotMeshed, "in plain text: "+strings.Join(p.plain, ", ")+"; protected: "+strings.Join(p.safe, ", "))
	case p.losses:
		return yes(reasonProtectedWithLosses, strings.Join(p.safe, ", "))
	default:
		return yes(reasonProtected, strings.Join(p.safe, ", "))
	}
}

// meshMember says how far the gateway is a member. known is false while nobody has
// looked at the cloud; what the status says stays then. The zero verdict is that no
// binding lets it in.
func (v *gatewayView) meshMember(have verdict) (out verdict, known bool) {
	if len(v.result.Meshes) == 0 || v.key.Kind == KindService {
		return verdict{}, true
	}
	var joined []string
	for i := range v.result.Meshes {
		m := &v.result.Meshes[i]
		bad, known := v.membership(m, have)
		if !known {
			return verdict{}, false
		}
		if bad.reason != "" {
			bad.message = m.Binding.String() + ": " + bad.message
			return bad, true
		}
		joined = append(joined, m.text()+v.renewal(m))
	}
	return yes(reasonJoined, strings.Join(joined, "; ")), true
}

// membership is what keeps the gateway from one mesh; the zero verdict is nothing.
func (v *gatewayView) membership(m *Membership, have verdict) (bad verdict, known bool) {
	for _, g := range m.Groups {
		if g.Verdict.Reason == meshsync.ReasonClientCertificate {
			return no(reasonClientCertificate, g.text()), true
		}
	}
	if len(m.Problems) > 0 {
		reason, what := reasonTrustPending, "its roots cannot be read"
		if have.reason == reasonJoined || have.reason == reasonTrustStale {
			reason, what = reasonTrustStale, "its roots cannot be read any more; those that are there stay"
		}
		return no(reason, what+": "+strings.Join(m.Problems, "; ")), true
	}
	id, asked := v.meshIdentity(m)
	if !asked {
		return verdict{}, true
	}
	if !v.applied {
		return verdict{}, false
	}
	if bad = v.heldIdentity(id); bad.reason == reasonIdentityPending {
		bad.message += m.unproven()
	}
	return bad, true
}

// meshIdentity is the certificate that the gateway shall have of a mesh. It asks for
// none before there is a backend to show it to.
func (v *gatewayView) meshIdentity(m *Membership) (lbmodel.Identity, bool) {
	i := slices.IndexFunc(v.result.Gateway.Identities, func(id lbmodel.Identity) bool {
		return id.Name == m.Identity && id.Issuer != lbmodel.IssuerSecret
	})
	if i < 0 {
		return lbmodel.Identity{}, false
	}
	return v.result.Gateway.Identities[i], true
}

// renewal is why the next certificate of a member is not there, though it is wanted
// and the one before still goes on.
func (v *gatewayView) renewal(m *Membership) string {
	id, asked := v.meshIdentity(m)
	if !asked {
		return ""
	}
	err := cmp.Or(v.outcome.Failed[id.Source], v.outcome.Waiting[id.Source])
	if err == nil {
		return ""
	}
	return "; its next certificate is not there yet" + because(err)
}

// heldIdentity is what is wrong with a certificate that the mesh shall issue.
func (v *gatewayView) heldIdentity(id lbmodel.Identity) verdict {
	leaf, held := v.outcome.Leaves[id.Name]
	err := cmp.Or(v.outcome.Failed[id.Source], v.outcome.Waiting[id.Source])
	switch code := lbmodel.CodeOf(err); {
	case held && !leaf.NotAfter.After(v.w.now.Time):
		return no(reasonIdentityExpired, fmt.Sprintf("its certificate ended at %s%s", leaf.NotAfter.UTC().Format("2006-01-02T15:04:05Z"), because(err)))
	case held:
		return verdict{}
	case err != nil && (code == lbmodel.CodeDenied || code == lbmodel.CodeInvalid):
		return no(reasonIdentityRefused, "the issuer refuses its certificate"+because(err))
	default:
		return no(reasonIdentityPending, "its certificate is not there yet"+because(err))
	}
}

// unproven is what probes say of the first group that does not take the gateway: where
// a binding wants proof, nobody is asked for a certificate before.
func (m *Membership) unproven() string {
	for _, g := range m.Groups {
		if _, works := g.failed(); !works {
			text, _ := g.probed()
			return "; " + g.who() + ": " + text
		}
	}
	return ""
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// text sums a membership up.
func (m *Membership) text() string {
	direct, failing, blocked := 0, 0, 0
	for _, g := range m.Groups {
		_, works := g.seen()
		switch {
		case g.Verdict.Path == meshsync.Blocked:
			blocked++
		case !works:
			failing++
		case g.Verdict.BackendTLS != nil:
			direct++
		}
	}
	out := fmt.Sprintf("%s: groups of pods reached as a member: %d", m.Binding, direct)
	if blocked > 0 {
		out += fmt.Sprintf(", %d blocked", blocked)
	}
	if failing > 0 {
		out += fmt.Sprintf(", %d that do not take the gateway (%s of the routes says why)", failing, CondBackendTLS)
	}
	if len(m.Lost) > 0 {
		out += "; backends of another MeshBinding, which comes first by name: " + several(m.Lost)
	}
	if m.Stranger != "" {
		out += "; " + m.Stranger
	}
	return out
}
