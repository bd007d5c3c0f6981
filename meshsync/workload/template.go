package workload

import (
	"regexp"
	"strings"
)

// action is one {{ }} of a template, in the few forms that names are made with.
var action = regexp.MustCompile(`\{\{-?\s*(?:(\.[A-Za-z.]+)|label\s+"([^"]*)"|index\s+(\.[A-Za-z.]+)\s+"([^"]*)")\s*-?\}\}`)

// Render fills in a template of SPIFFE IDs, as far as it uses nothing but fields
// (".Namespace") and labels (`label "app"`, `index .PodMeta.Labels "app"`). It is
// not ok if anything else is in it, or a field or label has no value: such a name
// is not known.
func Render(template string, fields, labels map[string]string) (text string, ok bool) {
	ok = true
	text = action.ReplaceAllStringFunc(template, func(found string) string {
		part := action.FindStringSubmatch(found)
		value := fields[part[1]]
		switch {
		case part[2] != "":
			value = labels[part[2]]
		case part[3] == ".PodMeta.Labels":
			value = labels[part[4]]
		}
		ok = ok && value != "" && !strings.ContainsAny(value, "{}")
		return value
	})
	return text, ok && !strings.ContainsAny(text, "{}")
}
