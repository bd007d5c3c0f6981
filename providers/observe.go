package providers

import (
	"context"
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// Live are the owners of this cluster that own anything in the cloud, sorted.
func (a *Account) Live(ctx context.Context) ([]lbmodel.Owner, error) {
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Keys(a.shadow.owned), compareOwners), nil
}

// Gone looks at the cloud (not at what is remembered) and says whether an owner
// that was dropped owns nothing there. If so the owner is forgotten, and its
// finalizer may go.
func (a *Account) Gone(ctx context.Context, owner lbmodel.Owner) (bool, error) {
	if _, err := a.observe(ctx, owner); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.wishes.owners[owner]
	if len(a.shadow.owned[owner]) > 0 || w != nil && len(w.own)+len(w.joint) > 0 {
		return false, nil
	}
	delete(a.wishes.owners, owner)
	maps.DeleteFunc(a.shadow.reached, func(_ lbmodel.ID, r reached) bool { return r.placed.Owner == owner })
	return true, nil
}

// Observed is what is remembered of an owner's resources, and of the shared and
// foreign ones that it uses. It makes no call.
func (a *Account) Observed(owner lbmodel.Owner) lbmodel.Graph {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.observed(owner)
}

func (a *Account) observed(owners ...lbmodel.Owner) lbmodel.Graph {
	out := lbmodel.Graph{}
	take := func(id lbmodel.ID) {
		if r, ok := a.shadow.entries[id]; ok {
			out[id] = r
		}
	}
	for _, owner := range owners {
		for id := range a.shadow.owned[owner] {
			take(id)
		}
		if w := a.wishes.owners[owner]; w != nil {
			for id := range w.joint {
				take(id)
			}
		}
	}
	return out
}

// Invalidate makes the next plan of an owner observe it first.
func (a *Account) Invalidate(owner lbmodel.Owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shadow.suspect(owner, lbmodel.Own)
}

// begin observes the cluster if that was never done.
func (a *Account) begin(ctx context.Context) error {
	a.mu.Lock()
	seen := a.shadow.seen
	a.mu.Unlock()
	if seen {
		return nil
	}
	_, err := a.observe(ctx, lbmodel.Owner{Cluster: a.config.Cluster})
	return err
}

// refresh observes what must be observed before these owners can be planned.
func (a *Account) refresh(ctx context.Context, owners []lbmodel.Owner) error {
	for {
		next, needed := a.unseen(owners)
		if !needed {
			return nil
		}
		if _, err := a.observe(ctx, next); err != nil {
			return err
		}
	}
}

// unseen is the next owner that must be observed: the whole cluster at first,
// and an owner after an unknown outcome.
func (a *Account) unseen(owners []lbmodel.Owner) (lbmodel.Owner, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	cluster := lbmodel.Owner{Cluster: a.config.Cluster}
	if !a.shadow.seen {
		return cluster, true
	}
	for _, owner := range owners {
		if _, doubted := a.shadow.doubt[owner]; doubted {
			return owner, true
		}
	}
	if a.shadow.doubtful == 0 && !a.unlooked(owners) {
		return lbmodel.Owner{}, false
	}
	if len(owners) == 0 {
		return cluster, true
	}
	return owners[0], true
}

// unlooked says whether the owners name a foreign resource that was never asked
// for.
func (a *Account) unlooked(owners []lbmodel.Owner) bool {
	for _, owner := range owners {
		w := a.wishes.owners[owner]
		if w == nil {
			continue
		}
		for _, r := range w.joint {
			if _, looked := a.shadow.looked[r.Handle]; r.Handle != "" && !looked {
				return true
			}
		}
	}
	return false
}

// named are the handles of all foreign resources that anybody wants, sorted.
func (a *Account) named() []lbmodel.Handle {
	out := slices.Clone(a.config.Named)
	for _, j := range a.wishes.joint {
		for _, d := range j.by {
			if d.resource.Handle != "" {
				out = append(out, d.resource.Handle)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// observe reads an owner's resources (all of the cluster for a zero Name), what
// is shared and what is named, and takes them into the shadow. It returns what
// is not as it was remembered. One observation runs at a time.
func (a *Account) observe(ctx context.Context, owner lbmodel.Owner) ([]lbmodel.ID, error) {
	select {
	case a.observing <- struct{}{}:
		defer func() { <-a.observing }()
	case <-ctx.Done():
		return nil, located(opObserve, lbmodel.ID{}, ctx.Err())
	}
	o := a.beginObservation(owner)
	var err error
	if o.graph, err = a.read(ctx, o); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	o.trust = a.config.Clock.Now().Add(-a.config.Settle)
	changed := a.shadow.absorb(o)
	for _, id := range changed {
		a.reckon(id)
	}
	a.lookAgain()
	return changed, nil
}

func (a *Account) beginObservation(owner lbmodel.Owner) observation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return observation{owner: owner, named: a.named(), began: a.config.Clock.Now(), since: a.shadow.turn}
}

// read is Observe, repeated as its error codes allow.
func (a *Account) read(ctx context.Context, o observation) (lbmodel.Graph, error) {
	at := attempt[lbmodel.Graph]{
		op: opObserve,
		call: func(ctx context.Context) (lbmodel.Graph, error) {
			return a.provider.Observe(ctx, o.owner, o.named)
		},
		finish: func(g lbmodel.Graph, err error) (lbmodel.Graph, error) { return g, err },
	}
	for try := 1; ; try++ {
		if err := a.config.Pacer.Wait(ctx, opObserve); err != nil {
			return nil, located(opObserve, lbmodel.ID{}, err)
		}
		graph, err := do(ctx, a, at)
		if err == nil {
			return graph, nil
		}
		wait, again := a.backoff(err, try)
		if !again || !a.sleep(ctx, wait) {
			return nil, err
		}
		a.config.Log.Info("observing again", "try", try+1, "after", wait, "err", err)
	}
}
