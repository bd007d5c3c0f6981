package member

import (
	"slices"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/issue"
)

// kept is what holds of bindings while their roots cannot be read, and over a restart.
// It may be used by many goroutines.
type kept struct {
	published issue.Published

	mu   sync.Mutex
	good map[string][]lbmodel.Root // the last good ones, by issuer
}

// see notes what a binding publishes now. None at all could not be read.
func (k *kept) see(issuer string, roots []lbmodel.Root, now time.Time) {
	if len(roots) == 0 {
		return
	}
	k.published.See(issuer, roots, now)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.good == nil {
		k.good = map[string][]lbmodel.Root{}
	}
	k.good[issuer] = roots
}

// only forgets all other issuers, and says which: a binding that is made anew begins
// anew.
func (k *kept) only(issuers []string) (gone []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for issuer := range k.good {
		if !slices.Contains(issuers, issuer) {
			delete(k.good, issuer)
			k.published.Forget(issuer)
			gone = append(gone, issuer)
		}
	}
	return gone
}

// valid are the last good roots that have not ended: a mesh that cannot be read may have
// dropped those that have, and nothing that they verify would be good.
func (k *kept) valid(issuer string, now time.Time) []lbmodel.Root {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.good[issuer]), func(r lbmodel.Root) bool { return !now.Before(r.NotAfter) })
}

// Remember is what shall be known after a restart, of each binding by its name: the
// roots that certificates are verified by while no others can be read, and since when
// each is published. All of it is public.
func (m *Members) Remember() map[string]rootsync.Binding {
	m.kept.mu.Lock()
	defer m.kept.mu.Unlock()
	out := map[string]rootsync.Binding{}
	for issuer, roots := range m.kept.good {
		name, _ := bindingOf(issuer)
		out[name] = rootsync.Binding{Roots: roots, Seen: m.kept.published.Times(issuer)}
	}
	return out
}

// Recall takes what another process remembered. It comes before Over, and gives nobody
// more than that one had.
func (m *Members) Recall(all map[string]rootsync.Binding) {
	m.kept.mu.Lock()
	defer m.kept.mu.Unlock()
	m.kept.good = map[string][]lbmodel.Root{}
	for name, b := range all {
		if len(b.Roots) == 0 || strings.Contains(name, "/") {
			continue
		}
		m.kept.good[issuerOf(name)] = b.Roots
		m.kept.published.Resume(issuerOf(name), b.Seen)
	}
}
