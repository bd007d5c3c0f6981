package draw

import "unicode/utf8"

// Sizes in SVG user units (pixels). All text is monospaced, whose glyphs are
// 0.602 em wide in every common font, so widths are known without a font.
const (
	titleSize  = 13
	lineSize   = 11
	glyph      = 0.61
	padX, padY = 12.0, 9.0
	lineHeight = 15.0
	gapY       = 12.0
	gapX       = 110.0
	margin     = 28.0
	top        = 92.0
	legendRoom = 58.0
	maxText    = 64 // runes of a line; the rest is in the tooltip
)

type box struct {
	node       Node
	x, y, w, h float64
}

func (b box) middle() float64 { return b.y + b.h/2 }

type layout struct {
	columns       [][]box
	at            map[string]box
	width, height float64
}

// arrange places columns left to right. The tallest is stacked; in the others
// each box wants to stand where its neighbours are, and keeps its order.
func (d Diagram) arrange() layout {
	l := layout{at: map[string]box{}}
	x := margin
	for _, c := range d.Columns {
		boxes := stack(c, x)
		l.columns = append(l.columns, boxes)
		x += columnWidth(boxes, c.Name) + gapX
	}
	l.width = x - gapX + margin
	anchor := l.tallest()
	l.remember(anchor)
	for i := anchor - 1; i >= 0; i-- {
		l.align(i, d.neighbours())
	}
	for i := anchor + 1; i < len(l.columns); i++ {
		l.align(i, d.neighbours())
	}
	for _, column := range l.columns {
		for _, b := range column {
			l.height = max(l.height, b.y+b.h)
		}
	}
	l.height += legendRoom + margin
	return l
}

func stack(c Column, x float64) []box {
	var boxes []box
	y, w := top, 0.0
	for _, n := range c.Nodes {
		b := box{node: n, x: x, y: y, w: nodeWidth(n), h: 2*padY + lineHeight*float64(1+len(n.Lines)) - 3}
		boxes = append(boxes, b)
		y += b.h + gapY
		w = max(w, b.w)
	}
	for i := range boxes {
		boxes[i].w = w
	}
	return boxes
}

func columnWidth(boxes []box, name string) float64 {
	w := float64(utf8.RuneCountInString(name)) * lineSize * glyph
	for _, b := range boxes {
		w = max(w, b.w)
	}
	return w
}

func nodeWidth(n Node) float64 {
	w := textWidth(n.Title, titleSize)
	for _, line := range n.Lines {
		w = max(w, textWidth(line, lineSize))
	}
	return w + 2*padX
}

func textWidth(s string, size float64) float64 {
	return float64(min(utf8.RuneCountInString(s), maxText)) * size * glyph
}

func (l *layout) tallest() int {
	best, height := 0, 0.0
	for i, column := range l.columns {
		if n := len(column); n > 0 && column[n-1].y+column[n-1].h > height {
			best, height = i, column[n-1].y+column[n-1].h
		}
	}
	return best
}

func (l *layout) remember(column int) {
	for _, b := range l.columns[column] {
		l.at[b.node.ID] = b
	}
}

func (d Diagram) neighbours() map[string][]string {
	out := map[string][]string{}
	for _, e := range d.Edges {
		out[e.From] = append(out[e.From], e.To)
		out[e.To] = append(out[e.To], e.From)
	}
	return out
}

// align moves a column's boxes towards the middle of their placed neighbours.
func (l *layout) align(column int, neighbours map[string][]string) {
	boxes := l.columns[column]
	bottom, drift := top-gapY, 0.0
	for i, b := range boxes {
		wish := max(l.wish(b, neighbours[b.node.ID]), top)
		boxes[i].y = max(wish, bottom+gapY)
		drift += boxes[i].y - wish
		bottom = boxes[i].y + b.h
	}
	if len(boxes) > 0 {
		lift := min(drift/float64(len(boxes)), boxes[0].y-top)
		for i := range boxes {
			boxes[i].y -= lift
		}
	}
	l.remember(column)
}

func (l *layout) wish(b box, neighbours []string) float64 {
	sum, n := 0.0, 0.0
	for _, id := range neighbours {
		if other, ok := l.at[id]; ok {
			sum, n = sum+other.middle(), n+1
		}
	}
	if n == 0 {
		return b.y
	}
	return sum/n - b.h/2
}
