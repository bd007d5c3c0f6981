package reconcile

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// Statuses are the patches that a pass leads to, for the gateways in it and all
// that is attached to them. Hand it the pass that Plan made and what Apply made
// of it; a plan that was not applied leaves what the status says of the cloud.
func (l *Loop) Statuses(planned, applied Pass, now time.Time) []translate.Patch {
	var keys []translate.Key
	for _, group := range planned.Groups {
		keys = append(keys, group.Keys...)
	}
	return l.StatusesOf(keys, planned, applied, now)
}

// StatusesOf are likewise the patches for some gateways that the pass was made for,
// be they planned or not: one that cannot be says so, and what is attached to one
// that is gone forgets it. The statuses are about the objects that the plan was made
// from.
func (l *Loop) StatusesOf(keys []translate.Key, planned, applied Pass, now time.Time) []translate.Patch {
	if planned.index == nil {
		return nil // it was made from no objects, as to destroy by name is
	}
	results := map[translate.Key]translate.Result{}
	for _, key := range keys {
		results[key] = translate.Result{Gone: true}
		if g, ok := planned.gateways[key]; ok {
			results[key] = g.Result
		}
	}
	outcomes := l.OutcomesOf(keys, planned, applied)
	return translate.Status(planned.index, results, outcomes, metav1.NewTime(now))
}

// Unseen are the patches for a gateway whose cloud cannot be looked at, and why; nil
// is that it has not answered yet. They tell what is known without it.
func (l *Loop) Unseen(key translate.Key, why error, now time.Time) []translate.Patch {
	l.mu.Lock()
	x := l.index
	found, planned := l.found[key]
	g, ok := l.gateways[key]
	l.mu.Unlock()
	if !ok {
		return nil
	}
	outcome := translate.Outcome{Findings: slices.Concat(g.Refused, found), Underway: why == nil, Unseen: why, Unplanned: !planned}
	return translate.Status(x, map[translate.Key]translate.Result{key: g.Result}, map[translate.Key]translate.Outcome{key: outcome}, metav1.NewTime(now))
}

// OutcomesOf are what came of some gateways in a pass: of those that were planned.
func (l *Loop) OutcomesOf(keys []translate.Key, planned, applied Pass) map[translate.Key]translate.Outcome {
	outcomes := map[translate.Key]translate.Outcome{}
	for _, key := range keys {
		g, known := planned.gateways[key]
		group, ok := planned.groupOf(key)
		if !known || !ok {
			continue
		}
		s := share{gateway: g, planned: group, mine: group.Plan.Concerns()[g.Result.Gateway.Owner], outdated: l.outdatedOf(key)}
		if l.Approve != nil {
			s.wayOut = l.Approve(key)
		}
		s.done, s.ran = applied.groupOf(key)
		outcomes[key] = l.outcome(s)
	}
	return outcomes
}

func (l *Loop) outdatedOf(key translate.Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outdated[key]
}

// groupOf is the group of a pass that a gateway is in.
func (p Pass) groupOf(key translate.Key) (Group, bool) {
	i := slices.IndexFunc(p.Groups, func(g Group) bool { return slices.Contains(g.Keys, key) })
	if i < 0 {
		return Group{}, false
	}
	return p.Groups[i], true
}

func (l *Loop) outcome(s share) translate.Outcome {
	left := s.unfinished()
	return translate.Outcome{
		Findings:  slices.Concat(s.gateway.Refused, s.planned.Plan.Findings),
		Addresses: l.Addresses(s.gateway),
		Failed:    s.failures(left),
		Pending:   pending(left),
		Waiting:   s.awaited(left),
		Leaves:    l.Leaves(s.gateway),
		Roots:     l.Roots(s.gateway),
		Sync:      s.sync(left),
	}
}

// Addresses are those that a gateway has in the cloud, sorted. It makes no call.
func (l *Loop) Addresses(g Gateway) []lbmodel.Address {
	account := l.accounts[g.Result.Provider]
	if account == nil {
		return nil
	}
	return AddressesIn(account.Observed(g.Result.Gateway.Owner))
}

// Leaves are the certificates that were issued for a gateway's identities, as far
// as they are in the cloud, by Identity.Name: each is known by the name in it that
// nobody else has. It makes no call.
func (l *Loop) Leaves(g Gateway) map[string]lbmodel.Leaf {
	account := l.accounts[g.Result.Provider]
	if account == nil || len(g.Result.Meshes) == 0 {
		return nil
	}
	out := map[string]lbmodel.Leaf{}
	for _, r := range account.Observed(g.Result.Gateway.Owner) {
		for _, id := range g.Result.Gateway.Identities {
			if r.Facts.Leaf == nil || id.Issuer == lbmodel.IssuerSecret {
				continue
			}
			named := slices.Contains(r.Facts.Leaf.URIs, id.SPIFFEID) || len(id.DNSNames) > 0 && slices.Contains(r.Facts.Leaf.DNSNames, id.DNSNames[0])
			if have, ok := out[id.Name]; named && (!ok || have.NotAfter.Before(r.Facts.Leaf.NotAfter)) {
				out[id.Name] = *r.Facts.Leaf
			}
		}
	}
	return out
}

// Roots are what a gateway holds in the cloud of the trust of its meshes, by
// Trust.Name: those that are published, those that are on their way out or will be with
// the next apply, and all while nobody can read what is published. It makes no call.
func (l *Loop) Roots(g Gateway) map[string][]lbmodel.Root {
	account := l.accounts[g.Result.Provider]
	if account == nil || len(g.Result.Meshes) == 0 {
		return nil
	}
	whose := map[lbmodel.ID]string{}
	for _, m := range g.Result.Meshes {
		for _, id := range account.TrustIDs(g.Result.Gateway, m.Trust) {
			whose[id] = m.Trust.Name
		}
	}
	out := map[string][]lbmodel.Root{}
	for id, r := range account.Observed(g.Result.Gateway.Owner) {
		there, is := r.Spec.(lbmodel.Rooted)
		for _, m := range g.Result.Meshes {
			switch {
			case !is:
			case whose[id] == m.Trust.Name:
				out[m.Trust.Name] = append(out[m.Trust.Name], there.TrustRoots()...)
			case whose[id] == "" && holdsSome(m.Trust, there.TrustRoots()):
				out[m.Trust.Name] = append(out[m.Trust.Name], rootsOf(m.Trust, there.TrustRoots())...)
			}
		}
	}
	return out
}

// holdsSome says whether a place of which nobody knows whose it is holds some of the
// roots that a trust publishes. One that holds none is another trust's.
func holdsSome(trust lbmodel.Trust, there []lbmodel.Root) bool {
	return slices.ContainsFunc(there, func(r lbmodel.Root) bool { return publishes(trust, r) })
}

func publishes(trust lbmodel.Trust, r lbmodel.Root) bool {
	return slices.ContainsFunc(trust.Roots, func(w lbmodel.Root) bool { return w.SHA256 == r.SHA256 })
}

// rootsOf are those of a trust among what a place holds that may be another's too.
func rootsOf(trust lbmodel.Trust, there []lbmodel.Root) []lbmodel.Root {
	return slices.DeleteFunc(slices.Clone(there), func(r lbmodel.Root) bool { return !publishes(trust, r) && r.Dropped.IsZero() })
}

// AddressesIn are the addresses of a graph's resources, sorted. What lingers goes on
// serving whoever knows it, and is told to nobody any more: its clients must have left it
// before it goes. While nothing else has an address, it is the address.
func AddressesIn(graph lbmodel.Graph) []lbmodel.Address {
	var out, lingering []lbmodel.Address
	for _, r := range graph {
		if r.Facts.DroppedAt.IsZero() {
			out = append(out, r.Facts.Addresses...)
		} else {
			lingering = append(lingering, r.Facts.Addresses...)
		}
	}
	if len(out) == 0 {
		out = lingering
	}
	slices.SortFunc(out, func(a, b lbmodel.Address) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Routability, b.Routability))
	})
	return slices.Compact(out)
}
