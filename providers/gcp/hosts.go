package gcp

import (
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// How hosts are encoded.
//
// A host of a URL map chooses a path matcher by itself: there is no falling through to
// the rules of a wildcard. So each hostname of a port's listeners and their rules has
// a path matcher with every rule that may take its requests, in the model's order.
//
// Which of several wildcards takes a host is not documented: they are listed most
// specific first, and the longest comes first where that is what counts. Whether a
// host without a port takes requests with one is not documented either: names are
// given both ways.

// hostRoutes are the rules that may take requests for one hostname.
type hostRoutes struct {
	hostname string // "" is any
	listener *lbmodel.Listener
	rules    []*lbmodel.Rule
}

// hostRoutesOf are those of a port, most specific first. A hostname is the business of
// the listener that takes it (listener isolation), among all of the port.
func hostRoutesOf(served, all []*lbmodel.Listener) []hostRoutes {
	hosts := map[string]bool{}
	for _, l := range all {
		hosts[l.Hostname] = true
	}
	for _, l := range served {
		for i := range l.Rules {
			if host, ok := lbmodel.IntersectHostnames(l.Hostname, l.Rules[i].Hostname); ok {
				hosts[host] = true
			}
		}
	}
	var out []hostRoutes
	for _, host := range slices.SortedFunc(maps.Keys(hosts), lbmodel.CompareHostnames) {
		l := listenerOf(all, host)
		if l == nil {
			continue
		}
		routes := hostRoutes{hostname: host, listener: l}
		if slices.Contains(served, l) {
			routes.rules = rulesFor(l, host)
		}
		out = append(out, routes)
	}
	return out
}

// listenerOf is the one with the most specific hostname that covers a hostname.
func listenerOf(all []*lbmodel.Listener, host string) *lbmodel.Listener {
	var best *lbmodel.Listener
	for _, l := range all {
		if covers(l.Hostname, host) && (best == nil || lbmodel.CompareHostnames(l.Hostname, best.Hostname) < 0) {
			best = l
		}
	}
	return best
}

// covers says whether every host under one hostname is under another. A wildcard is
// under another one although it is no name itself.
func covers(wide, narrow string) bool {
	common, ok := lbmodel.IntersectHostnames(wide, narrow)
	return ok && common == narrow
}

// rulesFor are a listener's rules that may take requests for a hostname.
func rulesFor(l *lbmodel.Listener, host string) []*lbmodel.Rule {
	var out []*lbmodel.Rule
	for i := range l.Rules {
		own, ok := lbmodel.IntersectHostnames(l.Hostname, l.Rules[i].Hostname)
		if ok && covers(own, host) {
			out = append(out, &l.Rules[i])
		}
	}
	return out
}

// patterns are a hostname as hosts of a host rule.
func patterns(host string, port int32) []string {
	switch {
	case host == "":
		return []string{"*"}
	case lbmodel.IsWildcardHostname(host):
		return []string{host}
	default:
		return []string{host, host + ":" + portText(port)}
	}
}
