package lbmodel

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Policies stand between Diff and apply. Each moves steps, and whatever waits for
// them, to Later; none invents, changes or reorders one, so what is left of a
// safe plan is a safe plan.

// ReportOnly keeps everything back: the plan is for reading (apply: PlanOnly).
func ReportOnly(p Plan, _ time.Time) Plan {
	return keepBackWhere(p, func(Step) bool { return true }, reported)
}

// ReportDrift keeps back what would undo somebody else's change (drift: Report).
func ReportDrift(p Plan, _ time.Time) Plan {
	return keepBackWhere(p, func(s Step) bool { return s.Cause == Drift }, reported)
}

func reported(s Step) Wait {
	return Wait{Reason: WaitReported, Why: wouldBe(s) + ", but changes are only reported here"}
}

// Paused keeps everything back until somebody ends the pause.
func Paused(p Plan, _ time.Time) Plan {
	return keepBackWhere(p, func(Step) bool { return true }, func(s Step) Wait {
		return Wait{Reason: WaitPaused, Why: wouldBe(s) + ", but is paused"}
	})
}

// HoldDisruptive keeps back the steps that a user must agree to, and with a
// teardown its parts (TornDown).
func HoldDisruptive(p Plan, _ time.Time) Plan {
	torn := TornDown(p)
	for _, s := range p.Steps {
		if s.Impact != "" {
			torn[s.ID] = s
		}
	}
	chosen := func(s Step) bool { _, ok := torn[s.ID]; return ok }
	return keepBackWhere(p, chosen, func(s Step) Wait {
		root, why := torn[s.ID], wouldBe(s)
		if root.ID != s.ID {
			why += " with " + root.ID.String()
		}
		return Wait{Reason: WaitApproval, Why: why + ", which needs agreement: " + root.Impact}
	})
}

// NoDelete keeps back every delete (deletion: Retain and Protect), and what could
// only follow one.
func NoDelete(p Plan, _ time.Time) Plan {
	return keepBackWhere(p, func(s Step) bool { return s.Verb == Delete }, func(Step) Wait {
		return Wait{Reason: WaitRetained, Why: "is no longer wanted, but nothing is deleted here"}
	})
}

// Linger keeps deletes of the given kinds (none means all) back until the
// resource has been unwanted for d. The time counts from Facts.DroppedAt, or from
// Facts.Since where that is later; without a record it starts now, so a lost
// record lengthens a wait and never shortens it.
//
// A delete that makes room for a create or an update does not linger: the old
// would keep the new away.
func Linger(d time.Duration, kinds ...string) Policy {
	return func(p Plan, now time.Time) Plan {
		making := makesRoom(p)
		roots := map[ID]Wait{}
		for _, s := range p.Steps {
			until := droppedAt(s.Have.Facts, now).Add(d)
			chosen := len(kinds) == 0 || slices.Contains(kinds, s.ID.Kind)
			if s.Verb == Delete && chosen && !making[s.ID] && until.After(now) {
				roots[s.ID] = Wait{ID: s.ID, Until: until, Reason: WaitLinger,
					Why: fmt.Sprintf("is no longer wanted and is kept for %s", Duration(d))}
			}
		}
		return KeepBack(p, roots)
	}
}

// LingerReplaced keeps what has an address, and is not wanted any more, for d, as Linger
// does, with all that is reached by it, for owners that stay: clients know the old
// address until they ask for the name again. What makes room does not linger.
func LingerReplaced(d time.Duration, stays func(Owner) bool) Policy {
	return func(p Plan, now time.Time) Plan {
		making := makesRoom(p)
		roots := map[ID]Wait{}
		for id, root := range torn(p, addressed(p, stays)) {
			until := droppedAt(root.Have.Facts, now).Add(d)
			switch {
			case making[root.ID] || !until.After(now):
			case id == root.ID:
				roots[id] = Wait{ID: id, Until: until, Reason: WaitLinger,
					Why: fmt.Sprintf("is no longer wanted and is kept for %s, since clients may still know its address", Duration(d))}
			default:
				roots[id] = Wait{ID: id, Until: until, Reason: WaitInUse, Why: "is no longer wanted and is kept with " + root.ID.String()}
			}
		}
		return KeepBack(p, roots)
	}
}

// droppedAt is when a resource was last known to be wanted.
func droppedAt(f Facts, now time.Time) time.Time {
	switch {
	case f.DroppedAt.IsZero():
		return now
	case f.Since.After(f.DroppedAt):
		return f.Since
	default:
		return f.DroppedAt
	}
}

// makesRoom are the steps that some create or update waits for.
func makesRoom(p Plan) map[ID]bool {
	out := map[ID]bool{}
	for _, s := range slices.Backward(p.Steps) {
		if s.Verb == Delete && !out[s.ID] {
			continue
		}
		for _, id := range s.After {
			out[id] = true
		}
	}
	return out
}

// Compose applies policies one after the other; the first that keeps a step back
// says why.
func Compose(policies ...Policy) Policy {
	return func(p Plan, now time.Time) Plan {
		for _, policy := range policies {
			p = policy(p, now)
		}
		return p
	}
}

// HeldBack is what a policy made of before has kept back: the steps that after
// has not, in their order, and the waits that it has added.
func HeldBack(before, after Plan) Plan {
	kept := make(map[ID]bool, len(after.Steps))
	for _, s := range after.Steps {
		kept[s.ID] = true
	}
	var out Plan
	for _, s := range before.Steps {
		if !kept[s.ID] {
			out.Steps = append(out.Steps, s)
		}
	}
	out.Later = slices.Clone(after.Later[min(len(before.Later), len(after.Later)):])
	return out
}

// wouldBe says what a step that is kept back would do.
func wouldBe(s Step) string {
	verb := map[Verb]string{Create: "created", Update: "updated", Delete: "deleted"}[s.Verb]
	return "would be " + verb + " (" + s.Why + ")"
}

func keepBackWhere(p Plan, chosen func(Step) bool, wait func(Step) Wait) Plan {
	roots := map[ID]Wait{}
	for _, s := range p.Steps {
		if chosen(s) {
			w := wait(s)
			w.ID = s.ID
			roots[s.ID] = w
		}
	}
	return KeepBack(p, roots)
}

// KeepBack moves the steps that roots names to Later, each with its Wait, and with
// them every step that waits for one of those, and every create that nobody else
// has a use for: half of a change is none. It is what policies are made of: what
// is left of a safe plan is a safe plan.
func KeepBack(p Plan, roots map[ID]Wait) Plan {
	if len(roots) == 0 {
		return p
	}
	h := keptBack(roots)
	for before := -1; len(h.by) != before; { // a create that is held may be waited for
		before = len(h.by)
		h.followers(p, nobody)
		h.feeders(p)
	}
	return h.split(p)
}

// keepBehind is KeepBack without the creates that would be of no use: what Diff
// cannot do yet is no reason to leave undone what it can. missing says what else
// steps may need that is not there.
func keepBehind(p Plan, roots map[ID]Wait, missing func(ID) bool) Plan {
	h := keptBack(roots)
	h.followers(p, missing)
	return h.split(p)
}

// holding is which steps are held, by which root and how they hang on it.
type holding struct {
	by  map[ID]Wait
	how map[ID]string
	in  map[ID]Step // what stands in for some of them
	// kept are those in whose place something stands, or will: what is new and needs
	// only that the place is not empty need not wait for more.
	kept map[ID]bool
}

func keptBack(roots map[ID]Wait) holding {
	h := holding{by: maps.Clone(roots), how: map[ID]string{}, in: map[ID]Step{}, kept: map[ID]bool{}}
	for id, w := range roots {
		w.ID = id
		h.by[id] = w
	}
	return h
}

// split takes the held steps out of a plan; what is Standing and lacks something
// leaves a step there that keeps its place.
func (h holding) split(p Plan) Plan {
	out := Plan{Later: slices.Clone(p.Later)}
	for _, s := range p.Steps {
		root, held := h.by[s.ID]
		if !held {
			out.Steps = append(out.Steps, s)
			continue
		}
		out.Later = append(out.Later, waitOf(s.ID, root, h.how[s.ID]))
		if in, ok := h.in[s.ID]; ok {
			out.Steps = append(out.Steps, in)
		}
	}
	return out
}

// followers adds the steps that wait for one that is held, unless it is enough for
// them that something stands in for it. Each is held by the root that holds the
// other. missing says what steps may need that is in no step and not there.
func (h holding) followers(p Plan, missing func(ID) bool) {
	clear(h.in)
	clear(h.kept)
	before, deletes := map[ID][]ID{}, map[ID]bool{}
	for _, s := range p.Steps {
		before[s.ID] = s.After
		deletes[s.ID] = s.Verb == Delete
		if _, already := h.by[s.ID]; !already {
			root, ok := longestWait(h.awaited(s, deletes), h.by)
			if !ok {
				continue
			}
			h.by[s.ID], h.how[s.ID] = root, "waits for"
		}
		if in, ok := h.standIn(s, before, missing); ok {
			h.in[s.ID] = in
		}
	}
}

// feeders adds the creates that only steps which are held have a use for. What is
// there already has no use for what is not.
func (h holding) feeders(p Plan) {
	inUse, wanted := map[ID]bool{}, map[ID]Wait{}
	for _, s := range slices.Backward(p.Steps) { // users stand after what they need
		root, held := h.by[s.ID]
		if user, ok := wanted[s.ID]; ok && !held && s.Verb == Create && !inUse[s.ID] {
			h.by[s.ID], h.how[s.ID] = user, "is needed only with"
			root, held = user, true
		}
		for _, need := range needsOf(h.in[s.ID].Want) {
			inUse[need] = true
		}
		for _, need := range needsOf(s.Want) {
			if held {
				wanted[need] = root
			} else {
				inUse[need] = true
			}
		}
	}
}

// longestWait is the wait that ends last among those of the given steps; one
// without an end is the longest.
func longestWait(after []ID, roots map[ID]Wait) (longest Wait, found bool) {
	for _, id := range after {
		w, held := roots[id]
		if !held {
			continue
		}
		if !found || longest.endsBefore(w) {
			longest, found = w, true
		}
	}
	return longest, found
}

func (w Wait) endsBefore(other Wait) bool {
	return !w.Until.IsZero() && (other.Until.IsZero() || other.Until.After(w.Until))
}

// waitOf is root as told of a step that it holds.
func waitOf(id ID, root Wait, how string) Wait {
	if id == root.ID {
		return root
	}
	return Wait{ID: id, Until: root.Until, Reason: root.Reason, Why: fmt.Sprintf("%s %s, which %s", how, root.ID, root.Why)}
}
