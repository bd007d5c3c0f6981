package serve

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"sync/atomic"
)

// group is a compiled TargetGroup.
type group struct {
	TargetGroup
	attributes groupAttributes
	members    []*member
	network    bool
	used       bool // by some listener
	turn       *atomic.Uint32
}

// member is one target with its link.
type member struct {
	Target
	link *link
}

// takes says whether new traffic may go there at all: a target that is being
// deregistered takes none.
func (m *member) takes() bool { return m.State != StateDraining }

func (g *group) healthy(m *member) bool {
	return m.State == StateUnavailable || m.State == "" && g.Health.Disabled || m.link.health.now() == StateHealthy
}

// eligible are the members that new traffic goes to: the healthy ones, or, when
// too few are, all: the group fails open. Empty means that there is nobody.
func (g *group) eligible() []*member {
	var all, healthy []*member
	for _, m := range g.members {
		if !m.takes() {
			continue
		}
		all = append(all, m)
		if g.healthy(m) {
			healthy = append(healthy, m)
		}
	}
	few := len(healthy) < g.attributes.minimumCount || len(healthy)*100 < g.attributes.minimumPercent*len(all)
	if few {
		return all
	}
	return healthy
}

// pick takes a member by the group's algorithm; tried ones only when nobody else
// is there. nil means that the group has no target.
func (g *group) pick(tried []*member, rand func() float64) *member {
	from := g.eligible()
	if fresh := slices.DeleteFunc(slices.Clone(from), func(m *member) bool { return slices.Contains(tried, m) }); len(fresh) > 0 {
		from = fresh
	}
	if len(from) == 0 {
		return nil
	}
	switch g.attributes.algorithm {
	case leastOutstanding:
		return slices.MinFunc(from, func(a, b *member) int { return int(a.link.load.Load() - b.link.load.Load()) })
	case weightedRandom:
		return from[int(rand()*float64(len(from)))]
	default:
		return from[int(g.turn.Add(1)-1)%len(from)]
	}
}

// find is the member of that name if it takes new traffic and is not known to be
// bad, as stickiness wants it.
func (g *group) find(target string) *member {
	for _, m := range g.eligible() {
		if m.ID == target {
			return m
		}
	}
	return nil
}

// sourceSeed makes choices by address stable while the process lives.
var sourceSeed = maphash.MakeSeed()

// bySource is the same member for the same client while it is eligible
// (rendezvous hashing: others' coming and going moves nobody else).
func (g *group) bySource(client netip.Addr, port uint16) *member {
	var best *member
	var most uint64
	for _, m := range g.eligible() {
		score := maphash.Comparable(sourceSeed, sourceKey{m.ID, client, port})
		if best == nil || score > most {
			best, most = m, score
		}
	}
	return best
}

type sourceKey struct {
	target string
	client netip.Addr
	port   uint16
}

// forward is a compiled Forward.
type forward struct {
	Forward
	groups []*group // nil where there is no such group
	shares *shares
}

func (f *forward) weight(name string) (int32, bool) {
	for _, g := range f.Groups {
		if g.Group == name {
			return g.Weight, true
		}
	}
	return 0, false
}
