package cli

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// format is the value of a command's -o flag: one of choices.
type format struct {
	value   string
	choices []string
}

// forPeople is the format that is no data.
const forPeople = "table"

// readable is the format of every command that shows something: what is best for
// people, or the data behind it.
func readable() format {
	return format{value: forPeople, choices: []string{forPeople, "yaml", "json"}}
}

func (f *format) forPeople() bool { return f.value == forPeople }

// addTo gives a command its -o, with its choices for the shell to complete.
func (f *format) addTo(cmd *cobra.Command, usage string) {
	cmd.Flags().VarP(f, "output", "o", usage)
	complete(cmd, "output", func([]string) []string { return f.choices })
}

// String implements pflag.Value.
func (f *format) String() string { return f.value }

// Type implements pflag.Value.
func (f *format) Type() string { return strings.Join(f.choices, "|") }

// Set implements pflag.Value.
func (f *format) Set(value string) error {
	if value == "text" && slices.Contains(f.choices, forPeople) {
		value = forPeople // what others call it
	}
	if !slices.Contains(f.choices, value) {
		return fmt.Errorf("want one of %s", strings.Join(f.choices, ", "))
	}
	f.value = value
	return nil
}

// writeData writes any of our values as YAML or JSON. Both have the same fields
// in the same order.
func writeData(w io.Writer, as string, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	if as == "yaml" {
		if text, err = yamlOf(text); err != nil {
			return fmt.Errorf("encoding the output as YAML: %w", err)
		}
	}
	_, err = fmt.Fprintln(w, strings.TrimRight(string(text), "\n"))
	return err
}

// encodeLine is a value as JSON in one line.
func encodeLine(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.EscapeForHTML(false))
}

// yamlOf rewrites JSON, which is YAML in its flow style, in the block style. The
// order of fields stays.
func yamlOf(text []byte) ([]byte, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	plain(&node)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&node); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

func plain(n *yaml.Node) {
	n.Style = 0
	switch {
	case n.Kind != yaml.ScalarNode:
	case strings.Contains(n.Value, "\n"):
		n.Style = yaml.LiteralStyle
	case n.Tag == "!!str" && oldYAML().MatchString(n.Value):
		n.Style = yaml.DoubleQuotedStyle
	}
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		plain(c)
	}
}

// oldYAML are texts that a YAML 1.1 reader, as Kubernetes' is, would take for a
// boolean or a number in base 60.
func oldYAML() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:y|n|yes|no|on|off|[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?)$`)
}
