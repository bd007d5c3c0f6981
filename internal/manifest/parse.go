package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse reads a chunk into trees of nodes with the file's line numbers: one for
// a YAML document, one for each value of a JSON stream.
func parse(c chunk, limits Limits) ([]*yaml.Node, error) {
	text := withoutBOM(c.text)
	if n := weigh(text); n > limits.Values {
		return nil, syntaxErrorf(c.line(1), "holds about %d values; a document may have %d: split it", n, limits.Values)
	}
	if looksJSON(text) {
		roots, err := parseJSON(text, c, limits)
		if err == nil || !errors.Is(err, errNotJSON) {
			return roots, err
		}
	}
	root, err := parseYAML(text, c)
	if err != nil {
		return nil, err
	}
	return []*yaml.Node{root}, nil
}

// withoutBOM removes a byte order mark before the document's first content, where
// it may also stand when files were put together.
func withoutBOM(text []byte) []byte {
	at := 0
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, bom); ok {
			head := append(text[:at:at], rest...)
			return append(head, text[at+len(line):]...)
		}
		if !blank(line) {
			break
		}
		at += len(line)
	}
	return text
}

// weigh is a cheap upper bound of the nodes that text can become. It is taken
// before a parser spends a hundred bytes on each.
func weigh(text []byte) int {
	n := 0
	for _, b := range text {
		switch b {
		case '\n', ',', ':', '[', '{', '-':
			n++
		}
	}
	return n
}

func parseYAML(text []byte, c chunk) (root *yaml.Node, err error) {
	// The parser reads hostile text. Should it fall, the document is bad and the
	// others are not.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, syntaxErrorf(c.line(1), "the YAML parser gave up")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, yamlError(err, text, c)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		line, _ := lineIn(err) // this error counts from 0
		return nil, syntaxErrorf(c.line(line+1), "text follows the end of the document: put --- between documents")
	}
	shift(&doc, c.place.Line-1)
	return doc.Content[0], nil
}

func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlError gives a parser's error the file's line, and a word of help for the
// commonest mistake. It quotes nothing of the text, which may be a Secret's.
func yamlError(err error, text []byte, c chunk) error {
	line, message := lineIn(err)
	if strings.HasPrefix(message, "unknown anchor ") {
		message = "an alias (*) names no anchor: put text that begins with * in quotes"
	}
	if tab := tabIndent(text); tab > 0 {
		return syntaxErrorf(c.line(tab), "a tab is used for indentation, which YAML forbids: use spaces")
	}
	return syntaxErrorf(c.line(line), "not YAML: %s", message)
}

// lineIn takes the line out of a YAML parser's error; 0 when it names none.
func lineIn(err error) (line int, message string) {
	message = strings.TrimPrefix(fmt.Sprint(err), "yaml: ")
	m := yamlLine.FindStringSubmatch(message)
	if m == nil {
		return 0, message
	}
	line, _ = strconv.Atoi(m[1]) // the pattern has digits only
	return line, message[len(m[0]):]
}

// tabIndent is the first line that is indented by a tab, or 0.
func tabIndent(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if bytes.IndexByte(indent, '\t') >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return n
		}
	}
	return 0
}

// converter turns nodes into the values that JSON knows, by the rules of the
// YAML reader that kubectl uses. It spends from one budget for a document, so
// that aliases of aliases cannot grow without end.
type converter struct {
	left, depth int
}

func convert(root *yaml.Node, limits Limits) (any, error) {
	c := converter{left: limits.Values, depth: limits.Depth}
	return c.value(root, 0)
}

func (c *converter) value(n *yaml.Node, depth int) (any, error) {
	c.left--
	switch {
	case c.left < 0:
		return nil, syntaxErrorf(n.Line, "expands to too many values: aliases of aliases multiply")
	case depth > c.depth:
		return nil, syntaxErrorf(n.Line, "is nested more than %d deep", c.depth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	default:
		return scalar(n)
	}
}

func (c *converter) sequence(n *yaml.Node, depth int) (any, error) {
	out := make([]any, 0, len(n.Content))
	for _, child := range n.Content {
		v, err := c.value(child, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (c *converter) mapping(n *yaml.Node, depth int) (map[string]any, error) {
	out := make(map[string]any, len(n.Content)/2)
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if isMerge(k) {
			continue
		}
		key, err := mapKey(k)
		if err != nil {
			return nil, err
		}
		if first, ok := lines[key]; ok {
			return nil, syntaxErrorf(k.Line, "this key is set twice, first on line %d: remove one", first)
		}
		lines[key] = k.Line
		if out[key], err = c.value(n.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return out, c.merges(n, out, depth)
}

// merges adds what "<<" brings and the mapping does not set itself.
func (c *converter) merges(n *yaml.Node, out map[string]any, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		sources := []*yaml.Node{target(n.Content[i+1])}
		if sources[0].Kind == yaml.SequenceNode {
			sources = sources[0].Content
		}
		for _, source := range sources {
			if err := c.merge(source, out, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *converter) merge(source *yaml.Node, out map[string]any, depth int) error {
	v, err := c.value(source, depth+1)
	if err != nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return syntaxErrorf(source.Line, "<< merges mappings only")
	}
	for key, value := range m {
		if _, set := out[key]; !set {
			out[key] = value
		}
	}
	return nil
}

func isMerge(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge"
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// mapKey is a key as JSON has it: always a string.
func mapKey(k *yaml.Node) (string, error) {
	if k = target(k); k.Kind != yaml.ScalarNode {
		return "", syntaxErrorf(k.Line, "a key must be text")
	}
	v, err := scalar(k)
	switch v := v.(type) {
	case string:
		return v, err
	case bool, int64, float64:
		return fmt.Sprint(v), err
	default:
		return "", syntaxErrorf(k.Line, "a key must be text")
	}
}
