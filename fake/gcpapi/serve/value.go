package serve

import (
	"fmt"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// predicate tells whether it holds for a request, and how.
type predicate func(*view) (why string, ok bool)

// newHeaderMatch makes a header match. A regex that was not checked before never
// matches.
func newHeaderMatch(h HeaderMatch, s *Switches) predicate {
	text := newValueTest(h, s)
	return func(v *view) (string, bool) {
		values := v.headerValues(h.HeaderName)
		if len(values) == 0 {
			return h.HeaderName + " is absent", absentHolds(&h, s)
		}
		ok := false
		switch s.HeaderRepeats {
		case Joined:
			ok = text(strings.Join(values, ","))
		case First:
			ok = text(values[0])
		default:
			ok = slices.ContainsFunc(values, text)
		}
		return fmt.Sprintf("%s is %q", h.HeaderName, values), ok != h.InvertMatch
	}
}

// absentHolds says whether a match holds for a header that is not there.
func absentHolds(h *HeaderMatch, s *Switches) bool {
	if h.PresentMatch != nil {
		return *h.PresentMatch == h.InvertMatch
	}
	return h.InvertMatch && s.HeaderInvertAbsent == Holds
}

// newValueTest is the match without invertMatch, of a header that is there.
func newValueTest(h HeaderMatch, s *Switches) func(string) bool {
	fold := func(text string) string { return text }
	if s.HeaderValueCase == Insensitive && h.HeaderName != ":method" {
		fold = strings.ToLower
	}
	switch {
	case h.ExactMatch != nil:
		return func(text string) bool { return fold(text) == fold(*h.ExactMatch) }
	case h.PrefixMatch != nil:
		return func(text string) bool { return strings.HasPrefix(fold(text), fold(*h.PrefixMatch)) }
	case h.SuffixMatch != nil:
		return func(text string) bool { return strings.HasSuffix(fold(text), fold(*h.SuffixMatch)) }
	case h.RegexMatch != nil:
		return regexTest(*h.RegexMatch, s)
	case h.RangeMatch != nil:
		return func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			return err == nil && n >= int64(h.RangeMatch.Start) && n < int64(h.RangeMatch.End)
		}
	case h.PresentMatch != nil:
		return func(string) bool { return *h.PresentMatch }
	}
	return func(string) bool { return false }
}

func regexTest(text string, s *Switches) func(string) bool {
	expression, err := compileRegex(text, s)
	if err != nil {
		return func(string) bool { return false }
	}
	return expression.MatchString
}

// headerValues are the lines of a header, or what a name beside HTTP's stands for.
func (v *view) headerValues(name string) []string {
	switch {
	case name == ":method":
		return []string{v.Method}
	case name == ":authority" || strings.EqualFold(name, "host"):
		return []string{v.Host}
	case name == "PORT":
		if v.hostPort == "" {
			return nil
		}
		return []string{v.hostPort}
	}
	return v.Header[textproto.CanonicalMIMEHeaderKey(name)]
}

// newQueryMatch makes a query parameter match.
func newQueryMatch(q QueryMatch, s *Switches) predicate {
	text := func(string) bool { return q.PresentMatch != nil && *q.PresentMatch }
	switch {
	case q.ExactMatch != nil:
		text = func(value string) bool { return value == *q.ExactMatch }
	case q.RegexMatch != nil:
		text = regexTest(*q.RegexMatch, s)
	}
	return func(v *view) (string, bool) {
		values := v.parameter(q.Name)
		if len(values) == 0 {
			return "no parameter " + q.Name, false
		}
		ok := false
		switch s.QueryRepeats {
		case First:
			ok = text(values[0])
		case Last:
			ok = text(values[len(values)-1])
		default:
			ok = slices.ContainsFunc(values, text)
		}
		return fmt.Sprintf("parameter %s is %q", q.Name, values), ok
	}
}

func (v *view) parameter(name string) []string {
	var out []string
	for _, a := range v.arguments {
		if a.name == name {
			out = append(out, a.value)
		}
	}
	return out
}
