package aws

import (
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
)

// Rule is one rule of a listener. What it looks at is its name: conditions that
// change make another rule. What it does, and where it stands, changes in place.
type Rule struct {
	Listener   Ref         `json:"listener"`
	Priority   int32       `json:"priority"` // 1 to 50000, the lowest is asked first
	Conditions []Condition `json:"conditions"`
	Transforms []Transform `json:"transforms,omitempty"`
	Action     Action      `json:"action"`

	sources []lbmodel.Source
	broken  int // the status that stands in for a backend that is not there
}

// The fields of conditions.
const (
	fieldHost   = "host-header"
	fieldPath   = "path-pattern"
	fieldHeader = "http-header"
	fieldMethod = "http-request-method"
	fieldSource = "source-ip"
)

// Condition holds when one of its values does. It has either values or regular
// expressions.
type Condition struct {
	Field  string   `json:"field"`
	Header string   `json:"header,omitzero"` // of http-header
	Values []string `json:"values,omitempty"`
	Regex  []string `json:"regexValues,omitempty"`
}

// The types of transforms.
const (
	rewriteHost = "host-header-rewrite"
	rewriteURL  = "url-rewrite"
)

// Transform replaces what Regex matches.
type Transform struct {
	Type    string `json:"type"`
	Regex   string `json:"regex"`
	Replace string `json:"replace"`
}

// Action is exactly one of its fields.
type Action struct {
	Forward  []Share   `json:"forward,omitempty"`
	Redirect *Redirect `json:"redirect,omitzero"`
	Fixed    *Fixed    `json:"fixed,omitzero"`
}

// Share is one target group of a forward.
type Share struct {
	Group  Ref   `json:"group"`
	Weight int32 `json:"weight"` // 0 to 999
}

// Redirect builds a Location. All fields are set; what stays is written as AWS
// does: #{protocol}, #{host}, #{port}, /#{path}, #{query}.
type Redirect struct {
	Status   int    `json:"status"` // 301, 302
	Protocol string `json:"protocol"`
	Host     string `json:"host"`
	Port     string `json:"port"`
	Path     string `json:"path"`
	Query    string `json:"query"`
}

// Fixed is an answer of the load balancer's own.
type Fixed struct {
	Status      int    `json:"status"` // 2xx, 4xx, 5xx
	ContentType string `json:"contentType,omitzero"`
	Body        string `json:"body,omitzero"`
}

// Needs implements lbmodel.Spec.
func (r *Rule) Needs() []lbmodel.ID { return needs(append([]Ref{r.Listener}, r.Action.needs()...)...) }

// Slot implements lbmodel.Slotted: a priority of the listener.
func (r *Rule) Slot() string { return fmt.Sprintf("%s priority %d", r.Listener, r.Priority) }

// Sources implements lbmodel.Sourced.
func (r *Rule) Sources() []lbmodel.Source { return r.sources }

// groups are the target groups that the action names.
func (a *Action) groups() []Ref {
	out := make([]Ref, 0, len(a.Forward))
	for _, s := range a.Forward {
		out = append(out, s.Group)
	}
	return out
}

// needs are the groups and their targets: what sends requests to a group waits until
// somebody is in it.
func (a *Action) needs() []Ref {
	out := a.groups()
	for _, s := range a.Forward {
		out = append(out, refTo(targetsID(s.Group.id())))
	}
	return out
}

// StandIn implements lbmodel.Standing: a rule without its target groups answers in
// its place, and one that serves somebody goes on as it is. AWS cannot answer a
// share, so one that is missing answers for the whole rule.
func (r *Rule) StandIn(have lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	if there, ok := have.(*Rule); ok {
		moved := *there
		moved.Priority = r.Priority
		if !lbmodel.StandsIn(r, &moved) {
			return &moved
		}
	}
	out := *r
	lost := func(s Share) bool { return missing(s.Group.id()) || missing(targetsID(s.Group.id())) }
	out.Action.Forward = slices.DeleteFunc(slices.Clone(out.Action.Forward), func(s Share) bool { return s.Weight == 0 && lost(s) })
	if slices.ContainsFunc(out.Action.Forward, lost) || serves(r.Action.Forward) && !serves(out.Action.Forward) {
		out.Action, out.Transforms = fixed(r.broken), nil
	}
	return &out
}

// serves says whether somebody gets a share.
func serves(shares []Share) bool {
	return slices.ContainsFunc(shares, func(s Share) bool { return s.Weight > 0 })
}

// fixed is an answer without a body.
func fixed(status int) Action { return Action{Fixed: &Fixed{Status: status}} }

// String is the answer as plans print it.
func (f *Fixed) String() string { return encode(*f) }

// String is the redirect as plans print it.
func (r *Redirect) String() string { return encode(*r) }
