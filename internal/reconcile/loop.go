package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Loop keeps the objects of one cluster and what they come to. It is safe for use by
// several goroutines: changes are taken one after the other, passes over different
// gateways may run at the same time, and nothing is locked while a cloud is called.
type Loop struct {
	// Approve says how a person agrees to what of a gateway waits for that, as part
	// of a sentence; statuses then tell it. Nil, or "", tells nothing. It is set before
	// the first pass.
	Approve func(translate.Key) string

	accounts map[string]*providers.Account

	mu       sync.Mutex // guards what follows; never held during a call
	index    *translate.Index
	gateways map[translate.Key]Gateway
	dropped  map[Leaver]bool        // to be planned until it owns nothing
	stranded map[translate.Key]bool // gateways whose class is not there
	doubt    Doubt
	found    map[translate.Key][]lbmodel.Finding // by the last plan of each gateway
	outdated map[translate.Key]int               // passes in a row whose plan something of the gateway did not fit any more
}

// Leaver is an owner that shall own nothing any more with a provider.
type Leaver struct {
	Provider string
	Owner    lbmodel.Owner
}

func (g Gateway) leaver() Leaver { return Leaver{g.Result.Provider, g.Result.Gateway.Owner} }

// New starts a loop with a first snapshot. Every provider that a gateway of the
// snapshot is served by must have an account.
func New(x *translate.Index, accounts map[string]*providers.Account) *Loop {
	l := &Loop{accounts: accounts, index: x, gateways: map[translate.Key]Gateway{}, dropped: map[Leaver]bool{}, stranded: map[translate.Key]bool{}, found: map[translate.Key][]lbmodel.Finding{}, outdated: map[translate.Key]int{}}
	l.retranslate(x.Gateways())
	return l
}

// Index is the objects as they are now.
func (l *Loop) Index() *translate.Index {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index
}

// Gateways are all gateways, ordered by key.
func (l *Loop) Gateways() []Gateway {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.gateways), func(a, b Gateway) int { return compareKeys(a.Key, b.Key) })
}

func compareKeys(a, b translate.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// Gateway is one of them.
func (l *Loop) Gateway(key translate.Key) (Gateway, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.gateways[key]
	return g, ok
}

// Leaving are the owners that are to be planned until they own nothing, sorted.
func (l *Loop) Leaving() []Leaver {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaving()
}

func (l *Loop) leaving() []Leaver {
	return slices.SortedFunc(maps.Keys(l.dropped), func(a, b Leaver) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Owner.String(), b.Owner.String()), cmp.Compare(a.Owner.UID, b.Owner.UID))
	})
}

// Change takes a change of the objects and says which gateways it concerns. All
// others are left alone: they cost nothing.
func (l *Loop) Change(c translate.Change) []translate.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := l.advance(c)
	l.retranslate(keys)
	return keys
}

// Reconsider translates everything anew, by other options. They must name the same
// controllers.
func (l *Loop) Reconsider(o translate.Options) []translate.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index = l.index.Under(o)
	keys := l.index.Gateways()
	l.retranslate(keys)
	return keys
}

// advance makes the changed objects those that count, and says which gateways must
// be translated again.
func (l *Loop) advance(c translate.Change) []translate.Key {
	next, concerned := l.index.With(c)
	l.index = next
	for key := range l.stranded {
		if !slices.Contains(concerned, key) { // the index does not count it as ours
			concerned = append(concerned, key)
		}
	}
	slices.SortFunc(concerned, compareKeys)
	return concerned
}

func (l *Loop) retranslate(keys []translate.Key) {
	for _, key := range keys {
		l.retranslateOne(key)
	}
}

func (l *Loop) retranslateOne(key translate.Key) {
	g := Read(l.index, key)
	old, known := l.gateways[key]
	if b := l.index.Belonging(key); known && b.Exists && !b.ClassExists {
		l.gateways[key], l.stranded[key] = strand(old, b.Class), true
		return
	}
	delete(l.stranded, key)
	if known && old.leaver() != g.leaver() {
		l.leave(old)
	}
	if g.Result.Gone {
		delete(l.gateways, key)
		delete(l.found, key)
		delete(l.outdated, key)
		return
	}
	if account := l.accounts[g.Result.Provider]; g.Planned() && account != nil {
		l.want(account, &g)
	}
	l.gateways[key] = g
}

// strand is a gateway whose class is gone: nobody can say whether it is still ours,
// so it is neither changed nor given up.
func strand(g Gateway, class string) Gateway {
	g.Result.Skip = fmt.Sprintf("its GatewayClass %s is not there: add it, or correct spec.gatewayClassName; what is in the cloud stays as it is", class)
	g.Refused = nil
	g.Findings = slices.Clone(g.Result.Findings)
	g.add([]lbmodel.Finding{{
		About:     lbmodel.Source{Kind: g.Key.Kind, Namespace: g.Key.Namespace, Name: g.Key.Name},
		Condition: "Accepted", Reason: "Pending", Code: lbmodel.CodeUnresolved, Detail: g.Result.Skip,
	}})
	return g
}

func (l *Loop) want(account *providers.Account, g *Gateway) {
	if g.Result.Deleting {
		account.Drop(g.Result.Gateway.Owner)
		return
	}
	delete(l.dropped, g.leaver())
	g.add(account.Want(g.Result.Gateway))
}

// leave drops what a gateway owned that is no longer there, not ours, another
// provider's, or made again under its name: another UID is another gateway. What
// its parameters retain or protect stays, and no pass plans for it.
func (l *Loop) leave(g Gateway) {
	who := g.leaver()
	if account := l.accounts[who.Provider]; account != nil && g.Result.Parameters.Deletion != v1alpha1.DeletionDelete {
		account.Drop(who.Owner)
		return
	}
	l.drop(who)
}

// Drop says that an owner shall own nothing, whether or not there is an object of
// it. The next pass plans for it.
func (l *Loop) Drop(provider string, owner lbmodel.Owner) error {
	if l.accounts[provider] == nil {
		return lbmodel.Errorf(lbmodel.CodeInternal, "drop", lbmodel.ID{}, "there is no account of provider %q", provider)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(Leaver{provider, owner})
	return nil
}

// Stay takes Drop back for what an owner has that is not wanted and stays all the same.
func (l *Loop) Stay(who Leaver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.dropped, who)
}

func (l *Loop) drop(who Leaver) {
	if account := l.accounts[who.Provider]; account != nil {
		account.Drop(who.Owner)
		l.dropped[who] = true
	}
}

// Strangers are the owners with resources in the clouds that no object in this
// loop stands for, by provider. A Gateway whose class is not there is no stranger:
// it may be ours.
func (l *Loop) Strangers(ctx context.Context) (map[string][]lbmodel.Owner, error) {
	out := map[string][]lbmodel.Owner{}
	for _, name := range slices.Sorted(maps.Keys(l.accounts)) {
		live, err := l.accounts[name].Live(ctx)
		if err != nil {
			return nil, fmt.Errorf("looking at provider %s: %w", name, err)
		}
		if strangers := l.unknown(name, live); len(strangers) > 0 {
			out[name] = strangers
		}
	}
	return out, nil
}

// unknown are those owners that no object in this loop stands for with a provider. One
// that is another provider's by now stands for what it has there.
func (l *Loop) unknown(provider string, owners []lbmodel.Owner) []lbmodel.Owner {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := map[lbmodel.Owner]bool{}
	for _, g := range l.gateways {
		if g.Result.Provider == provider {
			known[g.Result.Gateway.Owner] = true
		}
	}
	return slices.DeleteFunc(owners, func(owner lbmodel.Owner) bool {
		key := translate.Key{Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name}
		b := l.index.Belonging(key)
		return known[owner] || b.Exists && !b.ClassExists
	})
}
