package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
)

// Place is where something stands.
type Place struct {
	File     string `json:"file"` // as the user named it; "-" is standard input
	Line     int    `json:"line,omitzero"`
	Document int    `json:"document,omitzero"` // counted from 1 within the file
}

// String is file:line, as editors understand it.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Problem is one thing that is wrong with one place of one file. It never quotes
// the content of a Secret.
type Problem struct {
	Place
	Object  lbmodel.Source `json:"object,omitzero"` // zero when the text does not say what it is
	Field   string         `json:"field,omitzero"`  // spec.rules[0].matches[1].path.value
	Message string         `json:"message"`
}

// String is one line: place, object, field and what is wrong.
func (p Problem) String() string {
	parts := []string{p.Place.String()}
	if p.Object != (lbmodel.Source{}) {
		parts = append(parts, p.Object.String())
	}
	if p.Field != "" {
		parts = append(parts, p.Field)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

func (p Problem) compare(q Problem) int {
	return cmp.Or(
		cmp.Compare(p.File, q.File),
		cmp.Compare(p.Line, q.Line),
		cmp.Compare(p.Field, q.Field),
		cmp.Compare(p.Message, q.Message),
	)
}

func sortProblems(all []Problem) []Problem {
	slices.SortStableFunc(all, Problem.compare)
	return all
}

// ErrRefused is what Load returns under RefuseAll when there are problems.
var ErrRefused = errors.New("refused")

// fault is a problem of an object whose place is not yet known.
type fault struct {
	field, message string
}

// syntaxError is text that is not a document.
type syntaxError struct {
	line    int // of the file
	message string
}

func (e *syntaxError) Error() string { return e.message }

func syntaxErrorf(line int, format string, args ...any) *syntaxError {
	return &syntaxError{line: line, message: fmt.Sprintf(format, args...)}
}

// quoted cuts a long value, so that a message stays a line.
func quoted(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
	}
	return strconv.Quote(s)
}
