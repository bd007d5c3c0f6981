package bench

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

var tables = flag.Bool("tables", false, "all sizes, and print the figures")

// result is what a scenario cost.
type result struct {
	reads, writes map[string]int // by method
	took          time.Duration
	refused       int // calls that were throttled
	emptied       int
}

// floor is the least that a scenario takes.
type floor struct{ reads, writes, operations int }

// figure is one line of the table.
type figure struct {
	name string
	result
	least floor
}

func sum(of map[string]int) (out int) {
	for _, n := range of {
		out += n
	}
	return out
}

// over is ours and the floor, with how much more ours is.
func over(ours, least int) string {
	if least == 0 {
		return fmt.Sprintf("%d of 0", ours)
	}
	return fmt.Sprintf("%d of %d, %.2f", ours, least, float64(ours)/float64(least))
}

func (f figure) line() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s |", f.name, over(sum(f.reads), f.least.reads), over(sum(f.writes), f.least.writes),
		over(int(f.took/operation), f.least.operations), f.emptied, text(f.writes))
}

func text(of map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		short := name[strings.LastIndexByte(name[:strings.LastIndexByte(name, '.')], '.')+1:]
		out = append(out, fmt.Sprintf("%s %d", short, of[name]))
	}
	return strings.Join(out, ", ")
}

// measure does something in a minute of its own and says what it cost.
func (l *lab) measure(do func()) result {
	l.Helper()
	time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
	l.api.Forget()
	l.emptied = 0
	began := time.Now()
	do()
	out := result{took: time.Since(began), reads: map[string]int{}, writes: map[string]int{}, emptied: l.emptied}
	for _, c := range l.api.Calls() {
		switch {
		case c.Writes:
			out.writes[c.Method]++
		case strings.Contains(c.Method, "perations."): // a wait is part of the change
		default:
			out.reads[c.Method]++
		}
		if c.Reason == "rateLimitExceeded" {
			out.refused++
		}
	}
	return out
}

// scenario is one figure. What it takes may be the floor and no more.
type scenario struct {
	name  string
	large bool // with -tables only
	queue bool // it waits for the next minutes of a quota: reads are made anew meanwhile
	run   func(*lab) (result, floor)
}

// kinds is how many lists it takes to see a project: of each kind one.
const kinds = 16

// TestFigures runs every scenario and prints a line for each.
func TestFigures(t *testing.T) {
	var lines []string
	for _, s := range scenarios() {
		if s.large && !*tables {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				f := figure{name: s.name}
				f.result, f.least = s.run(l)
				l.check(f, s)
				lines = append(lines, f.line())
			})
			if len(lines) > 0 {
				lines[len(lines)-1] += fmt.Sprintf(" %.1f |", time.Since(began).Seconds())
			}
		})
	}
	if *tables {
		t.Logf("\n| what | reads, floor, ratio | writes, floor, ratio | operations in a row, floor, ratio | moments without an endpoint | writes by method | machine s, with what was there before |\n|---|---|---|---|---|---|---|\n%s", strings.Join(lines, "\n"))
	}
}

func (l *lab) check(f figure, s scenario) {
	l.Helper()
	if s.queue {
		f.least.reads, f.least.operations = sum(f.reads), f.least.operations+f.least.operations/20
	}
	if sum(f.writes) > f.least.writes || sum(f.reads) > f.least.reads || f.took >= time.Duration(f.least.operations+1)*operation {
		l.Errorf("it took %s; reads %v, writes %v; want %+v", f.took, f.reads, f.writes, f.least)
	}
	if f.refused > 0 || f.emptied > 0 {
		l.Errorf("%d calls were throttled, and groups lost their last endpoint %d times", f.refused, f.emptied)
	}
}

// made is how many calls make a member whose Service has endpoints in three zones:
// Address, HealthCheck, 3 groups and 3 times endpoints, the nobody of the URL map, TrustConfig,
// 2 certificates, a map with 3 entries (the server name, the certificate's own, and
// all others), authentication, backend service, URL map, proxy, rule.
const made = 1 + 1 + 3 + 3 + 1 + 1 + 2 + 4 + 1 + 1 + 1 + 1 + 1

// owned is what of them is a gateway's own: all but what serves the Service and the mesh.
const owned = made - 1 - 3 - 3 - 1

func scenarios() []scenario {
	return []scenario{
		{name: "a new HTTPS gateway with mutual TLS to its pods", run: func(l *lab) (result, floor) {
			gw := l.member("a", []lbmodel.Root{l.root("one")}, 6)
			return l.measure(func() { l.bring(gw) }), floor{reads: kinds + 1, writes: made, operations: 6}
		}},
		{name: "nothing has changed", run: func(l *lab) (result, floor) {
			gw := l.member("a", []lbmodel.Root{l.root("one")}, 6)
			l.bring(gw)
			return l.measure(func() { l.bring(gw) }), floor{}
		}},
		{name: "a restart with 100 gateways of one Service", run: restart(100), large: true},
		{name: "a restart with 10 gateways of one Service", run: restart(10)},
		{name: "100 gateways that share a Service and a mesh", run: fleet(100), large: true, queue: true},
		{name: "10 gateways that share a Service and a mesh", run: fleet(10)},
		{name: "one more root of the mesh, of 10 gateways", run: roots(1)},
		{name: "one root less, of 10 gateways", run: roots(-1)},
		{name: "a client certificate is renewed", run: renewal},
		{name: "1,000 endpoints in 3 zones replaced", run: replaced(1000)},
		{name: "10,000 endpoints of a new gateway", run: many(10000), large: true},
		{name: "a gateway is deleted", run: func(l *lab) (result, floor) {
			gw := l.member("a", []lbmodel.Root{l.root("one")}, 6)
			l.bring(gw)
			return l.measure(func() { l.account.Drop(gw.Owner); l.settle(gw.Owner) }), floor{writes: made - 3, operations: 6}
		}},
	}
}

func (l *lab) fleet(n int, roots ...lbmodel.Root) []lbmodel.Gateway {
	var out []lbmodel.Gateway
	for i := range n {
		out = append(out, l.member(fmt.Sprintf("g%03d", i), roots, 6))
	}
	return out
}

func restart(n int) func(*lab) (result, floor) {
	return func(l *lab) (result, floor) {
		all := l.fleet(n, l.root("one"))
		l.bring(all...)
		l.start()
		return l.measure(func() { l.bring(all...) }), floor{reads: kinds + 3 + n} // who is in 3 groups, and what is in each gateway's certificate map
	}
}

func fleet(n int) func(*lab) (result, floor) {
	return func(l *lab) (result, floor) {
		all := l.fleet(n, l.root("one"))
		least := floor{reads: kinds + n, writes: made - owned + n*owned, operations: 6}
		// Certificate Manager grants 300 requests a minute: a call and a look at its
		// operation for each of six things of a gateway, and what there is of four kinds.
		least.operations += (12*n + 2 + 3) / 300 * 60
		return l.measure(func() { l.bring(all...) }), least
	}
}

func roots(more int) func(*lab) (result, floor) {
	return func(l *lab) (result, floor) {
		one, two := l.root("one"), l.root("two")
		before, after := []lbmodel.Root{one}, []lbmodel.Root{one, two}
		if more < 0 {
			before, after = after, before
		}
		all := l.fleet(10, before...)
		l.bring(all...)
		for i := range all {
			all[i].Trust = []lbmodel.Trust{{Name: "istio", Source: all[i].Trust[0].Source, Roots: after}}
		}
		return l.measure(func() { l.bring(all...) }), floor{reads: 1, writes: 1, operations: 1} // it is looked at before it is changed
	}
}

func renewal(l *lab) (result, floor) {
	gw := l.member("a", []lbmodel.Root{l.root("one")}, 6)
	l.bring(gw)
	time.Sleep(20 * time.Hour) // of a day
	return l.measure(func() { l.bring(gw) }), floor{reads: 1, writes: 1, operations: 1}
}

func replaced(n int) func(*lab) (result, floor) {
	return func(l *lab) (result, floor) {
		gw := l.member("a", []lbmodel.Root{l.root("one")}, n)
		l.bring(gw)
		gw.Pools[0].Endpoints = endpoints(n, 1)
		change := providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]}
		return l.measure(func() {
			if out, err := l.account.Endpoints(l.Context(), change); err != nil || !out.Settled() {
				l.Fatal(err, out.Err())
			}
		}), floor{reads: (2*n/3 + 499) / 500 * 3, writes: 6, operations: 2} // who of each zone is healthy, by pages
	}
}

// many prints what so many endpoints take of this machine.
func many(n int) func(*lab) (result, floor) {
	return func(l *lab) (result, floor) {
		gw := l.member("a", []lbmodel.Root{l.root("one")}, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		out := l.measure(func() { l.bring(gw) })
		runtime.GC()
		runtime.ReadMemStats(&after)
		l.Logf("%d endpoints: %.1f MiB more are held, by the emulator too", n, float64(after.HeapAlloc-before.HeapAlloc)/(1<<20))
		return out, floor{reads: kinds + 1, writes: made - 3 + (n+1499)/1500*3, operations: 6}
	}
}
