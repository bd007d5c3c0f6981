package providers

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// standing is what a run does for the places of steps that wait for one which has
// failed, while others are still under way: a cloud that hangs at one thing, or a step
// that is polled for minutes, shall not leave another's requests to the next rule.
type standing struct {
	looked int            // how many had failed when owed was made
	owed   []lbmodel.Step // that wait for something which is not done yet
	stood  set            // started early
	done   set            // steps that are done, of those that stand in too
}

// standIn makes those tasks ready that keep the place of what cannot be made any more,
// and whose own needs are there. It is asked when nothing else can be started. At the
// end of a run Account.keepPlaces does the rest.
func (r *run) standIn() bool {
	if r.busy+r.resting == 0 || len(r.outcome.Failed) == 0 {
		return false
	}
	s := &r.standing
	if s.looked != len(r.outcome.Failed) {
		s.looked = len(r.outcome.Failed)
		s.owed = lbmodel.StandIns(r.plan.Plan, r.outcome.Failed).Steps
	}
	before := len(r.tasks)
	s.owed = slices.DeleteFunc(s.owed, func(step lbmodel.Step) bool {
		if has(s.stood, step.ID) {
			return true
		}
		if slices.ContainsFunc(step.After, func(id lbmodel.ID) bool { return !has(s.done, id) }) {
			return false
		}
		s.stood[step.ID] = struct{}{}
		r.tasks = append(r.tasks, task{job: r.account.jobOf(r.plan, step), early: true})
		r.ready = append(r.ready, len(r.tasks)-1)
		return true
	})
	return len(r.tasks) > before
}
