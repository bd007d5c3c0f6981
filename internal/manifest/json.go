package manifest

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// errNotJSON says that text which began like JSON is not, and may be YAML's flow
// style.
var errNotJSON = errors.New("not JSON")

func looksJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// jsonReader builds the same nodes from JSON that YAML would give, since not all
// JSON is YAML (tabs), and its own reader is stricter and faster.
type jsonReader struct {
	decoder *jsontext.Decoder
	text    []byte
	chunk   chunk
	limits  Limits
	counted int64 // bytes whose lines are counted
	line    int
	depth   int
}

func parseJSON(text []byte, c chunk, limits Limits) ([]*yaml.Node, error) {
	r := &jsonReader{
		decoder: jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true)),
		text:    text, chunk: c, limits: limits, line: 1,
	}
	var roots []*yaml.Node
	for {
		root, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && root == nil:
			return roots, nil
		case err != nil && len(roots) == 0:
			return nil, r.explain(err)
		case err != nil:
			return nil, syntaxErrorf(r.at(r.decoder.InputOffset()), "text follows the JSON value: put --- between documents")
		}
		roots = append(roots, root)
	}
}

// explain keeps our own errors; the rest may still be YAML.
func (r *jsonReader) explain(err error) error {
	if _, ok := errors.AsType[*syntaxError](err); ok {
		return err
	}
	return errNotJSON
}

// at is the file's line of an offset; offsets only grow.
func (r *jsonReader) at(offset int64) int {
	r.line += bytes.Count(r.text[r.counted:offset], []byte("\n"))
	r.counted = offset
	return r.chunk.line(r.line)
}

func (r *jsonReader) next() (*yaml.Node, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Line: r.at(r.decoder.InputOffset())}
	switch token.Kind() {
	case '{':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		return n, r.fill(n, '}')
	case '[':
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		return n, r.fill(n, ']')
	}
	n.Kind, n.Value = yaml.ScalarNode, token.String()
	switch token.Kind() {
	case '"':
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	case 'n':
		n.Tag = "!!null"
	case 't', 'f':
		n.Tag = "!!bool"
	default:
		n.Tag = "!!float"
		if _, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			n.Tag = "!!int"
		}
	}
	return n, nil
}

func (r *jsonReader) fill(n *yaml.Node, end jsontext.Kind) error {
	if r.depth++; r.depth > r.limits.Depth {
		return syntaxErrorf(n.Line, "is nested more than %d deep", r.limits.Depth)
	}
	for r.decoder.PeekKind() != end {
		child, err := r.next()
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
	}
	r.depth--
	_, err := r.decoder.ReadToken()
	return err
}
