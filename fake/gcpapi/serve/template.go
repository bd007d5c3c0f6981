package serve

import (
	"fmt"
	"regexp"
	"strings"
)

// template is a path template: literals, * for a segment, ** for the rest, and
// variables that hold one of these or a pattern of several segments.
type template struct {
	expression *regexp.Regexp
	variables  []string // by group
	operators  int
}

var variableName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// newTemplate parses a pathTemplateMatch. The errors are what the API refuses.
func newTemplate(text string, s *Switches) (*template, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("a path template must begin with /")
	}
	t := &template{}
	var out strings.Builder
	segments := splitTemplate(text[1:])
	for i, segment := range segments {
		part, err := t.segment(segment, len(segments)-1-i, s)
		if err != nil {
			return nil, err
		}
		if i == len(segments)-1 && isTail(segment) && s.TemplateTail == Whole {
			out.WriteString("(?:/" + part + ")?")
			continue
		}
		out.WriteString("/" + part)
	}
	if t.operators > 5 {
		return nil, fmt.Errorf("a path template may have 5 operators, this one has %d", t.operators)
	}
	expression, err := regexp.Compile(`\A` + out.String() + `\z`)
	t.expression = expression
	return t, err
}

// splitTemplate splits at slashes outside of braces.
func splitTemplate(text string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		case text[i] == '/' && depth == 0:
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:])
}

// isTail says whether a segment ends in **.
func isTail(segment string) bool {
	return segment == "**" || strings.HasSuffix(segment, "=**}")
}

// segment is the regular expression of a segment that has so many behind it.
func (t *template) segment(text string, behind int, s *Switches) (string, error) {
	inner, isVariable := strings.CutPrefix(text, "{")
	if !isVariable {
		return t.plain(text, behind, s)
	}
	inner, closed := strings.CutSuffix(inner, "}")
	name, pattern, given := strings.Cut(inner, "=")
	if !given {
		pattern = "*"
	}
	if !closed || !variableName.MatchString(name) {
		return "", fmt.Errorf("%q is not a variable of a path template", text)
	}
	for _, other := range t.variables {
		if other == name {
			return "", fmt.Errorf("variable %q stands twice in a path template", name)
		}
	}
	t.variables = append(t.variables, name)
	operators := t.operators
	var parts []string
	pieces := strings.Split(pattern, "/")
	for i, piece := range pieces {
		part, err := t.plain(piece, behind+len(pieces)-1-i, s)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	t.operators = operators + 1 // a variable is one, whatever it holds
	return "(" + strings.Join(parts, "/") + ")", nil
}

// plain is a literal segment, * or **.
func (t *template) plain(text string, behind int, s *Switches) (string, error) {
	switch {
	case text == "**" && behind > 0:
		return "", fmt.Errorf("** must be the last of a path template")
	case text == "**":
		t.operators++
		return ".*", nil
	case text == "*":
		t.operators++
		if s.TemplateEmptySegment == Matched {
			return "[^/]*", nil
		}
		return "[^/]+", nil
	case strings.ContainsAny(text, "*{}"):
		return "", fmt.Errorf("%q: an operator must be a whole segment of a path template", text)
	default:
		return regexp.QuoteMeta(text), nil
	}
}

// match is the variables' values.
func (t *template) match(path string) (map[string]string, bool) {
	groups := t.expression.FindStringSubmatch(path)
	if groups == nil {
		return nil, false
	}
	values := map[string]string{}
	for i, name := range t.variables {
		values[name] = groups[i+1]
	}
	return values, true
}

var templateVariable = regexp.MustCompile(`\{([^{}]*)\}`)

// expand is a pathTemplateRewrite with the variables in place.
func expand(rewrite string, values map[string]string) string {
	return templateVariable.ReplaceAllStringFunc(rewrite, func(v string) string { return values[v[1:len(v)-1]] })
}
