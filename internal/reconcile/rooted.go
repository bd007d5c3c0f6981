package reconcile

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// Rooted are the sets of roots that a gateway uses in the cloud, whatever they are for,
// in a fixed order. It makes no call.
func (l *Loop) Rooted(g Gateway) [][]lbmodel.Root {
	account := l.accounts[g.Result.Provider]
	if account == nil {
		return nil
	}
	there := account.Observed(g.Result.Gateway.Owner)
	var ids []lbmodel.ID
	for id, r := range there {
		if _, is := r.Spec.(lbmodel.Rooted); is {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, lbmodel.ID.Compare)
	var out [][]lbmodel.Root
	for _, id := range ids {
		out = append(out, there[id].Spec.(lbmodel.Rooted).TrustRoots())
	}
	return out
}
