package providers

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"gatehouse.dev/lbmodel"
)

// PoolChange is a pool whose endpoints changed, as one gateway has it.
type PoolChange struct {
	Owner    lbmodel.Owner // of the gateway
	Settings json.RawMessage
	Pool     lbmodel.Pool
}

// Endpoints is the fast path: it brings the endpoints of some pools up to date
// and touches nothing else. A change that several gateways see is told for each of
// them, in one call: what they share is brought once, and what is each one's own
// at the same time. Resources that no gateway wants are left alone; those that are
// wanted and not there yet get their endpoints at the end of the plan that makes
// them. It is Retarget and Bring.
func (a *Account) Endpoints(ctx context.Context, changes ...PoolChange) (lbmodel.Outcome, error) {
	return a.Bring(ctx, a.Retarget(changes...)...)
}

// Retarget says which endpoints some pools have from now on, and returns the wanted
// resources that hold them, sorted, for Bring. It makes no call. Like Want it must
// be told in the order of the snapshots.
func (a *Account) Retarget(changes ...PoolChange) []lbmodel.ID {
	parts := lbmodel.Graph{}
	for _, c := range changes {
		features, _ := a.provider.Offers(c.Settings)
		pool, _ := lbmodel.RestrictPool(c.Pool, features)
		maps.Copy(parts, a.provider.Endpoints(c.Owner, pool, c.Settings))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []lbmodel.ID
	for _, id := range sortedIDs(parts) {
		if a.rewishOne(parts[id]) {
			out = append(out, id)
		}
	}
	return out
}

// Bring makes some resources what is wanted of them by now, and touches nothing
// else. The caller gives it a queue of its own, so that no configuration can hold it
// up. In which order it is called means nothing.
func (a *Account) Bring(ctx context.Context, ids ...lbmodel.ID) (lbmodel.Outcome, error) {
	if err := a.begin(ctx); err != nil {
		return lbmodel.Outcome{}, err
	}
	now := a.present(ids)
	if len(now) == 0 {
		return lbmodel.Outcome{}, nil
	}
	if err := a.refresh(ctx, a.askFor(now)); err != nil {
		return lbmodel.Outcome{}, err
	}
	return a.bring(ctx, now), nil
}

// present are the resources that are there. The others are wanted: the plan that
// makes them brings their endpoints when it is done.
func (a *Account) present(ids []lbmodel.ID) []lbmodel.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var now []lbmodel.ID
	for _, id := range ids {
		if _, there := a.shadow.entries[id]; there {
			now = append(now, id)
		} else if a.wishes.wanted(id) {
			a.late[id] = struct{}{}
		}
	}
	return now
}

// askFor are the owners to observe when it is doubtful what some resources are:
// one is enough for all that is shared.
func (a *Account) askFor(ids []lbmodel.ID) []lbmodel.Owner {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []lbmodel.Owner
	for _, id := range ids {
		if owner, ok := a.wishes.owned[id]; ok {
			out = append(out, owner)
		}
		if j := a.wishes.joint[id]; j != nil && a.shadow.doubtful > 0 && len(out) == 0 {
			out = append(out, j.winner)
		}
	}
	return out
}

// rewishOne replaces the wish for one resource wherever it is wished for, and
// says whether it is.
func (a *Account) rewishOne(r lbmodel.Resource) bool {
	if j := a.wishes.joint[r.ID]; j != nil {
		a.wishes.refresh(j, r)
		return true
	}
	owner, there := a.wishes.owned[r.ID]
	if there {
		r.Owner = owner
		a.wishes.owners[owner].own[r.ID] = r
	}
	return there
}

// catchUp brings endpoints up to date that changed while the plan that made
// their resource was running.
func (a *Account) catchUp(ctx context.Context, plan Plan) lbmodel.Outcome {
	if now := a.lateOf(plan); len(now) > 0 {
		return a.bring(ctx, now)
	}
	return lbmodel.Outcome{}
}

func (a *Account) lateOf(plan Plan) []lbmodel.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var now []lbmodel.ID
	for _, step := range plan.Steps {
		_, late := a.late[step.ID]
		if _, there := a.shadow.entries[step.ID]; late && there {
			delete(a.late, step.ID)
			now = append(now, step.ID)
		}
	}
	return now
}

// bring makes some resources what is wished of them. A plan that is running may
// change one of them at the same time; then it looks again.
func (a *Account) bring(ctx context.Context, ids []lbmodel.ID) lbmodel.Outcome {
	for tries := 1; ; tries++ {
		d := a.draftPart(ids)
		placed, _ := a.provider.Place(d.want, d.have, a.config.Clock.Now())
		steps, err := lbmodel.Diff(placed, d.base, d.have)
		if err != nil {
			a.config.Log.Error("endpoints have no safe order", "err", err)
		}
		out := newRun(a, Plan{Plan: steps, placed: placed, wishes: d.wishes}, nil).do(ctx)
		if !errors.Is(out.Err(), errOutdated) || tries == 3 {
			out.Held.Later = steps.Later
			out.Observed = a.remembered(ids)
			return out
		}
	}
}

// remembered is what is known of some resources.
func (a *Account) remembered(ids []lbmodel.ID) lbmodel.Graph {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := lbmodel.Graph{}
	for _, id := range ids {
		if r, ok := a.shadow.entries[id]; ok {
			out[id] = r
		}
	}
	return out
}

// draftPart is a draft of some resources only; what they need is known as
// External.
func (a *Account) draftPart(ids []lbmodel.ID) *draft {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := &draft{want: lbmodel.Graph{}, base: lbmodel.Graph{}, have: lbmodel.Graph{}, wishes: map[lbmodel.ID]lbmodel.Digest{}}
	for _, id := range ids {
		have, there := a.shadow.entries[id]
		if r, wanted := a.wanted(have.Owner, id); there && wanted {
			d.have[id], d.want[id], d.wishes[id] = have, r, r.Digest
		}
	}
	for _, r := range d.want {
		for _, need := range needsOf(r) {
			if _, known := d.have[need]; known {
				continue
			}
			if e, there := a.shadow.entries[need]; there {
				d.have[need] = e.With(lbmodel.External)
			}
		}
	}
	a.draftBase(d)
	return d
}
