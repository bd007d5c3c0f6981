package gcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// Place implements providers.Compiler. It decides what depends on what is there
// already: the leaves of certificates that are issued, the roots that count now, the
// endpoints of groups of which none are known, and which firewall rules the operator
// has yet to make.
func (Compiler) Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding) {
	out := maps.Clone(want)
	var findings []lbmodel.Finding
	for id, r := range want {
		if f := unmade(r, have); f != nil {
			delete(out, id)
			findings = append(findings, *f)
		} else if spec := placed(r, have[id], now); spec != nil {
			out[id] = placeSpec(r, spec)
		}
	}
	bindLeaves(out, want)
	slices.SortFunc(findings, func(a, b lbmodel.Finding) int { return strings.Compare(a.Detail, b.Detail) })
	return out, findings
}

// unmade tells of a resource that is not made, so that nothing that needs it is: roots
// of which there is nothing to keep, and nobody knows them; or of a firewall rule that
// the operator has not made yet, or not for all ports.
func unmade(want lbmodel.Resource, have lbmodel.Graph) *lbmodel.Finding {
	there, ok := have[want.ID]
	switch spec := want.Spec.(type) {
	case *TrustConfig:
		if spec.Rotation != nil && spec.Rotation.Unknown && !ok {
			f := waitsForRoots(spec)
			return &f
		}
	case *Firewall:
		old, read := there.Spec.(*Firewall)
		if want.Hold == lbmodel.External && !spec.Unknown && (!read || !old.lets(spec)) {
			f := firewallMissing(want)
			return &f
		}
	}
	return nil
}

// lets says whether a rule lets in all that another does.
func (f *Firewall) lets(other *Firewall) bool {
	for _, source := range other.SourceRanges {
		if !slices.Contains(f.SourceRanges, source) {
			return false
		}
	}
	for _, a := range other.Allowed {
		for _, port := range a.Ports {
			if !slices.ContainsFunc(f.Allowed, func(own Allowed) bool {
				return own.IPProtocol == a.IPProtocol && (len(own.Ports) == 0 || slices.Contains(own.Ports, port))
			}) {
				return false
			}
		}
	}
	return true
}

func waitsForRoots(t *TrustConfig) lbmodel.Finding {
	return lbmodel.Finding{
		About: t.source, Condition: lbmodel.ConditionBackendTLS, Reason: "TrustPending", Code: lbmodel.CodeUnresolved,
		Detail: fmt.Sprintf("the roots of %s cannot be read, and none were before; what is to be verified by them waits until they can", t.source),
	}
}

// placeSpec is a resource with another spec.
func placeSpec(r lbmodel.Resource, spec lbmodel.Spec) lbmodel.Resource {
	r.Spec, r.Digest = spec, lbmodel.DigestOf(spec)
	return r
}

// placed is the spec of a resource in the light of what is there, or nil when it needs
// none.
func placed(want, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	if want.Hold == lbmodel.External && have.Spec != nil {
		return have.Spec
	}
	switch spec := want.Spec.(type) {
	case *TrustConfig:
		return placeRoots(spec, have, now)
	case *Certificate:
		return placeLeaf(spec, have, now)
	case *NetworkEndpoints:
		return placeEndpoints(spec, have)
	case *Firewall:
		return placePorts(spec, have)
	default:
		return nil
	}
}

// placeEndpoints keeps the endpoints that are there while we don't know better.
func placeEndpoints(want *NetworkEndpoints, have lbmodel.Resource) lbmodel.Spec {
	if !want.Unknown {
		return nil
	}
	out := *want
	out.Unknown = false
	if there, ok := have.Spec.(*NetworkEndpoints); ok {
		out.Endpoints = there.Endpoints
	}
	return &out
}

// placePorts keeps the ports that are open while nobody listens.
func placePorts(want *Firewall, have lbmodel.Resource) lbmodel.Spec {
	if !want.Unknown {
		return nil
	}
	out := *want
	out.Unknown = false
	if there, ok := have.Spec.(*Firewall); ok {
		out.Allowed, out.Disabled = there.Allowed, there.Disabled
	}
	return &out
}

// placeRoots are the roots that count now: see lbmodel.Rotate.
func placeRoots(want *TrustConfig, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	var live []lbmodel.Root
	if there, ok := have.Spec.(*TrustConfig); ok {
		live = there.Roots
	}
	wish := lbmodel.Trust{Roots: want.Roots}
	if r := want.Rotation; r != nil {
		wish.Overlap, wish.Seen, wish.Unknown = r.Overlap, r.Seen, r.Unknown
	}
	out := *want
	out.Rotation, out.rotates = nil, wish.Overlap > 0
	out.Roots, out.next = lbmodel.Rotate(wish, live, now)
	return &out
}

// placeLeaf keeps the live leaf of an issued certificate until it must be renewed. It
// is a copy in any case: bindLeaves writes to it.
func placeLeaf(want *Certificate, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	out := *want
	there, ok := have.Spec.(*Certificate)
	if ok && want.Leaf == lbmodel.KnownAfterApply && want.wanted().Keeps(there.Identity, have.Facts.Leaf, now) {
		out.Leaf = there.Leaf
	}
	return &out
}

// bindLeaves binds certificates that follow roots which nobody can read now to those
// that were published last: a leaf of another authority might come before its root.
func bindLeaves(out, want lbmodel.Graph) {
	for _, r := range out {
		cert, ok := r.Spec.(*Certificate)
		if !ok || cert.Leaf != lbmodel.KnownAfterApply || cert.authorities != nil {
			continue
		}
		for _, id := range cert.follows {
			trust, there := out[id].Spec.(*TrustConfig)
			if wish, ok := want[id].Spec.(*TrustConfig); ok && there && wish.Rotation != nil && wish.Rotation.Unknown {
				cert.authorities = append(cert.authorities, lbmodel.Authorities(trust.Roots)...)
			}
		}
	}
}
