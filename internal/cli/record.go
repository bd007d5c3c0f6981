package cli

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
)

// record is what the last commands did, for `get` to show without asking a
// cloud. It decides one thing only: what may not be pruned.
type record struct {
	At        time.Time          `json:"at"`
	Gateways  []recordedGateway  `json:"gateways,omitempty"`
	Resources []recordedResource `json:"resources,omitempty"`
	Statuses  []objectStatus     `json:"statuses,omitempty"`
}

type recordedGateway struct {
	Owner     lbmodel.Owner     `json:"owner"`
	Provider  string            `json:"provider"`
	Deletion  lbmodel.Deletion  `json:"deletion,omitzero"`
	Addresses []lbmodel.Address `json:"addresses,omitempty"`
	Listeners int               `json:"listeners"`
	Rules     int               `json:"rules"`
	Problems  int               `json:"problems,omitzero"`
	Settled   bool              `json:"settled"` // the last apply did all of its plan
}

type recordedResource struct {
	Provider string         `json:"provider"`
	ID       lbmodel.ID     `json:"id"`
	Owner    lbmodel.Owner  `json:"owner,omitzero"`
	Handle   lbmodel.Handle `json:"handle"`
	Hold     string         `json:"hold"`
	Since    time.Time      `json:"since,omitzero"`
}

const recordFile = "record.json"

func (s state) record() (record, error) {
	var r record
	return r, s.load(recordFile, &r)
}

// kept is the deletion policy that keeps an owner's resources, "" for none.
func (r record) kept(owner lbmodel.Owner) lbmodel.Deletion {
	for _, g := range r.Gateways {
		if g.Owner == owner && (g.Deletion == lbmodel.DeletionRetain || g.Deletion == lbmodel.DeletionProtect) {
			return g.Deletion
		}
	}
	return ""
}

// names says whether anything was applied to a provider.
func (r record) names(provider string) bool {
	return slices.ContainsFunc(r.Gateways, func(g recordedGateway) bool { return g.Provider == provider }) ||
		slices.ContainsFunc(r.Resources, func(x recordedResource) bool { return x.Provider == provider })
}

// settled says whether the last apply did all for an owner.
func (r record) settled(owner lbmodel.Owner) bool {
	return slices.ContainsFunc(r.Gateways, func(g recordedGateway) bool { return g.Owner == owner && g.Settled })
}

// intend takes what a pass is about to do into the record: whose resources there
// will be, and what protects them.
func (r *record) intend(now time.Time, e *engine, all []reconcile.Gateway, pass reconcile.Pass) {
	r.At = now.UTC()
	var doing []lbmodel.Owner
	for _, g := range pass.Groups {
		if !g.Plan.Empty() {
			doing = append(doing, g.Plan.Owners...)
		}
	}
	for i, g := range r.Gateways {
		r.Gateways[i].Settled = g.Settled && !slices.Contains(doing, g.Owner)
	}
	for _, g := range all {
		if slices.Contains(doing, g.Result.Gateway.Owner) {
			r.put(e.recorded(g, unfinished))
		}
	}
	r.sortGateways()
}

// put takes a gateway's record over an older one.
func (r *record) put(g recordedGateway) {
	r.forget(g.Owner)
	r.Gateways = append(r.Gateways, g)
}

func (r *record) sortGateways() {
	slices.SortFunc(r.Gateways, func(a, b recordedGateway) int { return cmp.Compare(a.Owner.String(), b.Owner.String()) })
}

// note takes what a pass came to into the record. What the pass was not about
// stays recorded as it was.
func (r *record) note(now time.Time, e *engine, all []reconcile.Gateway, pass reconcile.Pass) {
	r.At = now.UTC()
	ended := map[lbmodel.Owner]ending{}
	for _, g := range pass.Groups {
		concerns := g.Plan.Concerns()
		for _, owner := range g.Plan.Owners {
			ended[owner] = endingOf(g.Outcome, func(id lbmodel.ID) bool { return mineOrNobodys(concerns, owner, id) })
			r.over(owner, ended[owner])
		}
		r.noteResources(g)
	}
	for _, g := range all {
		if owner := g.Result.Gateway.Owner; g.Planned() || !r.over(owner, unfinished) {
			r.put(e.recorded(g, ended[owner]))
		}
	}
	r.sortGateways()
}

// over notes how the last command ended for a gateway that it was to remove, or
// could not plan for. What was done stands no longer; what is unfinished stays
// known, with what protects it: files that are broken take no protection away.
func (r *record) over(owner lbmodel.Owner, how ending) (known bool) {
	i := slices.IndexFunc(r.Gateways, func(g recordedGateway) bool { return g.Owner == owner })
	switch {
	case i < 0:
		return false
	case how == unfinished:
		r.Gateways[i].Settled = false
	default:
		r.forget(owner)
	}
	return true
}

// noteResources replaces what is recorded of the resources that a group's plan
// was about.
func (r *record) noteResources(g reconcile.Group) {
	about := map[lbmodel.ID]bool{}
	for _, s := range g.Plan.Steps {
		about[s.ID] = true
	}
	r.Resources = slices.DeleteFunc(r.Resources, func(x recordedResource) bool {
		_, again := g.Outcome.Observed[x.ID]
		return x.Provider == g.Provider && (again || about[x.ID] || slices.Contains(g.Plan.Owners, x.Owner))
	})
	r.Resources = append(r.Resources, recordedResources(g.Provider, g.Outcome.Observed)...)
	sortResources(r.Resources)
}

func (r *record) forget(owner lbmodel.Owner) {
	r.Gateways = slices.DeleteFunc(r.Gateways, func(g recordedGateway) bool { return g.Owner == owner })
}

// ending is whether an apply did all of its plan.
type ending bool

const unfinished ending = false

// mineOrNobodys says whether a resource is an owner's business. What a plan only
// mentions, such as what is left over, may be anybody's.
func mineOrNobodys(concerns map[lbmodel.Owner]map[lbmodel.ID]bool, owner lbmodel.Owner, id lbmodel.ID) bool {
	for other, ids := range concerns {
		if other != owner && ids[id] && !concerns[owner][id] {
			return false
		}
	}
	return true
}

// endingOf is how an outcome ended as far as some resources are concerned.
func endingOf(o lbmodel.Outcome, concerned func(lbmodel.ID) bool) ending {
	part := lbmodel.Outcome{Failed: maps.Clone(o.Failed)}
	maps.DeleteFunc(part.Failed, func(id lbmodel.ID, _ error) bool { return !concerned(id) })
	part.Blocked = slices.DeleteFunc(slices.Clone(o.Blocked), func(id lbmodel.ID) bool { return !concerned(id) })
	part.Held.Later = slices.DeleteFunc(slices.Clone(o.Held.Later), func(w lbmodel.Wait) bool { return !concerned(w.ID) })
	return ending(part.Settled())
}

func (e *engine) recorded(g reconcile.Gateway, how ending) recordedGateway {
	out := recordedGateway{
		Owner: g.Result.Gateway.Owner, Provider: g.Result.Provider, Deletion: g.Result.Gateway.Deletion,
		Addresses: e.loop.Addresses(g), Listeners: len(g.Served.Listeners), Settled: bool(how),
	}
	for _, l := range g.Served.Listeners {
		out.Rules += len(l.Rules) + len(l.SNI)
	}
	for _, f := range g.Findings {
		if severityOf(f) == mistake {
			out.Problems++
		}
	}
	return out
}

func recordedResources(provider string, graph lbmodel.Graph) []recordedResource {
	var out []recordedResource
	for id, x := range graph {
		out = append(out, recordedResource{provider, id, x.Owner, x.Handle, x.Hold.String(), x.Facts.Since})
	}
	return out
}

func sortResources(all []recordedResource) {
	slices.SortFunc(all, func(a, b recordedResource) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), a.ID.Compare(b.ID))
	})
}
