package aws

import (
	"fmt"
	"regexp"
	"strings"

	"gatehouse.dev/lbmodel"
)

// maxValue is the greatest length of a value and of a regular expression of a
// condition, in bytes [E.RuleCondition].
const maxValue = 128

// plainHost is what a value of a host-header condition can be: with a dot, and
// letters only after the last one.
var plainHost = regexp.MustCompile(`^[a-z0-9.*-]+\.[a-z]+$`)

// hostRegex is a hostname with any port and the root's dot, in any letter case. A
// plain value would not take a port, and whether AWS's regular expressions tell
// upper from lower case is not documented: so each letter stands in both.
func hostRegex(hostname string) string { return hostPattern(hostname, bothCases) }

func hostPattern(hostname string, letter func(*strings.Builder, byte)) string {
	var out strings.Builder
	out.WriteByte('^')
	if below, ok := strings.CutPrefix(hostname, "*"); ok {
		out.WriteString(`[^.](.*[^.])?`)
		hostname = below
	}
	for i := range len(hostname) {
		letter(&out, hostname[i])
	}
	out.WriteString(`\.?(:[0-9]*)?$`)
	return out.String()
}

func bothCases(out *strings.Builder, c byte) {
	if 'a' <= c && c <= 'z' {
		out.Write([]byte{'[', c, c - 'a' + 'A', ']'})
		return
	}
	asItIs(out, c)
}

func asItIs(out *strings.Builder, c byte) { out.WriteString(regexp.QuoteMeta(string(c))) }

// hostConditions are what takes the hostnames: one condition, or several of which
// any does. Names that are too long for both cases of each letter are taken as a
// plain value, in any case, and in lower case with a port.
func hostConditions(hostnames []string) []Condition {
	regex, plain := Condition{Field: fieldHost}, Condition{Field: fieldHost}
	for _, h := range hostnames {
		if r := hostRegex(h); len(r) <= maxValue {
			regex.Regex = append(regex.Regex, r)
			continue
		}
		plain.Values = append(plain.Values, h)
		regex.Regex = append(regex.Regex, hostPattern(h, asItIs))
	}
	out := []Condition{regex}
	if len(plain.Values) > 0 {
		out = append(out, plain)
	}
	return out
}

// checkHost says why a hostname cannot be told from others.
func checkHost(hostname string) error {
	switch {
	case hostname == "" || len(hostRegex(hostname)) <= maxValue:
		return nil
	case !plainHost.MatchString(hostname) || len(hostPattern(hostname, asItIs)) > maxValue:
		return fmt.Errorf("the hostname %s is too long for an Application Load Balancer, which compares %d characters", hostname, maxValue)
	default:
		return nil
	}
}

// hostnameOf is what a listener and one of its rules have in common; false is
// nothing.
func hostnameOf(l *lbmodel.Listener, r *lbmodel.Rule) (string, bool) {
	return lbmodel.IntersectHostnames(l.Hostname, r.Hostname)
}
