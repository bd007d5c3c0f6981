package serve

import (
	"cmp"
	"slices"
	"strings"
)

// hostPattern is one host of a host rule.
type hostPattern struct {
	text     string // as written
	name     string // without the port; after the * of a wildcard
	port     string
	wildcard bool
	rule     int // index of the host rule
	matcher  string
}

func newHostPattern(text string, s *Switches) hostPattern {
	p := hostPattern{text: text}
	p.name, p.port = splitPort(text)
	p.name, p.wildcard = strings.CutPrefix(p.name, "*")
	if s.HostCase == Insensitive {
		p.name = strings.ToLower(p.name)
	}
	return p
}

// hostPatterns are in the order in which they are asked: names, then wildcards.
func hostPatterns(u *URLMap, s *Switches) []hostPattern {
	var out []hostPattern
	for i, rule := range u.HostRules {
		for _, text := range rule.Hosts {
			p := newHostPattern(text, s)
			p.rule, p.matcher = i, rule.PathMatcher
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b hostPattern) int { return a.compare(b, s) })
	return out
}

// compare orders names before wildcards, and what has a port before what has none:
// that one is what the port was written for.
func (p hostPattern) compare(other hostPattern, s *Switches) int {
	if d := cmp.Compare(count(p.wildcard), count(other.wildcard)); d != 0 {
		return d
	}
	if p.wildcard && s.HostPrecedence == Longest {
		if d := cmp.Compare(len(other.name), len(p.name)); d != 0 {
			return d
		}
	}
	if p.wildcard && s.HostPrecedence == Listed {
		return 0
	}
	return cmp.Compare(count(p.port == ""), count(other.port == ""))
}

// count is how many of the conditions hold: for one, 1 or 0, which puts what holds
// behind what does not.
func count(conditions ...bool) int {
	n := 0
	for _, holds := range conditions {
		if holds {
			n++
		}
	}
	return n
}

// holds says whether a Host, cut into name and port, is this pattern's.
func (p *hostPattern) holds(name, port string, s *Switches) bool {
	if p.port != "" && p.port != port || p.port == "" && port != "" && s.HostPort == Compared {
		return false
	}
	if s.HostCase == Insensitive {
		name = strings.ToLower(name)
	}
	if !p.wildcard {
		return name == p.name
	}
	if p.port != "" && s.HostWildcardPort == Never {
		return false
	}
	star, ok := strings.CutSuffix(name, p.name)
	return ok && (s.HostWildcardExtent == Any || isHostText(star))
}

// isHostText says whether all of s is in [a-z0-9-.].
func isHostText(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// splitPort cuts the port off a Host; an IPv6 address keeps its brackets.
func splitPort(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.Contains(host[i:], "]") {
		return host, ""
	}
	return host[:i], host[i+1:]
}
