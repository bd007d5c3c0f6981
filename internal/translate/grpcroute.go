package translate

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

func (t *translation) addGRPCRoute(s *routeState, o *gwv1.GRPCRoute) {
	s.rules = len(o.Spec.Rules)
	for i := range o.Spec.Rules {
		rule := &o.Spec.Rules[i]
		c := s.rule(i)
		matches, ok := t.grpcMatches(c, rule.Matches)
		action := t.grpcAction(c, rule)
		if !ok {
			action = c.broken()
		}
		s.add(i, rule.Name, matches, action)
	}
}

// grpcMatches translates a rule's matches; no match means every gRPC request.
func (t *translation) grpcMatches(c ruleContext, list []gwv1.GRPCRouteMatch) (out []match, ok bool) {
	if len(list) == 0 {
		return []match{{Match: lbmodel.Match{GRPC: &lbmodel.GRPCMatch{}}}}, true
	}
	ok = true
	for i := range list {
		m, problem := grpcMatch(&list[i])
		if problem != "" {
			t.invalid(c.in("matches", i), gwv1.RouteReasonUnsupportedValue, "%s", problem)
			ok = false
			continue
		}
		out = append(out, match{m, i})
	}
	return out, ok
}

func grpcMatch(in *gwv1.GRPCRouteMatch) (out lbmodel.Match, problem string) {
	out.GRPC = &lbmodel.GRPCMatch{}
	if in.Method != nil {
		if problem = grpcMethod(out.GRPC, in.Method); problem != "" {
			return out, problem
		}
	}
	for _, h := range in.Headers {
		v := lbmodel.ValueMatch{Name: strings.ToLower(string(h.Name)), Kind: lbmodel.MatchKind(deref(h.Type, gwv1.GRPCHeaderMatchExact)), Value: h.Value}
		if out.Headers, problem = addValue(out.Headers, v, "headers"); problem != "" {
			return out, problem
		}
	}
	return out, ""
}

func grpcMethod(out *lbmodel.GRPCMatch, in *gwv1.GRPCMethodMatch) string {
	out.Service, out.Method = deref(in.Service, ""), deref(in.Method, "")
	if out.Service == "" && out.Method == "" {
		return "method must name a service or a method"
	}
	switch kind := deref(in.Type, gwv1.GRPCMethodMatchExact); kind {
	case gwv1.GRPCMethodMatchExact:
		out.Kind = lbmodel.MatchExact
		if strings.Contains(out.Service+out.Method, "/") {
			return "method: service and method must not contain /"
		}
		return ""
	case gwv1.GRPCMethodMatchRegularExpression:
		out.Kind = lbmodel.MatchRegex
		if problem := badRegex("method.service", out.Service); problem != "" {
			return problem
		}
		return badRegex("method.method", out.Method)
	default:
		return fmt.Sprintf("method type %q is not one of Exact, RegularExpression", kind)
	}
}

func (t *translation) grpcAction(c ruleContext, rule *gwv1.GRPCRouteRule) lbmodel.Action {
	f, ok := t.filters(c, grpcFilters(rule.Filters), nil)
	action := lbmodel.Action{Edits: f.edits, Forward: &lbmodel.Forward{}}
	var problem string
	if action.Persistence, problem = persistence(rule.SessionPersistence, c.source()); problem != "" {
		t.invalid(c, gwv1.RouteReasonUnsupportedValue, "%s", problem)
		ok = false
	}
	for i := range rule.BackendRefs {
		at, ref := c.in("backendRefs", i), &rule.BackendRefs[i]
		b := t.backend(at, ref.BackendRef)
		bf, good := t.filters(at, grpcFilters(ref.Filters), nil)
		if !good {
			b = at.brokenBackend(b)
		} else if b.Fixed == nil {
			b.Edits = bf.edits
		}
		action.Forward.Backends = append(action.Forward.Backends, b)
	}
	action.Forward.Backends = t.spread(action.Forward.Backends)
	if !ok {
		return c.broken()
	}
	return action
}
