package aws

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
// already: the priorities of rules, the leaves of certificates that are issued, the
// roots of bundles and of the stores that read them, and the targets of groups of
// which no endpoints are known.
func (Compiler) Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding) {
	out := maps.Clone(want)
	var findings []lbmodel.Finding
	for id, r := range want {
		if unreadable(r, have) {
			delete(out, id)
			findings = append(findings, waitsForRoots(r.Spec.(*TrustBundle)))
		} else if spec := placed(r, have[id], now); spec != nil {
			out[id] = placeSpec(r, spec)
		}
	}
	placeStores(out)
	slices.SortFunc(findings, func(a, b lbmodel.Finding) int { return strings.Compare(a.Detail, b.Detail) })
	return out, append(findings, placeRules(out, have)...)
}

// unreadable says whether a resource is a bundle of which there is nothing to keep,
// and nobody knows the roots. It is not made, so nothing that needs it is.
func unreadable(want lbmodel.Resource, have lbmodel.Graph) bool {
	t, ok := want.Spec.(*TrustBundle)
	_, there := have[want.ID]
	return ok && t.Rotation != nil && t.Rotation.Unknown && !there
}

func waitsForRoots(t *TrustBundle) lbmodel.Finding {
	return lbmodel.Finding{
		About: t.source, Condition: "Programmed", Reason: "TrustPending", Code: lbmodel.CodeUnresolved,
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
	case *LoadBalancer:
		return placeBalancer(spec, have)
	case *SecurityGroup:
		return placeSecurity(spec, have)
	case *TargetGroup:
		return placeGroup(spec, have)
	case *TrustBundle:
		return placeRoots(spec, have, now)
	case *Certificate:
		return placeLeaf(spec, have, now)
	case *Targets:
		return placeTargets(spec, have)
	default:
		return nil
	}
}

// placeBalancer keeps what AWS, or whoever found the subnets, has chosen: the virtual
// network cannot change, and subnets that are not named stay while they would be found
// in the same way.
func placeBalancer(want *LoadBalancer, have lbmodel.Resource) lbmodel.Spec {
	there, ok := have.Spec.(*LoadBalancer)
	if !ok {
		return nil
	}
	out := *want
	out.VPC = there.VPC
	if len(want.Subnets) == 0 && maps.Equal(want.SubnetTags, there.SubnetTags) {
		out.Subnets = there.Subnets
	}
	return &out
}

func placeSecurity(want *SecurityGroup, have lbmodel.Resource) lbmodel.Spec {
	there, ok := have.Spec.(*SecurityGroup)
	if !ok {
		return nil
	}
	out := *want
	out.VPC = there.VPC
	return &out
}

func placeGroup(want *TargetGroup, have lbmodel.Resource) lbmodel.Spec {
	there, ok := have.Spec.(*TargetGroup)
	if !ok {
		return nil
	}
	out := *want
	out.VPC = there.VPC
	return &out
}

// placeTargets keeps the targets that are there while we don't know better.
func placeTargets(want *Targets, have lbmodel.Resource) lbmodel.Spec {
	if !want.Unknown {
		return nil
	}
	out := *want
	out.Unknown = false
	if there, ok := have.Spec.(*Targets); ok {
		out.Targets = there.Targets
	}
	return &out
}

// placeRoots are the roots that count now: see lbmodel.Rotate.
func placeRoots(want *TrustBundle, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	var live []lbmodel.Root
	if there, ok := have.Spec.(*TrustBundle); ok {
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

// placeStores makes stores read the roots that their bundles have now.
func placeStores(out lbmodel.Graph) {
	for id, r := range out {
		store, ok := r.Spec.(*TrustStore)
		if !ok {
			continue
		}
		if bundle, ok := out[store.Bundle.id()].Spec.(*TrustBundle); ok {
			spec := *store
			spec.Roots = nil
			for _, root := range bundle.Roots {
				spec.Roots = append(spec.Roots, root.SHA256)
			}
			out[id] = placeSpec(r, &spec)
		}
	}
}

// placeLeaf keeps the live leaf of an issued certificate until it must be renewed.
func placeLeaf(want *Certificate, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	there, ok := have.Spec.(*Certificate)
	if !ok || want.Leaf != lbmodel.KnownAfterApply || !want.wanted().Keeps(there.Identity, have.Facts.Leaf, now) {
		return nil
	}
	out := *want
	out.Leaf = there.Leaf
	return &out
}

// priorities are those of a listener's rules [EM]: eight can be put, one after the
// other, into the same place before others must move.
var priorities = numbering.Space{Max: 50_000, Stride: 256}

// placeRules gives the rules of every listener in out their priorities.
func placeRules(out, have lbmodel.Graph) []lbmodel.Finding {
	wanted, there := rulesByListener(out), rulesByListener(have)
	var findings []lbmodel.Finding
	for _, listener := range slices.Sorted(maps.Keys(wanted)) {
		rules := wanted[listener]
		placed, ok := priorities.Place(prioritiesOf(rules, there[listener]))
		if !ok {
			findings = append(findings, noPriority(out[rules[0].id].Owner))
			continue
		}
		for i, r := range rules {
			if r.spec.Priority != placed[i] {
				spec := *r.spec
				spec.Priority = placed[i]
				out[r.id] = placeSpec(out[r.id], &spec)
			}
		}
	}
	return findings
}

func noPriority(o lbmodel.Owner) lbmodel.Finding {
	return lbmodel.Finding{
		About:     lbmodel.Source{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
		Condition: "Programmed", Reason: "NoResources", Code: lbmodel.CodeQuota,
		Detail: fmt.Sprintf("there are more rules than the %d priorities of a listener; split the routes among gateways", priorities.Max),
	}
}

// numbered is a rule of a graph.
type numbered struct {
	id   lbmodel.ID
	spec *Rule
	hold lbmodel.Hold
}

// rulesByListener groups the rules of a graph by their listener, in the order of their
// priorities.
func rulesByListener(g lbmodel.Graph) map[Ref][]numbered {
	out := map[Ref][]numbered{}
	for id, r := range g {
		if rule, ok := r.Spec.(*Rule); ok {
			out[rule.Listener] = append(out[rule.Listener], numbered{id, rule, r.Hold})
		}
	}
	for _, rules := range out {
		slices.SortFunc(rules, func(a, b numbered) int { return int(a.spec.Priority) - int(b.spec.Priority) })
	}
	return out
}

// prioritiesOf are those that the wanted rules of a listener have now (0: none), and
// all that are taken there.
func prioritiesOf(wanted, there []numbered) (old []int32, taken map[int32]bool) {
	was := make(map[lbmodel.ID]int32, len(there))
	taken = make(map[int32]bool, len(there))
	for _, r := range there {
		taken[r.spec.Priority] = true
		if r.hold != lbmodel.External {
			was[r.id] = r.spec.Priority
		}
	}
	old = make([]int32, len(wanted))
	for i, r := range wanted {
		old[i] = was[r.id]
	}
	return old, taken
}
