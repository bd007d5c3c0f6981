package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Doubt is what objects leave open because something among them could not be
// read. The zero value is none. Plans made in doubt are safe: a live gateway that
// may hang on what is unreadable is not changed at all, and nothing is deleted
// from any other. What may be a policy that restricts keeps back what is new as
// well: it would be made without the restriction. What is kept back waits with
// lbmodel.WaitUnread.
type Doubt struct {
	Incomplete bool             // something was left out: absence proves nothing
	Bad        []lbmodel.Source // the objects among it that have a name
	Remains    []any            // those, as far as they could be read, in a Snapshot's types
	Astray     []string         // places of what may concern anything
	// Restricting says that a BackendTLSPolicy or a MeshBinding may be astray.
	Restricting bool
}

// unread is what keeps a gateway back.
type unread struct {
	what      string // "" is nothing
	restricts bool   // it may be a policy: what is new is not made either
}

// unreadOf is what keeps a gateway back that awaits these objects.
func (d Doubt) unreadOf(awaited []lbmodel.Source) unread {
	if len(d.Astray) > 0 {
		return unread{what: few(d.Astray), restricts: d.Restricting}
	}
	protects := func(s lbmodel.Source) bool {
		return s.Kind == translate.KindBackendTLSPolicy || s.Kind == translate.KindMeshBinding
	}
	return unread{what: sources(awaited), restricts: slices.ContainsFunc(awaited, protects)}
}

// Doubt says what the objects in the loop leave open. It holds for all plans until
// it is said anew.
func (l *Loop) Doubt(d Doubt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = d
}

// Awaited are the gateways that hang on an object that could not be read, with
// what they wait for.
func (l *Loop) Awaited() map[translate.Key][]lbmodel.Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.awaited()
}

func (l *Loop) awaited() map[translate.Key][]lbmodel.Source {
	out := map[translate.Key][]lbmodel.Source{}
	for _, obj := range l.doubt.Remains {
		key, ok := translate.KeyOf(obj)
		if !ok || l.index.Has(key) {
			continue // its last good version counts
		}
		_, concerned := l.index.With(translate.Change{Put: []any{obj}})
		for _, gateway := range concerned {
			source := lbmodel.Source{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
			out[gateway] = append(out[gateway], source)
		}
	}
	return out
}

// untouched keeps a whole plan back. Without a restriction to fear it lets
// through what is about an owner that has nothing in the cloud yet: what is not
// there cannot be broken.
func (u unread) untouched(account *providers.Account, owner lbmodel.Owner) lbmodel.Policy {
	return func(p lbmodel.Plan, _ time.Time) lbmodel.Plan {
		if !u.restricts && !owns(account.Observed(owner), owner) {
			return p
		}
		return keepUnread(p, func(lbmodel.Step) bool { return true }, "is not touched: it may hang on "+u.what+", which could not be read")
	}
}

// undeleted keeps every delete back.
func (d Doubt) undeleted(p lbmodel.Plan, _ time.Time) lbmodel.Plan {
	unread := "something"
	if len(d.Bad) > 0 {
		unread = sources(d.Bad)
	}
	isDelete := func(s lbmodel.Step) bool { return s.Verb == lbmodel.Delete }
	return keepUnread(p, isDelete, "is not deleted: nothing that could be read wants it, but "+unread+" could not be")
}

func keepUnread(p lbmodel.Plan, chosen func(lbmodel.Step) bool, why string) lbmodel.Plan {
	roots := map[lbmodel.ID]lbmodel.Wait{}
	for _, s := range p.Steps {
		if chosen(s) {
			roots[s.ID] = lbmodel.Wait{ID: s.ID, Reason: lbmodel.WaitUnread, Why: why}
		}
	}
	return lbmodel.KeepBack(p, roots)
}

func sources(all []lbmodel.Source) string {
	var names []string
	for _, s := range all {
		names = append(names, s.String())
	}
	return few(names)
}

// few names a few, and counts the rest.
func few(names []string) string {
	const shown = 3
	if more := len(names) - shown; more > 0 {
		names = append(slices.Clone(names[:shown]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
