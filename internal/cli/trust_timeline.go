package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gatehouse.dev/internal/cli/term"
)

// axis maps times to columns.
type axis struct {
	from, to time.Time
	columns  int
}

// The least and most columns of a bar.
const (
	leastBar = 24
	mostBar  = 64
)

// newAxis shows a part of the past and the next end of everything, but no more than
// ten times of what the nearest end is away: a root of ten years would make a leaf of
// a day invisible.
func newAxis(all []trusted, now time.Time, columns int) axis {
	nearest := time.Duration(0)
	for _, t := range all {
		span := t.NotAfter.Sub(now)
		if t.Until != nil {
			span = t.Until.Sub(now)
		}
		if span > 0 && (nearest == 0 || span < nearest) {
			nearest = span
		}
	}
	farthest := time.Duration(0)
	for _, t := range all {
		farthest = max(farthest, t.NotAfter.Sub(now))
	}
	ahead := farthest
	if nearest < farthest/10 {
		ahead = 10 * nearest
	}
	if ahead <= 0 {
		ahead = 24 * time.Hour
	}
	past, oldest := ahead/2, time.Duration(0)
	for _, t := range all {
		if t.NotBefore.IsZero() {
			oldest = past
		}
		oldest = max(oldest, now.Sub(t.NotBefore)+ahead/20)
	}
	return axis{from: now.Add(-min(past, oldest)), to: now.Add(ahead), columns: columns}
}

// column is where a time is; what lies outside is at the edge.
func (x axis) column(t time.Time) int {
	at := float64(t.Sub(x.from)) / float64(x.to.Sub(x.from)) * float64(x.columns)
	return min(max(int(at), 0), x.columns-1)
}

// bar draws a certificate: solid while it is in use or wanted, light after the time
// when a root that is Removing goes, an arrow where it goes on beyond the edge.
func (x axis) bar(t trusted, now time.Time) string {
	cells := []rune(strings.Repeat(" ", x.columns))
	begin, end := 0, x.column(t.NotAfter)
	if !t.NotBefore.IsZero() {
		begin = x.column(t.NotBefore)
	}
	stays := end
	if t.Until != nil {
		stays = min(x.column(*t.Until), end)
	}
	for i := begin; i <= end; i++ {
		cells[i] = '█'
		if i > stays {
			cells[i] = '░'
		}
	}
	if t.NotBefore.IsZero() || t.NotBefore.Before(x.from) {
		cells[0] = '◂'
	}
	if t.NotAfter.After(x.to) {
		cells[x.columns-1] = '▸'
	}
	if at := x.column(now); cells[at] == ' ' {
		cells[at] = '│'
	} else {
		cells[at] = '┃'
	}
	return string(cells)
}

// printTimeline draws the certificates by whom they are of, the oldest first.
func (a *app) printTimeline(all []trusted, now time.Time) {
	if len(all) == 0 {
		a.out.Println("No roots and no certificates.")
		return
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y trusted) int {
		return cmp.Or(cmp.Compare(x.Of, y.Of), -cmp.Compare(x.What, y.What), x.NotBefore.Compare(y.NotBefore))
	})
	labels, width := make([]string, len(all)), 0
	for i, t := range all {
		labels[i] = fmt.Sprintf("%-4s %s  %s", strings.ToLower(string(t.What)), short(t.SHA256)[:min(8, len(t.SHA256))], t.says())
		width = max(width, utf8.RuneCountInString(labels[i]))
	}
	x := newAxis(all, now, min(max(a.out.Width()-width-5, leastBar), mostBar))
	a.scale(x, now, width)
	of, dropped := "", false
	for i, t := range all {
		dropped = dropped || t.Until != nil
		if t.Of != of {
			of = t.Of
			a.out.Printf("%s\n", a.out.Paint(term.Bold, of))
		}
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(labels[i]))
		a.out.Printf("  %s%s  %s\n", labels[i], pad, a.out.Paint(t.State.paint(), strings.TrimRight(x.bar(t, now), " ")))
	}
	if dropped {
		a.out.Printf("  %s\n", a.out.Paint(term.Dim, "░ after it is dropped"))
	}
}

// says is a certificate's state and when that ends.
func (t trusted) says() string {
	const day = "2006-01-02 15:04"
	if t.Until != nil {
		return string(t.State) + " until " + t.Until.Format(day)
	}
	return string(t.State) + ", ends " + t.NotAfter.Format(day)
}

// scale is the line above the bars: where it begins, the present, where it ends.
func (a *app) scale(x axis, now time.Time, width int) {
	form := "2006-01-02"
	if x.to.Sub(x.from) < 4*24*time.Hour {
		form = "01-02 15:04"
	}
	line := []rune(strings.Repeat(" ", x.columns+len(form)))
	put := func(at int, text string) { copy(line[min(max(at, 0), len(line)-len(text)):], []rune(text)) }
	put(0, x.from.UTC().Format(form))
	put(x.columns-len(form), x.to.UTC().Format(form))
	if at := x.column(now); at >= len(form)+2 && at+4 < x.columns-len(form) {
		put(at-1, "now")
	}
	a.out.Printf("  %s  %s\n", strings.Repeat(" ", width), a.out.Paint(term.Dim, strings.TrimRight(string(line), " ")))
}
