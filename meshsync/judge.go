package meshsync

import (
	"fmt"

	"gatehouse.dev/lbmodel"
)

// Judge says what a gateway gets of pods that accept in, when its provider has the
// features. It is the only judge, for all meshes, and it fails closed:
//
//   - TLS is never below hop.Minimum, and never below ClientAndServer where
//     hop.Selected: what cannot be had is Blocked, never weakened;
//   - clear text goes to pods that are no members, and to members that take it where
//     the minimum is None; never to what is selected;
//   - a path is Direct only if the provider has every ability that it takes. Of all
//     that is missing, the Reason is the worst and the Detail names each.
//
// The path is Direct or Blocked. Who has a landing pad judges the pad's own Inbound.
// Mesh TLS without verification is had only where the minimum allows it, the provider
// cannot do better and any client is let in.
func Judge(in Inbound, hop Hop, features lbmodel.Features) Verdict {
	j := judgement{in, hop, features}
	judge := j.outsider
	if in.Membership == Meshed {
		judge = j.member
	}
	v := judge()
	v.Membership = in.Membership
	return v
}

// WorstReason is the first reason, in the order of the Reason constants, for which
// one of the verdicts is Blocked; "" when none is.
func WorstReason(verdicts []Verdict) Reason {
	var worst Reason
	for i := range verdicts {
		if v := &verdicts[i]; v.Path == Blocked {
			worst = worse(worst, v.Reason)
		}
	}
	return worst
}

// judgement is one case.
type judgement struct {
	in  Inbound
	hop Hop
	has lbmodel.Features
}

// outsider judges pods that are no members, or may be none: they are reached as
// without a mesh, unless somebody relies on their being members.
func (j judgement) outsider() Verdict {
	switch {
	case j.hop.Selected && j.in.Membership == NotMeshed:
		return j.blocked(ReasonNotMeshed, "the binding's selector names this backend, so it must be mutual TLS, and its pods are no members of the mesh")
	case j.hop.Selected:
		return j.blocked(ReasonIdentityUnknown, "the binding's selector names this backend, so it must be mutual TLS, and the pods behind its addresses are not known")
	case j.hop.OwnTLS:
		return j.own()
	case !j.plainAllowed():
		return j.blocked(ReasonBelowMinimum, fmt.Sprintf("its pods are no members of the mesh and would get clear text, below the minimum %s", j.hop.Minimum))
	default:
		return j.plain()
	}
}

// member judges pods of the mesh.
func (j judgement) member() Verdict {
	if j.hop.Protocol == lbmodel.PoolUDP {
		// Proxies leave UDP alone, whatever their mode.
		j.in.Plain = true
		return j.plainOr(j.blocked(ReasonUnmeshedProtocol, "the mesh does not carry UDP, so it cannot be protected"))
	}
	if j.hop.OwnTLS {
		return j.memberWithOwnTLS()
	}
	found, no := j.negotiate()
	if lacks := append(no, j.lacks()...); len(lacks) > 0 {
		return j.plainOr(j.refused(lacks))
	}
	if level := j.level(); !level.AtLeast(j.floor()) {
		return j.blocked(ReasonBelowMinimum, j.belowMinimum(level))
	}
	return j.direct(found)
}

// memberWithOwnTLS keeps application TLS and mesh TLS apart: the client's TLS
// would end in the proxy, and the application would wait for its own.
func (j judgement) memberWithOwnTLS() Verdict {
	switch {
	case j.endsOwnTLS():
		return j.blocked(ReasonDoubleTLS, "a BackendTLSPolicy asks for the application's own TLS on a port where the mesh's proxy ends TLS")
	case j.in.Otherwise != Passes:
		return j.blocked(j.unended(), "the proxy closes connections whose TLS is not the mesh's, also those of the application's own TLS")
	case j.hop.Selected:
		return j.blocked(j.unended(), "the binding's selector names this backend, so it must be the mesh's mutual TLS, and the proxy passes the application's own TLS on")
	default:
		return j.own()
	}
}

// endsOwnTLS says whether the proxy would end the TLS that the application asks
// for. A proxy that ends only TLS for its own server name leaves it alone: the
// application's name is another.
func (j judgement) endsOwnTLS() bool {
	if j.in.SNI != "" {
		return false
	}
	for _, sent := range standardALPN(j.hop.Protocol) {
		if reach(j.in.Chains, sent) >= 0 {
			return true
		}
	}
	return false
}

// unended is why the mesh's TLS is not to be had at the port.
func (j judgement) unended() Reason {
	if j.in.Blocked != "" {
		return j.in.Blocked
	}
	return ReasonALPN
}

// direct is mutual TLS, or what of it j.level says.
func (j judgement) direct(t talk) Verdict {
	level, losses, detail := j.level(), t.losses, j.in.Detail
	if j.in.ProxyHealth {
		losses = append(losses, LossAppHealth)
	}
	if level != lbmodel.TLSClientAndServer {
		losses = append(losses, LossClientIdentity)
		detail = withDetail(j.noClientCertificate(), detail)
	}
	v := Verdict{
		Path: Direct, Detail: detail, TLS: level, Losses: losses,
		Protocol: t.protocol, ClientKeys: j.in.ClientKeys, Port: j.in.Port, Health: j.health(),
		BackendTLS: &lbmodel.BackendTLS{
			SNI: j.in.SNI, SANs: j.sans(), Floor: j.floor(), MinVersion: j.minVersion(), ALPN: t.alpn, NoALPN: t.noALPN,
		},
	}
	if len(losses) > 0 {
		v.Fix = j.in.Fix
	}
	return v
}

// health is a TCP connection unless the pod has better: what providers do by
// themselves, such as a request over TLS, would want a client certificate.
func (j judgement) health() *lbmodel.HealthCheck {
	if j.in.Health == nil {
		return &lbmodel.HealthCheck{Protocol: "TCP", Port: j.in.Port}
	}
	health := *j.in.Health
	return &health
}

// floor is the level below which nothing is programmed.
func (j judgement) floor() lbmodel.TLSLevel {
	if j.hop.Selected {
		return lbmodel.TLSClientAndServer
	}
	return j.hop.Minimum
}

func (j judgement) plainAllowed() bool { return lbmodel.TLSNone.AtLeast(j.floor()) }

// plain is clear text, with health as without a mesh.
func (j judgement) plain() Verdict {
	return Verdict{Path: Direct, Detail: j.in.Detail, TLS: lbmodel.TLSNone, Protocol: j.hop.Protocol}
}

func (j judgement) own() Verdict {
	return Verdict{Path: Direct, Detail: j.in.Detail, OwnTLS: true, Protocol: j.hop.Protocol}
}

// plainOr is clear text to a member if that reaches it and the binding's minimum is
// None by name; else the verdict that it would replace.
func (j judgement) plainOr(blocked Verdict) Verdict {
	if !j.in.Plain || !j.plainAllowed() {
		return blocked
	}
	v := j.plain()
	v.Detail = "in clear text, which the minimum None allows: " + blocked.Detail
	v.Losses = []Loss{LossClientIdentity}
	v.Fix = blocked.Fix
	return v
}

func (j judgement) blocked(why Reason, says string) Verdict {
	return Verdict{Path: Blocked, Reason: why, Detail: withDetail(says, j.in.Detail), TLS: lbmodel.TLSNone, Fix: j.fix(why)}
}

// withDetail adds what decides, by object and field, to what follows from it.
func withDetail(says, detail string) string {
	switch {
	case detail == "":
		return says
	case says == "":
		return detail
	default:
		return says + " (" + detail + ")"
	}
}
