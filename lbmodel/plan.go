package lbmodel

import "time"

// Verb is what a step does. There is no Replace: see docs/decisions.
type Verb string

// The verbs.
const (
	Create Verb = "Create"
	Update Verb = "Update"
	Delete Verb = "Delete"
)

// Cause says why a step is needed.
type Cause string

// The causes. Desire: what is wanted changed. Drift: the cloud changed under us.
const (
	Desire Cause = "Desire"
	Drift  Cause = "Drift"
)

// Step is one change of one resource.
type Step struct {
	Verb   Verb
	ID     ID
	Want   Spec     // nil for Delete
	For    Spec     // what Want stands in for while that lacks something (see Standing); nil for nothing
	Have   Resource // zero for Create
	Hold   Hold
	After  []ID // steps of this plan that must be done first, sorted
	Cause  Cause
	Impact string // "" or the sentence the user must agree to
	Why    string // one line: what differs
}

// Plan is an ordered set of steps: each stands after the steps it waits for. A
// plan changes an ID at most once, holds no secret, and is equal for equal
// inputs.
type Plan struct {
	Steps []Step
	Later []Wait
}

// Empty says whether nothing is to be done now.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// Policy may move steps to Later (report-only, hold-disruptive, linger,
// no-delete). It never invents a step.
type Policy func(Plan, time.Time) Plan

// Outcome is the truth about a plan that was run: also when it was stopped half
// way.
type Outcome struct {
	Done     []ID
	Failed   map[ID]error
	Blocked  []ID // never tried, because a step they wait for failed
	Held     Plan // what policies kept back
	Observed Graph
}
