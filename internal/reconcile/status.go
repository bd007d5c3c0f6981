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
	outcomes := map[translate.Key]translate.Outcome{}
	for _, key := range keys {
		g, ok := planned.gateways[key]
		if !ok {
			results[key] = translate.Result{Gone: true}
			continue
		}
		results[key] = g.Result
		group, ok := planned.groupOf(key)
		if !ok {
			continue
		}
		s := share{gateway: g, planned: group, mine: group.Plan.Concerns()[g.Result.Gateway.Owner]}
		s.done, s.ran = applied.groupOf(key)
		outcomes[key] = l.outcome(s)
	}
	return translate.Status(planned.index, results, outcomes, metav1.NewTime(now))
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

// AddressesIn are the addresses of a graph's resources, sorted.
func AddressesIn(graph lbmodel.Graph) []lbmodel.Address {
	var out []lbmodel.Address
	for _, r := range graph {
		out = append(out, r.Facts.Addresses...)
	}
	slices.SortFunc(out, func(a, b lbmodel.Address) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Routability, b.Routability))
	})
	return slices.Compact(out)
}
