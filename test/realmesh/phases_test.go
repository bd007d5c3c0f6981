//go:build e2e

package realmesh

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// phase is one thing that happens to a mesh, and when it is over.
type phase struct {
	name string
	do   func()
	want map[string]int // changes of the cloud, by call; nil is none
}

// run is a gateway under load.
type run struct {
	tb         testing.TB
	name       string
	url        string
	stats      []string              // of the workloads
	changes    func() map[string]int // of the cloud so far, by call
	issued     func() int            // certificates so far
	unverified func() int            // hops so far
}

// under does the phases, and wants nobody to notice: no request failed, no hop that
// one side did not verify, no client refused, and no more changes than there must be.
func (r run) under(phases []phase) {
	r.tb.Helper()
	l := startLoad(r.tb, r.url)
	for _, p := range phases {
		sent, failed, _ := l.counts()
		before, issued := r.changes(), r.issued()
		p.do()
		time.Sleep(*breath) // of requests
		nowSent, nowFailed, first := l.counts()
		got := less(r.changes(), before)
		if !maps.Equal(got, p.want) && len(got)+len(p.want) > 0 {
			r.tb.Errorf("%s: the cloud was changed by %s, want %s", p.name, told(got), told(p.want))
		}
		if nowFailed > failed {
			r.tb.Errorf("%s: %d requests failed, the first of all: %v", p.name, nowFailed-failed, first)
		}
		refusals, why := refused(r.tb, r.stats)
		if refusals > 0 {
			r.tb.Errorf("%s: workloads refused %d handshakes: %q", p.name, refusals, why)
		}
		unverified := r.unverified()
		if unverified > 0 {
			r.tb.Errorf("%s: %d hops were not verified", p.name, unverified)
		}
		figures.add(r.name, p.name, nowSent-sent, nowFailed-failed, unverified, refusals, told(got), r.issued()-issued)
	}
	l.stop()
	if sent, _, _ := l.counts(); sent < len(phases)**rate {
		r.tb.Errorf("%d requests in %d phases are too few to say anything", sent, len(phases))
	}
}

func less(now, before map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range now {
		if d := n - before[name]; d != 0 {
			out[name] = d
		}
	}
	return out
}

func told(counts map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// figures are those of all tests, printed as a table of docs/reference/figures.md.
var figures table

type table struct {
	mu       sync.Mutex
	versions []string
	lines    []string
}

// version notes what was tried.
func (f *table) version(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.versions, text) {
		f.versions = append(f.versions, text)
	}
}

// add adds a line.
func (f *table) add(columns ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := "|"
	for _, c := range columns {
		line += fmt.Sprintf(" %v\t|", c)
	}
	f.lines = append(f.lines, line)
}

func (f *table) print() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lines) == 0 {
		return
	}
	fmt.Printf("\nwith %s\n\n", strings.Join(f.versions, ", "))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 0, ' ', 0)
	fmt.Fprintln(w, "| mesh\t| phase\t| requests\t| failed\t| hops not verified\t| handshakes refused\t| changes of the cloud\t| certificates issued\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, line := range f.lines {
		fmt.Fprintln(w, line)
	}
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}
}
