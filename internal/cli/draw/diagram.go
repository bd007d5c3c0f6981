package draw

// Diagram is a gateway in four columns, left to right as a request travels.
type Diagram struct {
	Title   string
	Columns []Column
	Edges   []Edge
}

// Column is one kind of node, top to bottom.
type Column struct {
	Name  string
	Nodes []Node
}

// Node is one box.
type Node struct {
	ID    string   // unique in the diagram, letters and digits
	Title string   // one line
	Lines []string // smaller, below it
	Note  string   // where it comes from
	Look  Look
}

// Edge leads from a node to one in a later column.
type Edge struct {
	From, To string
	Label    string
	Look     Look
}

// Look is what a box or line wants to say by its colour.
type Look string

// The looks. A rule's or pool's look is that of the hop behind it.
const (
	Plain      Look = "plain"
	Answer     Look = "answer"     // the gateway answers itself: a redirect
	Broken     Look = "broken"     // answers 500 or 503
	Mutual     Look = "mutual"     // TLS in both directions verified
	Verified   Look = "verified"   // TLS, the server is verified
	Unverified Look = "unverified" // TLS with nobody in particular
	Idle       Look = "idle"       // an endpoint without new traffic
)

// swatch is a look's colours: one for light paper, one for dark.
type swatch struct {
	look             Look
	means            string
	fill, line, text string
	darkFill, darkLn string
}

// palette is in the order of the legend. The line colours have a contrast of at
// least 3:1 to their paper, and every look also has words in its box.
func palette() []swatch {
	return []swatch{
		{Mutual, "mutual TLS", "#e6f4ea", "#1a7f37", "#0b3d1a", "#12301d", "#3fb950"},
		{Verified, "TLS, server verified", "#e3f0fb", "#1f6feb", "#0b2e5c", "#10243e", "#58a6ff"},
		{Unverified, "TLS, not verified", "#fff4d6", "#9a6700", "#4a3200", "#33280d", "#d29922"},
		{Plain, "plain text", "#f6f8fa", "#6e7781", "#24292f", "#1c2128", "#8b949e"},
		{Answer, "answered here", "#f3eafd", "#8250df", "#3b1d6e", "#261c3b", "#bc8cff"},
		{Broken, "broken: 5xx", "#ffebe9", "#cf222e", "#6e0a14", "#3a1517", "#ff7b72"},
		{Idle, "no new traffic", "#ffffff", "#8c959f", "#57606a", "#161b22", "#6e7681"},
	}
}

func swatchOf(look Look) swatch {
	for _, s := range palette() {
		if s.look == look {
			return s
		}
	}
	return swatchOf(Plain)
}

// used are the swatches that the diagram has, for its legend.
func (d Diagram) used() []swatch {
	seen := map[Look]bool{}
	for _, c := range d.Columns[1:] {
		for _, n := range c.Nodes {
			seen[n.Look] = true
		}
	}
	var out []swatch
	for _, s := range palette() {
		if seen[s.look] {
			out = append(out, s)
		}
	}
	return out
}
