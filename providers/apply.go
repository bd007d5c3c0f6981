package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// Apply runs a plan: each step after those it waits for, independent ones at the
// same time, and the other branches on when one fails. on (nil for nobody) is
// told as it goes, by one goroutine.
//
// What waits for a step that failed has its place kept, where it has one
// (lbmodel.Standing).
//
// When ctx ends nothing more is started, and what is in flight is waited for
// until its own deadline. Each step is compared with what is known right before
// it runs: what is done already (shared resources) is not done twice, and what
// has changed since the plan was made fails with CodeConflict, to be planned
// again. What is still Pending when patience ends is in Failed with CodePending,
// and in Held.Later with when to look again. Owners of failed steps are observed
// before their next plan.
//
// Apply of a plan without steps is not for nothing: it notes with a resource that
// lingers since when it does (see Marker), once, and takes such a note back.
func (a *Account) Apply(ctx context.Context, plan Plan, on func(Event)) lbmodel.Outcome {
	r := newRun(a, plan, on)
	out := r.do(ctx)
	a.keepPlaces(ctx, plan, &out, r.standing.stood, on)
	maps.Copy(out.Failed, a.catchUp(ctx, plan).Failed)
	maps.Copy(out.Failed, a.note(ctx, plan).Failed)
	a.mu.Lock()
	defer a.mu.Unlock()
	out.Observed = a.observed(plan.Owners...)
	out.Held.Steps = plan.Held.Steps
	out.Held.Later = slices.Concat(out.Held.Later, plan.Later, plan.alarms(out))
	return out
}

// keepPlaces makes what stands in for what a run could not make (lbmodel.StandIns),
// unless the run has, as it went (standIn). What it stands in for stays Blocked.
func (a *Account) keepPlaces(ctx context.Context, plan Plan, out *lbmodel.Outcome, stood set, on func(Event)) {
	if len(out.Failed) == 0 || ctx.Err() != nil {
		return
	}
	standing := plan
	standing.Plan = lbmodel.StandIns(plan.Plan, out.Failed)
	standing.Steps = slices.DeleteFunc(standing.Steps, func(s lbmodel.Step) bool { return has(stood, s.ID) })
	if !standing.Empty() {
		kept := newRun(a, standing, on).do(ctx)
		maps.Copy(out.Failed, kept.Failed)
		for _, step := range standing.Steps {
			if step.For == nil && slices.Contains(kept.Done, step.ID) { // it did not stand in for anything
				out.Done = append(out.Done, step.ID)
			}
		}
		out.Blocked = slices.DeleteFunc(out.Blocked, func(id lbmodel.ID) bool { return out.Failed[id] != nil || slices.Contains(out.Done, id) })
	}
}

// alarms are when what a run has made must be renewed.
func (p Plan) alarms(out lbmodel.Outcome) []lbmodel.Wait {
	made := make(lbmodel.Graph, len(out.Done))
	for _, id := range out.Done {
		if r, kept := p.placed[id]; kept {
			made[id] = r
		}
	}
	return lbmodel.Renewals(made, out.Observed)
}

// job is one step with what is known beyond it.
type job struct {
	step   lbmodel.Step
	owner  lbmodel.Owner
	placed lbmodel.Resource // zero for Delete
	wish   lbmodel.Digest   // before Place
}

func (a *Account) jobOf(plan Plan, step lbmodel.Step) job {
	j := job{step: step, owner: step.Have.Owner, placed: plan.placed[step.ID], wish: plan.wishes[step.ID]}
	if step.Verb == lbmodel.Create || step.Verb == lbmodel.Update {
		j.owner = j.placed.Owner
	}
	if step.For != nil { // a later plan wants more than this
		j.placed.Spec, j.placed.Digest, j.wish = step.Want, lbmodel.DigestOf(step.Want), lbmodel.Digest{}
	}
	if j.owner == (lbmodel.Owner{}) {
		j.owner.Cluster = a.config.Cluster
	}
	return j
}

// errNotCalled marks an attempt that was cancelled before its call.
var errNotCalled = errors.New("cancelled before the call")

// errOutdated marks a step that no longer fits what is known.
var errOutdated = errors.New("plan again")

// attempt makes one call for a step, unless there is nothing left to do or the
// plan is out of date. Once made, a call is not cut short when ctx ends: left
// alone it has a known outcome.
func (a *Account) attempt(ctx context.Context, j job) (called bool, err error) {
	release, err := a.admit(ctx, j)
	if err != nil {
		return false, err
	}
	fresh, todo, err := a.recheck(j)
	if err != nil || !todo {
		release()
		return false, err
	}
	_, err = do(context.WithoutCancel(ctx), a, attempt[lbmodel.Resource]{
		op: opOf(j.step), id: j.step.ID,
		call: func(ctx context.Context) (lbmodel.Resource, error) { return a.carryOut(ctx, fresh) },
		finish: func(r lbmodel.Resource, err error) (lbmodel.Resource, error) {
			defer release()
			if fresh.step.Verb == verbMark {
				return r, a.recordMark(fresh, r, err)
			}
			return r, a.record(fresh, r, verdictOn(fresh.step, err))
		},
	})
	return true, err
}

// carryOut is the call of a job.
func (a *Account) carryOut(ctx context.Context, j job) (lbmodel.Resource, error) {
	if j.step.Verb == verbMark {
		return a.mark(ctx, j.step.Have)
	}
	return a.provider.Apply(ctx, j.owner, j.step, a.resolve)
}

// admit waits until a step may be called: paced, and alone with its resource.
func (a *Account) admit(ctx context.Context, j job) (release func(), err error) {
	if err := a.config.Pacer.Wait(ctx, opOf(j.step)); err != nil {
		return nil, notCalled(ctx, located(opOf(j.step), j.step.ID, err))
	}
	release, err = a.claim(ctx, j.step.ID)
	if err != nil {
		return nil, notCalled(ctx, err)
	}
	return release, nil
}

func notCalled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errNotCalled, ctx.Err())
	}
	return err
}

// resolve looks a need up for a provider.
func (a *Account) resolve(id lbmodel.ID) (lbmodel.Resource, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.shadow.entries[id]
	return r, ok
}

// verdictOn reads an error in the light of its step: what is gone is deleted,
// and a shared resource that is in use is deleted later.
func verdictOn(step lbmodel.Step, err error) error {
	if step.Verb != lbmodel.Delete {
		return err
	}
	switch lbmodel.CodeOf(err) {
	case lbmodel.CodeNotFound:
		return nil
	case lbmodel.CodeConflict:
		if step.Hold == lbmodel.Shared {
			return &lbmodel.Error{Code: lbmodel.CodePending, Op: opOf(step), ID: step.ID, Err: err}
		}
	}
	return err
}

// record takes what a call did into the shadow.
func (a *Account) record(j job, r lbmodel.Resource, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && r.Spec == nil && j.step.Verb != lbmodel.Delete {
		err = lbmodel.Errorf(lbmodel.CodeInternal, opOf(j.step), j.step.ID, "the provider does not say what it made")
	}
	id, pending := j.step.ID, lbmodel.CodeOf(err) == lbmodel.CodePending
	defer a.reckon(id)
	switch {
	case err != nil && !pending:
		delete(a.shadow.writes, id)
		delete(a.shadow.converging, id)
		a.shadow.suspect(j.owner, j.step.Hold)
		return err
	case j.step.Verb == lbmodel.Delete && err == nil:
		a.shadow.remove(id)
		delete(a.shadow.reached, id)
	case r.Spec != nil:
		r = j.known(r)
		a.shadow.put(r)
		a.shadow.reached[id] = reached{placed: r, wish: j.wish}
	}
	if pending {
		a.shadow.converging[id] = struct{}{}
		return err
	}
	delete(a.shadow.converging, id)
	a.shadow.wrote(id, a.config.Clock.Now())
	return nil
}

// known completes what a provider returned with what only we can know.
func (j job) known(r lbmodel.Resource) lbmodel.Resource {
	r.ID, r.Hold = j.step.ID, j.step.Hold
	r.Owner = lbmodel.Owner{}
	if r.Hold == lbmodel.Own {
		r.Owner = j.owner
	}
	if r.Digest == (lbmodel.Digest{}) {
		r.Digest = lbmodel.DigestOf(r.Spec)
	}
	return r
}

// recheck compares a step with what is known now. It returns the step with the
// latest version of what it changes, and whether it is still to be done.
func (a *Account) recheck(j job) (fresh job, todo bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j.step.Verb == verbMark {
		j.step.Have, todo = a.noteDue(j.step.ID)
		return j, todo, nil
	}
	now, there := a.shadow.entries[j.step.ID]
	if _, converging := a.shadow.converging[j.step.ID]; converging {
		return j, true, nil
	}
	switch {
	case j.step.Verb == lbmodel.Delete && !there:
		return j, false, nil
	case j.step.Verb == lbmodel.Delete:
		return a.recheckDelete(j, now)
	case j.placed.Spec == nil:
		return j, false, j.outdated("it is not of a plan that this account made")
	case there && a.fulfilled(j, now):
		return j, false, nil
	case there != (j.step.Verb == lbmodel.Update), there && now.Digest != j.step.Have.Digest:
		return j, false, j.outdated("it changed since the plan was made")
	case there:
		j.step.Have = now
	}
	return j, true, nil
}

// fulfilled says whether a resource is already what the plan says, or has become
// what the newest wish says since the plan was made.
func (a *Account) fulfilled(j job, now lbmodel.Resource) bool {
	if now.Digest == j.placed.Digest || now.Digest == j.step.Have.Digest {
		return now.Digest == j.placed.Digest
	}
	wanted, _ := a.wanted(j.owner, j.step.ID)
	base, ok := a.shadow.reached[j.step.ID]
	return ok && base.placed.Digest == now.Digest && base.wish == wanted.Digest
}

func (a *Account) recheckDelete(j job, now lbmodel.Resource) (job, bool, error) {
	if _, wanted := a.wanted(j.owner, j.step.ID); wanted {
		return j, false, j.outdated("it is wanted again")
	}
	j.step.Have = now
	return j, true, nil
}

func (j job) outdated(why string) error {
	e := lbmodel.Errorf(lbmodel.CodeConflict, opOf(j.step), j.step.ID, "%s: %w", why, errOutdated)
	e.Outdated = true
	return e
}

// doubt makes what a failed step was about be observed again, unless it failed
// for what we know already, or is Pending, with a time to come again, and does so by
// itself.
func (a *Account) doubt(j job, err error) {
	if errors.Is(err, errOutdated) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.shadow.converging, j.step.ID) // nobody polls it any more
	if lbmodel.CodeOf(err) == lbmodel.CodePending && askedFor(err) > 0 && a.comesAgain(j) {
		return
	}
	a.shadow.suspect(j.owner, j.step.Hold)
}

// comesAgain says whether the next plan has such a step by what is known already: what
// is to go is still there, or what the provider says that is there, if anything, is not
// yet what it should be.
func (a *Account) comesAgain(j job) bool {
	now, there := a.shadow.entries[j.step.ID]
	if j.step.Verb == lbmodel.Delete {
		return there
	}
	return now.Digest != j.placed.Digest
}
