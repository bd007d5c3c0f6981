package lbmodel

import (
	"cmp"
	"fmt"
	"slices"
)

// Diff is the ordered set of changes that turns have into want.
//
// Digests decide; Specs are opened only to order the changes and to explain
// them. base is what was last wanted and reached: a resource whose want equals
// base was changed by somebody else (Drift), any other is a new wish (Desire).
// Without a base everything is Desire.
//
// have holds everything that may be changed (Own, Shared, Adopted), and as
// External whatever else must be known: foreign objects that fill a slot, and
// what the wanted resources need but this call does not manage. Whoever diffs a
// part of a graph (the endpoint fast path) adds what the part needs as External.
//
//   - A need is done before its users. A user is moved or deleted before what it
//     leaves is deleted. A slot is freed before it is taken. What a [Follower]
//     follows is widened before it changes, and narrowed after.
//   - Adopted resources are only ever updated, External ones never touched.
//   - What cannot be done now becomes a Wait in Plan.Later, and so does every
//     step that would follow it: a slot that somebody keeps, a need that is in
//     neither graph, a need of another owner that is not there, an object that
//     would be deleted while something that stays uses it.
//   - When steps wait for each other in a circle, the error (CodeInternal) names
//     one such circle. The plan beside it is still right: it holds what the
//     circle does not concern, so that one bad resource costs nobody else.
//
// The plan is equal for equal graphs: topological, then creates and updates
// before deletes, then by ID.
func Diff(want, base, have Graph) (Plan, error) {
	d := differ{want: want, base: base, have: have, held: map[int]Wait{}, blame: map[int]ID{}}
	d.collect()
	if len(d.nodes) == 0 {
		return Plan{}, nil
	}
	d.linkNeeds()
	d.linkUsers()
	d.linkSlots()
	d.linkFollowers()
	order, err := d.arrange()
	return d.plan(order), err
}

// differ is the working state of one Diff.
type differ struct {
	want, base, have Graph

	nodes []stepNode   // by rank: creates and updates before deletes, then by ID
	index map[ID]int   // into nodes
	held  map[int]Wait // nodes that cannot be done now
	blame map[int]ID   // whom held names, to keep the choice independent of map order
}

// stepNode is a step and its edges.
type stepNode struct {
	Step
	after []int // nodes that must be done first
	level int   // longest path to a node that waits for nothing
}

// collect finds the resources that differ. It looks at digests only.
func (d *differ) collect() {
	common := 0 // when all of have is wanted, nothing is to be deleted
	for id, w := range d.want {
		h, there := d.have[id]
		if there {
			common++
		}
		if there && h.Digest == w.Digest {
			continue
		}
		d.addWanted(w)
	}
	if common < len(d.have) {
		d.addUnwanted()
	}
	d.rank()
}

// addWanted adds the step that makes have's resource like the wanted one.
func (d *differ) addWanted(w Resource) {
	h, there := d.have[w.ID]
	if w.Hold == External && there {
		return
	}
	s := Step{Verb: Create, ID: w.ID, Want: w.Spec, Hold: w.Hold, Cause: d.cause(w.ID)}
	if there {
		s.Verb, s.Have = Update, h
	}
	d.nodes = append(d.nodes, stepNode{Step: s})
}

// addUnwanted adds a Delete for everything of ours that nobody wants.
func (d *differ) addUnwanted() {
	for id, h := range d.have {
		if _, wanted := d.want[id]; wanted || h.Hold == Adopted || h.Hold == External {
			continue
		}
		s := Step{Verb: Delete, ID: id, Have: h, Hold: h.Hold, Cause: d.cause(id)}
		d.nodes = append(d.nodes, stepNode{Step: s})
	}
}

// cause is Drift when the wish is still what base says.
func (d *differ) cause(id ID) Cause {
	if d.base == nil {
		return Desire
	}
	w, wanted := d.want[id]
	b, was := d.base[id]
	if was != wanted || b.Digest != w.Digest {
		return Desire
	}
	return Drift
}

// rank sorts the nodes into the order that breaks ties, and holds those that are
// not ours to do.
func (d *differ) rank() {
	slices.SortFunc(d.nodes, func(a, b stepNode) int {
		return cmp.Or(phase(a.Verb)-phase(b.Verb), a.ID.Compare(b.ID))
	})
	d.index = make(map[ID]int, len(d.nodes))
	for i, n := range d.nodes {
		d.index[n.ID] = i
		d.holdForeign(i)
	}
}

// phase puts deletes last, so that the new is there before the old goes.
func phase(v Verb) int {
	if v == Delete {
		return 1
	}
	return 0
}

// holdForeign holds a step that the resource's Hold forbids.
func (d *differ) holdForeign(i int) {
	s := d.nodes[i].Step
	switch {
	case s.Verb == Create && s.Hold == External:
		d.hold(i, ID{}, WaitMissing, "is not there, and it is not ours to create")
	case s.Verb == Create && s.Hold == Adopted:
		d.hold(i, ID{}, WaitMissing, "is to be adopted, but it is not there")
	case s.Verb == Update && s.Hold != Adopted && s.Have.Hold == External:
		d.hold(i, ID{}, WaitForeign, "exists already and belongs to somebody else")
	}
}

// hold keeps a node back. Of several reasons the one that blames the smallest ID
// is told.
func (d *differ) hold(i int, by ID, reason WaitReason, why string) {
	if _, ok := d.held[i]; ok && d.blame[i].Compare(by) <= 0 {
		return
	}
	d.blame[i] = by
	d.held[i] = Wait{ID: d.nodes[i].ID, Reason: reason, Why: why}
}

// linkNeeds puts every create and update behind what it needs.
func (d *differ) linkNeeds() {
	for i := range d.nodes {
		for _, need := range needsOf(d.nodes[i].Want) {
			d.linkNeed(i, need)
		}
	}
}

func (d *differ) linkNeed(i int, need ID) {
	user := d.nodes[i].ID
	j, changes := d.index[need]
	switch _, there := d.have[need]; {
	case changes && d.nodes[j].Verb == Delete:
		d.hold(j, user, WaitInUse, fmt.Sprintf("is not wanted, but %s still needs it", user))
	case changes:
		d.nodes[i].after = append(d.nodes[i].after, j)
	case !there:
		d.hold(i, need, WaitMissing, fmt.Sprintf("needs %s, which is neither wanted nor there", need))
	}
}

// linkUsers puts every delete behind the steps that move its users away.
func (d *differ) linkUsers() {
	if last := d.nodes[len(d.nodes)-1]; last.Verb != Delete {
		return
	}
	for id, user := range d.have {
		for _, need := range needsOf(user.Spec) {
			if j, ok := d.index[need]; ok && need != id && d.nodes[j].Verb == Delete {
				d.linkUser(j, id)
			}
		}
	}
}

func (d *differ) linkUser(j int, user ID) {
	i, changes := d.index[user]
	switch {
	case !changes:
		d.hold(j, user, WaitInUse, fmt.Sprintf("is not wanted, but %s, which stays, uses it", user))
	case !slices.Contains(needsOf(d.nodes[i].Want), d.nodes[j].ID):
		d.nodes[j].after = append(d.nodes[j].after, i)
	}
}

// linkSlots puts whoever takes a slot behind whoever frees it.
func (d *differ) linkSlots() {
	takers := d.takers()
	if len(takers) == 0 {
		return
	}
	for slot, nodes := range takers {
		for _, i := range nodes[1:] {
			first := d.nodes[nodes[0]].ID
			d.hold(i, first, WaitSlot, fmt.Sprintf("wants slot %s, which %s wants too", slot, first))
		}
	}
	for id, holder := range d.have {
		slot := slotOf(holder.Spec)
		for _, i := range takers[slot] {
			d.linkSlot(i, id, slot)
		}
	}
}

// takers are the nodes that come to hold a slot, by slot.
func (d *differ) takers() map[string][]int {
	out := map[string][]int{}
	for i, n := range d.nodes {
		slot := slotOf(n.Want)
		if slot != "" && slot != slotOf(n.Have.Spec) && n.Hold != External {
			out[slot] = append(out[slot], i)
		}
	}
	return out
}

func (d *differ) linkSlot(i int, holder ID, slot string) {
	j, changes := d.index[holder]
	if changes && slotOf(d.nodes[j].Want) != slot {
		d.nodes[i].after = append(d.nodes[i].after, j)
		return
	}
	d.hold(i, holder, WaitSlot, fmt.Sprintf("wants slot %s, which %s holds", slot, holder))
}

// plan is the arranged nodes as a plan, with what is held in Later.
func (d *differ) plan(order []int) Plan {
	out := Plan{Steps: make([]Step, len(order))}
	for k, i := range order {
		out.Steps[k] = d.nodes[i].Step
		out.Steps[k].After = d.idsOf(d.nodes[i].after)
	}
	roots := make(map[ID]Wait, len(d.held))
	for _, w := range d.held {
		roots[w.ID] = w
	}
	for k := range out.Steps {
		explainStep(&out.Steps[k])
		out.Steps[k].Impact = cmp.Or(out.Steps[k].Impact, d.downgrade(out.Steps[k]))
	}
	return keepBehind(out, roots, d.missing)
}

// missing says whether a resource is neither there nor about to be.
func (d *differ) missing(id ID) bool {
	_, there := d.have[id]
	_, changes := d.index[id]
	return !there && !changes
}

func (d *differ) idsOf(nodes []int) []ID {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]ID, len(nodes))
	for k, i := range nodes {
		out[k] = d.nodes[i].ID
	}
	slices.SortFunc(out, ID.Compare)
	return out
}

func needsOf(s Spec) []ID {
	if s == nil {
		return nil
	}
	return s.Needs()
}

// slotOf is the exclusive slot a spec holds, or "".
func slotOf(s Spec) string {
	if held, ok := s.(Slotted); ok {
		return held.Slot()
	}
	return ""
}
