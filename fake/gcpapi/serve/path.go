package serve

import (
	"net/url"
	"path"
	"strings"
)

// view is a request as rules see it: computed once for all rules.
type view struct {
	*Request
	s         *Switches
	port      int32
	sent      string // the path as it is passed on
	seen      string // the path as prefixes, full paths and path rules see it
	hostName  string
	hostPort  string
	arguments []argument
}

// argument is one parameter of a query.
type argument struct{ name, value string }

func (m *Matcher) view(r *Request) *view {
	v := &view{Request: r, s: m.s, port: m.config.Port}
	v.sent, _, _ = strings.Cut(r.Path, "#")
	v.sent, _, _ = strings.Cut(v.sent, "?")
	if m.s.PathDot == Removed {
		v.sent = strings.ReplaceAll(v.sent, "/./", "/")
	}
	if m.s.PathSlashes == Merged {
		v.sent = mergeSlashes(v.sent)
	}
	v.seen = decodePath(v.sent, m.s)
	v.hostName, v.hostPort = splitPort(r.Host)
	v.arguments = arguments(r.Query, m.s)
	return v
}

func mergeSlashes(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	return p
}

// decodePath decodes what PathEscapes says.
func decodePath(p string, s *Switches) string {
	if s.PathEscapes == Kept || !strings.Contains(p, "%") {
		return p
	}
	var out strings.Builder
	for i := 0; i < len(p); i++ {
		c, ok := escapedByte(p[i:])
		if ok && (s.PathEscapes == All || isUnreserved(c)) {
			out.WriteByte(c)
			i += 2
			continue
		}
		out.WriteByte(p[i])
	}
	return out.String()
}

func escapedByte(p string) (byte, bool) {
	if len(p) < 3 || p[0] != '%' {
		return 0, false
	}
	text, err := url.PathUnescape(p[:3])
	if err != nil {
		return 0, false
	}
	return text[0], true
}

// isUnreserved is RFC 3986, 2.3.
func isUnreserved(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-._~", c) >= 0
}

// collapsed is the path without dot segments, if the request is redirected to that.
func (v *view) collapsed() (string, bool) {
	p := v.sent
	if v.s.EncodedDots == Redirected {
		p = strings.NewReplacer("%2e", ".", "%2E", ".").Replace(p)
	}
	dots := strings.Contains(p+"/", "/../") || v.s.PathDot == Redirected && strings.Contains(p, "/./")
	if !dots {
		return "", false
	}
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean, true
}

// arguments splits a query at &.
func arguments(query string, s *Switches) []argument {
	var out []argument
	query, _, _ = strings.Cut(query, "#")
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		out = append(out, argument{decodeQuery(name, s), decodeQuery(value, s)})
	}
	return out
}

func decodeQuery(text string, s *Switches) string {
	switch s.QueryDecoding {
	case Raw:
		return text
	case DecodedPlus:
		text = strings.ReplaceAll(text, "+", " ")
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
