package dataplane

import (
	"fmt"
	"net/netip"
	"slices"

	"gatehouse.dev/lbmodel"
)

// sources are the client addresses that a listener serves; nil is everybody's.
type sources []netip.Prefix

// compileSources fails closed: a listener whose ranges cannot be read serves
// nobody.
func compileSources(l *lbmodel.Listener) (sources, error) {
	var out sources
	for _, text := range l.SourceRanges {
		p, err := lbmodel.ParseRange(text)
		if err != nil {
			return sources{}, fmt.Errorf("listener %s: it serves nobody: %w", l.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (s sources) admit(client netip.Addr) bool {
	return s == nil || slices.ContainsFunc(s, func(p netip.Prefix) bool { return p.Contains(client) })
}

// admits says whether any listener of the port serves a client. Which one it will
// be is known later where names tell them apart.
func (p *port) admits(client netip.Addr) bool {
	return slices.ContainsFunc(p.sources, func(s sources) bool { return s.admit(client) })
}

// serves says whether a listener serves a client. No listener is for whoever
// answers that nobody does.
func (g *gateway) serves(l *lbmodel.Listener, client netip.Addr) bool {
	return l == nil || g.sources[l].admit(client)
}
