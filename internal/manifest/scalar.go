package manifest

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yaml11 are the words that YAML 1.1, which Kubernetes still reads, takes for
// booleans and YAML 1.2 for text.
var yaml11 = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

const quotedStyles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// bare says whether a scalar stands without quotes, so that YAML guesses its
// type.
func bare(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(quotedStyles|yaml.TaggedStyle) == 0
}

// scalar is a node's value: nil, bool, int64, float64 or string.
func scalar(n *yaml.Node) (any, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		if b, ok := yaml11[n.Value]; ok && bare(n) {
			return b, nil
		}
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		if b, ok := yaml11[n.Value]; ok {
			return b, nil
		}
		return number[bool](n, tag)
	case "!!int", "!!float":
		return numeric(n, tag)
	case "!!binary":
		return binary(n)
	default:
		return nil, syntaxErrorf(n.Line, "this tag (!) means nothing here: remove it, or put the text in quotes")
	}
}

func number[T any](n *yaml.Node, tag string) (any, error) {
	var v T
	if err := n.Decode(&v); err != nil {
		return nil, syntaxErrorf(n.Line, "the value is not of its type %s", strings.TrimPrefix(tag, "!!"))
	}
	return v, nil
}

// numeric reads a number as JSON would hold it: an integer where it is one.
func numeric(n *yaml.Node, tag string) (any, error) {
	if v, err := number[int64](n, tag); err == nil && tag == "!!int" {
		return v, nil
	}
	v, err := number[float64](n, tag)
	f, _ := v.(float64)
	switch {
	case err != nil:
		return nil, err
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, syntaxErrorf(n.Line, "infinities and not-a-number are no values of a manifest")
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return int64(f), nil
	default:
		return f, nil
	}
}

func binary(n *yaml.Node) (any, error) {
	text := strings.Join(strings.Fields(n.Value), "")
	v, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, syntaxErrorf(n.Line, "a !!binary value is not base64")
	}
	return string(v), nil
}

// guessed says how YAML may have misread a scalar that was meant as text.
func guessed(n *yaml.Node) string {
	n = target(n)
	tags := []string{"!!bool", "!!int", "!!float", "!!null"}
	_, word := yaml11[n.Value]
	if !bare(n) || n.Value == "" || !word && !slices.Contains(tags, n.ShortTag()) {
		return ""
	}
	return " (put it in quotes if it is meant as text)"
}
