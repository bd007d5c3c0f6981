package cloud

import (
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Place implements providers.Compiler. It decides what depends on what is there
// already: the numbers of rules, the leaves of certificates that are issued, the
// endpoints of groups that we know nothing about, and the fields of a network that
// are not ours.
func (p *Provider) Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding) {
	out := maps.Clone(want)
	for id, r := range want {
		if spec := placed(r, have[id], now); spec != nil {
			out[id] = placeSpec(r, spec)
		}
	}
	return out, placeRules(out, have)
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

// placeLeaf keeps the live leaf of an issued certificate until it must be renewed.
func placeLeaf(want *Certificate, have lbmodel.Resource, now time.Time) lbmodel.Spec {
	there, ok := have.Spec.(*Certificate)
	if !ok || want.Leaf != lbmodel.KnownAfterApply || !keeps(want.Identity, there.Identity, have.Facts.Leaf, now) {
		return nil
	}
	out := *want
	out.Leaf = there.Leaf
	return &out
}

// keeps says whether a leaf that was issued for one identity still serves
// another: the same names by the same issuer, and not yet due.
func keeps(want, was lbmodel.Identity, leaf *lbmodel.Leaf, now time.Time) bool {
	return leaf != nil && want.SPIFFEID == was.SPIFFEID && slices.Equal(want.DNSNames, was.DNSNames) &&
		want.Issuer == was.Issuer && want.KeyType == was.KeyType && now.Before(want.Renew.At(*leaf))
}

// placeRules gives the rules of every listener in out their numbers.
func placeRules(out, have lbmodel.Graph) []lbmodel.Finding {
	wanted, there := rulesByListener(out), rulesByListener(have)
	var findings []lbmodel.Finding
	for _, listener := range slices.Sorted(maps.Keys(wanted)) {
		rules := wanted[listener]
		numbers, ok := renumber(numbersOf(rules, there[listener]))
		if !ok {
			findings = append(findings, lbmodel.Finding{
				About: ownerSource(out[rules[0].id].Owner), Condition: "Programmed", Reason: "NoResources", Code: lbmodel.CodeQuota,
				Detail: "there are more rules than numbers for them; split the routes among listeners",
			})
			continue
		}
		for i, r := range rules {
			if r.spec.Number != numbers[i] {
				spec := *r.spec
				spec.Number = numbers[i]
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
