package lbmodel

import (
	"errors"
	"fmt"
	"strings"
)

// Match says which rule of a listener takes a request. It is for single
// questions; whoever asks often keeps a Matcher.
func (l Listener) Match(request Request) Answer {
	m, _ := NewMatcher(&l) // rules that cannot match anything do not
	return m.Match(&request)
}

// Matcher is a listener made ready to be asked. Its rules are found by hostname
// and path, so their number matters little; asking allocates nothing unless the
// request is unusual (an upper case host, an encoded path). It is safe for
// concurrent use and must not outlive a change of its listener.
type Matcher struct {
	listener *Listener
	checks   []ruleCheck
	hosts    hostTable[*pathIndex]
}

// NewMatcher compiles a listener. An error names the rules that cannot match
// anything (an expression that is not RE2, a hostname outside the listener's);
// the matcher beside it serves the others.
func NewMatcher(listener *Listener) (*Matcher, error) {
	m := &Matcher{listener: listener, hosts: newHostTable[*pathIndex](), checks: make([]ruleCheck, len(listener.Rules))}
	var broken []error
	for i := range listener.Rules {
		rule := &listener.Rules[i]
		check := newRuleCheck(listener, rule)
		m.checks[i] = check
		if check.broken != nil {
			broken = append(broken, fmt.Errorf("%s: %w", rule.Source, check.broken))
			continue
		}
		m.pathsOf(check.hostname).add(i, &m.checks[i])
	}
	return m, errors.Join(broken...)
}

func (m *Matcher) pathsOf(hostname string) *pathIndex {
	paths, ok := m.hosts.get(hostname)
	if !ok {
		paths = &pathIndex{exact: map[string][]int{}}
		m.hosts.set(hostname, paths)
	}
	return paths
}

// Listener is what the matcher was made of.
func (m *Matcher) Listener() *Listener { return m.listener }

// Match is the first rule, in the listener's order, whose hostname and
// conditions all hold.
func (m *Matcher) Match(r *Request) Answer {
	if isPlainPath(r.Path) {
		return m.answer(m.find(r, r.Path))
	}
	reading := readPath(r.Path)
	if reading.refused != "" {
		return m.refuse(reading.refused)
	}
	found := m.find(r, reading.sent)
	if reading.other != reading.sent && m.find(r, reading.other) != found {
		return m.refuse(ambiguousPath)
	}
	return m.answer(found)
}

const ambiguousPath = "the path holds encoded or doubled slashes, and read without them another rule would answer"

func (m *Matcher) refuse(why string) Answer {
	return Answer{Listener: m.listener, Index: noRule, Refused: why}
}

func (m *Matcher) answer(index int) Answer {
	if index == noRule {
		return Answer{Listener: m.listener, Index: noRule}
	}
	return Answer{Listener: m.listener, Index: index, Rule: &m.listener.Rules[index], Prefix: m.checks[index].prefix()}
}

// prefix is Answer.Prefix of a rule that matched.
func (c *ruleCheck) prefix() string {
	switch {
	case c.grpc != nil || c.path.kind != MatchPrefix:
		return ""
	case c.path.value == "":
		return "/"
	default:
		return c.path.value
	}
}

// noRule is the index of no rule.
const noRule = -1

// find is the index of the first rule that holds for a path in normal form.
func (m *Matcher) find(r *Request, path string) int {
	look := lookup{checks: m.checks, request: r, path: path}
	best := len(m.checks)
	for paths := range m.hosts.candidates(CanonicalHost(r.Host)) {
		best = look.first(paths.exact[path], best)
		best = look.below(&paths.root, path, best)
	}
	if best == len(m.checks) {
		return noRule
	}
	return best
}

// lookup is one question. Its methods take the lowest index found so far and
// return a lower one or the same.
type lookup struct {
	checks  []ruleCheck
	request *Request
	path    string
}

// below looks at a node of the tree and at what is deeper along rest. Longer
// prefixes are asked first, since they are nearly always what answers.
func (l *lookup) below(node *pathNode, rest string, best int) int {
	if rest != "" && len(node.children) > 0 {
		element, deeper := cutElement(rest)
		if child, ok := node.children[element]; ok {
			best = l.below(child, deeper, best)
		}
	}
	return l.first(node.rules, best)
}

// first asks rules in ascending order.
func (l *lookup) first(indices []int, best int) int {
	for _, i := range indices {
		if i >= best {
			break
		}
		if l.checks[i].holds(l.request, l.path) {
			return i
		}
	}
	return best
}

// pathIndex holds the rules of one hostname by the path they ask for. Every list
// is ascending.
type pathIndex struct {
	exact map[string][]int
	root  pathNode // prefixes by element; rules without a plain path are at the root
}

type pathNode struct {
	children map[string]*pathNode
	rules    []int
}

func (p *pathIndex) add(i int, c *ruleCheck) {
	switch {
	case c.grpc == nil && c.path.kind == MatchExact:
		p.exact[c.path.value] = append(p.exact[c.path.value], i)
	case c.grpc == nil && c.path.kind == MatchPrefix:
		p.root.add(i, c.path.value)
	default:
		p.root.add(i, c.grpcPrefix())
	}
}

// grpcPrefix is the part of the path that an exact gRPC match fixes.
func (c *ruleCheck) grpcPrefix() string {
	switch {
	case c.grpc == nil || c.grpc.service.regex != nil || c.grpc.service.value == "":
		return ""
	case c.grpc.method.value == "":
		return "/" + c.grpc.service.value
	default:
		return "/" + c.grpc.service.value + "/" + c.grpc.method.value
	}
}

func (n *pathNode) add(i int, prefix string) {
	for prefix != "" {
		var element string
		element, prefix = cutElement(prefix)
		if n.children == nil {
			n.children = map[string]*pathNode{}
		}
		child, ok := n.children[element]
		if !ok {
			child = &pathNode{}
			n.children[element] = child
		}
		n = child
	}
	n.rules = append(n.rules, i)
}

// cutElement takes the first element of a path that begins with a slash.
func cutElement(path string) (element, rest string) {
	path = path[1:]
	if end := strings.IndexByte(path, '/'); end >= 0 {
		return path[:end], path[end:]
	}
	return path, ""
}
