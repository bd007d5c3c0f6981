package meshsync

import (
	"cmp"
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// Placed is a pod that serves a Service's port, and what it accepts there.
type Placed struct {
	Pod     string // its name; "" when it is not known
	Inbound Inbound
}

// The Keys of what is no member, and of what is not known. No other has these.
const (
	keyNone    = ""
	keyUnknown = "unknown"
)

// Groups gathers the pods of one Service port that are reached alike, sorted by
// Key. Pods that differ only in whom their certificates name are one group, which
// accepts any of the names, unless the server name that the gateway must send is
// theirs: a pool has one. Pods that are no members are one group, whatever else is
// said of them, and so are those of which that is not known.
//
// The result does not depend on the order of the pods. A pod that comes or goes
// changes no group but its own. As long as a pod is given, whether it is ready or
// ending, its name counts: so a change of ServiceAccount or of trust domain keeps
// the old names until the last pod of old is gone.
func Groups(pods []Placed) []Group {
	gathered := map[string]*gathering{}
	var g *gathering
	for i := range pods {
		// Pods come from templates, so that the next is mostly as the last.
		if last := i - 1; last >= 0 && alike(&pods[last].Inbound, &pods[i].Inbound) {
			g.add(&pods[i])
			continue
		}
		key := keyOf(&pods[i].Inbound)
		if g = gathered[key]; g == nil {
			g = newGathering(&pods[i])
			gathered[key] = g
		}
		g.add(&pods[i])
	}
	out := make([]Group, 0, len(gathered))
	for _, key := range slices.Sorted(maps.Keys(gathered)) {
		out = append(out, gathered[key].group(key))
	}
	return out
}

// MembershipOf is that of all the groups of a Service's port together: Mixed when
// some pods are members and some are not, Unknown when that hangs on pods that are
// not known, and of no pods at all.
func MembershipOf(groups []Group) Membership {
	has := map[Membership]bool{}
	for i := range groups {
		has[groups[i].Inbound.Membership] = true
	}
	switch {
	case has[Meshed] && has[NotMeshed]:
		return Mixed
	case has[Meshed] && len(has) == 1:
		return Meshed
	case has[NotMeshed] && len(has) == 1:
		return NotMeshed
	default:
		return MembershipUnknown
	}
}

// gathering is a group that grows.
type gathering struct {
	said     *Placed // whose Detail and Fix are told: the first in order of Detail
	names    map[lbmodel.SAN]bool
	accounts map[Account]bool
	pods     map[string]bool
}

func newGathering(p *Placed) *gathering {
	return &gathering{p, map[lbmodel.SAN]bool{}, map[Account]bool{}, map[string]bool{}}
}

func (g *gathering) add(p *Placed) {
	if order(p, g.said) < 0 {
		g.said = p
	}
	if membershipOf(&p.Inbound) == Meshed {
		for _, name := range p.Inbound.Names {
			g.names[name] = true
		}
	}
	if p.Inbound.Account != (Account{}) {
		g.accounts[p.Inbound.Account] = true
	}
	g.pods[p.Pod] = true
}

// order decides what a group says of itself, where its pods say different things.
func order(a, b *Placed) int {
	if c := cmp.Compare(a.Inbound.Detail, b.Inbound.Detail); c != 0 {
		return c
	}
	if c := cmp.Compare(fixText(a.Inbound.Fix), fixText(b.Inbound.Fix)); c != 0 {
		return c
	}
	return cmp.Or(compareAccounts(a.Inbound.Account, b.Inbound.Account), cmp.Compare(a.Pod, b.Pod))
}

func fixText(f *Fix) string {
	if f == nil {
		return ""
	}
	return f.Say + f.YAML
}

func compareAccounts(a, b Account) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// outside is what pods accept that are left alone.
func outside(m Membership, said *Inbound) Inbound {
	return Inbound{Membership: m, Plain: true, Otherwise: Passes, Detail: said.Detail, Fix: said.Fix}
}

func compareNames(a, b lbmodel.SAN) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
}

func (g *gathering) group(key string) Group {
	in := g.said.Inbound
	switch key {
	case keyNone:
		in = outside(NotMeshed, &in)
	case keyUnknown:
		in = outside(MembershipUnknown, &in)
	}
	in.Account = Account{}
	in.Names = slices.SortedFunc(maps.Keys(g.names), compareNames)
	accounts := slices.SortedFunc(maps.Keys(g.accounts), compareAccounts)
	if len(accounts) == 1 {
		in.Account = accounts[0]
	}
	return Group{Key: key, Inbound: in, Accounts: accounts, Pods: slices.Sorted(maps.Keys(g.pods)), Said: g.said.Pod}
}
