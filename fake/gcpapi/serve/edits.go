package serve

import (
	"regexp"
	"strings"
)

// edits are the changes of request and response by header actions, from the inside
// out, and by the backend service's custom headers.
func (m *Matcher) edits(v *view, service string, actions []*HeaderAction) (request, response Edits) {
	for _, a := range actions {
		request = append(request, m.actionEdits(v, a.RequestHeadersToAdd, a.RequestHeadersToRemove)...)
		response = append(response, m.responseEdits(v, a)...)
	}
	s := m.services[service]
	own, ownResponse := customEdits(v, s.CustomRequestHeaders), customEdits(v, s.CustomResponseHeaders)
	if m.s.CustomHeadersOrder == First {
		return append(own, request...), append(ownResponse, response...)
	}
	return append(request, own...), append(response, ownResponse...)
}

func (m *Matcher) responseEdits(v *view, a *HeaderAction) Edits {
	return m.actionEdits(v, a.ResponseHeadersToAdd, a.ResponseHeadersToRemove)
}

func (m *Matcher) actionEdits(v *view, add []HeaderOption, remove []string) Edits {
	var added, removed Edits
	for _, o := range add {
		appends := headerVariable.MatchString(o.HeaderValue)
		if o.Replace != nil {
			appends = !*o.Replace
		}
		added = append(added, Edit{Name: o.HeaderName, Value: v.expand(o.HeaderValue), Append: appends})
	}
	for _, name := range remove {
		removed = append(removed, Edit{Name: name, Remove: true})
	}
	all := append(removed, added...)
	if m.s.HeaderOrder == AddFirst {
		all = append(added, removed...)
	}
	return m.withoutHost(all)
}

// withoutHost leaves out what cannot be changed, and gives :authority its name in
// HTTP/1.1.
func (m *Matcher) withoutHost(all Edits) Edits {
	var out Edits
	for _, e := range all {
		if e.Name == ":authority" || strings.EqualFold(e.Name, "host") {
			if m.s.HeaderHost == Ignored || e.Remove {
				continue
			}
			e.Name = "Host"
		}
		out = append(out, e)
	}
	return out
}

// customEdits are lines of "name:value".
func customEdits(v *view, lines []string) Edits {
	var out Edits
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		out = append(out, Edit{Name: strings.TrimSpace(name), Value: v.expand(strings.TrimSpace(value))})
	}
	return out
}

var headerVariable = regexp.MustCompile(`\{[a-z0-9_]+\}`)

// expand puts variables in place; an unknown one is empty.
func (v *view) expand(value string) string {
	return headerVariable.ReplaceAllStringFunc(value, func(name string) string { return v.Variables[name[1:len(name)-1]] })
}
