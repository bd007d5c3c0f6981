package providers

import (
	"context"
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
)

// Plan is what has to be done for some owners, with what is needed to run it.
// Account.Plan makes it and Account.Apply of the same Account runs it.
type Plan struct {
	lbmodel.Plan
	Owners   []lbmodel.Owner
	Held     lbmodel.Plan      // what the policies kept back
	Findings []lbmodel.Finding // of planning itself: Place, and disputes over shared resources

	placed lbmodel.Graph                 // what is wanted, after Place
	wishes map[lbmodel.ID]lbmodel.Digest // what is wanted, before Place
}

// Plan compares what the owners should own, and what they share with others, with
// what is there. It observes first if it must (at start, after an unknown
// outcome) and makes no call otherwise. Without owners it plans the shared
// resources that nobody needs any more. Every owner must have been wanted or
// dropped before. The plan is deterministic.
//
// What is as it should be and must be renewed some day (lbmodel.Renewing) is told
// in Later with WaitRenewal: the caller plans again then.
func (a *Account) Plan(ctx context.Context, owners []lbmodel.Owner, policies ...lbmodel.Policy) (Plan, error) {
	owners = slices.Compact(slices.SortedFunc(slices.Values(owners), compareOwners))
	if err := a.refresh(ctx, owners); err != nil {
		return Plan{}, err
	}
	d, err := a.draft(owners)
	if err != nil {
		return Plan{}, err
	}
	now := a.config.Clock.Now()
	placed, findings := a.provider.Place(d.want, d.have, now)
	steps, err := lbmodel.Diff(placed, d.base, d.have)
	if err != nil {
		findings = append(findings, aboutOwners(owners, err)...)
	}
	a.remember(placed, d, steps)
	alarms := settledOnly(lbmodel.Renewals(placed, d.have), steps)
	steps = lbmodel.KeepBack(steps, d.disputed(steps))
	steps.Later = slices.Concat(steps.Later, d.later, alarms)
	decided := lbmodel.Compose(policies...)(steps, now)
	return Plan{
		Plan: decided, Owners: owners, Held: lbmodel.HeldBack(steps, decided),
		Findings: append(findings, d.findings...), placed: placed, wishes: d.wishes,
	}, nil
}

// settledOnly are the waits of resources that a plan does not change.
func settledOnly(waits []lbmodel.Wait, p lbmodel.Plan) []lbmodel.Wait {
	changing := set{}
	for _, s := range p.Steps {
		changing[s.ID] = struct{}{}
	}
	for _, w := range p.Later {
		changing[w.ID] = struct{}{}
	}
	return slices.DeleteFunc(waits, func(w lbmodel.Wait) bool { return has(changing, w.ID) })
}

// aboutOwners tells everybody concerned that part of the plan has no safe order.
func aboutOwners(owners []lbmodel.Owner, err error) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, owner := range owners {
		out = append(out, lbmodel.Finding{
			About:     sourceOf(owner),
			Condition: "Programmed", Reason: "Pending", Code: lbmodel.CodeOf(err), Detail: err.Error(),
		})
	}
	return out
}

func sourceOf(o lbmodel.Owner) lbmodel.Source {
	return lbmodel.Source{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// remember makes what is wanted and already there the base of later plans.
func (a *Account) remember(placed lbmodel.Graph, d *draft, steps lbmodel.Plan) {
	changes := set{}
	for _, s := range steps.Steps {
		changes[s.ID] = struct{}{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, r := range placed {
		if _, changing := changes[id]; !changing && d.have[id].Digest == r.Digest {
			a.shadow.reached[id] = reached{placed: r, wish: d.wishes[id]}
		}
	}
}

// draft is a copy of the part of the wishes and the shadow that a plan is made
// from, so that nothing is locked while it is made.
type draft struct {
	want, base, have lbmodel.Graph
	wishes           map[lbmodel.ID]lbmodel.Digest
	later            []lbmodel.Wait
	findings         []lbmodel.Finding
	disputes         map[lbmodel.Owner]map[lbmodel.ID]lbmodel.Owner // who disagrees about what with whom
}

func (a *Account) draft(owners []lbmodel.Owner) (*draft, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := &draft{
		want: lbmodel.Graph{}, base: lbmodel.Graph{}, have: a.observed(owners...),
		wishes:   map[lbmodel.ID]lbmodel.Digest{},
		disputes: map[lbmodel.Owner]map[lbmodel.ID]lbmodel.Owner{},
	}
	for _, owner := range owners {
		w := a.wishes.owners[owner]
		if w == nil && len(a.shadow.owned[owner]) == 0 {
			w = newWish(owner, nil, nil) // Gone has forgotten it since it was dropped
		}
		if w == nil {
			return nil, lbmodel.Errorf(lbmodel.CodeInternal, "plan", lbmodel.ID{}, "%s was neither wanted nor dropped", owner)
		}
		a.draftOwner(d, owner, w)
	}
	a.draftOrphans(d)
	a.draftOthers(d)
	for id, r := range d.want {
		d.wishes[id] = r.Digest
	}
	a.draftBase(d)
	return d, nil
}

// draftOwner adds one owner's wishes: its own resources, and the joint ones as
// they count.
func (a *Account) draftOwner(d *draft, owner lbmodel.Owner, w *wish) {
	d.later = append(d.later, w.later...)
	for id, r := range w.own {
		d.want[id] = r
	}
	for _, id := range sortedIDs(w.joint) {
		j := a.wishes.joint[id]
		d.want[id] = j.resource()
		if !j.agrees(owner) {
			d.dispute(owner, id, j.winner)
		}
	}
}

// dispute notes that an owner describes a joint resource in another way than the
// one that counts. It costs that owner what depends on it, and nobody else.
func (d *draft) dispute(owner lbmodel.Owner, id lbmodel.ID, winner lbmodel.Owner) {
	if d.disputes[owner] == nil {
		d.disputes[owner] = map[lbmodel.ID]lbmodel.Owner{}
	}
	d.disputes[owner][id] = winner
	d.findings = append(d.findings, lbmodel.Finding{
		About: sourceOf(owner), Condition: "Programmed", Reason: "Pending", Code: lbmodel.CodeConflict,
		Detail: fmt.Sprintf("%s is shared with %s, which describes it differently; what needs it waits until both agree", id, winner),
	})
}

// disputed are the steps of a plan that must wait for a dispute to end.
func (d *draft) disputed(p lbmodel.Plan) map[lbmodel.ID]lbmodel.Wait {
	if len(d.disputes) == 0 {
		return nil
	}
	roots := map[lbmodel.ID]lbmodel.Wait{}
	for _, s := range p.Steps {
		r := d.want[s.ID]
		if s.Verb == lbmodel.Delete || r.Hold != lbmodel.Own {
			continue
		}
		if cause, ok := d.leadsTo(r, d.disputes[r.Owner]); ok {
			roots[s.ID] = lbmodel.Wait{ID: s.ID, Reason: lbmodel.WaitDisputed, Why: fmt.Sprintf(
				"needs %s, which %s describes differently", cause, d.disputes[r.Owner][cause])}
		}
	}
	return roots
}

// leadsTo finds one of the disputed resources among what r needs, directly or
// not.
func (d *draft) leadsTo(r lbmodel.Resource, disputes map[lbmodel.ID]lbmodel.Owner) (lbmodel.ID, bool) {
	seen, todo := set{}, needsOf(r)
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		if _, ok := disputes[id]; ok {
			return id, true
		}
		if _, again := seen[id]; !again {
			seen[id] = struct{}{}
			todo = append(todo, needsOf(d.want[id])...)
		}
	}
	return lbmodel.ID{}, false
}

// draftOrphans adds the shared resources that no gateway describes, to be
// deleted: not before every live gateway was compiled once since start, since one
// that was not may need them.
func (a *Account) draftOrphans(d *draft) {
	if len(a.orphans) == 0 {
		return
	}
	uncompiled := a.uncompiled()
	for _, id := range sortedIDs(a.orphans) {
		if uncompiled == 0 {
			d.have[id] = a.shadow.entries[id]
			continue
		}
		d.later = append(d.later, lbmodel.Wait{ID: id, Reason: lbmodel.WaitInUse, Why: fmt.Sprintf(
			"is shared, and kept until the %d live gateways that were not compiled since start have been", uncompiled)})
	}
}

// uncompiled counts the owners in the cloud of which nobody has said yet what
// they should be.
func (a *Account) uncompiled() int {
	n := 0
	for owner := range a.shadow.owned {
		if a.wishes.owners[owner] == nil {
			n++
		}
	}
	return n
}

// draftOthers adds, as External, what must be known but is not this plan's to
// change: foreign resources, and whoever else uses those or something that is to
// be deleted.
func (a *Account) draftOthers(d *draft) {
	for id := range a.shadow.foreign {
		d.have[id] = a.shadow.entries[id]
		a.draftUsers(d, id)
	}
	for id := range a.orphans {
		if _, leaving := d.have[id]; leaving {
			a.draftUsers(d, id)
		}
	}
}

func (a *Account) draftUsers(d *draft, id lbmodel.ID) {
	for user := range a.shadow.users[id] {
		if _, known := d.have[user]; !known {
			d.have[user] = a.shadow.entries[user].With(lbmodel.External)
		}
	}
}

// draftBase says what was wanted last. What stands under an owner of ours and is
// wanted no more was wanted once, maybe by a process before this one: it goes by
// desire. Nobody else can have made it, for what lacks our owner is never ours.
func (a *Account) draftBase(d *draft) {
	for id := range d.want {
		if r, ok := a.shadow.reached[id]; ok {
			d.base[id] = r.placed
		}
	}
	for id, r := range d.have {
		if _, wanted := d.want[id]; !wanted {
			d.base[id] = r
		}
	}
}

func sortedIDs[V any](m map[lbmodel.ID]V) []lbmodel.ID {
	out := make([]lbmodel.ID, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.SortFunc(out, lbmodel.ID.Compare)
	return out
}
