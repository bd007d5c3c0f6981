package providers

import (
	"context"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Marker is a Cloud that can note with an object since when it is kept although
// nobody wants it (lbmodel.Linger), in a tag, a label or the description. Such a
// wait goes on after a restart. Without a Marker an Account remembers by itself,
// and a wait starts anew with every process.
type Marker interface {
	// Mark notes that r is not wanted since dropped; the zero time takes the note
	// away. It changes nothing else, Facts.Since least of all, is idempotent, and
	// returns what is now known. Update may leave the note as it is: an Account
	// takes it away when a resource is wanted again.
	Mark(ctx context.Context, r lbmodel.Resource, dropped time.Time) (lbmodel.Facts, error)
}

// verbMark is the verb of a job that writes a note. It is never in a plan that
// anybody sees: a note changes nothing that a gateway is made of.
const verbMark lbmodel.Verb = "Mark"

// note writes, for what a plan keeps though nobody wants it, since when that is
// so, and takes the notes on what is wanted away. Whatever fails is tried again
// by the next plan: until then a wait is too long, never too short.
func (a *Account) note(ctx context.Context, plan Plan) lbmodel.Outcome {
	steps := a.unnoted(plan)
	if len(steps) == 0 {
		return lbmodel.Outcome{}
	}
	if _, keeps := a.provider.(Marker); !keeps {
		a.noteHere(steps)
		return lbmodel.Outcome{}
	}
	return newRun(a, Plan{Plan: lbmodel.Plan{Steps: steps}}, nil).do(ctx)
}

// noteHere remembers what the provider cannot.
func (a *Account) noteHere(steps []lbmodel.Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range steps {
		r, due := a.noteDue(s.ID)
		switch {
		case !due:
			continue
		case r.Facts.DroppedAt.IsZero():
			a.shadow.dropped[s.ID] = a.config.Clock.Now().UTC()
		default:
			delete(a.shadow.dropped, s.ID)
			r.Facts.DroppedAt = time.Time{}
		}
		a.shadow.put(r)
	}
}

// unnoted are the notes that are to be written after a plan, by ID.
func (a *Account) unnoted(plan Plan) []lbmodel.Step {
	lingering := set{}
	for _, w := range plan.Held.Later {
		if w.Reason == lbmodel.WaitLinger {
			lingering[w.ID] = struct{}{}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []lbmodel.Step
	add := func(id lbmodel.ID) {
		if r, due := a.noteDue(id); due {
			out = append(out, lbmodel.Step{Verb: verbMark, ID: id, Have: r, Hold: r.Hold})
		}
	}
	for _, s := range plan.Held.Steps {
		if s.Verb == lbmodel.Delete && has(lingering, s.ID) {
			add(s.ID)
		}
	}
	for id := range plan.placed {
		add(id)
	}
	slices.SortFunc(out, func(a, b lbmodel.Step) int { return a.ID.Compare(b.ID) })
	return out
}

// noteDue says whether the note on a resource of ours is wrong: there while it is
// wanted, or not there while it is not.
func (a *Account) noteDue(id lbmodel.ID) (lbmodel.Resource, bool) {
	r, there := a.shadow.entries[id]
	if !there || r.Hold != lbmodel.Own && r.Hold != lbmodel.Shared {
		return r, false
	}
	_, wanted := a.wanted(r.Owner, id)
	return r, wanted != r.Facts.DroppedAt.IsZero()
}

// mark writes the note that is right now.
func (a *Account) mark(ctx context.Context, r lbmodel.Resource) (lbmodel.Resource, error) {
	var dropped time.Time
	if r.Facts.DroppedAt.IsZero() {
		dropped = a.config.Clock.Now().UTC()
	}
	facts, err := a.provider.(Marker).Mark(ctx, r, dropped)
	r.Facts = facts
	return r, err
}

// recordMark takes a note into the shadow. What is not there any more needs none,
// but must be looked at. One that became wrong while it was written (the resource
// is wanted again, and whoever wants it has planned already) is Pending: it is
// written once more.
func (a *Account) recordMark(j job, r lbmodel.Resource, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := j.step.ID
	if err != nil {
		a.shadow.suspect(j.owner, j.step.Hold)
		if lbmodel.CodeOf(err) == lbmodel.CodeNotFound {
			return nil
		}
		return err
	}
	if now, there := a.shadow.entries[id]; there {
		now.Facts = r.Facts
		a.shadow.put(now)
		a.shadow.wrote(id, a.config.Clock.Now())
	}
	if _, wrong := a.noteDue(id); wrong {
		return lbmodel.Errorf(lbmodel.CodePending, opOf(j.step), id, "whether it is wanted changed while that was noted")
	}
	return nil
}
