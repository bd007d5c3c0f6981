package lbmodel

import (
	"fmt"
	"strings"
)

func (v *validation) eachListener(listeners []Listener) {
	taken := map[string]bool{}
	for i := range listeners {
		l := &listeners[i]
		v.listener(l)
		key := fmt.Sprint(l.Port, l.Protocol == ProtocolUDP, l.Hostname)
		if taken[key] {
			v.fail(l.Source, "port", "%d with hostname %q belongs to another listener too", l.Port, l.Hostname)
		}
		taken[key] = true
	}
}

func (v *validation) listener(l *Listener) {
	v.port(l.Source, "port", l.Port)
	v.hostname(l.Source, l.Hostname)
	oneOf(v, l.Source, "protocol", l.Protocol, ProtocolHTTP, ProtocolHTTPS, ProtocolTLS, ProtocolTCP, ProtocolUDP)
	v.sourceRanges(l)
	v.frontendTLS(l)
	v.traffic(l)
	for i := range l.Rules {
		v.rule(l, &l.Rules[i])
	}
	for i := range l.SNI {
		s := &l.SNI[i]
		v.hostname(s.Source, s.Hostname)
		v.inside(l, s.Source, s.Hostname)
		v.forward(&s.Forward)
	}
	if l.Forward != nil {
		v.forward(l.Forward)
	}
}

func (v *validation) sourceRanges(l *Listener) {
	for _, text := range l.SourceRanges {
		if p, err := ParseRange(text); err != nil || p.String() != text {
			v.fail(l.Source, "sourceRanges", "%q is not a prefix in its shortest form", text)
		}
	}
}

// traffic checks that a listener holds what its protocol serves.
func (v *validation) traffic(l *Listener) {
	web := l.Protocol == ProtocolHTTP || l.Protocol == ProtocolHTTPS
	if !web && len(l.Rules) > 0 {
		v.fail(l.Source, "rules", "not on a %s listener", l.Protocol)
	}
	if l.Protocol != ProtocolTLS && len(l.SNI) > 0 {
		v.fail(l.Source, "sni", "not on a %s listener", l.Protocol)
	}
	if l.Protocol.HasHostnames() && l.Forward != nil {
		v.fail(l.Source, "forward", "not on a %s listener", l.Protocol)
	}
	if !l.Protocol.HasHostnames() && l.Hostname != "" {
		v.fail(l.Source, "hostname", "not on a %s listener", l.Protocol)
	}
}

func (v *validation) frontendTLS(l *Listener) {
	wanted := l.Protocol == ProtocolHTTPS || l.Protocol == ProtocolTLS
	if wanted != (l.TLS != nil) {
		v.fail(l.Source, "tls", "belongs to HTTPS and TLS listeners, and to all of them")
	}
	if l.TLS == nil {
		return
	}
	oneOf(v, l.Source, "tls.mode", l.TLS.Mode, TLSTerminate, TLSPassthrough)
	if l.Protocol == ProtocolHTTPS && l.TLS.Mode != TLSTerminate {
		v.fail(l.Source, "tls.mode", "HTTPS must be terminated")
	}
	if l.TLS.Mode == TLSPassthrough && (len(l.TLS.Certificates) > 0 || l.TLS.Validation != nil) {
		v.fail(l.Source, "tls", "certificates have no use in passthrough")
	}
	for _, name := range l.TLS.Certificates {
		v.exists(v.identities, l.Source, "tls.certificates", name)
	}
	if l.TLS.Validation != nil {
		v.exists(v.trust, l.Source, "tls.validation.trust", l.TLS.Validation.Trust)
	}
}

func (v *validation) inside(l *Listener, about Source, hostname string) {
	if got, ok := IntersectHostnames(l.Hostname, hostname); !ok || got != hostname {
		v.fail(about, "hostname", "%q is not inside the listener's %q", hostname, l.Hostname)
	}
}

func (v *validation) rule(l *Listener, rule *Rule) {
	v.hostname(rule.Source, rule.Hostname)
	v.inside(l, rule.Source, rule.Hostname)
	v.match(rule)
	v.action(rule)
}

func (v *validation) match(rule *Rule) {
	m := &rule.Match
	if m.Path != (PathMatch{}) {
		oneOf(v, rule.Source, "match.path.kind", m.Path.Kind, MatchExact, MatchPrefix, MatchRegex)
	}
	for _, value := range append(m.Headers[:len(m.Headers):len(m.Headers)], m.Query...) {
		oneOf(v, rule.Source, "match.kind", value.Kind, MatchExact, MatchRegex)
		if value.Name == "" {
			v.fail(rule.Source, "match", "a header or query parameter needs a name")
		}
	}
	if m.GRPC != nil {
		oneOf(v, rule.Source, "match.grpc.kind", m.GRPC.Kind, "", MatchExact, MatchRegex)
		if m.Path != (PathMatch{}) || m.Method != "" || len(m.Query) > 0 {
			v.fail(rule.Source, "match.grpc", "given together with a path, method or query")
		}
	}
	if broken := newRuleCheck(&Listener{Hostname: rule.Hostname}, rule).broken; broken != nil {
		v.fail(rule.Source, "match", "%v", broken)
	}
}

func (v *validation) action(rule *Rule) {
	a := &rule.Action
	if count := set(a.Forward) + set(a.Redirect) + set(a.Fixed); count != 1 {
		v.fail(rule.Source, "action", "%d of forward, redirect and fixed are given, and it must be one", count)
	}
	v.fixed(rule.Source, a.Fixed)
	v.redirect(rule, rule.Source, a.Redirect)
	v.edits(rule, rule.Source, &a.Edits)
	v.limits(rule.Source, a)
	if a.Forward != nil {
		v.forward(a.Forward)
		for i := range a.Forward.Backends {
			b := &a.Forward.Backends[i]
			v.redirect(rule, b.Source, b.Redirect)
			v.edits(rule, b.Source, &b.Edits)
		}
	}
}

// set is 1 for a pointer to something.
func set[T any](p *T) int {
	if p == nil {
		return 0
	}
	return 1
}

func (v *validation) limits(about Source, a *Action) {
	if a.Timeouts.Request < 0 || a.Timeouts.Backend < 0 {
		v.fail(about, "timeouts", "a time is negative")
	}
	v.persistence(about, a.Persistence)
	if a.CORS != nil && a.CORS.MaxAge < 0 {
		v.fail(about, "cors.maxAge", "%d seconds", a.CORS.MaxAge)
	}
	if a.Retry == nil {
		return
	}
	if a.Retry.Attempts < 0 || a.Retry.Backoff < 0 {
		v.fail(about, "retry", "a time or count is negative")
	}
	for _, code := range a.Retry.Codes {
		within(v, about, "retry.codes", code, 400, 599)
	}
}

func (v *validation) fixed(about Source, f *Fixed) {
	if f != nil {
		within(v, about, "fixed.status", f.Status, 200, 599)
	}
}

func (v *validation) redirect(rule *Rule, about Source, r *Redirect) {
	if r == nil {
		return
	}
	oneOf(v, about, "redirect.status", r.Status, 301, 302, 303, 307, 308)
	oneOf(v, about, "redirect.scheme", r.Scheme, "", "http", "https")
	within(v, about, "redirect.port", r.Port, 0, 65535)
	v.hostname(about, r.Hostname)
	v.pathEdit(rule, about, r.Path)
}

func (v *validation) pathEdit(rule *Rule, about Source, e *PathEdit) {
	if e == nil {
		return
	}
	oneOf(v, about, "path.kind", e.Kind, ReplaceFullPath, ReplacePrefixMatch)
	if e.Kind == ReplacePrefixMatch && rule.Match.Path.Kind != MatchPrefix {
		v.fail(about, "path.kind", "%s needs a rule that matches a prefix", e.Kind)
	}
}

func (v *validation) edits(rule *Rule, about Source, e *Edits) {
	v.headerEdit(about, e.Request)
	v.headerEdit(about, e.Response)
	if e.Rewrite != nil {
		v.hostname(about, e.Rewrite.Hostname)
		v.pathEdit(rule, about, e.Rewrite.Path)
	}
	for _, m := range e.Mirrors {
		v.exists(v.pools, m.Source, "mirror.pool", m.Pool)
		if m.Denominator <= 0 || m.Numerator < 0 || m.Numerator > m.Denominator {
			v.fail(m.Source, "mirror", "%d in %d is not a share", m.Numerator, m.Denominator)
		}
	}
}

func (v *validation) headerEdit(about Source, e *HeaderEdit) {
	if e == nil {
		return
	}
	for _, h := range append(e.Set[:len(e.Set):len(e.Set)], e.Add...) {
		v.headerName(about, h.Name)
		if strings.ContainsAny(h.Value, "\r\n\x00") {
			v.fail(about, "header "+h.Name, "the value holds a line break or NUL")
		}
	}
	for _, name := range e.Remove {
		v.headerName(about, name)
	}
}

func (v *validation) headerName(about Source, name string) {
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }
	if name == "" || strings.ContainsFunc(name, bad) {
		v.fail(about, "header", "%q is not a header name (RFC 9110 §5.1)", name)
	}
}

func (v *validation) forward(fw *Forward) {
	for i := range fw.Backends {
		b := &fw.Backends[i]
		within(v, b.Source, "weight", b.Weight, 0, 1_000_000)
		v.fixed(b.Source, b.Fixed)
		v.existsOrNone(v.pools, b.Source, "pool", b.Pool)
		named := 0
		if b.Pool != "" {
			named = 1
		}
		if count := named + set(b.Fixed) + set(b.Redirect); count != 1 {
			v.fail(b.Source, "backend", "%d of pool, redirect and fixed are given, and it must be one", count)
		}
	}
}
