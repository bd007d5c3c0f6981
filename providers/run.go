package providers

import (
	"context"
	"errors"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// run is one plan being run. Its fields belong to the goroutine of do; calls are
// made in others, which report to it.
type run struct {
	account  *Account
	plan     Plan
	on       func(Event)
	tasks    []task
	ready    []int // may be started, in plan order
	busy     int   // calls in flight
	resting  int   // waiting for their next attempt
	retries  int   // left to all tasks together
	reports  chan report
	outcome  lbmodel.Outcome
	standing standing
}

// task is a step and how far it is.
type task struct {
	job
	users   []int     // tasks that wait for this one
	waits   int       // tasks (and gate) that this one still waits for
	gate    *gate     // that this is part of the replacement of, or nil
	calls   int       // attempts made
	tries   int       // those that failed
	looks   int       // those that were Pending
	pending time.Time // when it was first Pending
	err     error     // of the last attempt
	called  bool      // whether that made a call, until it is told
	early   bool      // it stands in for another task of the run
}

// report says that an attempt of a task is over, or its rest.
type report struct {
	task   int
	rested bool
	called bool
	took   time.Duration
	err    error
}

func newRun(a *Account, plan Plan, on func(Event)) *run {
	if on == nil {
		on = func(Event) {}
	}
	r := &run{
		account: a, plan: plan, on: on, tasks: make([]task, len(plan.Steps)),
		retries: a.config.Patience.Retries + len(plan.Steps)/4,
		reports: make(chan report),
		outcome: lbmodel.Outcome{Failed: map[lbmodel.ID]error{}}, standing: standing{stood: set{}, done: set{}},
	}
	index := make(map[lbmodel.ID]int, len(plan.Steps))
	for i, step := range plan.Steps {
		index[step.ID] = i
		r.tasks[i].job = a.jobOf(plan, step)
	}
	for i, step := range plan.Steps {
		for _, id := range step.After {
			if first, ok := index[id]; ok {
				r.tasks[first].users = append(r.tasks[first].users, i)
				r.tasks[i].waits++
			}
		}
	}
	r.gates(plan.Plan)
	for i := range r.tasks {
		if r.tasks[i].waits == 0 {
			r.ready = append(r.ready, i)
		}
	}
	return r
}

// do runs the tasks. Only this loop changes the run, so that events and outcome
// need no lock. Resting tasks hold no worker.
func (r *run) do(ctx context.Context) lbmodel.Outcome {
	r.on = tellingToo(ctx, r.on)
	for {
		for len(r.ready) > 0 && r.busy < r.account.config.Parallel && ctx.Err() == nil {
			r.launch(ctx, r.ready[0])
			r.ready = r.ready[1:]
		}
		if len(r.ready) == 0 && ctx.Err() == nil && r.standIn() {
			continue
		}
		if r.busy+r.resting == 0 {
			break
		}
		r.take(ctx, <-r.reports)
	}
	r.closeBooks()
	return r.outcome
}

func (r *run) launch(ctx context.Context, i int) {
	r.busy++
	t := &r.tasks[i]
	if t.calls++; t.calls == 1 {
		r.tell(t, Started, Event{})
	}
	j, clock := t.job, r.account.config.Clock
	go func() {
		began := clock.Now()
		called, err := r.account.attempt(ctx, j)
		r.reports <- report{task: i, called: called, took: clock.Now().Sub(began), err: err}
	}()
}

// take acts upon one report.
func (r *run) take(ctx context.Context, rep report) {
	t := &r.tasks[rep.task]
	if rep.rested {
		r.resting--
		r.wake(ctx, rep.task)
		return
	}
	r.busy--
	if errors.Is(rep.err, errNotCalled) {
		return // closeBooks says what became of it
	}
	t.err, t.called = rep.err, rep.called
	switch {
	case rep.err == nil:
		r.finish(t, rep.took)
	case lbmodel.CodeOf(rep.err) == lbmodel.CodePending:
		r.poll(ctx, rep.task, rep.took)
	default:
		r.retry(ctx, rep.task, rep.took)
	}
}

func (r *run) finish(t *task, took time.Duration) {
	r.standing.done[t.step.ID] = struct{}{}
	r.tell(t, Done, Event{Took: took})
	if t.early { // what it stands in for is not done
		if t.step.For == nil {
			r.outcome.Done = append(r.outcome.Done, t.step.ID)
		}
		return
	}
	r.outcome.Done = append(r.outcome.Done, t.step.ID)
	r.release(t.users)
	if t.gate == nil || t.step.For != nil { // what stands in replaces nothing
		return
	}
	if t.gate.open--; t.gate.open == 0 {
		r.release(t.gate.keeping)
	}
}

// release tells tasks that one thing they wait for is done.
func (r *run) release(tasks []int) {
	for _, i := range tasks {
		if r.tasks[i].waits--; r.tasks[i].waits == 0 {
			r.ready = insertSorted(r.ready, i)
		}
	}
}

// poll rests a Pending task until its next look, or gives it up as Pending: when
// patience ends, or at once where whoever keeps it waiting is not the cloud, or says
// that it will be longer than a run rests.
func (r *run) poll(ctx context.Context, i int, took time.Duration) {
	t := &r.tasks[i]
	now := r.account.config.Clock.Now()
	if t.looks++; t.looks == 1 {
		t.pending = now
	}
	wait, why := r.account.pollAfter(t.err, t.looks), "the cloud has accepted it and is not finished"
	long := r.account.leaves(t.err)
	if long {
		wait, why = max(wait, askedFor(t.err)), t.err.Error()
	}
	if long || now.Add(wait).Sub(t.pending) > r.account.config.Patience.Pending {
		r.outcome.Held.Later = append(r.outcome.Held.Later, lbmodel.Wait{ID: t.step.ID, Until: now.Add(wait), Reason: lbmodel.WaitPending, Why: why})
		r.fail(t, took)
		return
	}
	r.tell(t, Polling, Event{Took: took, Wait: wait, Err: t.err})
	r.rest(ctx, i, wait)
}

// retry rests a task until its next try, or gives it up.
func (r *run) retry(ctx context.Context, i int, took time.Duration) {
	t := &r.tasks[i]
	t.tries++
	wait, again := r.account.backoff(t.err, t.tries)
	if !again || r.retries == 0 || ctx.Err() != nil || errors.Is(t.err, errOutdated) {
		r.fail(t, took)
		return
	}
	r.retries--
	r.account.config.Log.Info("trying again", "step", t.step.ID.String(), "verb", string(t.step.Verb), "after", wait, "err", t.err)
	r.tell(t, Retrying, Event{Took: took, Wait: wait, Err: t.err})
	r.rest(ctx, i, wait)
}

func (r *run) rest(ctx context.Context, i int, wait time.Duration) {
	r.resting++
	go func() {
		r.account.sleep(ctx, wait)
		r.reports <- report{task: i, rested: true}
	}()
}

// wake makes a rested task ready, or fails it with its last error when the run
// was cancelled meanwhile.
func (r *run) wake(ctx context.Context, i int) {
	if ctx.Err() != nil {
		r.fail(&r.tasks[i], 0)
		return
	}
	r.ready = insertSorted(r.ready, i)
}

func (r *run) fail(t *task, took time.Duration) {
	r.account.doubt(t.job, t.err)
	r.outcome.Failed[t.step.ID] = t.err
	r.tell(t, Failed, Event{Took: took, Err: t.err})
}

// closeBooks notes what was never tried.
func (r *run) closeBooks() {
	accounted := set{}
	for _, id := range r.outcome.Done {
		accounted[id] = struct{}{}
	}
	for i := range r.tasks {
		t := &r.tasks[i]
		_, done := accounted[t.step.ID]
		_, failed := r.outcome.Failed[t.step.ID]
		switch {
		case done, failed, t.early && t.err == nil:
		case t.err != nil: // it was ready for another attempt when the run was cancelled
			r.fail(t, 0)
		default:
			r.outcome.Blocked = append(r.outcome.Blocked, t.step.ID)
			r.tell(t, Blocked, Event{})
		}
	}
	slices.SortFunc(r.outcome.Done, lbmodel.ID.Compare)
	slices.SortFunc(r.outcome.Blocked, lbmodel.ID.Compare)
}

func (r *run) tell(t *task, what What, e Event) {
	e.At, e.What, e.Step, e.Owner, e.Attempt = r.account.config.Clock.Now(), what, t.step, t.owner, t.calls
	e.Called, t.called = t.called, false
	r.on(e)
}

func insertSorted(ready []int, i int) []int {
	at, _ := slices.BinarySearch(ready, i)
	return slices.Insert(ready, at, i)
}
