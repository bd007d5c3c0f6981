package manifest

import (
	"bytes"
	"unicode/utf8"
)

var (
	bom      = []byte("\ufeff")
	bomUTF16 = [][]byte{{0xff, 0xfe}, {0xfe, 0xff}}
)

// chunk is the text of one YAML document, or of some JSON values in a row.
// Place.Line is the line of its first byte.
type chunk struct {
	place Place
	text  []byte
}

// line is the file's line for a line of the chunk; both count from 1.
func (c chunk) line(n int) int { return c.place.Line + max(n, 1) - 1 }

// split cuts a file at its document markers before any parser sees it, so that
// one broken document cannot take the others with it. YAML makes that safe:
// "---" and "..." at the start of a line are never content (YAML 1.2.2, 9.1.2).
func split(file string, text []byte) ([]chunk, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	var all []chunk
	next := chunk{place: Place{File: file, Line: 1, Document: 1}}
	start, line := 0, 1
	emit := func(end, from int) {
		if next.text = text[start:end]; !blank(next.text) {
			all = append(all, next)
			next.place.Document++
		}
		start, next.place.Line = from, line
	}
	for at := 0; at < len(text); line++ {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch {
		case marks(text[at:end], "---") && !onlyDirectives(text[start:at]):
			emit(at, at)
		case marks(text[at:end], "..."):
			line++
			emit(at, end)
			line--
		}
		at = end
	}
	emit(len(text), len(text))
	return all, nil
}

// marks says whether a line is a document marker, perhaps with content after it.
func marks(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimPrefix(line, bom), []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// blank says whether a chunk holds nothing but comments and markers.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, bom))
		if marks(line, "---") {
			line = bytes.TrimSpace(line[3:])
		}
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// onlyDirectives says whether the text so far is the head of the document that
// the next marker starts: a %YAML line and comments.
func onlyDirectives(text []byte) bool {
	directive := false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, bom))
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
		directive = directive || len(line) > 0 && line[0] == '%'
	}
	return directive
}

func checkText(text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	for _, mark := range bomUTF16 {
		if bytes.HasPrefix(text, mark) {
			return syntaxErrorf(1, "this is UTF-16 text: save the file as UTF-8")
		}
	}
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[size:]
	}
	return syntaxErrorf(line, "byte 0x%02x is not UTF-8 text: save the file as UTF-8", text[0])
}
