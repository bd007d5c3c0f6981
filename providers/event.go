package providers

import (
	"time"

	"gatehouse.dev/lbmodel"
)

// Event is one thing that happened while a plan ran.
type Event struct {
	At      time.Time
	What    What
	Step    lbmodel.Step
	Attempt int           // 1 is the first
	Took    time.Duration // of the call; 0 for Started and Blocked
	Wait    time.Duration // before the next attempt, for Retrying and Polling
	Err     error         // for Retrying, Polling and Failed
}

// What is the kind of an Event.
type What string

// The kinds. A step that is Started ends as Done or Failed; one that never
// starts, because a step that it waits for failed or the run was cancelled, is
// Blocked.
const (
	Started  What = "Started"
	Retrying What = "Retrying" // after an error that time may heal
	Polling  What = "Polling"  // the cloud accepted it and is not finished
	Done     What = "Done"
	Failed   What = "Failed"
	Blocked  What = "Blocked"
)
