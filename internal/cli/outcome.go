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

// printOutcome says what was done, what failed, and what was kept back.
func (a *app) printOutcome(c conclusion) {
	n := tally(c.pass)
	for _, f := range n.failed {
		a.out.Printf("%s %s\n", a.out.Paint(term.Red, "✗"), f)
	}
	for _, text := range c.held {
		a.out.Printf("%s %s\n", a.out.Paint(term.Yellow, "kept back"), text)
	}
	switch {
	case len(n.failed) > 0:
		a.out.Printf("\n%s %s failed", a.out.Paint(term.Alarm, "Applied in part:"), words.Count(len(n.failed), "step"))
		if n.blocked > 0 {
			a.out.Printf(", %s waited for those", words.Count(n.blocked, "step"))
		}
		a.out.Printf(". The next apply goes on from here.\n")
	case n.blocked > 0:
		a.out.Printf("\n%s %s not done. The next apply goes on from here.\n", a.out.Paint(term.Alarm, "Stopped:"), words.Count(n.blocked, "step"))
	case n.done() == 0 && len(c.held) == 0:
		return
	}
	if len(c.held) > 0 {
		a.out.Printf("\n%s kept back: --agree does them too.\n", words.Count(len(c.held), "change"))
	}
	a.out.Printf("%s %d added, %d changed, %d destroyed.\n", a.out.Paint(term.Green, "Applied:"), n.add, n.change, n.destroy)
}

// counts is what became of the steps.
type counts struct {
	add, change, destroy, blocked int
	failed                        []string
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
		for _, id := range slices.SortedFunc(maps.Keys(g.Outcome.Failed), lbmodel.ID.Compare) {
			n.failed = append(n.failed, failureText(id, g.Outcome.Failed[id]))
		}
		n.blocked += len(g.Outcome.Blocked)
	}
	return n
}

// failureText names the resource once: our errors do so themselves.
func failureText(id lbmodel.ID, err error) string {
	text := err.Error()
	if strings.Contains(text, id.String()) {
		return text
	}
	return id.String() + ": " + text
}

// printAddresses says where the gateways can be reached.
func (a *app) printAddresses(e *engine, all []reconcile.Gateway) {
	t := term.Table{}
	for _, g := range all {
		addresses := e.loop.Addresses(g)
		if len(addresses) == 0 {
			continue
		}
		var values []string
		for _, address := range addresses {
			values = append(values, address.Value)
		}
		t.Cells(term.Cell{Text: g.Key.Namespace + "/" + g.Key.Name, Paint: term.Bold}, term.Cell{Text: strings.Join(values, ", ")}, term.Cell{Text: portsOf(g.Served), Paint: term.Dim})
	}
	if !t.Empty() {
		a.out.Println()
		t.Print(a.out, "")
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
