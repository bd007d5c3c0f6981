package providers

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// gate keeps a teardown that has an Impact (an address that goes) until what is
// made in its place is there: nothing else orders the two, since they are other
// resources that do not need each other. It opens when every step of the
// replacement is done, and stays shut when one fails, so that the old is not torn
// down for a new that does not work.
type gate struct {
	open    int   // steps of the replacement that are not done
	keeping []int // tasks of the teardown
}

// gates puts the teardowns of each owner behind their replacements.
func (r *run) gates(plan lbmodel.Plan) {
	torn := lbmodel.TornDown(plan)
	if len(torn) == 0 {
		return
	}
	replaced := r.replacements(plan, torn)
	room := roomMakers(plan)
	gates := map[lbmodel.Owner]*gate{}
	for i := range r.tasks {
		t := &r.tasks[i]
		if gates[t.owner] == nil {
			gates[t.owner] = &gate{}
		}
		g := gates[t.owner]
		_, leaving := torn[t.step.ID]
		switch {
		case replaced[i]:
			g.open++
			t.gate = g
		case leaving && !has(room, t.step.ID):
			g.keeping = append(g.keeping, i)
		}
	}
	for _, g := range gates {
		for _, i := range g.keeping {
			if g.open > 0 {
				r.tasks[i].waits++
			}
		}
	}
}

// replacements are the tasks that make, for the owner of a teardown, something
// of the kind that is torn down, and whatever waits for them.
func (r *run) replacements(plan lbmodel.Plan, torn map[lbmodel.ID]lbmodel.Step) []bool {
	type place struct {
		owner lbmodel.Owner
		kind  string
	}
	roots := map[place]bool{}
	for _, root := range torn {
		roots[place{root.Have.Owner, root.ID.Kind}] = true
	}
	out := make([]bool, len(r.tasks))
	parts := set{}
	for i, step := range plan.Steps {
		if step.Verb == lbmodel.Delete {
			continue
		}
		part := slices.ContainsFunc(step.After, func(id lbmodel.ID) bool { return has(parts, id) })
		root := step.Verb == lbmodel.Create && roots[place{r.tasks[i].owner, step.ID.Kind}]
		if part || root {
			out[i] = true
			parts[step.ID] = struct{}{}
		}
	}
	return out
}

// roomMakers are the steps that some create or update waits for.
func roomMakers(plan lbmodel.Plan) set {
	out := set{}
	for _, step := range slices.Backward(plan.Steps) {
		if step.Verb == lbmodel.Delete && !has(out, step.ID) {
			continue
		}
		for _, id := range step.After {
			out[id] = struct{}{}
		}
	}
	return out
}
