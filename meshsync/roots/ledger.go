package roots

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// ledger is what a source knows: for each trust domain the last good roots. It is
// where all rules are kept about what may replace what.
type ledger struct {
	name    string // of the bundle to blame while nothing is known
	bundles map[string]Bundle
}

// newLedger begins with what was known last. A source of one trust domain takes
// that one's alone; name "" takes all.
func newLedger(name string, last []Bundle) *ledger {
	l := &ledger{name: name, bundles: map[string]Bundle{}}
	for _, b := range last {
		if len(b.Roots) > 0 && (name == "" || b.Name == name) {
			l.bundles[b.Name] = b
		}
	}
	return l
}

// known says whether there are roots at all.
func (l *ledger) known() bool {
	for _, b := range l.bundles {
		if len(b.Roots) > 0 {
			return true
		}
	}
	return false
}

// all is what is told.
func (l *ledger) all() []Bundle {
	var out []Bundle
	for _, name := range slices.Sorted(maps.Keys(l.bundles)) {
		out = append(out, l.bundles[name])
	}
	return out
}

// failed is a reading that found nothing: all stays, and everything has the problem.
func (l *ledger) failed(now, next time.Time, problem string) {
	if len(l.bundles) == 0 {
		l.bundles[l.name] = Bundle{Name: l.name}
	}
	for name, b := range l.bundles {
		l.bundles[name] = withProblem(b, problem, now, next)
	}
}

// refused is failed for a reason that does not pass by itself.
func (l *ledger) refused(now, next time.Time, problem string) {
	l.failed(now, next, problem)
	for name, b := range l.bundles {
		b.Refused = true
		l.bundles[name] = b
	}
}

// seen says that all that has no problem is published as it was, up to now.
func (l *ledger) seen(now time.Time) {
	for name, b := range l.bundles {
		if b.Problem == "" {
			b.At = now
			l.bundles[name] = b
		}
	}
}

// again is a reading that says that nothing changed.
func (l *ledger) again(now, next time.Time) {
	for name, b := range l.bundles {
		l.bundles[name] = withoutProblem(b, now, next)
	}
}

// read is a reading that found bundles, or problems in their place. Trust domains
// that it lacks keep their roots: whoever relies on them did not agree to lose them.
func (l *ledger) read(now, next time.Time, found []Bundle) {
	if len(found) == 0 {
		l.failed(now, next, "no bundle is published")
		return
	}
	if len(l.bundles[""].Roots) == 0 {
		delete(l.bundles, "") // now it is known who it is
	}
	published := map[string]bool{}
	for _, f := range found {
		published[f.Name] = true
		l.bundles[f.Name] = replace(l.bundles[f.Name], f, now, next)
	}
	for name, b := range l.bundles {
		if !published[name] {
			l.bundles[name] = withProblem(b, "the source has no bundle of this trust domain any more", now, next)
		}
	}
}

const noRoots = "the bundle has no roots"

// replace is what is known after a bundle was found in place of the old one.
func replace(old, found Bundle, now, next time.Time) Bundle {
	old.Name = found.Name
	problem := found.Problem
	switch sequence := found.Sequence; {
	case problem != "":
	case len(found.Roots) == 0:
		problem = noRoots // as while a source starts anew
	case sequence != 0 && sequence < old.Sequence:
		problem = fmt.Sprintf("sequence %d is older than %d, which was read before; if the trust domain was made anew, name its source anew", sequence, old.Sequence)
	case sequence != 0 && sequence == old.Sequence && !SameRoots(old.Roots, found.Roots):
		problem = fmt.Sprintf("sequence %d was read before with other roots; changed roots need a higher one", sequence)
	default:
		old.Roots, old.Sequence = found.Roots, max(old.Sequence, sequence)
	}
	if problem != "" {
		old = withProblem(old, problem, now, next)
		old.Refused = problem != noRoots
		return old
	}
	return withoutProblem(old, now, next)
}

func withProblem(b Bundle, problem string, now, next time.Time) Bundle {
	if b.Problem == "" {
		b.Since = now
	}
	b.Problem, b.RefreshAt, b.Refused = problem, next, false
	return b
}

func withoutProblem(b Bundle, now, next time.Time) Bundle {
	b.Problem, b.Refused, b.Since, b.At, b.RefreshAt = "", false, time.Time{}, now, next
	return b
}
