package translate

import (
	"fmt"
	"strconv"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// ruleContext is the place in a route that is being translated. Findings made
// through it concern every parentRef of the route to this gateway.
type ruleContext struct {
	state      *routeState
	section    string // rules[2], rules[2].backendRefs[0]
	terminated bool   // TLSRoute: the listener decrypts
}

func (s *routeState) rule(i int) ruleContext {
	return ruleContext{state: s, section: "rules[" + strconv.Itoa(i) + "]"}
}

func (c ruleContext) in(field string, i int) ruleContext {
	c.section += "." + field + "[" + strconv.Itoa(i) + "]"
	return c
}

func (c ruleContext) source() lbmodel.Source { return c.state.route.key.source(c.section) }

// unresolved reports a reference of the route that leads nowhere:
// ResolvedRefs=False.
func (t *translation) unresolved(c ruleContext, reason, detail string) {
	t.find(lbmodel.Finding{About: c.source(), Parent: t.key.source(""), Condition: condResolvedRefs, Reason: reason, Detail: detail, Code: lbmodel.CodeUnresolved})
}

// invalid reports a part of the route that cannot be honoured: the rule is
// dropped in the sense of PartiallyInvalid, and answers 500 in its place.
func (t *translation) invalid(c ruleContext, reason gwv1.RouteConditionReason, format string, args ...any) {
	t.find(lbmodel.Finding{About: c.source(), Parent: t.key.source(""), Condition: condAccepted, Reason: string(reason), Detail: fmt.Sprintf(format, args...), Code: lbmodel.CodeInvalid})
}

// The answers in place of what is broken.
const (
	statusBroken      = 500
	statusUnavailable = 503
)

// brokenStatus is what a broken rule or backend answers. A gRPC client reads 503
// as UNAVAILABLE, which GRPCRoute asks for, and 500 as UNKNOWN.
func brokenStatus(kind string) int {
	if kind == KindGRPCRoute {
		return statusUnavailable
	}
	return statusBroken
}

// broken is the action of a rule that could not be translated.
func (c ruleContext) broken() lbmodel.Action {
	return lbmodel.Action{Fixed: &lbmodel.Fixed{Status: brokenStatus(c.state.route.key.Kind)}}
}

// addRoute translates a route's rules and hands them to its listeners. A route
// that no listener takes is translated all the same: its references deserve a
// status too.
func (t *translation) addRoute(s *routeState) {
	switch o := s.route.obj.(type) {
	case *gwv1.HTTPRoute:
		t.addHTTPRoute(s, o)
	case *gwv1.GRPCRoute:
		t.addGRPCRoute(s, o)
	default:
		t.addL4Route(s)
	}
}

// match is a translated match and its place in the rule.
type match struct {
	lbmodel.Match
	index int
}

// add puts one rule into every listener that takes the route: a rule of the
// model for each match and hostname.
func (s *routeState) add(i int, name *gwv1.SectionName, matches []match, action lbmodel.Action) {
	c := s.rule(i)
	sources := make([]lbmodel.Source, len(matches))
	for j, m := range matches {
		sources[j] = c.in("matches", m.index).source()
	}
	for _, a := range s.attachments() {
		entries := make([]entry, 0, len(a.names)*len(matches))
		for _, h := range a.names {
			for j, m := range matches {
				entries = append(entries, entry{
					rule:     lbmodel.Rule{Source: sources[j], Name: string(deref(name, "")), Hostname: h.name, Match: m.Match, Action: action},
					original: h.original, route: s.route, rank: i<<16 | m.index,
				})
			}
		}
		for i := range entries {
			a.listener.entries = append(a.listener.entries, &entries[i])
		}
	}
}
