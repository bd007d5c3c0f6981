//go:build e2e

package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// journal is what happened, and what came of requests.
type journal struct {
	t     *testing.T
	began time.Time

	mu       sync.Mutex
	notes    []note
	counts   map[string]int // of what was done
	answers  map[string]int // that an edit asked for, by what they were
	failures []failure
	times    map[string][]time.Duration // from edits of each target to traffic following them
}

type note struct {
	at   time.Time
	text string
}

// failure is an answer that nobody asked for.
type failure struct {
	at                 time.Time
	target, got, wants string
}

func newJournal(t *testing.T) *journal {
	return &journal{t: t, began: time.Now(), counts: map[string]int{}, answers: map[string]int{}, times: map[string][]time.Duration{}}
}

// note keeps that something is done; kind is what it is counted as.
func (j *journal) note(kind, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[kind]++
	j.notes = append(j.notes, note{time.Now(), kind + " " + fmt.Sprintf(format, args...)})
}

func (j *journal) answered(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answers[what]++
}

func (j *journal) failed(target, got, wants string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures = append(j.failures, failure{time.Now(), target, got, wants})
}

func (j *journal) followed(target string, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times[target] = append(j.times[target], took.Round(time.Millisecond))
}

// recently is for how long before a failure what happened is shown with it.
const recently = 12 * time.Second

// shown is how many failures are told in full.
const shown = 50

// print tells everything, and fails the test for failures.
func (j *journal) print() {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, list := range []struct {
		title  string
		counts map[string]int
	}{{"done", j.counts}, {"answers that were asked for", j.answers}} {
		fmt.Fprintf(w, "%s:\n", list.title)
		for _, name := range slices.Sorted(maps.Keys(list.counts)) {
			fmt.Fprintf(w, "  %s\t%d\n", name, list.counts[name])
		}
	}
	if err := w.Flush(); err != nil {
		j.t.Error(err)
	}
	j.t.Logf("%s%d answers that nobody asked for", out.String(), len(j.failures))
	j.printTimes()
	for i, f := range j.failures {
		if i == shown {
			j.t.Errorf("and %d others", len(j.failures)-shown)
			break
		}
		j.t.Errorf("%s: %s got %s, want %s; before it:\n%s", j.clock(f.at), f.target, f.got, f.wants, j.before(f))
	}
}

// printTimes tells how soon traffic followed edits, by what was edited: Services
// wait for the cluster's own controllers, and those for API servers that come back.
func (j *journal) printTimes() {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "edited\tedits\thalf followed within\tall within")
	for _, target := range slices.Sorted(maps.Keys(j.times)) {
		took := j.times[target]
		slices.Sort(took)
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", target, len(took), took[len(took)/2], took[len(took)-1])
	}
	if err := w.Flush(); err != nil {
		j.t.Error(err)
	}
	j.t.Logf("from an edit to traffic following it:\n%s", out.String())
}

func (j *journal) clock(at time.Time) string { return fmt.Sprintf("%.3fs", at.Sub(j.began).Seconds()) }

// before is what happened before a failure, but for edits of other targets.
func (j *journal) before(f failure) string {
	var out strings.Builder
	for _, n := range j.notes {
		if n.at.Before(f.at) && n.at.After(f.at.Add(-recently)) && (!strings.HasPrefix(n.text, "edit ") || strings.Contains(n.text, " "+f.target+":")) {
			fmt.Fprintf(&out, "    %s %s\n", j.clock(n.at), n.text)
		}
	}
	return out.String()
}
