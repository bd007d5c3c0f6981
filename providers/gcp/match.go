package gcp

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// How matches are encoded.
//
// Paths are compared as they were sent, or decoded in part, or wholly: which is not
// documented. So a path of a match has only characters that are the same in all
// readings. A prefix is a path of its own and everything below it.
//
// gRPC calls are told by method and content type: nothing else keeps a POST of a
// browser's from a rule of a GRPCRoute.

// maxPathMatch is the longest text of a path match, and maxRegex that of a regular
// expression.
const (
	maxPathMatch = 1024
	maxRegex     = 250
)

// pathPart is one way in which a rule's path can be met.
type pathPart struct {
	rule    MatchRule // its path match only
	exact   string    // the whole path, if there is one only
	prefix  string    // what is before the rest that is kept; "" where nothing is
	matched string    // the prefix of the match that it is of
}

// matcher encodes matches for one flavour.
type matcher struct {
	s *settings.Settings
	f flavour
}

// parts are the ways in which a match's path can be met, and what else must hold.
func (m *matcher) parts(match *lbmodel.Match) ([]pathPart, error) {
	if err := m.checkRegexes(match); err != nil {
		return nil, err
	}
	if match.GRPC != nil {
		rule, err := grpcPath(match.GRPC)
		return []pathPart{{rule: rule}}, err
	}
	return m.pathParts(match.Path)
}

func (m *matcher) pathParts(p lbmodel.PathMatch) ([]pathPart, error) {
	if p.Kind == lbmodel.MatchRegex {
		return []pathPart{{rule: MatchRule{RegexMatch: wholeRegex(p.Value)}}}, nil
	}
	if p.Value == "" && p.Kind != lbmodel.MatchExact {
		return []pathPart{{rule: MatchRule{PrefixMatch: "/"}, prefix: "/", matched: "/"}}, nil
	}
	path, err := plainPath(p.Value)
	if err != nil {
		return nil, err
	}
	if p.Kind == lbmodel.MatchExact {
		return []pathPart{{rule: MatchRule{FullPathMatch: path}, exact: path}}, nil
	}
	below := strings.TrimRight(path, "/") + "/"
	rest := pathPart{rule: MatchRule{PrefixMatch: below}, prefix: below, matched: below}
	if below == "/" {
		return []pathPart{rest}, nil
	}
	own := strings.TrimSuffix(below, "/")
	return []pathPart{{rule: MatchRule{FullPathMatch: own}, exact: own, matched: own}, rest}, nil
}

// conditions are what must hold beside the path.
func (m *matcher) conditions(match *lbmodel.Match) ([]ValueMatch, []QueryMatch, error) {
	var headers []ValueMatch
	method := match.Method
	if match.GRPC != nil {
		method = "POST"
	}
	if method != "" {
		headers = append(headers, ValueMatch{HeaderName: ":method", ExactMatch: method})
	}
	if match.GRPC != nil {
		headers = append(headers, ValueMatch{HeaderName: "content-type", PrefixMatch: "application/grpc"},
			ValueMatch{HeaderName: "content-type", PrefixMatch: "application/grpc-", InvertMatch: true})
	}
	for _, h := range match.Headers {
		one, err := m.header(h)
		if err != nil {
			return nil, nil, err
		}
		headers = append(headers, one)
	}
	var query []QueryMatch
	for _, q := range match.Query {
		one, err := queryMatch(q)
		if err != nil {
			return nil, nil, err
		}
		query = append(query, one)
	}
	return headers, query, nil
}

func (m *matcher) header(h lbmodel.ValueMatch) (ValueMatch, error) {
	out := ValueMatch{HeaderName: h.Name}
	switch {
	case strings.EqualFold(h.Name, "host"):
		return out, errors.New("whether a match on Host sees the port is not documented; use hostnames")
	case h.Kind == lbmodel.MatchRegex:
		out.RegexMatch = wholeRegex(h.Value)
	case h.Value == "":
		return out, fmt.Errorf("the header %s is compared with nothing", h.Name)
	case strings.ContainsFunc(h.Value, isLetter) && !assumes(m.s, settings.HeaderValuesCaseSensitive):
		return out, fmt.Errorf("whether a match on a header tells upper from lower case is not documented, and the value %q has letters; have the operator assume %s",
			h.Value, settings.HeaderValuesCaseSensitive)
	default:
		out.ExactMatch = h.Value
	}
	return out, nil
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// plainQuery is text that is the same encoded and not.
var plainQuery = regexp.MustCompile(`^[A-Za-z0-9._~!$'()*,;:@/?-]+$`)

func queryMatch(q lbmodel.ValueMatch) (QueryMatch, error) {
	out := QueryMatch{Name: q.Name}
	switch {
	case !plainQuery.MatchString(q.Name):
		return out, fmt.Errorf("the query parameter %q has characters that are encoded; whether Google Cloud decodes them is not documented", q.Name)
	case q.Kind == lbmodel.MatchRegex:
		out.RegexMatch = wholeRegex(q.Value)
	case !plainQuery.MatchString(q.Value):
		return out, fmt.Errorf("the value %q of the query parameter %s is empty or has characters that are encoded; whether Google Cloud decodes them is not documented", q.Value, q.Name)
	default:
		out.ExactMatch = q.Value
	}
	return out, nil
}

// grpcPath is the path of the calls that a match takes.
func grpcPath(g *lbmodel.GRPCMatch) (MatchRule, error) {
	switch {
	case g.Kind == lbmodel.MatchRegex && (g.Service != "" || g.Method != ""):
		return MatchRule{RegexMatch: "^/" + regexOrAny(g.Service) + "/" + regexOrAny(g.Method) + "$"}, nil
	case g.Service == "" && g.Method == "":
		return MatchRule{PrefixMatch: "/"}, nil
	case g.Service == "":
		method, err := plainPath("/" + g.Method)
		return MatchRule{PathTemplateMatch: "/*" + method}, err
	case g.Method == "":
		service, err := plainPath("/" + g.Service)
		return MatchRule{PrefixMatch: service + "/"}, err
	default:
		path, err := plainPath("/" + g.Service + "/" + g.Method)
		return MatchRule{FullPathMatch: path}, err
	}
}

func regexOrAny(expression string) string {
	if expression == "" {
		return "[^/]+"
	}
	return "(?:" + expression + ")"
}

// wholeRegex matches a whole text, whether an expression has to or not.
func wholeRegex(expression string) string { return "^(?:" + expression + ")$" }

// checkRegexes says what of a match's regular expressions Google Cloud does not take.
func (m *matcher) checkRegexes(match *lbmodel.Match) error {
	for _, e := range expressionsOf(match) {
		if !m.f.regexes {
			return errors.New("a global external Application Load Balancer does not match by regular expression; use gcp.flavour RegionalExternal")
		}
		if err := checkRegex(e); err != nil {
			return err
		}
	}
	return nil
}

// expressionsOf are the regular expressions of a match.
func expressionsOf(match *lbmodel.Match) []string {
	var out []string
	if g := match.GRPC; g != nil && g.Kind == lbmodel.MatchRegex {
		out = append(out, g.Service, g.Method)
	}
	if match.Path.Kind == lbmodel.MatchRegex {
		out = append(out, match.Path.Value)
	}
	for _, v := range match.Headers {
		if v.Kind == lbmodel.MatchRegex {
			out = append(out, v.Value)
		}
	}
	for _, v := range match.Query {
		if v.Kind == lbmodel.MatchRegex {
			out = append(out, v.Value)
		}
	}
	return out
}

// checkRegex knows the subset of RE2 that URL maps take (RE2 specifications for URL
// maps): no flags, no classes of Unicode, and no group that is repeated.
func checkRegex(expression string) error {
	if _, err := lbmodel.CompileRegex(expression); err != nil {
		return err
	}
	if len(expression)+len("^/(?:)/[^/]+$") > maxRegex {
		return fmt.Errorf("the regular expression %s has more than the %d characters that Google Cloud takes", expression, maxRegex)
	}
	if refusedRegex.MatchString(strings.ReplaceAll(expression, `\\`, "")) {
		return fmt.Errorf(`the regular expression %s has flags, named groups, classes of Unicode, \b or \Q, which Google Cloud may not take as they are`, expression)
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return err
	}
	if repeatsGroup(tree) {
		return fmt.Errorf("the regular expression %s repeats a group, which Google Cloud does not take", expression)
	}
	return nil
}

var refusedRegex = regexp.MustCompile(`\\[pPQCbB]|\(\?[^:]`)

func repeatsGroup(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		switch tree.Sub[0].Op {
		case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		default:
			return true
		}
		return tree.Sub[0].Op == syntax.OpLiteral && len(tree.Sub[0].Rune) > 1
	default:
		for _, sub := range tree.Sub {
			if repeatsGroup(sub) {
				return true
			}
		}
		return false
	}
}

// plainPath is a path of a match, if it is the same however much of it is decoded.
func plainPath(path string) (string, error) {
	out, err := decodeUnreserved(path)
	switch {
	case err != nil:
		return "", err
	case out == "" || out[0] != '/':
		return "", errors.New("the path does not begin with a slash")
	case len(out) >= maxPathMatch:
		return "", fmt.Errorf("the path has %d characters, and Google Cloud takes %d", len(out), maxPathMatch-1)
	case strings.Contains(out, "//"):
		return "", uncertain("an empty segment")
	}
	for _, s := range strings.Split(out, "/") {
		if s == "." || s == ".." {
			return "", uncertain("a dot segment")
		}
	}
	return out, nil
}

// decodeUnreserved decodes what a path may hold plainly.
func decodeUnreserved(path string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) || !encodedByte.MatchString(path[i:i+3]) {
				return "", errors.New("the path holds a malformed percent-encoding")
			}
			c, i = unhex(path[i+1])<<4|unhex(path[i+2]), i+2
			if c == '/' {
				return "", uncertain("an encoded slash")
			}
		}
		if c != '/' && !isPathChar(c) {
			return "", uncertain(fmt.Sprintf("the character %%%02X, which is encoded", c))
		}
		out.WriteByte(c)
	}
	return out.String(), nil
}

var encodedByte = regexp.MustCompile(`^%[0-9A-Fa-f]{2}$`)

// isPathChar is pchar of RFC 3986 without percent-encoding, and without what path
// templates have a use for: that is told apart where one is used.
func isPathChar(c byte) bool {
	return isLetter(rune(c)) || c >= '0' && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0
}

func unhex(digit byte) byte {
	switch {
	case digit <= '9':
		return digit - '0'
	case digit >= 'a':
		return digit - 'a' + 10
	default:
		return digit - 'A' + 10
	}
}

func uncertain(what string) error {
	return fmt.Errorf("the path holds %s; whether Google Cloud changes that before it compares is not documented", what)
}
