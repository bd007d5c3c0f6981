package cli

import (
	"fmt"
	"net/http"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
)

// shownTried are the passed-over rules nearest to the one that answers; a long
// list hides what it should show.
const shownTried = 8

// shownEndpoints are listed of one pool.
const shownEndpoints = 6

// tracePrinter draws a trace as a line with stations.
type tracePrinter struct{ term.Screen }

func (p tracePrinter) print(t trace) {
	p.Printf("%s\n%s %s\n\n", p.Paint(term.Bold, t.Asked), p.Paint(term.Dim, "at"), t.Gateway)
	if t.Listener != nil {
		p.stop("listener", t.Listener.Name+"  "+t.Listener.What, t.Listener.Source)
	}
	p.tried(t.Tried)
	if t.Rule != nil {
		p.stop("rule", fmt.Sprintf("%d  %s", t.Rule.Number, t.Rule.What), t.Rule.Source)
		p.more(named(t.Rule.Name)...)
		p.more(t.Edits...)
	}
	for _, b := range t.Backends {
		p.backend(b)
	}
	p.end(t)
}

func named(name string) []string {
	if name == "" {
		return nil
	}
	return []string{"named " + name}
}

// stop is one station: what it is, and the object it comes from.
func (p tracePrinter) stop(kind, what string, from lbmodel.Source) {
	p.Printf("%s %-9s %s\n", p.Paint(term.Cyan, "●"), kind, p.Paint(term.Bold, what))
	p.more(from.String())
}

// more says more about the station above.
func (p tracePrinter) more(lines ...string) {
	for _, line := range lines {
		p.Printf("%s           %s\n", p.Paint(term.Cyan, "│"), p.Paint(term.Dim, line))
	}
}

func (p tracePrinter) tried(all []tried) {
	if len(all) == 0 {
		return
	}
	from := max(len(all)-shownTried, 0)
	if from > 0 {
		p.Printf("%s           %s\n", p.Paint(term.Cyan, "│"), p.Paint(term.Dim, fmt.Sprintf("… %s before did not match (-o json has all)", words.Count(from, "rule"))))
	}
	for _, t := range all[from:] {
		p.Printf("%s %s %2d  %s\n", p.Paint(term.Cyan, "│"), p.Paint(term.Dim, "no"), t.Number, t.What)
		p.Printf("%s        %s\n", p.Paint(term.Cyan, "│"), p.Paint(term.Dim, t.Failed+"  "+t.Source.Object().String()))
	}
}

func (p tracePrinter) backend(b traceBackend) {
	share := fmt.Sprintf("%-5s", b.Share)
	if b.Pool == "" {
		p.stop("share", strings.TrimSpace(share+" "+p.Paint(term.Red, status(b.Status))+" "+b.Location), b.Source)
		if b.Why != "" {
			p.more(term.Wrap(b.Why, p.Width()-12)...)
		}
		return
	}
	p.stop("pool", share+" "+b.Pool, b.Source)
	p.more(b.Protocol + ", " + words.Level(b.TLS))
	p.more(b.Hop...)
	if b.Path != "" {
		p.more("sees path " + b.Path)
	}
	p.more(b.Edits...)
	p.endpoints(b)
}

func (p tracePrinter) endpoints(b traceBackend) {
	if b.Unknown {
		p.more("endpoints are known after apply")
		return
	}
	if len(b.Endpoints) == 0 {
		p.Printf("%s           %s\n", p.Paint(term.Cyan, "│"), p.Paint(term.Red, "has no endpoints: 503"))
	}
	for i, e := range b.Endpoints {
		if i == shownEndpoints {
			p.more("and " + words.Count(len(b.Endpoints)-i, "other"))
			return
		}
		p.Printf("%s         → %s\n", p.Paint(term.Cyan, "│"), strings.TrimSpace(words.Endpoint(e)+"  "+endpointFrom(e)))
	}
}

func endpointFrom(e lbmodel.Endpoint) string {
	parts := []string{}
	if e.Pod.Name != "" {
		parts = append(parts, e.Pod.String())
	} else if e.Node != "" {
		parts = append(parts, "Node/"+e.Node)
	}
	if state := words.State(e); state != "" {
		parts = append(parts, "("+state+")")
	}
	return strings.Join(parts, " ")
}

// end is the last line: what the client gets.
func (p tracePrinter) end(t trace) {
	verdict, paint := t.verdict()
	p.Printf("%s %s\n", p.Paint(term.Cyan, "╰"), p.Paint(paint, verdict))
	for _, why := range []string{t.Refused, t.Note} {
		if why != "" {
			p.Printf("  %s\n", why)
		}
	}
}

func (t trace) verdict() (string, term.Paint) {
	switch {
	case t.Location != "":
		return fmt.Sprintf("answered here: %s, Location: %s", status(t.Status), t.Location), term.Violet
	case t.Status == http.StatusNotFound && t.Rule == nil:
		return "answered here: " + status(t.Status) + ": nothing matches", term.Yellow
	case t.Status != 0:
		return "answered here: " + status(t.Status), term.Red
	case len(t.Backends) == 0:
		return "refused", term.Red
	default:
		return "answered by " + t.servers(), term.Green
	}
}

func (t trace) servers() string {
	usable, unknown := 0, false
	for _, b := range t.Backends {
		unknown = unknown || b.Unknown
		for _, e := range b.Endpoints {
			if e.Usable() {
				usable++
			}
		}
	}
	switch {
	case unknown:
		return "endpoints that are known after apply"
	case usable == 1:
		return "the one endpoint"
	default:
		return fmt.Sprintf("one of %d endpoints", usable)
	}
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}
