package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// encoder writes matches as conditions.
type encoder struct{ settings *settings.Settings }

// maxPerCondition is the greatest number of values of one condition [CT].
const maxPerCondition = 3

// grpcContent takes the content types of gRPC, in any letter case.
var grpcContent = func() string {
	var out strings.Builder
	out.WriteByte('^')
	for _, c := range []byte("application/grpc") {
		bothCases(&out, c)
	}
	return out.String() + `([+; ].*)?$`
}()

// always holds for every request, and looks at nothing that could be read in two
// ways.
func always() Condition {
	return Condition{Field: fieldSource, Values: []string{"0.0.0.0/0", "::/0"}}
}

// match is the conditions of a match without its method. An error says why AWS
// cannot take exactly its requests.
func (e *encoder) match(m *lbmodel.Match) ([]Condition, error) {
	if m.GRPC != nil {
		return e.grpc(m)
	}
	path, err := e.pathCondition(m.Path)
	if err != nil {
		return nil, err
	}
	if len(m.Query) > 0 {
		return nil, fmt.Errorf("AWS compares query parameters without regard to case")
	}
	return e.withHeaders(m, path)
}

func (e *encoder) withHeaders(m *lbmodel.Match, path *Condition) ([]Condition, error) {
	var out []Condition
	if path != nil {
		out = append(out, *path)
	}
	for _, h := range firstOfName(m.Headers) {
		c, err := e.header(h)
		if err != nil {
			return nil, err
		}
		out = append(out, *c)
	}
	return out, nil
}

func firstOfName(headers []lbmodel.ValueMatch) []lbmodel.ValueMatch {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(headers), func(h lbmodel.ValueMatch) bool {
		name := strings.ToLower(h.Name)
		was := seen[name]
		seen[name] = true
		return was
	})
}

// headerName is what is a header for certain: of others it is not documented
// whether rules see them.
var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

func (e *encoder) header(h lbmodel.ValueMatch) (*Condition, error) {
	if !headerName.MatchString(h.Name) || strings.EqualFold(h.Name, "host") {
		return nil, fmt.Errorf("AWS cannot match on the header %s: it has at most 40 letters, digits and hyphens, and is not Host", h.Name)
	}
	expression := h.Value
	if h.Kind != lbmodel.MatchRegex {
		expression = regexp.QuoteMeta(h.Value)
	}
	if strings.ContainsFunc(expression, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return nil, fmt.Errorf("the value of header %s is not visible ASCII, which AWS does not compare", h.Name)
	}
	if h.Kind != lbmodel.MatchRegex {
		out := &Condition{Field: fieldHeader, Header: strings.ToLower(h.Name), Regex: []string{"^" + expression + "$"}}
		return out, out.checkLength()
	}
	out, err := e.regexCondition(fieldHeader, expression)
	if err == nil {
		out.Header = strings.ToLower(h.Name)
	}
	return out, err
}

// grpc takes gRPC calls only.
func (e *encoder) grpc(m *lbmodel.Match) ([]Condition, error) {
	path, err := e.grpcPath(m.GRPC)
	if err != nil {
		return nil, err
	}
	out, err := e.withHeaders(m, path)
	content := Condition{Field: fieldHeader, Header: "content-type", Regex: []string{grpcContent}}
	return append(out, content), err
}

// grpcPath takes a service and a method. A call's path has two elements, so that a
// wildcard stands for one of them.
func (e *encoder) grpcPath(g *lbmodel.GRPCMatch) (*Condition, error) {
	service, method := g.Service, g.Method
	switch {
	case service == "" && method == "":
		return nil, nil
	case g.Kind == lbmodel.MatchRegex:
		return e.regexCondition(fieldPath, "/"+oneElement(service)+"/"+oneElement(method))
	}
	for _, name := range []string{service, method} {
		if name != "" && (!plainPath.MatchString(name) || strings.Contains(name, "/")) {
			return nil, fmt.Errorf("the gRPC name %s has characters that AWS does not compare for certain", name)
		}
	}
	out := &Condition{Field: fieldPath, Values: []string{"/" + orStar(service) + "/" + orStar(method)}}
	return out, out.checkLength()
}

func orStar(name string) string {
	if name == "" {
		return "*"
	}
	return name
}

func oneElement(expression string) string {
	if expression == "" {
		return "[^/]+"
	}
	return "(" + expression + ")"
}

// values is how many of a rule's values the condition takes. Whether a header's name
// counts is not documented.
func (c *Condition) values() int {
	n := len(c.Values) + len(c.Regex)
	if c.Field == fieldHeader {
		n++
	}
	return n
}

func (c *Condition) wildcards() int {
	n := 0
	for _, v := range c.Values {
		n += strings.Count(v, "*")
	}
	return n
}

func (c *Condition) checkLength() error {
	for _, v := range slices.Concat(c.Values, c.Regex) {
		if len(v) > maxValue {
			return fmt.Errorf("%q is longer than the %d characters that AWS compares", v, maxValue)
		}
	}
	return nil
}

// methodForm is what a value of http-request-method can be.
var methodForm = regexp.MustCompile(`^[A-Z_-]{0,40}$`)

func checkMethod(method string) error {
	if !methodForm.MatchString(method) {
		return fmt.Errorf("AWS cannot match on the method %s: it has at most 40 upper case letters, hyphens and underscores", method)
	}
	return nil
}
