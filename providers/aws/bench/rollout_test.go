package bench

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
)

// client reaches the account without a socket.
func (l *lab) client() *http.Client { return &http.Client{Transport: l} }

// rollouts replace pods.
func rollouts() []scenario {
	return []scenario{
		{name: "(d) 20 pods replaced at once", peer: "2 writes, empty between them", run: func(l *lab) (result, tally) { return rollout(l, 20, 20) }, check: writes(2)},
		{name: "(d) 20 pods, 5 by 5", peer: "8 writes", run: func(l *lab) (result, tally) { return rollout(l, 20, 5) }, check: writes(8)},
		{name: "(d) 20 pods, one by one", peer: "40 writes", run: func(l *lab) (result, tally) { return rollout(l, 20, 1) }, check: writes(40)},
		{name: "(d) 2 pods of a service behind 50 routes", peer: "100 writes, groups empty for 0.76 s, the last after 20 s", run: behindMany, check: writes(2)},
		{name: "(d) 1000 pods within the quota of 1000", large: true, peer: "not measured", run: full, check: func(t *testing.T, f figure) {
			if n := f.calls.total(); n > 120 || f.calls.writes() > 16 {
				t.Errorf("%d calls, of which %d change something; want 120 and 16 at most: %v", n, f.calls.writes(), f.calls)
			}
			if floor := f.floor(); f.took > floor+floor/5 {
				t.Errorf("it took %s, and the floor is %s", f.took, floor)
			}
			steady(t, f)
		}},
	}
}

// writes checks how many changing calls there are.
func writes(most int) func(*testing.T, figure) {
	return func(t *testing.T, f figure) {
		if n := f.calls.writes(); n > most {
			t.Errorf("%d changing calls, want %d: %v", n, most, f.calls)
		}
		steady(t, f)
	}
}

// rollout replaces n pods, some at a time.
func rollout(l *lab, n, wave int) (result, tally) {
	gw := shop("a", 1, 1)
	gw.Pools[0].Endpoints = pods(n, 0, 0)
	l.bring(gw)
	time.Sleep(time.Minute)
	return l.measure(func() {
		for done := 0; done < n; done += wave {
			next := slices.Clone(gw.Pools[0].Endpoints)
			copy(next[done:min(n, done+wave)], pods(n, 0, 1)[done:min(n, done+wave)])
			gw.Pools[0].Endpoints = next
			l.target(gw)
		}
	}), nil
}

// full is a rollout in a group that has no room for the new beside the old. In each of
// four waves a quarter drains for five minutes, and the next one's checks must pass.
func full(l *lab) (result, tally) {
	out, _ := rollout(l, 1000, 1000)
	out.waits = 4 * (5*time.Minute + initial)
	return out, tally{"DeregisterTargets": 8, "RegisterTargets": 8} // 200 targets a call
}

func behindMany(l *lab) (result, tally) {
	gw := shop("a", 50, 1)
	l.bring(gw)
	time.Sleep(time.Minute)
	gw.Pools = []lbmodel.Pool{pool(0, pods(2, 0, 1))}
	return l.measure(func() { l.target(gw) }), nil
}

// ends are gateways that go, and processes that are killed.
func ends() []scenario {
	remove := func(n int) func(*lab) (result, tally) {
		return func(l *lab) (result, tally) {
			gw := shop("a", n, n)
			l.bring(gw)
			return l.measure(func() { l.remove(gw.Owner) }), tally{"DeleteLoadBalancer": 1, "DeleteTargetGroup": n, "DeleteSecurityGroup": 1}
		}
	}
	return []scenario{
		{name: "(e) delete, 10 routes", peer: "49 calls, 21 writes", run: remove(10), check: gone},
		{name: "(e) delete, 99 routes", large: true, peer: "about 405 calls", run: remove(99), check: gone},
		{name: "(i) killed after every call in turn", peer: "not measured", run: killed, check: func(*testing.T, figure) {}},
	}
}

func gone(t *testing.T, f figure) {
	t.Helper()
	for action, n := range f.calls {
		if !reads(action) && n > f.least[action] {
			t.Errorf("%d calls of %s, want %d at most", n, action, f.least[action])
		}
	}
}

func (l *lab) remove(owner lbmodel.Owner) {
	l.Helper()
	l.account.Drop(owner)
	for range 60 {
		l.run(owner)
		if gone, err := l.account.Gone(l.Context(), owner); err == nil && gone {
			if l.api.Dump() != awsapi.Empty() {
				l.Errorf("the account still holds %s", l.api.Dump())
			}
			return
		}
		time.Sleep(5 * time.Second)
	}
	l.Fatal("it does not go")
}

// killed makes a gateway with a process that ends after the first call, then after the
// second, and so on, each begun anew: what is there in the end is what one process
// would have made.
func killed(l *lab) (result, tally) {
	gw := shop("a", 3, 3)
	want := content{balancers: 1, groups: 3, rules: 3, targets: 6}
	out := l.measure(func() {
		for calls := 1; calls < 200; calls++ {
			l.mu.Lock()
			l.stop = calls
			l.mu.Unlock()
			l.start()
			settled := l.pass(gw).Settled()
			l.mu.Lock()
			whole := l.stop > 0
			l.stop = 0
			l.mu.Unlock()
			if settled && whole {
				return
			}
		}
		l.Fatal("it never ends")
	})
	if got := l.holds(); got != want {
		l.Errorf("the account serves %+v, want %+v", got, want)
	}
	l.start()
	l.account.Want(gw)
	if plan, err := l.account.Plan(l.Context(), []lbmodel.Owner{gw.Owner}); err != nil || !plan.Empty() {
		l.Errorf("another process plans %s, %v", fmt.Sprint(plan.Steps), err)
	}
	return out, nil
}
