package serve

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// glob is a pattern of literal bytes, any byte and any run of bytes. Nothing
// separates: a star spans dots and slashes.
type glob []symbol

type symbol struct {
	kind byte // '*', '?', or 0 for the literal
	byte byte
}

// parseGlob reads * and ?, and with escapes also \* and \?.
func parseGlob(pattern string, escape Position) glob {
	var g glob
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && escape == Escape && i+1 < len(pattern) && (pattern[i+1] == '*' || pattern[i+1] == '?'):
			i++
			g = append(g, symbol{byte: pattern[i]})
		case c == '*' || c == '?':
			g = append(g, symbol{kind: c})
		default:
			g = append(g, symbol{byte: c})
		}
	}
	return g
}

// matches tells whether the glob takes all of text, without backtracking more
// than to the last star.
func (g glob) matches(text string) bool {
	at, star, mark := 0, -1, 0
	for i := 0; i < len(text); {
		switch {
		case at < len(g) && g[at].kind == '*':
			star, mark = at, i
			at++
		case at < len(g) && (g[at].kind == '?' || g[at].kind == 0 && g[at].byte == text[i]):
			at++
			i++
		case star >= 0:
			mark++
			at, i = star+1, mark
		default:
			return false
		}
	}
	for at < len(g) && g[at].kind == '*' {
		at++
	}
	return at == len(g)
}

// lower folds ASCII only: the rules are about ASCII.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// refusedSyntax is what the guide lists as unsupported in regular expressions.
// Go's own syntax has no look-around, backreference, atomic group, possessive
// quantifier, subroutine or recursion, so compiling refuses those.
var refusedSyntax = regexp.MustCompile(`(^|[^\\])(\\\\)*\\[pP]`)

// CheckRegex says why a regular expression of a condition or transform cannot be
// used: it has a construct that the guide lists as unsupported, or it is
// malformed. Whatever AWS's engine may be, Go's is what runs here.
func CheckRegex(pattern string) error {
	if refusedSyntax.MatchString(pattern) {
		return errors.New("classes of Unicode such as \\p{L} are not supported")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return fmt.Errorf("not a regular expression that is supported: %w", err)
	}
	return nil
}

// inlineFlags finds (?i) and (?i:…), but not (?:…) and (?P<name>…).
var inlineFlags = regexp.MustCompile(`\(\?[a-zA-Z]*-?[a-zA-Z]*[):]`)

// compileRegex applies the switches to a condition's regex.
func compileRegex(pattern string, fold Position, u *Undocumented) (*regexp.Regexp, error) {
	if err := CheckRegex(pattern); err != nil {
		return nil, err
	}
	if u.RegexFlags == Refused && hasFlags(pattern) {
		return nil, errors.New("flags in the regex are refused by the switch RegexFlags")
	}
	if u.RegexExtent == Full {
		pattern = `\A(?:` + pattern + `)\z`
	}
	if fold == Insensitive {
		pattern = `(?i)` + pattern
	}
	return regexp.Compile(pattern)
}

func hasFlags(pattern string) bool {
	for _, found := range inlineFlags.FindAllString(pattern, -1) {
		if found != "(?:" {
			return true
		}
	}
	return false
}
