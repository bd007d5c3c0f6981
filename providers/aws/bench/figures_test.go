package bench

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
)

var tables = flag.Bool("tables", false, "all sizes, and print the figures")

// figure is one line of the table.
type figure struct {
	name string
	result
	least tally  // the calls that it takes at least; nil is that no floor is known
	peer  string // what aws-load-balancer-controller 3.5.0 does, measured
}

// floor is the least time that it takes: what AWS's buckets impose, or what AWS itself
// takes for it.
func (f figure) floor() time.Duration { return max(f.least.floor(), f.waits) }

// ratio is how much longer it took than its floor.
func (f figure) ratio() string {
	floor := f.floor()
	switch {
	case f.least == nil && floor == 0:
		return ""
	case floor == 0:
		return "0 s"
	}
	return fmt.Sprintf("%.1f s, %.2f", floor.Seconds(), f.took.Seconds()/floor.Seconds())
}

func (f figure) line() string {
	return fmt.Sprintf("| %s | %d | %d | %.1f | %s | %d | %s | %s | %s |", f.name, f.calls.total(), f.calls.writes(), f.took.Seconds(),
		f.ratio(), f.emptied, f.peer, f.calls.byBucket().text(), f.calls.text())
}

// scenario is one figure and what it must not be worse than.
type scenario struct {
	name  string
	large bool // with -tables only
	peer  string
	run   func(*lab) (result, tally)
	check func(*testing.T, figure)
	times awsapi.Times
}

// TestFigures runs every scenario and prints a line for each.
func TestFigures(t *testing.T) {
	var lines []string
	all := slices.Concat(fresh(), edits(), still(), rollouts(), ends())
	slices.SortStableFunc(all, func(a, b scenario) int { return strings.Compare(a.name[:3], b.name[:3]) }) // by letter
	for _, s := range all {
		if s.large && !*tables {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				times := s.times
				if times == (awsapi.Times{}) {
					times = quick()
				}
				l := newLab(t, times)
				f := figure{name: s.name, peer: s.peer}
				f.result, f.least = s.run(l)
				s.check(t, f)
				lines = append(lines, f.line())
			})
		})
	}
	if *tables {
		t.Logf("\n| what | calls | writes | virtual s | floor s, ratio | groups emptied | aws-load-balancer-controller | calls by bucket | calls by action |\n|---|---|---|---|---|---|---|---|---|\n%s", strings.Join(lines, "\n"))
	}
}

// within checks that nothing is changed but what must be, and that it takes no longer
// than the floor and a twentieth.
func within(t *testing.T, f figure) {
	t.Helper()
	for action, n := range f.calls {
		if !reads(action) && n > f.least[action] {
			t.Errorf("%d calls of %s, want %d at most", n, action, f.least[action])
		}
	}
	if floor := f.floor(); f.took > floor+floor/20+time.Second {
		t.Errorf("it took %s, and the floor is %s", f.took, floor)
	}
	if f.refused > 0 {
		t.Errorf("%d calls were throttled, although nobody else called", f.refused)
	}
	steady(t, f)
}

// steady checks that no group was ever without a healthy target.
func steady(t *testing.T, f figure) {
	t.Helper()
	if f.emptied > 0 {
		t.Errorf("groups lost their last healthy target %d times", f.emptied)
	}
}

// silent checks that nothing was called.
func silent(t *testing.T, f figure) {
	t.Helper()
	if f.calls.total() > 0 {
		t.Errorf("calls %v, want none", f.calls)
	}
}

// unchanged checks that nothing was changed.
func unchanged(t *testing.T, f figure) {
	t.Helper()
	if f.calls.writes() > 0 {
		t.Errorf("changing calls among %v", f.calls)
	}
}

// fresh are gateways that are new.
func fresh() []scenario {
	peers := map[string]string{"1 one": "57 calls, 5 writes", "10 own": "125 calls, 32 writes, floor 6 s", "10 one": "118 calls, 32 writes, floor 6 s",
		"50 own": "450 calls, 152 writes, floor 34 s", "50 one": "400 calls, 152 writes, floor 34 s", "99 own": "847 calls, 299 writes, floor 69 s", "99 one": "750 calls, 299 writes, floor 69 s"}
	var out []scenario
	for _, n := range []int{1, 10, 50, 99} {
		for _, to := range []string{"one", "own"} {
			services := 1
			if to == "own" {
				services = n
			}
			if to == "own" && n == 1 {
				continue // it is the same
			}
			key := fmt.Sprintf("%d %s", n, to)
			out = append(out, scenario{name: fmt.Sprintf("(a) fresh, %d routes to %d services", n, services), large: n == 99 || n == 50 && to == "one", peer: peers[key], check: within,
				run: func(l *lab) (result, tally) {
					return l.measure(func() { l.bring(shop("a", n, services)) }), count(n, services)
				}})
		}
	}
	return out
}

// edits are single changes by users.
func edits() []scenario {
	insert := func(first bool) func(*lab) (result, tally) {
		return func(l *lab) (result, tally) {
			gw := shop("a", 98, 98)
			l.bring(gw)
			gw.Pools = append(gw.Pools, pool(98, pods(2, 98, 0)))
			rules, fresh := &gw.Listeners[0].Rules, route(98, 98)
			if first {
				fresh.Match.Path.Value = "/a/first"
				*rules = slices.Insert(slices.Clone(*rules), 0, fresh)
			} else {
				*rules = append(slices.Clone(*rules), fresh)
			}
			return l.measure(func() { l.bring(gw) }), tally{"CreateRule": 1, "CreateTargetGroup": 1, "RegisterTargets": 1}
		}
	}
	return []scenario{
		{name: "(b) one route that sorts first, on top of 98", peer: "444 calls, 103 writes, on 99", run: insert(true), check: within},
		{name: "(b) one route that sorts last, on top of 98", peer: "196 calls, 3 writes, on 51", run: insert(false), check: within, large: true},
		{name: "(f) one bad route among 11", peer: "0 of 10 programmed, all 11 said to be accepted", run: oneBad, check: within},
		{name: "(g) five routes, in an account whose changes others have used up, and go on using", run: crowded, check: twice},
		{name: "(g) one route, while 200 target groups are looked at in the background", run: behindScan, check: twice},
	}
}

// twice checks that a user's edit takes no longer than twice its floor, and a second.
func twice(t *testing.T, f figure) {
	t.Helper()
	if floor := f.floor(); f.took > 2*floor+time.Second {
		t.Errorf("it took %s, and the floor is %s", f.took, floor)
	}
	steady(t, f)
}

func oneBad(l *lab) (result, tally) {
	gw := shop("a", 10, 10)
	bad := route(10, 0)
	bad.Match.Query = []lbmodel.ValueMatch{{Name: "q", Kind: lbmodel.MatchExact, Value: "v"}}
	gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, bad)
	found := l.account.Want(gw)
	if len(found) != 1 || found[0].About.Name != bad.Source.Name {
		l.Errorf("findings %v, want one about %s", found, bad.Source.Name)
	}
	least := count(10, 10)
	out := l.measure(func() { l.bring(gw) })
	if n := out.calls["CreateRule"]; n < 10 {
		l.Errorf("%d rules were made, want 10", n)
	}
	least["CreateRule"] = max(10, min(11, out.calls["CreateRule"])) // a refused rule may keep its place and answer 500
	return out, least
}

// crowdedFloor is how long five routes take whose ten changes find an empty bucket, if
// nobody else takes of the three tokens that come in a second.
const crowdedFloor = 10 * time.Second / 3

// crowded inserts routes into an account whose changes others throttle.
func crowded(l *lab) (result, tally) {
	gw := shop("a", 10, 10)
	l.bring(gw)
	gw.Listeners[0].Rules = slices.Clone(gw.Listeners[0].Rules)
	for i := 10; i < 15; i++ {
		gw.Pools = append(gw.Pools, pool(i, pods(2, i, 0)))
		gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, route(i, i))
	}
	out := l.measure(func() {
		ended := make(chan struct{})
		defer close(ended)
		l.api.Drain("mutating")
		go l.others(ended)
		l.bring(gw)
	})
	out.waits = crowdedFloor
	return out, nil
}

// behindScan inserts a route while a scan for drift reads a lot.
func behindScan(l *lab) (result, tally) {
	all := gateways(20, 10)
	l.bring(all...)
	if _, err := l.account.Drift(l.Context()); err != nil { // which says when the first one is due
		l.Fatal(err)
	}
	gw := all[0]
	gw.Pools = append(gw.Pools, pool(10, pods(2, 10, 0)))
	gw.Listeners[0].Rules = append(slices.Clone(gw.Listeners[0].Rules), route(10, 10))
	scan := make(chan error, 1)
	out := l.measure(func() {
		go func() {
			_, err := l.account.Drift(l.Context())
			scan <- err
		}()
		time.Sleep(5 * time.Second)
		began := time.Now()
		l.bring(gw)
		l.edit = time.Since(began)
	})
	out.took = l.edit
	if err := <-scan; err != nil {
		l.Error(err)
	}
	return out, tally{"CreateRule": 1, "CreateTargetGroup": 1, "RegisterTargets": 1}
}

// others take a token of the bucket of changes every two thirds of a second, as soon as
// there is one.
func (l *lab) others(ended <-chan struct{}) {
	next := time.Now()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case now := <-ticker.C:
			if now.After(next) && l.api.Tokens("mutating") >= 1 {
				l.takeOne()
				next = now.Add(time.Second * 2 / 3)
			}
		}
	}
}
