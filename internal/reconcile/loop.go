package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Loop keeps the objects of one cluster and what they come to. It belongs to one
// goroutine.
type Loop struct {
	accounts map[string]*providers.Account
	index    *translate.Index
	gateways map[translate.Key]Gateway
	dropped  map[lbmodel.Owner]string // owner → provider
}

// New starts a loop with a first snapshot. Every provider that a gateway of the
// snapshot is served by must have an account.
func New(x *translate.Index, accounts map[string]*providers.Account) *Loop {
	l := &Loop{accounts: accounts, index: x, gateways: map[translate.Key]Gateway{}, dropped: map[lbmodel.Owner]string{}}
	l.retranslate(x.Gateways())
	return l
}

// Index is the objects as they are now.
func (l *Loop) Index() *translate.Index { return l.index }

// Gateways are all gateways, ordered by key.
func (l *Loop) Gateways() []Gateway {
	return slices.SortedFunc(maps.Values(l.gateways), func(a, b Gateway) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// Gateway is one of them.
func (l *Loop) Gateway(key translate.Key) (Gateway, bool) {
	g, ok := l.gateways[key]
	return g, ok
}

// Change takes a change of the objects and says which gateways it concerns. All
// others are left alone: they cost nothing.
func (l *Loop) Change(c translate.Change) []translate.Key {
	next, concerned := l.index.With(c)
	l.index = next
	l.retranslate(concerned)
	return concerned
}

func (l *Loop) retranslate(keys []translate.Key) {
	for _, key := range keys {
		g := Read(l.index, key)
		account := l.accounts[g.Result.Provider]
		switch {
		case g.Result.Gone:
			l.forget(key)
			continue
		case !g.Planned() || account == nil:
		case g.Result.Deleting:
			account.Drop(g.Result.Gateway.Owner)
		default:
			delete(l.dropped, g.Result.Gateway.Owner)
			g.add(account.Want(g.Result.Gateway))
		}
		l.gateways[key] = g
	}
}

// forget drops what a gateway owned that is no longer there, or not ours.
func (l *Loop) forget(key translate.Key) {
	old, ok := l.gateways[key]
	if !ok {
		return
	}
	delete(l.gateways, key)
	l.drop(old.Result.Provider, old.Result.Gateway.Owner)
}

// Drop says that an owner shall own nothing, whether or not there is an object of
// it. The next pass plans for it.
func (l *Loop) Drop(provider string, owner lbmodel.Owner) error {
	if l.accounts[provider] == nil {
		return lbmodel.Errorf(lbmodel.CodeInternal, "drop", lbmodel.ID{}, "there is no account of provider %q", provider)
	}
	l.drop(provider, owner)
	return nil
}

func (l *Loop) drop(provider string, owner lbmodel.Owner) {
	if account := l.accounts[provider]; account != nil {
		account.Drop(owner)
		l.dropped[owner] = provider
	}
}

// Strangers are the owners with resources in the clouds that no object in this
// loop stands for, by provider.
func (l *Loop) Strangers(ctx context.Context) (map[string][]lbmodel.Owner, error) {
	known := map[lbmodel.Owner]bool{}
	for _, g := range l.gateways {
		known[g.Result.Gateway.Owner] = true
	}
	out := map[string][]lbmodel.Owner{}
	for _, name := range slices.Sorted(maps.Keys(l.accounts)) {
		live, err := l.accounts[name].Live(ctx)
		if err != nil {
			return nil, fmt.Errorf("looking at provider %s: %w", name, err)
		}
		for _, owner := range live {
			if !known[owner] {
				out[name] = append(out[name], owner)
			}
		}
	}
	return out, nil
}

// policies are what a group's parameters allow. PlanOnly and Approve are none:
// a plan shows what would be done, and whoever applies looks at Group.Apply.
func (g group) policies() []lbmodel.Policy {
	var out []lbmodel.Policy
	if g.drift == v1alpha1.DriftReport {
		out = append(out, lbmodel.ReportDrift)
	}
	if g.keep {
		out = append(out, lbmodel.NoDelete)
	}
	return out
}
