package draw

import (
	"fmt"
	"strings"
)

// DOT is the diagram in Graphviz' language.
func (d Diagram) DOT() string {
	var out strings.Builder
	fmt.Fprintf(&out, "digraph gateway {\n  label=%s labelloc=t rankdir=LR nodesep=0.2 ranksep=1.2\n", dotQuote(d.Title))
	out.WriteString("  node [shape=box style=\"rounded,filled\" fontname=\"monospace\" fontsize=11]\n  edge [fontname=\"monospace\" fontsize=10]\n")
	for i, c := range d.Columns {
		fmt.Fprintf(&out, "  subgraph column%d { rank=same // %s\n", i+1, c.Name)
		for _, n := range c.Nodes {
			s := swatchOf(n.Look)
			fmt.Fprintf(&out, "    %s [label=%s fillcolor=%q color=%q fontcolor=%q tooltip=%s]\n",
				n.ID, dotQuote(strings.Join(n.text(), "\n")), s.fill, s.line, s.text, dotQuote(n.Note))
		}
		out.WriteString("  }\n")
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&out, "  %s -> %s [color=%q label=%s]\n", e.From, e.To, swatchOf(e.Look).line, dotQuote(e.Label))
	}
	out.WriteString("}\n")
	return out.String()
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Mermaid is the diagram as a Mermaid flowchart, which GitHub and GitLab draw in
// Markdown.
func (d Diagram) Mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	for i, c := range d.Columns {
		fmt.Fprintf(&out, "  subgraph c%d[%s]\n", i+1, mermaidQuote(c.Name))
		for _, n := range c.Nodes {
			fmt.Fprintf(&out, "    %s[%s]:::%s\n", n.ID, mermaidQuote(strings.Join(n.text(), "\n")), swatchOf(n.Look).look)
		}
		out.WriteString("  end\n")
	}
	for _, e := range d.Edges {
		label := ""
		if e.Label != "" {
			label = "|" + mermaidQuote(e.Label) + "|"
		}
		fmt.Fprintf(&out, "  %s -->%s %s\n", e.From, label, e.To)
	}
	for _, s := range palette() {
		fmt.Fprintf(&out, "  classDef %s fill:%s,stroke:%s,color:%s\n", s.look, s.fill, s.line, s.text)
	}
	return out.String()
}

// mermaidQuote writes text in Mermaid's entity form: it has no escape character,
// and reads Markdown and HTML in labels.
func mermaidQuote(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch r {
		case '\n':
			out.WriteString("<br>")
		case '"', '#', '<', '>', '&', '`', '*', '_', '~', '[', ']', ';', '\\', '|':
			fmt.Fprintf(&out, "#%d;", r)
		default:
			out.WriteRune(r)
		}
	}
	return `"` + out.String() + `"`
}

func (n Node) text() []string { return append([]string{n.Title}, n.Lines...) }
