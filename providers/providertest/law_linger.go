package providertest

import (
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// linger is how long the law keeps what is not wanted, and most of that: two of
// these are more than the whole.
const (
	linger     = time.Hour
	mostOfIt   = 40 * time.Minute
	restOfIt   = linger - mostOfIt
	markedOnce = 1 // observation of a process that starts
)

// lingers expects of a Marker that a wait goes on over restarts, costs no call
// once it is noted, ends when it should and not before, and begins anew when the
// resource was wanted in between. Whatever becomes of the first note.
func lingers(tb testing.TB, h Harness) {
	for how, name := range map[FaultKind]string{Works: "", Refuse: "the process ends before the first note: ", LoseReply: "the process ends after the first note: "} {
		b := newBench(tb, h)
		if _, ok := b.world.Provider().(providers.Marker); !ok {
			return
		}
		b.lingers(name, how)
	}
}

func (b *bench) lingers(name string, how FaultKind) {
	b.Helper()
	s := honestScene(b.harness)
	gone := s.clone()
	gone.gateways = map[string]sketch{}
	b.converge(s)
	all := len(b.ours())
	if how != Works {
		b.world.Hook(dieAt(0, how))
		b.keep(gone)
		b.world.Hook(nil)
		b.restart()
	}
	b.keep(gone)
	b.expectKeeping(name+"right after", gone, all, 0)
	b.clock.advance(mostOfIt)
	b.restart()
	b.expectKeeping(name+"after a restart", gone, all, markedOnce)
	b.converge(s)
	b.restart()
	b.keep(gone)
	b.clock.advance(mostOfIt)
	b.expectKeeping(name+"after being wanted in between", gone, all, 0)
	b.restart()
	b.clock.advance(restOfIt + time.Minute)
	for range passesToConverge {
		b.keep(gone)
	}
	if left := b.ours(); len(left) > 0 {
		b.Errorf("%sthe time is over and %d objects are still kept: %v", name, len(left), left)
	}
}

// keep is a pass under the policy.
func (b *bench) keep(s scene) {
	b.Helper()
	_, out, err := b.pass(s, lbmodel.Linger(linger))
	b.noteErr(err)
	b.noteErr(out.Err())
}

// expectKeeping expects a pass that deletes nothing and makes no more calls than
// some observations.
func (b *bench) expectKeeping(when string, s scene, objects, observations int) {
	b.Helper()
	before := sum(b.account.Calls())
	b.keep(s)
	if made := sum(b.account.Calls()) - before; made > observations {
		b.Errorf("%s, keeping what is noted already makes %d calls, want at most %d: %v", when, made, observations, b.account.Calls())
	}
	if left := len(b.ours()); left != objects {
		b.Errorf("%s, %d of %d objects are left although their time is not over", when, left, objects)
	}
}
