package gcpapi

import (
	"context"
	"time"

	"gatehouse.dev/fake/gcpapi/clock"
)

// Drive moves a manual clock for whoever waits: each time that nobody has called for a
// while (calm, of real time) and somebody waits, for an operation or on the clock itself,
// the clock jumps to the earliest time that is waited for. So a test measures how long
// something would take, of the project's time, in a fraction of it. It ends with the
// context.
func (s *Server) Drive(ctx context.Context, moved *clock.Manual, calm time.Duration) {
	tick := time.NewTicker(calm)
	defer tick.Stop()
	seen := s.arrived.Load()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		arrived := s.arrived.Load()
		if far, waiting := moved.Next(); waiting > 0 && arrived == seen && s.active.Load() == 0 {
			moved.Advance(far)
			s.Refresh()
		}
		seen = arrived
	}
}
