package cloud

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scripts are how meshes rotate (and how operators should not).
func scripts() []script {
	a, ab, b := []int8{rootA}, []int8{rootA, rootB}, []int8{rootB}
	abb := []int8{rootA, rootB, rootB}
	return []script{
		{name: "Istio, plugged-in CA", ordered: true, phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "A+B, A signs", publish: ab, sign: rootA, followed: true},
			{name: "A+B+B, B signs", publish: abb, sign: rootB, atLeast: leafLife},
			{name: "B", publish: b, sign: rootB},
		}},
		{name: "Istio, signed again with the same key", ordered: true, phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "A2", publish: []int8{rootA2}, sign: rootA2},
		}},
		{name: "in haste", phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "A+B, A signs", publish: ab, sign: rootA, followed: true},
			{name: "A+B, B signs", publish: ab, sign: rootB},
			{name: "B", publish: b, sign: rootB},
		}},
		{name: "one for another", phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "B", publish: b, sign: rootB},
		}},
		{name: "there and back", ordered: true, phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "A+B", publish: ab, sign: rootA},
			{name: "A again", publish: a, sign: rootA},
			{name: "A+B again", publish: ab, sign: rootA, followed: true},
			{name: "B signs", publish: ab, sign: rootB, atLeast: leafLife},
			{name: "B", publish: b, sign: rootB},
		}},
		{name: "Linkerd", ordered: true, perPod: true, phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "A+B", publish: ab, sign: rootA},
			{name: "first pod restarts", publish: ab, sign: rootA, restart: 1},
			{name: "second pod restarts", publish: ab, sign: rootA, restart: 2, followed: true},
			{name: "B signs", publish: ab, sign: rootB, atLeast: leafLife},
			{name: "B", publish: b, sign: rootB},
			{name: "both restart", publish: b, sign: rootB, restart: 3},
		}},
		{name: "Linkerd, issuer before the second pod", ordered: true, perPod: true, tight: true, phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "A+B", publish: ab, sign: rootA},
			{name: "first pod restarts", publish: ab, sign: rootA, restart: 1, followed: true},
			{name: "B signs", publish: ab, sign: rootB, within: 1},
			{name: "second pod restarts", publish: ab, sign: rootB, restart: 2, atLeast: leafLife},
			{name: "B", publish: b, sign: rootB},
		}},
		{name: "SPIRE", ordered: true, phases: []phase{
			{name: "A", publish: a, sign: rootA, atLeast: 1},
			{name: "B is prepared", publish: ab, sign: rootA, followed: true},
			{name: "B is active", publish: ab, sign: rootB},
			{name: "A is tainted", publish: ab, tainted: rootA + 1, sign: rootB, followed: true},
			{name: "A is revoked", publish: b, sign: rootB},
		}},
	}
}

// budget is what may go wrong on one way through a script.
type budget struct {
	name                                  string
	faults, back, ahead, restores, unread int8
	seen                                  bool // certificates on the wire are looked at (Trust.Seen)
	client                                bool // so little goes wrong that a client certificate can always be had
}

// calm is a budget of nothing.
var calm = budget{name: "nothing goes wrong", client: true}

// budgets are bounds under which each property must hold. Failing looks are never
// two in a row where a client certificate is promised: it is due two hours before
// its end. A clock that runs ahead ends an overlap early, and no rule can know; what
// was seen on the wire is not affected.
func budgets() []budget {
	return []budget{
		calm,
		{name: "uploads fail, processes end", faults: 2, restores: 1, unread: 1, client: true},
		{name: "the clock is set back", back: 1, restores: 2, client: true},
		{name: "everything at once, without a promise to clients", faults: 2, back: 1, restores: 1, unread: 1},
		{name: "the clock runs ahead, and the wire is watched", faults: 2, ahead: 1, restores: 1, seen: true, client: true},
	}
}

// checker walks through every state of a script under a budget.
type checker struct {
	*engine
	script script
	budget budget
	from   map[checked]*checked // where each state was reached from
	todo   []checked
	at     *checked // where the search is
	broken string   // the first property that does not hold, with the way there
}

// check is how many states there are, and what is wrong in the first bad one.
func check(t testing.TB, sc script, b budget, fault seeded) (states int, broken string) {
	t.Helper()
	c := &checker{engine: newEngine(t, fault), script: sc, budget: b, from: map[checked]*checked{}}
	first := checked{leafKey: rootA, known: 1 << rootA, pods: [2]uint8{1 << rootA, 1 << rootA}, faults: b.faults, jumps: b.back + b.ahead, restores: b.restores, unread: b.unread}
	for root := range first.live {
		first.live[root], first.signed[root], first.dropped[root] = absent, never, never
	}
	first.live[rootA], first.signed[rootA] = present, 0
	first.backup = first.live
	c.reach(nil, first)
	for len(c.todo) > 0 && c.broken == "" {
		s := c.todo[0]
		c.todo = c.todo[1:]
		c.expand(s)
	}
	return len(c.from), c.broken
}

func (c *checker) reach(from *checked, s checked) {
	if _, known := c.from[s]; known || c.broken != "" {
		return
	}
	c.from[s] = from
	c.todo = append(c.todo, s)
}

// expand is one hour: something may happen, then the engine may look, then the hour
// passes.
func (c *checker) expand(s checked) {
	c.at = &s
	for _, before := range c.happenings(s) {
		c.client(before, "before the look")
		for _, after := range c.looks(before) {
			c.properties(after)
			if p := c.script.phases[after.phase]; p.within > 0 && -after.since >= p.within {
				continue // the script does not wait here
			}
			c.pass(&after)
			c.client(after, "an hour later")
			c.reach(&s, after)
		}
	}
}

// pass lets an hour pass. All times are told from now, and what nobody asks for any
// more is forgotten: so there are few enough states to see them all.
func (c *checker) pass(s *checked) {
	p := c.script.phases[s.phase]
	s.leafAt--
	s.since = max(s.since-1, -max(p.atLeast, p.within))
	for root := range s.live {
		older(&s.live[root])
		older(&s.backup[root])
		older(&s.dropped[root])
		if s.signed[root]--; !s.inUse(int8(root)) {
			s.signed[root] = never
		}
	}
	if s.restores == 0 {
		s.backup = [rootCount]int8{}
	}
	s.followed = s.followed && p.followed
	c.sign(s)
}

// older moves a record by an hour; one that is long over stays so.
func older(at *int8) {
	if *at > never {
		*at = max(*at-1, -overlapOf-2*jump)
	}
}

// sign is the mesh's issuer at work: backends have certificates of this hour.
func (c *checker) sign(s *checked) { s.signed[keyOf(c.script.phases[s.phase].sign)] = 0 }

// happenings are the states after what the world does within an hour: nothing, or
// the operator goes on (once or twice), and the clock jumps, or a backup of the
// cloud's object comes back.
func (c *checker) happenings(s checked) []checked {
	out := []checked{s}
	for next, ok := c.advance(s); ok && len(out) < 3; next, ok = c.advance(next) {
		out = append(out, next)
	}
	for _, one := range slices.Clone(out) {
		if one.jumps > 0 {
			jumped := one
			jumped.jumps--
			jumped.skew = jump
			if c.budget.back > 0 {
				jumped.skew = -jump
			}
			for root, at := range jumped.dropped {
				jumped.dropped[root] = min(at, jumped.skew)
			}
			out = append(out, jumped)
		}
		if one.restores > 0 {
			out = append(out, restored(one, one.backup), restored(one, withoutRecords(one.live)))
		}
	}
	return out
}

func withoutRecords(live [rootCount]int8) [rootCount]int8 {
	for root, state := range live {
		if state != absent {
			live[root] = present
		}
	}
	return live
}

// restored is the cloud's object as it was: what is not there then, the engine must
// bring again, and what has lost its record has its time anew.
func restored(s checked, live [rootCount]int8) checked {
	s.restores--
	s.live, s.robbed = live, true
	for root, state := range live {
		if !s.holds(keyOf(int8(root))) {
			s.known &^= 1 << keyOf(int8(root))
		}
		if state == absent || state == present {
			s.dropped[root] = never
		}
	}
	return s
}

// advance is the next phase, if the operator may begin it now.
func (c *checker) advance(s checked) (checked, bool) {
	p := c.script.phases[s.phase]
	if int(s.phase)+1 == len(c.script.phases) || -s.since < p.atLeast || p.followed && !s.followed {
		return s, false
	}
	s.phase++
	s.since, s.followed = 0, false
	next := c.script.phases[s.phase]
	for pod := range s.pods {
		if next.restart&(1<<pod) != 0 {
			s.pods[pod] = keysOf(next.publish)
		}
	}
	c.sign(&s)
	return s, true
}

func keysOf(roots []int8) (out uint8) {
	for _, root := range roots {
		out |= 1 << keyOf(root)
	}
	return out
}

// trusted are the keys that every backend accepts in a client certificate.
func (c *checker) trusted(s checked) uint8 {
	if c.script.perPod {
		return s.pods[0] & s.pods[1]
	}
	return keysOf(c.script.phases[s.phase].publish)
}

// looks are the states after the engine looked, or did not: a process that is not
// there, one that ends half way, an upload that fails, roots that cannot be read.
func (c *checker) looks(s checked) []checked {
	var seen []string
	if c.budget.seen {
		seen = c.seen(&s)
	}
	whole := c.carryOut(s, c.plan(&s, c.script.phases[s.phase], false, seen), true, true)
	whole.followed = true
	c.rootsGo(whole, seen)
	out := []checked{whole}
	mayDisturb := !s.disturbed || !c.budget.client
	if s.unread > 0 && mayDisturb {
		blind := c.carryOut(s, c.plan(&s, c.script.phases[s.phase], true, seen), true, true)
		blind.unread--
		blind.disturbed = true
		blind.known, blind.dropped, blind.robbed = s.known, s.dropped, s.robbed
		out = append(out, blind)
	}
	if s.faults > 0 && mayDisturb {
		plan := c.plan(&s, c.script.phases[s.phase], false, seen)
		for _, works := range [][2]bool{{false, false}, {true, false}, {false, true}} {
			half := c.carryOut(s, plan, works[0], works[1])
			half.faults--
			half.disturbed = true
			out = append(out, half)
		}
	}
	return out
}

// carryOut does those steps of a plan that work, in their order.
func (c *checker) carryOut(s checked, p steps2, trustWorks, certWorks bool) checked {
	key := keyOf(c.script.phases[s.phase].sign)
	given := c.accepts(p, key) && (c.trusted(s)&(1<<key) != 0 || c.fault == givesBlindly)
	certDone := !p.cert || certWorks && given && (!p.certAfter || trustWorks)
	trustDone := !p.trust || trustWorks && (!p.trustAfter || certDone)
	if p.cert && certDone {
		s.leafKey, s.leafAt = key, 0
	}
	s.disturbed = p.cert && !certDone
	if p.trust && trustDone {
		s.backup, s.live = s.live, p.roots
	}
	if trustDone {
		s.known |= keysOf(c.script.phases[s.phase].publish)
		s.robbed = false
		c.notice(&s)
	}
	return s
}

// notice notes, beside the engine, since when a root is there and not published.
func (c *checker) notice(s *checked) {
	for root := range s.dropped {
		published := slices.Contains(c.script.phases[s.phase].publish, int8(root))
		switch {
		case published || s.live[root] == absent:
			s.dropped[root] = never
		case s.dropped[root] == never:
			s.dropped[root] = s.skew
		}
	}
}

// properties must hold whenever the engine has looked.
func (c *checker) properties(s checked) {
	empty := true
	for key := range int8(rootCount) {
		empty = empty && s.live[key] == absent
		if s.known&(1<<key) != 0 && s.inUse(key) && !s.holds(key) {
			c.fail(s, "a backend shows a certificate under key %d, and its root is gone", key)
		}
	}
	if empty {
		c.fail(s, "there are no roots")
	}
	if !s.holds(s.leafKey) && !s.robbed {
		c.fail(s, "the client certificate is of key %d, whose root was not brought yet (or has gone before it)", s.leafKey)
	}
}

// rootsGo expects after an undisturbed look that no root is there longer than its
// rule lets it.
func (c *checker) rootsGo(s checked, seen []string) {
	for root, at := range s.dropped {
		stays := slices.Contains(seen, c.roots[root].SPKI)
		if s.live[root] != absent && at != never && !stays && s.skew >= at+overlapOf {
			c.fail(s, "root %d is there %d hours after it was dropped", root, s.skew-at)
		}
	}
}

// client expects a valid client certificate that every backend accepts, at every
// moment.
func (c *checker) client(s checked, when string) {
	switch {
	case !c.script.ordered || !c.budget.client || c.script.tight && c.budget != calm:
	case -s.leafAt >= leafLife:
		c.fail(s, "the client certificate has ended (%s)", when)
	case c.trusted(s)&(1<<s.leafKey) == 0:
		c.fail(s, "a backend does not accept the client certificate of key %d (%s)", s.leafKey, when)
	}
}

// fail notes a property that does not hold, and how it came to that.
func (c *checker) fail(s checked, format string, args ...any) {
	if c.broken != "" {
		return
	}
	var way []string
	for at := c.at; at != nil; at = c.from[*at] {
		way = append(way, c.tell(*at))
	}
	slices.Reverse(way)
	c.broken = fmt.Sprintf(format, args...) + "\n" + strings.Join(append(way, c.tell(s)), "\n")
}

func (c *checker) tell(s checked) string {
	return fmt.Sprintf("clock %+d %q: roots %v, leaf of key %d since %d, signed %v", s.skew, c.script.phases[s.phase].name, s.live, s.leafKey, s.leafAt, s.signed)
}
