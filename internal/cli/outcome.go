package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// progress turns events into the one line that moves.
func progress(line *term.Progress, total int) func(providers.Event) {
	done := 0
	running := map[lbmodel.ID]lbmodel.Verb{}
	return func(e providers.Event) {
		id := e.Step.ID
		switch e.What {
		case providers.Started:
			running[id] = e.Step.Verb
		case providers.Done, providers.Failed, providers.Blocked:
			delete(running, id)
			done++
		}
		line.Say(fmt.Sprintf("%d/%d  %s", done, total, doing(running, e)))
	}
}

func doing(running map[lbmodel.ID]lbmodel.Verb, e providers.Event) string {
	switch e.What {
	case providers.Retrying:
		return fmt.Sprintf("%s: %v; again in %s", e.Step.ID, e.Err, e.Wait)
	case providers.Polling:
		return fmt.Sprintf("waiting for %s", e.Step.ID)
	}
	ids := slices.SortedFunc(maps.Keys(running), lbmodel.ID.Compare)
	if len(ids) == 0 {
		return ""
	}
	text := strings.ToLower(strings.TrimSuffix(string(running[ids[0]]), "e")) + "ing " + ids[0].String()
	if len(ids) > 1 {
		text += fmt.Sprintf(" and %d more", len(ids)-1)
	}
	return text
}

// printKept says what was not done although it was planned, on stderr: whatever
// the output is for, a person or a log must know.
func (a *app) printKept(k keptBack) {
	for _, text := range k.all() {
		a.err.Printf("%s %s\n", a.err.Paint(term.Yellow, "kept back"), text)
	}
	if n := len(k.unagreed); n > 0 {
		a.err.Printf("%s kept back: --agree does %s.\n", words.Count(n, "change"), map[bool]string{true: "it", false: "them"}[n == 1])
	}
}

// printOutcome says what was done and what failed.
func (a *app) printOutcome(c conclusion) {
	n := tally(c.pass)
	for _, f := range n.failed {
		a.out.Printf("%s %s\n", a.out.Paint(term.Red, "✗"), f)
	}
	switch {
	case n.failures > 0:
		a.out.Printf("\n%s %s failed", a.out.Paint(term.Alarm, "Applied in part:"), words.Count(n.failures, "step"))
		if n.blocked > 0 {
			a.out.Printf(", %s waited for those", words.Count(n.blocked, "step"))
		}
		a.out.Printf(". The next apply goes on from here.\n")
	case n.blocked > 0:
		a.out.Printf("\n%s %s not done. The next apply goes on from here.\n", a.out.Paint(term.Alarm, "Stopped:"), words.Count(n.blocked, "step"))
	case n.done() == 0 && len(c.kept.all()) == 0:
		return
	}
	a.out.Printf("%s %d added, %d changed, %d destroyed.\n", a.out.Paint(term.Green, "Applied:"), n.add, n.change, n.destroy)
}

// counts is what became of the steps. Failures that differ in their resource only
// are one line of failed.
type counts struct {
	add, change, destroy, blocked, failures int
	failed                                  []string
}

func (n counts) done() int { return n.add + n.change + n.destroy }

func tally(pass reconcile.Pass) counts {
	var n counts
	for _, g := range pass.Groups {
		done := map[lbmodel.ID]bool{}
		for _, id := range g.Outcome.Done {
			done[id] = true
		}
		for _, s := range g.Plan.Steps {
			switch {
			case !done[s.ID]:
			case s.Verb == lbmodel.Create:
				n.add++
			case s.Verb == lbmodel.Update:
				n.change++
			default:
				n.destroy++
			}
		}
		n.failures += len(g.Outcome.Failed)
		n.failed = append(n.failed, summed(g.Outcome.Failed)...)
		n.blocked += len(g.Outcome.Blocked)
	}
	return n
}

// summed are the failures, ordered by resource: of those with the same reason the
// first, and how many more there are.
func summed(failures map[lbmodel.ID]error) []string {
	var out, reasons []string
	more := map[string]int{}
	for _, id := range slices.SortedFunc(maps.Keys(failures), lbmodel.ID.Compare) {
		text := failureText(id, failures[id])
		reason := id.Kind + strings.ReplaceAll(text, id.String(), "")
		if _, again := more[reason]; again {
			more[reason]++
			continue
		}
		more[reason] = 0
		out, reasons = append(out, text), append(reasons, reason)
	}
	for i, reason := range reasons {
		if n := more[reason]; n > 0 {
			out[i] += fmt.Sprintf("; and %d more for the same reason", n)
		}
	}
	return out
}

// failureText names the resource once: our errors do so themselves.
func failureText(id lbmodel.ID, err error) string {
	text := err.Error()
	if strings.Contains(text, id.String()) {
		return text
	}
	return id.String() + ": " + text
}

// printAddresses says where the gateways can be reached. The ports are those of
// the files, so they are told only where the cloud is as the files ask.
func (a *app) printAddresses(e *engine, c conclusion) {
	t := term.Table{}
	for _, g := range c.all {
		addresses := e.loop.Addresses(g)
		if len(addresses) == 0 {
			continue
		}
		var values []string
		for _, address := range addresses {
			values = append(values, address.Value)
		}
		t.Cells(term.Cell{Text: keyName(g.Key), Paint: term.Bold}, term.Cell{Text: strings.Join(values, ", ")}, term.Cell{Text: e.portsNow(g), Paint: term.Dim})
	}
	if !t.Empty() {
		a.out.Println()
		t.Print(a.out, "")
	}
}

// portsNow are a gateway's ports, as far as they are what the cloud has.
func (e *engine) portsNow(g reconcile.Gateway) string {
	if !e.record.settled(g.Result.Gateway.Owner) {
		return "not all as the files ask, see above"
	}
	return portsOf(g.Served)
}

// printUnserved says that applying is not serving, where load balancers live in
// `up` only.
func (a *app) printUnserved(e *engine, c conclusion) {
	local := slices.ContainsFunc(c.all, func(g reconcile.Gateway) bool {
		return g.Planned() && e.backends[g.Result.Provider].DataPlane != nil
	})
	if local && len(c.source.paths) > 0 {
		a.out.Printf("\n%s\n", a.out.Paint(term.Dim, "Nothing is served yet by apply: run gatehouse up -f "+strings.Join(c.source.paths, " -f ")+" to serve on this machine."))
	}
}

func portsOf(gw lbmodel.Gateway) string {
	var out []string
	for _, l := range gw.Listeners {
		out = append(out, fmt.Sprintf("%s :%d", l.Protocol, l.Port))
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(slices.Compact(out), ", "), "no listeners")
}
