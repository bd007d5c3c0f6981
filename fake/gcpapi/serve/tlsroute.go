package serve

import (
	"slices"
	"strings"
	"time"
)

// TLSRoute is a networkservices TlsRoute as the v1 REST API has it: connections of a
// target TCP proxy, by what their ClientHello says.
type TLSRoute struct {
	Name          string    `json:"name,omitempty"`
	TargetProxies []string  `json:"targetProxies,omitempty"`
	Rules         []TLSRule `json:"rules,omitempty"`
}

// TLSRule takes what one of its Matches does; without any, everything.
type TLSRule struct {
	Matches []TLSMatch `json:"matches,omitempty"`
	Action  TLSAction  `json:"action"`
}

// TLSMatch holds when one of the names and one of the protocols does; an empty list
// always does.
type TLSMatch struct {
	SNIHost []string `json:"sniHost,omitempty"`
	ALPN    []string `json:"alpn,omitempty"`
}

// TLSAction sends connections to backend services by weight.
type TLSAction struct {
	Destinations []TLSDestination `json:"destinations,omitempty"`
	IdleTimeout  string           `json:"idleTimeout,omitempty"` // 1h by default; 0s is off
}

// TLSDestination is one share.
type TLSDestination struct {
	ServiceName string `json:"serviceName,omitempty"`
	Weight      int32  `json:"weight,omitempty"`
}

// Idle is the time without a byte after which a connection ends; 0 is never.
func (a *TLSAction) Idle() time.Duration {
	if d, err := time.ParseDuration(a.IdleTimeout); err == nil {
		return d
	}
	return time.Hour
}

// Shares are the destinations with their weights; equal ones when no weight is given.
func (a *TLSAction) Shares() []Share {
	var out []Share
	sum := int32(0)
	for _, d := range a.Destinations {
		out = append(out, Share{Service: Ref(d.ServiceName), Weight: d.Weight})
		sum += d.Weight
	}
	for i := range out {
		if sum == 0 {
			out[i].Weight = 1
		}
	}
	return out
}

// PickTLS is the action for a connection by its server name ("" if it has none) and the
// protocols that it offers; nil if no rule takes it. Rules are in the order of routes;
// which one of several counts is Switches.RouteOrder.
func PickTLS(routes []TLSRoute, name string, protocols []string, s Switches) *TLSAction {
	var best *TLSAction
	most := -1
	specific := s.withDefaults().RouteOrder == Specific
	for i := range routes {
		for j := range routes[i].Rules {
			rule := &routes[i].Rules[j]
			n := rule.takes(name, protocols)
			if n > most {
				best, most = &rule.Action, n
			}
			if most >= 0 && !specific {
				return best
			}
		}
	}
	return best
}

// takes is how specific the name is by which the rule takes a connection; -1 if it does
// not.
func (r *TLSRule) takes(name string, protocols []string) int {
	if len(r.Matches) == 0 {
		return 0
	}
	most := -1
	for _, m := range r.Matches {
		if len(m.ALPN) > 0 && !slices.ContainsFunc(m.ALPN, func(p string) bool { return slices.Contains(protocols, p) }) {
			continue
		}
		if len(m.SNIHost) == 0 {
			most = max(most, 0)
		}
		for _, host := range m.SNIHost {
			most = max(most, nameRank(host, name))
		}
	}
	return most
}

// nameRank is -1 for a host that does not take a name; else more for a longer one, and
// most for the name itself. Wildcards take several labels: the page tries *.example.com
// and then *.com.
func nameRank(host, name string) int {
	host, name = strings.ToLower(host), strings.ToLower(name)
	suffix, wildcard := strings.CutPrefix(host, "*")
	switch {
	case host == name && name != "":
		return 2*len(host) + 1000
	case wildcard && len(name) > len(suffix) && strings.HasSuffix(name, suffix):
		return 1 + len(suffix)
	}
	return -1
}
