package memcloud

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// step is the distance between the priorities of two rules.
const step = 100

// Place implements providers.Compiler.
func (p *Provider) Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding) {
	out := maps.Clone(want)
	var findings []lbmodel.Finding
	for id, r := range want {
		switch spec := r.Spec.(type) {
		case Identity:
			out[id] = respec(r, keepLeaf(spec, have[id], now))
		case Trust:
			if there, ok := have[id].Spec.(Trust); ok || !spec.Wish.Unknown {
				out[id] = respec(r, rotate(spec, there, now))
				continue
			}
			delete(out, id) // and so nothing is made that needs it
			findings = append(findings, lbmodel.Finding{
				Condition: lbmodel.ConditionBackendTLS, Reason: "TrustPending", Code: lbmodel.CodeUnresolved,
				Detail: fmt.Sprintf("the roots of %s cannot be read", spec.Wish.Name),
			})
		case Group:
			out[id] = respec(r, keepEndpoints(spec, have[id]))
		}
	}
	for _, rules := range byAddress(out) {
		number(out, have, rules)
	}
	slices.SortFunc(findings, func(a, b lbmodel.Finding) int { return cmp.Compare(a.Detail, b.Detail) })
	return out, findings
}

func respec(r lbmodel.Resource, spec lbmodel.Spec) lbmodel.Resource {
	r.Spec, r.Digest = spec, lbmodel.DigestOf(spec)
	return r
}

// rotate is which roots count now.
func rotate(want, have Trust, now time.Time) Trust {
	wish := *want.Wish
	if want.bug == DropsAtOnce {
		wish.Overlap = 0
	}
	want.Roots, want.next = lbmodel.Rotate(wish, have.Roots, now)
	want.Wish = nil
	return want
}

// keepLeaf keeps the live certificate while its renewal rule allows.
func keepLeaf(want Identity, have lbmodel.Resource, now time.Time) Identity {
	want.authorities, want.Wish.Renew.Authorities = want.Wish.Renew.Authorities, nil
	want.held, want.Wish.Renew.Held = want.Wish.Renew.Held, nil
	live, ok := have.Spec.(Identity)
	if ok && want.Leaf == "" && want.bug != IssuesAlways && want.asked().Keeps(live.Wish, have.Facts.Leaf, now) {
		want.Leaf = live.Leaf
	}
	return want
}

func keepEndpoints(want Group, have lbmodel.Resource) Group {
	live, ok := have.Spec.(Group)
	if want.Unknown && ok {
		return live
	}
	want.Unknown = false
	return want
}

// byAddress are the wanted rules of each address, in matching order.
func byAddress(want lbmodel.Graph) map[lbmodel.ID][]lbmodel.ID {
	out := map[lbmodel.ID][]lbmodel.ID{}
	for id, r := range want {
		if rule, ok := r.Spec.(Rule); ok {
			out[rule.Address] = append(out[rule.Address], id)
		}
	}
	for _, rules := range out {
		slices.SortFunc(rules, func(a, b lbmodel.ID) int {
			return cmp.Or(cmp.Compare(want[a].Spec.(Rule).Priority, want[b].Spec.(Rule).Priority), a.Compare(b))
		})
	}
	return out
}

// number gives the rules of an address their priorities: those that are there
// keep theirs as far as the order allows, and new ones go between them. Numbers
// that anybody holds now are never given to another rule, so no plan has to shift
// rules in a circle.
func number(want, have lbmodel.Graph, rules []lbmodel.ID) {
	address := want[rules[0]].Spec.(Rule).Address
	taken := map[int]bool{}
	top := 0
	for _, r := range have {
		if rule, ok := r.Spec.(Rule); ok && rule.Address == address {
			taken[rule.Priority] = true
			top = max(top, rule.Priority)
		}
	}
	kept := rising(rules, have)
	last := 0
	for i, id := range rules {
		priority, keep := kept[id]
		if !keep {
			priority = between(last, ceiling(rules[i+1:], kept, max(top, last)+2*step*len(rules)), taken)
		}
		if priority == 0 {
			renumber(want, rules, top)
			return
		}
		place(want, id, priority)
		taken[priority], last = true, priority
	}
}

// rising is the longest part of the rules whose present priorities rise.
func rising(rules []lbmodel.ID, have lbmodel.Graph) map[lbmodel.ID]int {
	chains := make([][]lbmodel.ID, 0, len(rules))
	now := func(id lbmodel.ID) int {
		rule, _ := have[id].Spec.(Rule)
		return rule.Priority
	}
	var best []lbmodel.ID
	for _, id := range rules {
		if now(id) == 0 {
			continue
		}
		var chain []lbmodel.ID
		for _, c := range chains {
			if len(c) > len(chain) && now(c[len(c)-1]) < now(id) {
				chain = c
			}
		}
		chain = append(slices.Clone(chain), id)
		chains = append(chains, chain)
		if len(chain) > len(best) {
			best = chain
		}
	}
	out := map[lbmodel.ID]int{}
	for _, id := range best {
		out[id] = now(id)
	}
	return out
}

// ceiling is the priority of the next rule that keeps its own.
func ceiling(rest []lbmodel.ID, kept map[lbmodel.ID]int, otherwise int) int {
	for _, id := range rest {
		if p, ok := kept[id]; ok {
			return p
		}
	}
	return otherwise
}

// between is a free number between two, or 0: a round one after low if there is
// one, else the middle.
func between(low, high int, taken map[int]bool) int {
	if p := (low/step + 1) * step; p < high && !taken[p] {
		return p
	}
	for p := (low + high) / 2; p > low; p-- {
		if !taken[p] {
			return p
		}
	}
	return 0
}

func renumber(want lbmodel.Graph, rules []lbmodel.ID, top int) {
	for i, id := range rules {
		place(want, id, (top/step+1+i)*step)
	}
}

func place(want lbmodel.Graph, id lbmodel.ID, priority int) {
	rule := want[id].Spec.(Rule)
	rule.Priority = priority
	want[id] = respec(want[id], rule)
}
