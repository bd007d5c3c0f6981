package providers

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// TrustIDs are the resources that would hold the roots of one trust of a gateway, in a
// fixed order; none where the provider holds roots only together with what uses them.
// Roots themselves say nothing of whose they are: two trusts may share some. It makes no
// call.
func (a *Account) TrustIDs(gw lbmodel.Gateway, trust lbmodel.Trust) []lbmodel.ID {
	features, _ := a.provider.Offers(gw.Settings)
	alone, _ := lbmodel.Restrict(lbmodel.Gateway{Owner: gw.Owner, Settings: gw.Settings, Trust: []lbmodel.Trust{trust}}, features)
	own, shared, _ := a.provider.Compile(alone)
	var out []lbmodel.ID
	for _, graph := range []lbmodel.Graph{own, shared} {
		for id, r := range graph {
			if _, is := r.Spec.(lbmodel.Rooted); is {
				out = append(out, id)
			}
		}
	}
	slices.SortFunc(out, lbmodel.ID.Compare)
	return out
}
