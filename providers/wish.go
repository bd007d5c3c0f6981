package providers

import (
	"cmp"
	"slices"

	"gatehouse.dev/lbmodel"
)

// wishes are what the gateways should be. Guarded by Account.mu.
type wishes struct {
	owners map[lbmodel.Owner]*wish
	owned  map[lbmodel.ID]lbmodel.Owner // who wishes an own resource
	joint  map[lbmodel.ID]*joint        // everything that is not one owner's alone
	turn   uint64                       // counts changed descriptions
}

// wish is what one owner should own and use.
type wish struct {
	own   lbmodel.Graph
	joint lbmodel.Graph // as this owner describes it
	later []lbmodel.Wait
}

// joint is a shared, adopted or external resource and who describes it.
type joint struct {
	by     map[lbmodel.Owner]described
	winner lbmodel.Owner
	fresh  described // by the fast path: stands for all descriptions that are older
}

// described is one owner's description of a joint resource.
type described struct {
	resource lbmodel.Resource
	turn     uint64 // when this owner last changed its mind; 0 is never
}

func newWishes() wishes {
	return wishes{
		owners: map[lbmodel.Owner]*wish{},
		owned:  map[lbmodel.ID]lbmodel.Owner{},
		joint:  map[lbmodel.ID]*joint{},
	}
}

// Want says what a gateway should be, from now on: it is restricted to what the
// provider offers, compiled and remembered as live. It makes no call. The
// findings are those of Offers, Restrict and Compile.
//
// What was said last is right, here and in Endpoints: a caller that translates
// several snapshots at a time must tell them in their order.
func (a *Account) Want(gw lbmodel.Gateway) []lbmodel.Finding {
	features, findings := a.provider.Offers(gw.Settings)
	restricted, refused := lbmodel.Restrict(gw, features)
	own, shared, compiled := a.provider.Compile(restricted)
	w := newWish(gw.Owner, own, shared)
	w.later = gw.Later

	a.mu.Lock()
	defer a.mu.Unlock()
	a.wish(gw.Owner, w)
	return slices.Concat(findings, refused, compiled)
}

// Drop says that an owner should own nothing, from now on. What may really be
// deleted (Retain, Protect) is up to the policies that the caller plans with.
func (a *Account) Drop(owner lbmodel.Owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wish(owner, newWish(owner, nil, nil))
}

// newWish sorts compiled resources into the owner's and the joint ones.
func newWish(owner lbmodel.Owner, own, shared lbmodel.Graph) *wish {
	w := &wish{own: lbmodel.Graph{}, joint: lbmodel.Graph{}}
	for id, r := range own {
		if r.Hold == lbmodel.Own {
			r.Owner = owner
			w.own[id] = r
			continue
		}
		w.joint[id] = r
	}
	for id, r := range shared {
		if r.Hold == lbmodel.Own {
			r.Hold = lbmodel.Shared
		}
		w.joint[id] = r
	}
	return w
}

// reckon keeps orphans right after the wish for a resource, or what is known of
// it, has changed, and forgets a resource that is neither there nor wanted.
func (a *Account) reckon(id lbmodel.ID) {
	wanted := a.wishes.wanted(id)
	if has(a.shadow.shared, id) && !wanted {
		a.orphans[id] = struct{}{}
		return
	}
	delete(a.orphans, id)
	if _, there := a.shadow.entries[id]; !there && !wanted {
		delete(a.late, id)
		delete(a.shadow.reached, id)
	}
}

// wish replaces an owner's wish. Its cost grows with that owner's resources, not
// with the account's.
func (a *Account) wish(owner lbmodel.Owner, next *wish) {
	if old := a.wishes.owners[owner]; old != nil {
		for id := range old.own {
			if a.wishes.owned[id] == owner {
				delete(a.wishes.owned, id)
			}
			if _, kept := next.own[id]; !kept {
				a.reckon(id)
			}
		}
		for id := range old.joint {
			if _, kept := next.joint[id]; !kept {
				a.wishes.retract(id, owner, a.shadow.entries[id].Digest)
				a.reckon(id)
			}
		}
	}
	for id := range next.own {
		a.wishes.owned[id] = owner
	}
	for id, r := range next.joint {
		a.wishes.describe(owner, r, a.shadow.entries[id].Digest)
		a.reckon(id)
	}
	a.wishes.owners[owner] = next
}

// wanted says whether anybody wishes a resource.
func (w *wishes) wanted(id lbmodel.ID) bool {
	_, owned := w.owned[id]
	return owned || w.joint[id] != nil
}

// describe notes one owner's description of a joint resource. Who changed its
// description last is right: gateways are compiled one after the other from one
// snapshot, so the others follow or are in conflict. Descriptions that never
// changed since start yield to the one that is live, then to the smaller owner.
func (w *wishes) describe(owner lbmodel.Owner, r lbmodel.Resource, live lbmodel.Digest) {
	j := w.joint[r.ID]
	if j == nil {
		j = &joint{by: map[lbmodel.Owner]described{}, winner: owner}
		w.joint[r.ID] = j
	}
	d := described{resource: r}
	_, known := j.by[owner]
	switch old := j.of(owner); {
	case old.resource.Digest == r.Digest:
		d.turn = old.turn
	case known:
		w.turn++
		d.turn = w.turn
	}
	j.by[owner] = d
	if j.better(owner, j.winner, live) {
		j.winner = owner
	}
}

// retract takes an owner's description back.
func (w *wishes) retract(id lbmodel.ID, owner lbmodel.Owner, live lbmodel.Digest) {
	j := w.joint[id]
	if j == nil {
		return
	}
	delete(j.by, owner)
	if len(j.by) == 0 {
		delete(w.joint, id)
		return
	}
	if owner != j.winner {
		return
	}
	for next := range j.by {
		if _, there := j.by[j.winner]; !there || j.better(next, j.winner, live) {
			j.winner = next
		}
	}
}

// better says whether x's description counts more than y's.
func (j *joint) better(x, y lbmodel.Owner, live lbmodel.Digest) bool {
	a, b := j.by[x], j.by[y]
	if a.turn != b.turn {
		return a.turn > b.turn
	}
	if a, b := a.resource.Digest == live, b.resource.Digest == live; a != b {
		return a
	}
	return compareOwners(x, y) < 0
}

// refresh notes a description that stands for everybody's.
func (w *wishes) refresh(j *joint, r lbmodel.Resource) {
	if now := j.resource(); now.Digest != r.Digest {
		w.turn++
		r.Hold, r.Handle = now.Hold, now.Handle
		j.fresh = described{resource: r, turn: w.turn}
	}
}

// of is how an owner describes the resource, in the light of the fast path.
func (j *joint) of(owner lbmodel.Owner) described {
	if d := j.by[owner]; d.turn >= j.fresh.turn {
		return d
	}
	return j.fresh
}

// agrees says whether an owner describes the resource as it counts: in its own
// words, or because the fast path has spoken since.
func (j *joint) agrees(owner lbmodel.Owner) bool {
	counts := j.resource().Digest
	return j.by[owner].resource.Digest == counts || j.of(owner).resource.Digest == counts
}

// resource is the description that counts.
func (j *joint) resource() lbmodel.Resource { return j.of(j.winner).resource }

// wanted is what a resource should be before Place, by whoever wishes it.
func (a *Account) wanted(owner lbmodel.Owner, id lbmodel.ID) (lbmodel.Resource, bool) {
	if j := a.wishes.joint[id]; j != nil {
		return j.resource(), true
	}
	if w := a.wishes.owners[owner]; w != nil {
		r, ok := w.own[id]
		return r, ok
	}
	return lbmodel.Resource{}, false
}

func compareOwners(a, b lbmodel.Owner) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
