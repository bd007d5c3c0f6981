package cloud

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/numbering"
)

// Place implements providers.Compiler. It decides what depends on what is there
// already: the numbers of rules, the leaves of certificates that are issued, the
// endpoints of groups that we know nothing about, and the fields of a network that
// are not ours.
func (p *Provider) Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding) {
	out := maps.Clone(want)
	var findings []lbmodel.Finding
	for id, r := range want {
		if missing(r, have) {
			delete(out, id)
			findings = append(findings, unreadable(r.Spec.(*Trust)))
		} else if spec := placed(r, have[id], now); spec != nil {
			out[id] = placeSpec(r, spec)
		}
	}
	bindLeaves(out, want)
	slices.SortFunc(findings, func(a, b lbmodel.Finding) int { return strings.Compare(a.Detail, b.Detail) })
	return out, append(findings, placeRules(out, have)...)
}

// missing says whether a resource is a trust of which there is nothing to keep, and
// nobody knows the roots. It is not made, so nothing that needs it is: what cannot
// be verified is not served.
func missing(want lbmodel.Resource, have lbmodel.Graph) bool {
	t, ok := want.Spec.(*Trust)
	_, there := have[want.ID]
	return ok && t.Rotation != nil && t.Rotation.Unknown && !there
}

func unreadable(t *Trust) lbmodel.Finding {
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

// placed is the spec of a resource in the light of what is there, or nil when it
// needs none.
func placed(want, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	if want.Hold == lbmodel.External {
		return have.Spec
	}
	switch spec := want.Spec.(type) {
	case *Trust:
		return placeRoots(spec, have, now)
	case *Certificate:
		return placeLeaf(spec, have, now)
	case *EndpointGroup:
		return placeEndpoints(spec, have)
	case *Network:
		return placeNetwork(spec, have)
	default:
		return nil
	}
}

// placeNetwork keeps everything of a network but what the settings say.
func placeNetwork(want *Network, have lbmodel.Resource) lbmodel.Spec {
	there, ok := have.Spec.(*Network)
	if !ok {
		return nil
	}
	out := *there
	out.IdleSeconds = want.IdleSeconds
	return &out
}

// placeEndpoints keeps the endpoints that are there while we don't know better.
func placeEndpoints(want *EndpointGroup, have lbmodel.Resource) lbmodel.Spec {
	if !want.Unknown {
		return nil
	}
	out := *want
	out.Unknown = false
	if there, ok := have.Spec.(*EndpointGroup); ok {
		out.Endpoints = there.Endpoints
	}
	return &out
}

// placeRoots are the roots that count now: see lbmodel.Rotate.
func placeRoots(want *Trust, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	var live []lbmodel.Root
	if there, ok := have.Spec.(*Trust); ok {
		live = there.Roots
	}
	wish := lbmodel.Trust{System: want.System, Roots: want.Roots}
	if r := want.Rotation; r != nil {
		wish.Overlap, wish.Seen, wish.Unknown = r.Overlap, r.Seen, r.Unknown
	}
	out := &Trust{System: want.System, source: want.source, rotates: wish.Overlap > 0}
	out.Roots, out.next = lbmodel.Rotate(wish, live, now)
	if want.Rotation == nil && slices.Equal(out.Roots, want.Roots) {
		return nil // as compiled: a bundle of public roots is long, and need not be encoded again
	}
	return out
}

// placeLeaf keeps the live leaf of an issued certificate until it must be renewed.
func placeLeaf(want *Certificate, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	out := want.placed()
	there, ok := have.Spec.(*Certificate)
	if ok && want.Leaf == lbmodel.KnownAfterApply && out.wanted(nil).Keeps(there.Identity, have.Facts.Leaf, now) {
		out.Leaf = there.Leaf
	}
	return out
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
			trust, placed := out[id].Spec.(*Trust)
			if wish, ok := want[id].Spec.(*Trust); ok && placed && wish.Rotation != nil && wish.Rotation.Unknown {
				cert.authorities = append(cert.authorities, lbmodel.Authorities(trust.Roots)...)
			}
		}
	}
}

// numbers are those of rules: sixteen can be put, one after the other, into the same
// place before others must move.
var numbers = numbering.Space{Max: MaxNumber, Stride: 1 << 16}

// placeRules gives the rules of every listener in out their numbers.
func placeRules(out, have lbmodel.Graph) []lbmodel.Finding {
	wanted, there := rulesByListener(out), rulesByListener(have)
	var findings []lbmodel.Finding
	for _, listener := range slices.Sorted(maps.Keys(wanted)) {
		rules := wanted[listener]
		placed, ok := numbers.Place(numbersOf(rules, there[listener]))
		if !ok {
			findings = append(findings, lbmodel.Finding{
				About: ownerSource(out[rules[0].id].Owner), Condition: "Programmed", Reason: "NoResources", Code: lbmodel.CodeQuota,
				Detail: "there are more rules than numbers for them; split the routes among listeners",
			})
			continue
		}
		for i, r := range rules {
			if r.spec.Number != placed[i] {
				spec := *r.spec
				spec.Number = placed[i]
				out[r.id] = placeSpec(out[r.id], &spec)
			}
		}
	}
	return findings
}

// numbered is a rule of a graph.
type numbered struct {
	id   lbmodel.ID
	spec *Rule
	hold lbmodel.Hold
}

// rulesByListener groups the rules of a graph by the listener they live in, in the
// order of their numbers.
func rulesByListener(g lbmodel.Graph) map[Ref][]numbered {
	out := map[Ref][]numbered{}
	for id, r := range g {
		if rule, ok := r.Spec.(*Rule); ok {
			out[rule.Listener] = append(out[rule.Listener], numbered{id, rule, r.Hold})
		}
	}
	for _, rules := range out {
		slices.SortFunc(rules, func(a, b numbered) int { return int(a.spec.Number) - int(b.spec.Number) })
	}
	return out
}

// numbersOf are the numbers that the wanted rules of a listener have now (0: none),
// and all that are taken there.
func numbersOf(wanted, there []numbered) (old []int32, taken map[int32]bool) {
	was := make(map[lbmodel.ID]int32, len(there))
	taken = make(map[int32]bool, len(there))
	for _, r := range there {
		taken[r.spec.Number] = true
		if r.hold != lbmodel.External {
			was[r.id] = r.spec.Number
		}
	}
	old = make([]int32, len(wanted))
	for i, r := range wanted {
		old[i] = was[r.id]
	}
	return old, taken
}
