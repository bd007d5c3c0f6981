package cli

import (
	"time"

	"gatehouse.dev/internal/reconcile"
)

// leastPause is between two passes of which the first said that something is due
// already: whatever it is, the pass has not done it.
const leastPause = time.Second

// mostPause bounds a timer: a clock may be set, and nothing tells of it.
const mostPause = time.Hour

// due is when the next pass is worth making although nothing has changed: a
// certificate is to be renewed, or a root's overlap ends.
type due struct{ at time.Time } // zero is never

// passed takes what a pass leaves to be done later. It may have been about some
// gateways only, so what is due for others stays.
func (d *due) passed(done reconcile.Pass) {
	for _, g := range done.Groups {
		d.by(g.Outcome.Held.Next())
	}
}

// by brings the time forward, if that is sooner.
func (d *due) by(at time.Time) {
	if !at.IsZero() && (d.at.IsZero() || at.Before(d.at)) {
		d.at = at
	}
}

// wait is from now until then; ok says that there is a then.
func (d *due) wait(now time.Time) (wait time.Duration, ok bool) {
	if d.at.IsZero() {
		return 0, false
	}
	return min(max(d.at.Sub(now), leastPause), mostPause), true
}

// dueNow ends when something is due. Whoever takes it forgets what was due before
// and passes for every gateway.
func (s *server) dueNow() <-chan time.Time {
	wait, ok := s.due.wait(time.Now())
	if !ok {
		return nil
	}
	return time.After(wait)
}
