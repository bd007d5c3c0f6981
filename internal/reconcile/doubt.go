package reconcile

import (
	"fmt"
	"strings"
	"time"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Doubt is what objects leave open because something among them could not be
// read. The zero value is none. Plans made in doubt are safe: a live gateway that
// hangs on an unreadable object is not changed at all, and nothing is deleted
// from any other. What is kept back waits with lbmodel.WaitUnread.
type Doubt struct {
	Incomplete bool             // something was left out: absence proves nothing
	Bad        []lbmodel.Source // the objects among it that have a name
	Remains    []any            // those, as far as they could be read, in a Snapshot's types
}

// Doubt says what the objects in the loop leave open. It holds for all plans until
// it is said anew.
func (l *Loop) Doubt(d Doubt) { l.doubt = d }

// Awaited are the gateways that hang on an object that could not be read, with
// what they wait for.
func (l *Loop) Awaited() map[translate.Key][]lbmodel.Source {
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

// untouched keeps a whole plan back, if the owner it is about has anything in the
// cloud: what is not there yet cannot be broken.
func untouched(account *providers.Account, owner lbmodel.Owner, unread string) lbmodel.Policy {
	return func(p lbmodel.Plan, _ time.Time) lbmodel.Plan {
		if !owns(account.Observed(owner), owner) {
			return p
		}
		return keepUnread(p, func(lbmodel.Step) bool { return true }, "is not touched: it hangs on "+unread+", which could not be read")
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

// sources names a few, and counts the rest.
func sources(all []lbmodel.Source) string {
	const shown = 3
	var names []string
	for i, s := range all {
		if i == shown {
			names = append(names, fmt.Sprintf("%d more", len(all)-shown))
			break
		}
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}
