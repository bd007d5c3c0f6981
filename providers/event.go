package providers

import (
	"context"
	"time"

	"gatehouse.dev/lbmodel"
)

// Event is one thing that happened while a plan ran.
type Event struct {
	At      time.Time
	What    What
	Step    lbmodel.Step
	Owner   lbmodel.Owner // whose resource it is; of a shared one only the cluster is known
	Attempt int           // 1 is the first
	Called  bool          // the provider was called: what is done already, or out of date, needs no call
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

type toldKey struct{}

// Tell makes every run under the returned context tell on, beside whom [Account.Apply]
// tells: also the fast path of endpoints, those that Apply brings late, and the notes
// of a [Marker], whose steps have the verb Mark. So whoever keeps a record of calls
// misses none. Runs are told from goroutines of their own, so on must be safe for
// several. Whom ctx tells already is told as before.
func Tell(ctx context.Context, on func(Event)) context.Context {
	return context.WithValue(ctx, toldKey{}, tellingToo(ctx, on))
}

// tellingToo is on, and beside it whom the context tells.
func tellingToo(ctx context.Context, on func(Event)) func(Event) {
	also, ok := ctx.Value(toldKey{}).(func(Event))
	if !ok {
		return on
	}
	return func(e Event) {
		also(e)
		on(e)
	}
}
