package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// printCheck writes a mesh at a time: what joining means, a table, and then what to
// change.
func (a *app) printCheck(c checked) {
	if len(c.Meshes) == 0 {
		if len(c.Unread) > 0 {
			a.out.Printf("No mesh was found; whether there is a MeshBinding is not known, for this could not be read: %s.\n", strings.Join(c.Unread, ", "))
			return
		}
		a.out.Println("No mesh was found, and no MeshBinding.")
		return
	}
	for _, m := range c.Meshes {
		a.printMesh(m, c.Unread)
	}
	if len(c.Outside) > 0 {
		a.out.Printf("%s\n\n", a.out.Paint(term.Title, "In no mesh"))
		a.printGroups(c.Outside)
		a.out.Println()
	}
	by := "gateways whose provider can do everything (no class was named)"
	if c.Class != "" {
		by = "gateways of class " + c.Class
	}
	paint := term.Green
	if c.bad() {
		paint = term.Red
	}
	a.out.Printf("%s for %s.\n", a.out.Paint(paint, c.Counts.String()), by)
	for _, r := range c.Refused {
		a.wrapped(term.Red, "✗", fmt.Sprintf("No policy lets %s in at %s: `gatehouse mesh allow %s` prints what does.", r.Gateway, strings.Join(r.At, ", "), r.Gateway))
	}
}

func (a *app) printMesh(m checkedMesh, unread []string) {
	a.out.Printf("%s  %s\n", a.out.Paint(term.Title, m.Mesh), a.out.Paint(term.Dim, m.standing(unread)))
	for _, problem := range m.Problems {
		if m.Binding == "" {
			a.wrapped(term.Yellow, "!", problem)
		} else {
			a.wrapped(term.Red, "✗", problem)
		}
	}
	if m.Binding != "" && !m.Installed && len(m.Groups) == 0 && len(m.Roots) == 0 {
		a.wrapped(term.Red, "✗", "Nothing of this mesh is there.")
	}
	for _, says := range m.Says {
		a.wrapped(term.Blue, "·", says)
	}
	a.out.Println()
	if len(m.Groups) == 0 {
		a.out.Printf("  %s\n\n", a.out.Paint(term.Dim, "No Service that is looked at has pods in it."))
		return
	}
	a.printGroups(m.Groups)
	a.out.Println()
	a.printFixes(m.Groups)
}

// standing is how a mesh and gateways are to one another. One of the MeshBindings that
// could not be read may be the mesh's.
func (m checkedMesh) standing(unread []string) string {
	var parts []string
	switch {
	case m.Binding == "" && len(unread) > 0:
		parts = append(parts, "is there, and whether a MeshBinding binds it is not known, for this could not be read: "+strings.Join(unread, ", "))
	case m.Binding == "":
		parts = append(parts, "is there, and no MeshBinding binds it: this is what joining would be")
	case len(m.Gateways) == 0:
		parts = append(parts, "MeshBinding "+m.Binding+", which lets no Gateway in")
	default:
		parts = append(parts, "MeshBinding "+m.Binding+", joined by "+strings.Join(m.Gateways, ", "))
	}
	if m.TrustDomain != "" {
		parts = append(parts, "trust domain "+m.TrustDomain)
	}
	if n := len(m.Roots); n > 0 {
		parts = append(parts, words.Count(n, "root"))
	}
	return strings.Join(parts, "; ")
}

func (a *app) wrapped(paint term.Paint, mark, text string) {
	for i, line := range term.Wrap(text, a.out.Width()-4) {
		if i > 0 {
			mark = " "
		}
		a.out.Printf("  %s %s\n", a.out.Paint(paint, mark), line)
	}
}

func (a *app) printGroups(groups []checkedGroup) {
	t := term.Table{Header: []string{"service", "pods", "membership", "path", "tls", "losses", "why"}}
	for _, g := range groups {
		path := term.Cell{Text: string(g.Path), Paint: paintOfPath(g)}
		hop := "-"
		if g.Path != meshsync.Blocked {
			hop = words.Level(cmp.Or(g.TLS, lbmodel.TLSNone))
		}
		if g.ownTLS() {
			hop = "its own"
		}
		t.Cells(term.Cell{Text: g.Service + ":" + strconv.Itoa(int(g.Port)), Paint: term.Bold}, term.Cell{Text: g.who()},
			term.Cell{Text: string(g.Membership)}, path, term.Cell{Text: hop}, term.Cell{Text: joinLosses(g.Losses), Paint: term.Yellow},
			term.Cell{Text: string(g.Reason), Paint: term.Red})
	}
	t.Print(a.out, "  ")
}

// ownTLS says that the application's own TLS stands.
func (g checkedGroup) ownTLS() bool { return g.Path == meshsync.Direct && g.TLS == "" }

// who are the pods: their ServiceAccount, and how many.
func (g checkedGroup) who() string {
	switch n := len(g.Pods); {
	case len(g.Accounts) == 0:
		return strconv.Itoa(n)
	default:
		return fmt.Sprintf("%d as %s", n, strings.Join(g.Accounts, ", "))
	}
}

func paintOfPath(g checkedGroup) term.Paint {
	switch {
	case g.Path == meshsync.Blocked:
		return term.Red
	case len(g.Losses) > 0 || g.Path == meshsync.LandingPad:
		return term.Yellow
	case g.Membership == meshsync.Meshed:
		return term.Green
	default:
		return ""
	}
}

func joinLosses(all []meshsync.Loss) string {
	if len(all) == 0 {
		return "-"
	}
	var out []string
	for _, l := range all {
		out = append(out, string(l))
	}
	return strings.Join(out, ", ")
}

// printFixes says of each blocked group why and the way out, and of those with losses
// what would spare them. What is said of several is said once.
func (a *app) printFixes(groups []checkedGroup) {
	type said struct{ reason, detail, fix string }
	var order []said
	where := map[said][]string{}
	for _, g := range groups {
		if g.Fix == nil && g.Path != meshsync.Blocked {
			continue
		}
		s := said{reason: string(cmp.Or(g.Reason, meshsync.Reason(joinLosses(g.Losses)))), detail: g.Detail}
		if g.Fix != nil {
			s.fix = g.Fix.Say
		}
		name := g.Service + ":" + strconv.Itoa(int(g.Port))
		if !slices.Contains(order, s) {
			order = append(order, s)
		}
		if !slices.Contains(where[s], name) {
			where[s] = append(where[s], name)
		}
	}
	for _, s := range order {
		mark, paint := "✗", term.Red
		if !slices.ContainsFunc(groups, func(g checkedGroup) bool { return string(g.Reason) == s.reason }) {
			mark, paint = "!", term.Yellow
		}
		a.out.Printf("  %s %s  %s\n", a.out.Paint(paint, mark), a.out.Paint(term.Bold, strings.Join(where[s], ", ")), a.out.Paint(paint, s.reason))
		a.indented(s.detail)
		if s.fix != "" {
			a.indented("Fix: " + s.fix)
		}
		a.out.Println()
	}
}

func (a *app) indented(text string) {
	if text == "" {
		return
	}
	for _, line := range term.Wrap(text, a.out.Width()-6) {
		a.out.Printf("    %s\n", line)
	}
}

// String groupCounts groups of pods: "3 direct (1 with losses), 2 blocked".
func (c groupCounts) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+what)
		}
	}
	direct := "direct"
	if c.WithLosses > 0 {
		direct += fmt.Sprintf(" (%d with losses)", c.WithLosses)
	}
	add(c.Direct, direct)
	add(c.LandingPad, "over a landing pad")
	add(c.OwnTLS, "with TLS of their own")
	add(c.Blocked, "blocked")
	add(c.NotMeshed, "not meshed, in clear text")
	if len(parts) == 0 {
		return "No group of pods"
	}
	return "Groups of pods: " + strings.Join(parts, ", ")
}
