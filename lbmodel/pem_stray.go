package lbmodel

import (
	"bytes"
	"fmt"
	"strings"
)

// checkStray finds certificates that no reader of PEM sees, in a text whose blocks
// are good: one whose dashes are not five hyphens, one in lower case, PEM that was
// encoded once more however it is aligned and wrapped, base64 without any armour. A
// bundle that loses one of these would trust less than was meant, and say nothing.
func checkStray(text []byte) error {
	for at := 0; at < len(text); {
		start, end := nextBlock(text[at:])
		if lost := longBase64(string(text[at : at+start])); lost >= 0 {
			return fmt.Errorf("%s: base64 as long as a certificate, but in no block of -----BEGIN CERTIFICATE-----", placeIn(text, at+lost))
		}
		at += end
	}
	return nil
}

// nextBlock is where the next block begins and ends in a text whose blocks are good;
// without one, both are the text's end.
func nextBlock(text []byte) (start, end int) {
	const last = "-----END CERTIFICATE-----"
	start = bytes.Index(text, []byte(pemBegin))
	if start < 0 {
		return len(text), len(text)
	}
	length := bytes.Index(text[start:], []byte(last))
	if length < 0 {
		return start, len(text)
	}
	return start, start + length + len(last)
}

// The shape of base64 that could be a certificate, of which none is shorter than 300
// characters. Comments have spaces, dumps have colons, rulers few characters.
const (
	certificateRun = 256
	certificateSet = 16 // different characters
	wrappedLine    = 8  // the shortest line that goes on a run
)

// longBase64 is the offset of the first run of base64, over lines too, that could be
// a certificate, or -1.
func longBase64(text string) int {
	begin, length, at := 0, 0, 0
	for line := range strings.Lines(text) {
		for word := range strings.FieldsSeq(line) {
			if len(word) >= certificateRun && isBase64(word) && manifold(word) {
				return at + strings.Index(line, word)
			}
		}
		word := strings.TrimSpace(line)
		if len(word) < wrappedLine || !isBase64(word) {
			length = 0
		} else if length += len(word); length == len(word) {
			begin = at
		}
		at += len(line)
		switch {
		case length < certificateRun:
		case manifold(text[begin:at]):
			return begin
		default:
			length = 0 // a ruler over many lines, looked at once
		}
	}
	return -1
}

func isBase64(word string) bool {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
	return strings.Trim(word, set) == ""
}

// manifold tells a certificate from a ruler.
func manifold(text string) bool {
	var seen [256]bool
	different := 0
	for i := range len(text) {
		if !seen[text[i]] {
			seen[text[i]] = true
			different++
		}
	}
	return different >= certificateSet
}
