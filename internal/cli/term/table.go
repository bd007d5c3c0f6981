package term

import (
	"strings"
	"unicode/utf8"
)

// Cell is a text in a table and its paint.
type Cell struct {
	Text  string
	Paint Paint
}

// Table is rows under a header. The zero value is ready.
type Table struct {
	Header []string
	rows   [][]Cell
}

// Row adds a row of plain texts.
func (t *Table) Row(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	t.rows = append(t.rows, cells)
}

// Cells adds a row of painted cells.
func (t *Table) Cells(cells ...Cell) { t.rows = append(t.rows, cells) }

// Empty says that there is nothing but the header.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Print writes the table, each line after indent. The last column is never
// padded, so that lines have no trailing blanks and may be cut by the terminal.
func (t *Table) Print(s Screen, indent string) {
	widths := t.widths()
	if len(t.Header) > 0 {
		cells := make([]Cell, len(t.Header))
		for i, h := range t.Header {
			cells[i] = Cell{strings.ToUpper(h), Dim}
		}
		printRow(s, indent, widths, cells)
	}
	for _, row := range t.rows {
		printRow(s, indent, widths, row)
	}
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Header))
	for i, h := range t.Header {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	return widths
}

func printRow(s Screen, indent string, widths []int, cells []Cell) {
	last := len(cells) - 1
	for last > 0 && cells[last].Text == "" {
		last--
	}
	var line strings.Builder
	line.WriteString(indent)
	for i, c := range cells[:last+1] {
		line.WriteString(s.Paint(c.Paint, c.Text))
		if i < last {
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text)+2))
		}
	}
	s.Println(line.String())
}

// Wrap breaks text at blanks so that no line is longer than width, as far as its
// words allow.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
