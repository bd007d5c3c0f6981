package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.config.Out, format+"\n", args...)
}

func (d *demo) paint(p term.Paint, text string) string { return d.config.Out.Paint(p, text) }

func (d *demo) chapter(title string) {
	d.say("\n%s", d.paint(term.Title, title))
}

func (d *demo) printModel(gw lbmodel.Gateway, findings []lbmodel.Finding) {
	pools := map[string]lbmodel.Pool{}
	for _, p := range gw.Pools {
		pools[p.Name] = p
	}
	for _, l := range gw.Listeners {
		d.say("  listener %s  %s :%d  %s", d.paint(term.Bold, l.Name), l.Protocol, l.Port, words.Host(l.Hostname))
	}
	d.say("")
	table := term.Table{Header: []string{"RULE", "BECOMES", "BACKEND HOP"}}
	for _, r := range gw.Listeners[0].Rules {
		table.Row(r.Hostname+words.Match(r.Match), words.Action(r.Action), hop(r.Action.Forward, pools))
	}
	table.Print(d.config.Out, "  ")
	for _, f := range findings {
		d.say("\n  %s %s: %s", d.paint(term.Red, "✗"), f.About, f.Detail)
	}
}

// hop is how the gateway speaks to the first pool of a forward.
func hop(f *lbmodel.Forward, pools map[string]lbmodel.Pool) string {
	if f == nil || len(f.Backends) == 0 || f.Backends[0].Pool == "" {
		return "none"
	}
	return words.TLS(pools[f.Backends[0].Pool].TLS)
}

func (d *demo) printPlan(p lbmodel.Plan) {
	d.chapter("Plan and apply")
	kinds := map[string]int{}
	for _, s := range p.Steps {
		kinds[s.ID.Kind]++
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		d.say("  %s %d × %s", d.paint(term.Green, "+"), kinds[kind], kind)
	}
	d.say("  Plan: %d to add, in an order in which nothing is used before it is there. Applied.", len(p.Steps))
}

func (d *demo) printAgain(p lbmodel.Plan) {
	if p.Empty() {
		d.say("  Planned again: no changes.")
		return
	}
	d.say("  %s", d.paint(term.Alarm, fmt.Sprintf("Planned again: %d changes, which should be none.", len(p.Steps))))
}

func (d *demo) printTour() {
	d.chapter("Requests, sent to the gateway from outside")
	table := term.Table{Header: []string{"", "REQUEST", "STATUS", "ANSWERED BY"}}
	for _, v := range d.report.Tour {
		status, paint := fmt.Sprint(v.Status), term.Green
		if v.Status == 0 {
			status = "-"
		}
		if v.Status != v.Wanted {
			paint = term.Alarm
		}
		table.Cells(term.Cell{Text: v.What}, term.Cell{Text: v.URL, Paint: term.Dim}, term.Cell{Text: status, Paint: paint}, term.Cell{Text: v.Answer})
	}
	table.Print(d.config.Out, "  ")
	var shares []string
	for _, name := range slices.Sorted(maps.Keys(d.report.Canary)) {
		shares = append(shares, fmt.Sprintf("%s %d", name, d.report.Canary[name]))
	}
	d.say("\n  200 more to the canary, weights 90 and 10: %s", strings.Join(shares, ", "))
}

func (d *demo) printStage(s Stage) {
	mark := d.paint(term.Green, "✓")
	if s.Failed > 0 {
		mark = d.paint(term.Alarm, "✗")
	}
	d.say("  %s %-45s %s  %4d requests  %d failed", mark, s.Name, changes(s.Changes), s.Requests, s.Failed)
}

func changes(n int) string {
	if n == 0 {
		return "         -"
	}
	return fmt.Sprintf("%10s", words.Count(n, "change"))
}

func (d *demo) printEnd() {
	r := d.report.Rotation
	d.chapter("Report")
	d.say("  requests under load   %d", r.Requests)
	paint := term.Green
	if r.Failed > 0 {
		paint = term.Alarm
	}
	d.say("  failed                %s", d.paint(paint, fmt.Sprint(r.Failed)))
	for _, what := range slices.Sorted(maps.Keys(r.Failures)) {
		d.say("    %d × %s", r.Failures[what], what)
	}
	d.say("  p50, p99              %.1f ms, %.1f ms", r.P50, r.P99)
	d.say("  handshakes into the mesh, by the root of")
	d.say("    the gateway's certificate    %s", shares(r.Handshakes.Gateway))
	d.say("    the backends' certificates   %s", shares(r.Handshakes.Backend))
	d.say("  %.1f s in all", d.report.Seconds)
}

func shares(counts map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s: %d", name, counts[name]))
	}
	return strings.Join(out, ", ")
}

// printStopping answers the Ctrl-C: what is still to come takes a moment.
func (d *demo) printStopping() {
	d.say("\nEnding: the gateway drains, backends and files go.")
}

func (d *demo) printStay() {
	d.chapter("Still up; Ctrl-C ends it")
	d.say("  files: %s", d.files.dir)
	for _, path := range []string{"/", "/api/catalog/shoes", "/outlet/boots", "/promo"} {
		d.say("  curl -i -H 'Host: %s' http://%s%s", site, d.visitor.http, path)
	}
	d.say("  curl -ik --resolve %s:%d:%s https://%s:%d/checkout/cart", site, d.visitor.https.Port(), d.visitor.https.Addr(), site, d.visitor.https.Port())
}
