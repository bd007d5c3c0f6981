package aws

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// entry is what becomes one rule, or a few that stand together: the requests of
// one match for some hostnames and methods.
type entry struct {
	hosts   []string // none is any
	methods []string // none is any
	match   lbmodel.Match
	rest    []Condition // of the match, without host and method
	does    deed
	key     string // entries of one key may be packed into one
	sources []lbmodel.Source
	about   lbmodel.Source // the route's rule
	parent  lbmodel.Source // the listener
}

// deed is what a rule does, ready but for the target groups.
type deed struct {
	action     Action
	transforms []Transform
	broken     int
}

// isolation answers for a listener whose hostname a less specific one of its port
// covers: only the most specific listener is asked.
func isolation(l *lbmodel.Listener) entry {
	return entry{hosts: []string{l.Hostname}, does: deed{action: fixed(404)}, sources: sources(l.Source), about: l.Source, parent: l.Source, key: "isolation"}
}

// pack joins entries that differ in one hostname or one method only, where that
// overtakes nothing that could answer for another. An entry goes up to the one that
// it joins, so that its precedence never falls.
func pack(entries []entry, q quotas) []entry {
	return packBy(packBy(entries, joinHosts, q), joinMethods, q)
}

// join is both entries as one; false where they have to stay two.
type join func(a, b *entry) (entry, bool)

func packBy(entries []entry, join join, q quotas) []entry {
	out := make([]entry, 0, len(entries))
	for i := range entries {
		if !packInto(out, &entries[i], join, q) {
			out = append(out, entries[i])
		}
	}
	return out
}

// lookBack is how many entries are looked at for one to join: more than a load
// balancer has rules by default.
const lookBack = 256

// packInto looks for what e can join, back to the first that e must not overtake.
func packInto(out []entry, e *entry, join join, q quotas) bool {
	for k := len(out) - 1; k >= max(0, len(out)-lookBack); k-- {
		if both, ok := join(&out[k], e); ok && both.fits(q) {
			out[k] = both
			return true
		}
		if !disjoint(&out[k], e) {
			return false
		}
	}
	return false
}

func joinHosts(a, b *entry) (entry, bool) {
	if a.key != b.key || len(a.hosts) == 0 || len(b.hosts) == 0 || !slices.Equal(a.methods, b.methods) {
		return entry{}, false
	}
	out := *a
	out.hosts, out.sources = union(a.hosts, b.hosts), sources(slices.Concat(a.sources, b.sources)...)
	return out, true
}

func joinMethods(a, b *entry) (entry, bool) {
	if a.key != b.key || len(a.methods) == 0 || len(b.methods) == 0 || !slices.Equal(a.hosts, b.hosts) {
		return entry{}, false
	}
	out := *a
	out.methods, out.sources = union(a.methods, b.methods), sources(slices.Concat(a.sources, b.sources)...)
	return out, true
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// disjoint says whether no request is taken by both, for certain.
func disjoint(a, b *entry) bool {
	return apart(a.hosts, b.hosts, hostsMeet) ||
		apart(a.methods, b.methods, func(x, y string) bool { return x == y }) ||
		pathsApart(a.match, b.match)
}

// apart says whether no value of one list meets one of the other; none is any.
func apart(a, b []string, meet func(x, y string) bool) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for _, x := range a {
		if slices.ContainsFunc(b, func(y string) bool { return meet(x, y) }) {
			return false
		}
	}
	return true
}

func hostsMeet(a, b string) bool {
	_, meet := lbmodel.IntersectHostnames(a, b)
	return meet
}

// pathsApart knows exact paths and prefixes.
func pathsApart(a, b lbmodel.Match) bool {
	if a.GRPC != nil || b.GRPC != nil || a.Path.Kind == lbmodel.MatchRegex || b.Path.Kind == lbmodel.MatchRegex {
		return false
	}
	x, xErr := normalPath(orRoot(a.Path.Value))
	y, yErr := normalPath(orRoot(b.Path.Value))
	switch aExact, bExact := a.Path.Kind == lbmodel.MatchExact, b.Path.Kind == lbmodel.MatchExact; {
	case xErr != nil || yErr != nil:
		return false
	case aExact && bExact:
		return x != y
	case aExact:
		return !isBelow(x, y)
	case bExact:
		return !isBelow(y, x)
	default:
		return !isBelow(x, y) && !isBelow(y, x)
	}
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// isBelow says whether a path falls under a prefix, by element.
func isBelow(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimRight(prefix, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// quotas are those that one rule must keep within.
type quotas struct{ values, wildcards int }

func (q quotas) fits(conditions []Condition) bool {
	values, wildcards := 0, 0
	for i := range conditions {
		c := &conditions[i]
		values, wildcards = values+c.values(), wildcards+c.wildcards()
		if len(c.Values)+len(c.Regex) > maxPerCondition {
			return false
		}
	}
	return values <= q.values && wildcards <= q.wildcards
}

func (e *entry) fits(q quotas) bool {
	return !slices.ContainsFunc(e.alternatives(), func(c []Condition) bool { return !q.fits(c) })
}

// alternatives are conditions of which any takes a request of the entry's, and all
// together no other.
func (e *entry) alternatives() [][]Condition {
	rest := slices.Clone(e.rest)
	if len(e.methods) > 0 {
		rest = append(rest, Condition{Field: fieldMethod, Values: e.methods})
	}
	if len(e.hosts) == 0 {
		if len(rest) == 0 {
			rest = append(rest, always())
		}
		return [][]Condition{rest}
	}
	var out [][]Condition
	for _, host := range hostConditions(e.hosts) {
		out = append(out, append([]Condition{host}, rest...))
	}
	return out
}

// conditions are the alternatives, divided until each is within the quotas. An
// error says that even a single value of each condition is not.
func (e *entry) conditions(q quotas) ([][]Condition, error) {
	var out [][]Condition
	todo := e.alternatives()
	for len(todo) > 0 {
		first := todo[0]
		if q.fits(first) {
			out, todo = append(out, first), todo[1:]
			continue
		}
		halves := divide(first)
		if halves == nil {
			return nil, fmt.Errorf("the match needs more than the %d values and %d wildcards that an Application Load Balancer takes in a rule; use fewer headers", q.values, q.wildcards)
		}
		todo = append(halves, todo[1:]...)
	}
	return out, nil
}

// divide halves the condition with the most values; nil when none has two.
func divide(conditions []Condition) [][]Condition {
	widest, most := -1, 1
	for i, c := range conditions {
		if n := len(c.Values) + len(c.Regex); n > most {
			widest, most = i, n
		}
	}
	if widest < 0 {
		return nil
	}
	a, b := slices.Clone(conditions), slices.Clone(conditions)
	c := conditions[widest]
	a[widest].Values, b[widest].Values = halve(c.Values)
	a[widest].Regex, b[widest].Regex = halve(c.Regex)
	return [][]Condition{a, b}
}

func halve(values []string) (a, b []string) {
	if len(values) == 0 {
		return nil, nil
	}
	middle := (len(values) + 1) / 2
	return values[:middle:middle], values[middle:]
}
