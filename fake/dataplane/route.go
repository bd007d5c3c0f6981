package dataplane

import (
	"gatehouse.dev/lbmodel"
)

// route is a compiled lbmodel.Rule.
type route struct {
	name        string // the rule's Source, for counts and logs
	rule        *lbmodel.Rule
	edits       edits
	forward     *forward
	persistence *persistence
	answers     *tally[int] // what the gateway answers itself
}

func (g *gateway) compileRoutes(l *lbmodel.Listener) []*route {
	out := make([]*route, len(l.Rules))
	for i := range l.Rules {
		out[i] = g.compileRoute(&l.Rules[i])
	}
	return out
}

func (g *gateway) compileRoute(rule *lbmodel.Rule) *route {
	r := &route{name: rule.Source.String(), rule: rule}
	r.answers = g.plane.tallies.requests(g.owner, r.name, "")
	r.edits = g.compileEdits(rule.Action.Edits)
	if rule.Action.Forward != nil {
		r.forward = g.compileForward(rule.Action.Forward, r.name)
		r.persistence = compilePersistence(rule.Action.Persistence, r.forward)
	}
	return r
}
