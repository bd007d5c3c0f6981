package words

import (
	"fmt"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
)

// Host is a hostname, or "any host".
func Host(hostname string) string {
	if hostname == "" {
		return "any host"
	}
	return hostname
}

// Listener is a listener's protocol, port and, where there is something like a
// host to tell connections apart by, its hostname.
func Listener(l lbmodel.Listener) string {
	at := fmt.Sprintf("%s :%d", l.Protocol, l.Port)
	if l.Protocol.HasHostnames() {
		at += " " + Host(l.Hostname)
	}
	if from := Sources(l); from != "" {
		at += " " + from
	}
	return at
}

// Sources are the only clients that a listener serves, "" for everybody.
func Sources(l lbmodel.Listener) string {
	const few = 4
	ranges := l.SourceRanges
	switch {
	case len(ranges) == 0:
		return ""
	case len(ranges) > few:
		return fmt.Sprintf("from %s and %d more", strings.Join(ranges[:few], ", "), len(ranges)-few)
	default:
		return "from " + strings.Join(ranges, ", ")
	}
}

// Match is what a request must have: "POST /cart/… x-ver=2 ?beta=1". A path that
// ends in "/…" is a prefix by path element, "= /x" is exact, "~ re" a regular
// expression.
func Match(m lbmodel.Match) string {
	var parts []string
	if m.Method != "" {
		parts = append(parts, m.Method)
	}
	if m.GRPC != nil {
		parts = append(parts, grpc(*m.GRPC))
	} else {
		parts = append(parts, path(m.Path))
	}
	for _, h := range m.Headers {
		parts = append(parts, value("", h))
	}
	for _, q := range m.Query {
		parts = append(parts, value("?", q))
	}
	return strings.Join(parts, " ")
}

func path(p lbmodel.PathMatch) string {
	switch p.Kind {
	case lbmodel.MatchExact:
		return "= " + p.Value
	case lbmodel.MatchRegex:
		return "~ " + p.Value
	case lbmodel.MatchPrefix:
		return strings.TrimSuffix(p.Value, "/") + "/…"
	default:
		return "/…"
	}
}

func grpc(m lbmodel.GRPCMatch) string {
	service, method := m.Service, m.Method
	if service == "" {
		service = "…"
	}
	if method == "" {
		method = "…"
	}
	kind := "grpc "
	if m.Kind == lbmodel.MatchRegex {
		kind = "grpc ~ "
	}
	return kind + service + "/" + method
}

func value(mark string, m lbmodel.ValueMatch) string {
	if m.Kind == lbmodel.MatchRegex {
		return mark + m.Name + "~" + m.Value
	}
	return mark + m.Name + "=" + m.Value
}

// Action is who answers, without the edits: "answers 500", "301 → /sale/…",
// "90% store-v1:80, 10% store-v2:80".
func Action(a lbmodel.Action) string {
	switch {
	case a.Fixed != nil:
		return Fixed(*a.Fixed)
	case a.Redirect != nil:
		return Redirect(*a.Redirect)
	default:
		return Forward(a.Forward)
	}
}

// Fixed is an answer that the gateway gives itself.
func Fixed(f lbmodel.Fixed) string { return fmt.Sprintf("answers %d", f.Status) }

// Redirect is the status and the parts of the Location that change.
func Redirect(r lbmodel.Redirect) string {
	var to strings.Builder
	if r.Scheme != "" {
		to.WriteString(r.Scheme + "://")
	}
	to.WriteString(r.Hostname)
	if r.Port != 0 {
		to.WriteString(":" + strconv.Itoa(int(r.Port)))
	}
	if r.Path != nil {
		to.WriteString(PathEdit(*r.Path))
	}
	return fmt.Sprintf("%d → %s", r.Status, to.String())
}

// PathEdit is the new path, with "/…" where the rest of the old one stays.
func PathEdit(e lbmodel.PathEdit) string {
	if e.Kind == lbmodel.ReplacePrefixMatch {
		return strings.TrimSuffix(e.Value, "/") + "/…"
	}
	return e.Value
}

// Forward is the shares of a forward by pool name.
func Forward(f *lbmodel.Forward) string {
	if f == nil || len(f.Backends) == 0 {
		return "answers 500 (no backends)"
	}
	total := Total(f)
	var parts []string
	for _, b := range f.Backends {
		parts = append(parts, strings.TrimSpace(Share(b, total)+" "+Target(b)))
	}
	return strings.Join(parts, ", ")
}

// Total is the sum of a forward's weights.
func Total(f *lbmodel.Forward) int64 {
	var total int64
	for _, b := range f.Backends {
		total += int64(b.Weight)
	}
	return total
}

// Share is a backend's part of the traffic, "" when it gets all of it.
func Share(b lbmodel.Backend, total int64) string {
	switch {
	case total == 0:
		return "0%"
	case int64(b.Weight) == total:
		return ""
	}
	percent := 100 * float64(b.Weight) / float64(total)
	return strconv.FormatFloat(percent, 'g', 3, 64) + "%"
}

// Target is the pool of a backend, or what its share gets instead.
func Target(b lbmodel.Backend) string {
	switch {
	case b.Fixed != nil:
		return Fixed(*b.Fixed)
	case b.Redirect != nil:
		return Redirect(*b.Redirect)
	default:
		return b.Pool
	}
}

// Edits are what happens to a request or response on its way, one short phrase
// each.
func Edits(a lbmodel.Action) []string {
	out := edits(a.Edits)
	if a.CORS != nil {
		out = append(out, "CORS for "+strings.Join(a.CORS.AllowOrigins, ", "))
	}
	if t := a.Timeouts.Request; t != 0 {
		out = append(out, "whole request within "+t.String())
	}
	if t := a.Timeouts.Backend; t != 0 {
		out = append(out, "each attempt within "+t.String())
	}
	if a.Retry != nil {
		out = append(out, fmt.Sprintf("up to %d retries on %v", a.Retry.Attempts, a.Retry.Codes))
	}
	if p := a.Persistence; p != nil {
		out = append(out, strings.TrimSpace("stays on one endpoint by "+string(p.Kind)+" "+p.Name))
	}
	return out
}

// BackendEdits are the edits of one backend.
func BackendEdits(b lbmodel.Backend) []string { return edits(b.Edits) }

func edits(e lbmodel.Edits) []string {
	var out []string
	if e.Rewrite != nil && e.Rewrite.Hostname != "" {
		out = append(out, "host becomes "+e.Rewrite.Hostname)
	}
	if e.Rewrite != nil && e.Rewrite.Path != nil {
		out = append(out, "path becomes "+PathEdit(*e.Rewrite.Path))
	}
	out = append(out, headers("request", e.Request)...)
	out = append(out, headers("response", e.Response)...)
	for _, m := range e.Mirrors {
		out = append(out, fmt.Sprintf("mirrors %d/%d to %s", m.Numerator, m.Denominator, m.Pool))
	}
	return out
}

func headers(of string, e *lbmodel.HeaderEdit) []string {
	if e == nil {
		return nil
	}
	var out []string
	for _, name := range e.Remove {
		out = append(out, of+" header "+name+" is removed")
	}
	for _, h := range e.Set {
		out = append(out, of+" header "+h.Name+" is set to "+h.Value)
	}
	for _, h := range e.Add {
		out = append(out, of+" header "+h.Name+" gets "+h.Value)
	}
	return out
}
