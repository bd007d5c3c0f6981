package member

import (
	"slices"
	"strings"
	"sync"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
)

// places remembers which roots belong to which trust, since the cloud's objects do not
// say what they are for.
type places struct {
	mu    sync.Mutex
	known map[string]map[string]bool // fingerprints, by Trust.Name
}

// trusted are the roots by which each trust of a gateway verifies: those that are
// published, and those that the gateway still holds beside one that is or was.
func (p *places) trusted(g reconcile.Gateway, held [][]lbmodel.Root) map[string][]lbmodel.Root {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string][]lbmodel.Root{}
	for _, t := range g.Served.Trust {
		if p.known == nil {
			p.known = map[string]map[string]bool{}
		}
		if p.known[t.Name] == nil {
			p.known[t.Name] = map[string]bool{}
		}
		out[t.Name] = gatherRoots(t.Roots, held, p.known[t.Name])
	}
	return out
}

func gatherRoots(published []lbmodel.Root, held [][]lbmodel.Root, known map[string]bool) []lbmodel.Root {
	for _, r := range published {
		known[r.SHA256] = true
	}
	all := slices.Clone(published)
	for _, place := range held {
		if slices.ContainsFunc(place, func(r lbmodel.Root) bool { return known[r.SHA256] }) {
			all = append(all, place...)
		}
	}
	for _, r := range all {
		known[r.SHA256] = true
	}
	slices.SortFunc(all, func(a, b lbmodel.Root) int { return strings.Compare(a.SHA256, b.SHA256) })
	return slices.CompactFunc(all, func(a, b lbmodel.Root) bool { return a.SHA256 == b.SHA256 })
}
