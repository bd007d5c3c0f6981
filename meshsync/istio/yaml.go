package istio

import (
	"encoding/json"
	"slices"
	"strings"
)

// documents prints objects as YAML. A fix is made for each pod of each pass, which
// a general encoder, with its reflection and its way over JSON, is too slow for.
func documents(objects ...map[string]any) string {
	var b strings.Builder
	b.Grow(1024)
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		printMap(&b, o, "", "")
	}
	return b.String()
}

// printMap prints a map's fields, the first after lead and the others after indent.
func printMap(b *strings.Builder, m map[string]any, lead, indent string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b.WriteString(lead)
		b.WriteString(scalar(k))
		b.WriteByte(':')
		printValue(b, m[k], indent)
		lead = indent
	}
}

func printValue(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteByte('\n')
		printMap(b, v, indent+"  ", indent+"  ")
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteByte('\n')
		for _, item := range v {
			printItem(b, item, indent)
		}
	default:
		b.WriteByte(' ')
		b.WriteString(scalar(v))
		b.WriteByte('\n')
	}
}

func printItem(b *strings.Builder, item any, indent string) {
	if m, ok := item.(map[string]any); ok && len(m) > 0 {
		printMap(b, m, indent+"- ", indent+"  ")
		return
	}
	b.WriteString(indent + "-")
	printValue(b, item, indent+"  ")
}

// isPlain says that text needs no quotes: it cannot be taken for anything else.
func isPlain(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || (c < '-' || c > '9') && c != '_') { // "-./" and digits
			return false
		}
	}
	return text != "" && !isWord(text)
}

// isWord says that a YAML reader takes the text for something else, in any case.
func isWord(text string) bool {
	if len(text) > len("false") {
		return false
	}
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return true
	default:
		return false
	}
}

func scalar(v any) string {
	text, ok := v.(string)
	switch {
	case !ok:
		return jsonOf(v)
	case isPlain(text):
		return text
	default:
		return jsonOf(text)
	}
}

// jsonOf is a value as JSON, which is YAML.
func jsonOf(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(out)
}
