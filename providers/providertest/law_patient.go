package providertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

func patient(tb testing.TB, h Harness) {
	endsWithContext(tb, h)
	stopsWhenTold(tb, h)
	waitsWhenThrottled(tb, h)
	survivesHanging(tb, h)
	survivesLateReads(tb, h)
	readsAllPages(tb, h)
	lingers(tb, h)
	rotates(tb, h)
}

// endsWithContext expects that a read whose context has ended fails, soon.
func endsWithContext(tb testing.TB, h Harness) {
	b := newBench(tb, h)
	b.converge(honestScene(h))
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	if _, err := b.world.Provider().Observe(ctx, clusterOwner, nil); err == nil {
		tb.Errorf("Observe goes on although its context has ended")
	}
	b.world.Hook(&counter{fault: func(int, Call) Fault { return Fault{Kind: Hang} }})
	defer b.world.Hook(nil)
	ctx, cancel = context.WithTimeout(tb.Context(), 20*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	provider := b.world.Provider()
	go func() {
		_, err := provider.Observe(ctx, clusterOwner, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			tb.Errorf("Observe answers although the cloud does not")
		}
	case <-time.After(2 * time.Second):
		tb.Errorf("Observe does not end 2 s after its context has")
	}
}

// stopsWhenTold cancels in the middle of a run, and expects that nothing more
// than what was in flight goes on.
func stopsWhenTold(tb testing.TB, h Harness) {
	b := newBench(tb, h)
	s := honestScene(h)
	plan, err := b.plan(s)
	if err != nil {
		tb.Fatalf("planning: %v", err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	b.world.Hook(&counter{after: func(Call) { cancel() }})
	out := b.account.Apply(ctx, plan, nil)
	b.world.Hook(nil)
	if len(out.Done)+len(out.Failed) > 1 || len(out.Blocked) == 0 {
		tb.Errorf("cancelled in its first step, a run goes on: done %v, failed %v", out.Done, out.Failed)
	}
	b.converge(s)
}

func waitsWhenThrottled(tb testing.TB, h Harness) {
	r := random(10)
	b := newBench(tb, h)
	b.world.Hook(&counter{fault: func(int, Call) Fault {
		if r.IntN(4) == 0 {
			return Fault{Kind: Refuse, Code: lbmodel.CodeThrottled}
		}
		return Fault{}
	}})
	b.converge(draw(r, h.Locations))
	b.world.Hook(nil)
}

// survivesHanging lets one call never answer, and expects its run to end and the
// next one to finish.
func survivesHanging(tb testing.TB, h Harness) {
	for n := range 8 {
		b := newBench(tb, h)
		b.timeout = 150 * time.Millisecond
		b.restart()
		b.world.Hook(&counter{fault: func(i int, _ Call) Fault {
			if i == 3*n {
				return Fault{Kind: Hang}
			}
			return Fault{}
		}})
		s := honestScene(h)
		if _, _, err := b.pass(s); err != nil {
			b.noteErr(err)
		}
		b.world.Hook(nil)
		b.converge(s)
	}
}

// survivesLateReads makes the cloud show the past to a process that has just
// started and to one that is running.
func survivesLateReads(tb testing.TB, h Harness) {
	late := &counter{fault: func(_ int, c Call) Fault {
		if !c.Write {
			return Fault{Kind: Stale}
		}
		return Fault{}
	}}
	each(tb, h, func(b *bench, r *rand.Rand, s scene) {
		b.converge(s)
		next, what := mutate(r, s, h.Locations)
		b.world.Hook(dieAt(4+r.IntN(8), LoseReply))
		_, _, err := b.pass(next)
		b.noteErr(err)
		b.restart()
		b.world.Hook(late)
		for range 2 {
			_, _, err = b.pass(next)
			b.noteErr(err)
		}
		b.world.Hook(nil)
		b.clock.advance(time.Hour)
		b.world.Settle()
		b.restart()
		b.converge(next)
		b.expectAsNew(next, what)
	})
}

// expectAsNew expects as many objects as a world has that never saw anything
// else.
func (b *bench) expectAsNew(s scene, what string) {
	b.Helper()
	direct := b.another()
	direct.converge(s)
	if got, want := len(b.ours()), len(direct.ours()); got != want {
		b.Errorf("after %q under late reads %d objects are in the cloud, want %d\nscene: %s", what, got, want, s)
	}
}

// readsAllPages has more of everything than fits a page of a list.
func readsAllPages(tb testing.TB, h Harness) {
	b := newBench(tb, h)
	s := honestScene(h)
	g := s.gateways["gw"]
	for i := range 60 {
		g.routes = append(g.routes, route{path: fmt.Sprintf("/page%d", i), pools: []string{"p0", "p1"}})
	}
	s.gateways["gw"] = g
	b.converge(s)
	b.restart()
	b.expectQuiet("the plan of many rules after a restart", s, 1)
}
