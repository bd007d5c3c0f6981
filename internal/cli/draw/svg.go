package draw

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SVG is the diagram as a picture that scales, follows the reader's light or
// dark preference, and loads nothing.
func (d Diagram) SVG() string {
	l := d.arrange()
	width := max(l.width, 2*margin+textWidth(d.Title, 18), d.legendWidth()+2*margin)
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
		width, l.height, width, l.height, escape(d.Title))
	style(&out)
	fmt.Fprintf(&out, "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n")
	fmt.Fprintf(&out, "<text class=\"head\" x=\"%.0f\" y=\"42\">%s</text>\n", margin, escape(d.Title))
	for i, column := range l.columns {
		if len(column) > 0 {
			fmt.Fprintf(&out, "<text class=\"name\" x=\"%.1f\" y=\"%.0f\">%s</text>\n", column[0].x, top-14, escape(d.Columns[i].Name))
		}
	}
	for _, e := range d.Edges {
		line(&out, l.at[e.From], l.at[e.To], e)
	}
	for _, column := range l.columns {
		for _, b := range column {
			drawBox(&out, b)
		}
	}
	d.legend(&out, l.height-legendRoom+8)
	out.WriteString("</svg>\n")
	return out.String()
}

func style(out *strings.Builder) {
	out.WriteString("<style>\n")
	fmt.Fprintf(out, "text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: %dpx }\n", lineSize)
	fmt.Fprintf(out, ".head { font-size: 18px; font-weight: 600; fill: #24292f } .title { font-size: %dpx; font-weight: 600 } .name { fill: #57606a } .paper { fill: #ffffff }\n", titleSize)
	out.WriteString(".edge { fill: none; stroke-width: 1.6 } .weight { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; text-anchor: middle }\n")
	for _, s := range palette() {
		fmt.Fprintf(out, ".b-%s { fill: %s; stroke: %s } .t-%s { fill: %s } .e-%s { stroke: %s }\n", s.look, s.fill, s.line, s.look, s.text, s.look, s.line)
	}
	fmt.Fprintf(out, ".b-%s { stroke-dasharray: 4 3 }\n", Idle)
	out.WriteString("@media (prefers-color-scheme: dark) {\n.paper { fill: #0d1117 } .head { fill: #e6edf3 } .name { fill: #8b949e } .weight { stroke: #0d1117 }\n")
	for _, s := range palette() {
		fmt.Fprintf(out, ".b-%s { fill: %s; stroke: %s } .t-%s { fill: #e6edf3 } .e-%s { stroke: %s }\n", s.look, s.darkFill, s.darkLn, s.look, s.look, s.darkLn)
	}
	out.WriteString("}\n</style>\n")
}

func line(out *strings.Builder, from, to box, e Edge) {
	x1, y1, x2, y2 := from.x+from.w, from.middle(), to.x, to.middle()
	bend := (x2 - x1) / 2
	look := swatchOf(e.Look).look
	fmt.Fprintf(out, "<path class=\"edge e-%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n",
		look, x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
	if e.Label != "" {
		x, y := along(x1, y1, x2, y2)
		fmt.Fprintf(out, "<text class=\"weight t-%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", look, x, y+4, escape(e.Label))
	}
}

// along is a point of the curve near its target, where the lines of one rule
// have parted.
func along(x1, y1, x2, y2 float64) (x, y float64) {
	const t = 0.72
	const near, far = (1-t)*(1-t)*(1-t) + 3*(1-t)*(1-t)*t, 3*(1-t)*t*t + t*t*t
	const bend = 3*(1-t)*(1-t)*t/2 - 3*(1-t)*t*t/2 // both handles reach half way
	return x1*near + x2*far + (x2-x1)*bend, y1*near + y2*far
}

func drawBox(out *strings.Builder, b box) {
	look := swatchOf(b.node.Look).look
	fmt.Fprintf(out, "<g><title>%s</title><rect class=\"b-%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>",
		escape(tooltip(b.node)), look, b.x, b.y, b.w, b.h)
	y := b.y + padY + 11
	fmt.Fprintf(out, "<text class=\"title t-%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", look, b.x+padX, y, escape(cut(b.node.Title)))
	for _, text := range b.node.Lines {
		y += lineHeight
		fmt.Fprintf(out, "<text class=\"t-%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", look, b.x+padX, y, escape(cut(text)))
	}
	out.WriteString("</g>\n")
}

func tooltip(n Node) string {
	text := strings.Join(n.text(), "\n")
	if n.Note != "" {
		text += "\nfrom " + n.Note
	}
	return text
}

func (d Diagram) legend(out *strings.Builder, y float64) {
	x := margin
	for _, s := range d.used() {
		fmt.Fprintf(out, "<rect class=\"b-%s\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" rx=\"3\"/><text class=\"name\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			s.look, x, y, x+20, y+11, escape(s.means))
		x += legendItem(s)
	}
}

func (d Diagram) legendWidth() float64 {
	w := 0.0
	for _, s := range d.used() {
		w += legendItem(s)
	}
	return w
}

func legendItem(s swatch) float64 { return 20 + textWidth(s.means, lineSize) + 22 }

// cut shortens a line that no box should be as wide as.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	return string([]rune(s)[:maxText-1]) + "…"
}

func escape(s string) string {
	var out strings.Builder
	// A strings.Builder never fails, and EscapeText replaces what XML cannot hold.
	_ = xml.EscapeText(&out, []byte(s))
	return out.String()
}
