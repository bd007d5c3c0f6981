package cli

import (
	"cmp"
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

// note takes what a pass came to into the record. What the pass was not about
// stays recorded as it was.
func (r *record) note(now time.Time, e *engine, all []reconcile.Gateway, pass reconcile.Pass) {
	r.At = now.UTC()
	settled := map[lbmodel.Owner]bool{}
	for _, g := range pass.Groups {
		for _, owner := range g.Plan.Owners {
			settled[owner] = g.Outcome.Settled()
			r.forget(owner)
		}
		r.noteResources(g)
	}
	for _, g := range all {
		r.forget(g.Result.Gateway.Owner)
		r.Gateways = append(r.Gateways, e.recorded(g, settled[g.Result.Gateway.Owner]))
	}
	slices.SortFunc(r.Gateways, func(a, b recordedGateway) int { return cmp.Compare(a.Owner.String(), b.Owner.String()) })
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

func (e *engine) recorded(g reconcile.Gateway, settled bool) recordedGateway {
	out := recordedGateway{
		Owner: g.Result.Gateway.Owner, Provider: g.Result.Provider, Deletion: g.Result.Gateway.Deletion,
		Addresses: e.loop.Addresses(g), Listeners: len(g.Served.Listeners), Settled: settled,
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
