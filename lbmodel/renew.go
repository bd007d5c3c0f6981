package lbmodel

import (
	"hash/fnv"
	"slices"
	"time"
)

// Renewals are when those wanted resources that are there must be renewed,
// although nobody changes them: one WaitRenewal each, sorted by ID. They hold up
// nothing; they tell a loop when to plan again.
func Renewals(want, have Graph) []Wait {
	var out []Wait
	for id, w := range want {
		spec, renews := w.Spec.(Renewing)
		h, there := have[id]
		if !renews || !there || w.Hold == External {
			continue
		}
		if at := spec.RenewAt(h.Facts); !at.IsZero() {
			out = append(out, Wait{ID: id, Until: at, Reason: WaitRenewal, Why: renewWhy(w.Spec)})
		}
	}
	slices.SortFunc(out, func(a, b Wait) int { return a.ID.Compare(b.ID) })
	return out
}

func renewWhy(s Spec) string {
	if told, ok := s.(interface{ RenewWhy() string }); ok {
		return told.RenewWhy()
	}
	return "renews"
}

// The life of a leaf that does not say when it began.
const unknownLife = 24 * time.Hour

func (l Leaf) begins() time.Time {
	if l.NotBefore.IsZero() {
		return l.NotAfter.Add(-unknownLife)
	}
	return l.NotBefore
}

// Accepts says whether a leaf leads to an authority that is published and that its
// issuer still uses, as far as anybody knows.
func (r RenewRule) Accepts(leaf Leaf) bool {
	return (len(r.Authorities) == 0 || leaf.Authority == "" || slices.Contains(r.Authorities, leaf.Authority)) && !r.Left(leaf)
}

// Left says whether the issuer holds a newer certificate than a leaf, of another
// authority. An older one is no sign: another agent may be behind.
func (r RenewRule) Left(leaf Leaf) bool {
	return r.Held != nil && leaf.Authority != "" && leaf.Authority != r.Held.Authority && leaf.begins().Before(r.Held.NotBefore)
}

// At is when a leaf is due: Before its end or, where Before is not set, after two
// thirds of its life. A third of its life passes in any case: where a CA gives
// less than was asked for, Before could be all of it, and every look would ask for
// another. A leaf that is not accepted is due from its beginning.
func (r RenewRule) At(leaf Leaf) time.Time {
	begins := leaf.begins()
	if !r.Accepts(leaf) {
		return begins
	}
	life := leaf.NotAfter.Sub(begins)
	before := time.Duration(r.Before)
	if before == 0 {
		before = life / 3
	}
	return leaf.NotAfter.Add(-min(before, life-life/3))
}

// RenewAt is when a leaf of the identity is due: as the rule says (RenewRule.At)
// and, where the rule has no Before, up to a fifteenth of its life sooner: between
// 60 % of it and two thirds. By how much follows from the identity's names, so that
// gateways which were made together do not ask their CA together, and no plan
// depends on chance.
func (i Identity) RenewAt(leaf Leaf) time.Time {
	at := i.Renew.At(leaf)
	if i.Renew.Before != 0 || !i.Renew.Accepts(leaf) {
		return at
	}
	const parts = 1 << 10
	part := leaf.NotAfter.Sub(leaf.begins()) / 15 / parts
	return at.Add(-part * time.Duration(i.hash()%parts))
}

func (i Identity) hash() uint64 {
	h := fnv.New64a()
	for _, name := range append([]string{i.Name, i.SPIFFEID}, i.DNSNames...) {
		_, _ = h.Write([]byte(name + "\n")) // a hash takes everything
	}
	return h.Sum64()
}

// Keeps says whether a live leaf that was issued for one identity still serves
// another: the same names by the same issuer, of an authority that is published,
// not due, and not of a longer life than is wanted by now.
func (i Identity) Keeps(was Identity, leaf *Leaf, now time.Time) bool {
	return leaf != nil && i.SPIFFEID == was.SPIFFEID && slices.Equal(i.DNSNames, was.DNSNames) &&
		i.Issuer == was.Issuer && i.Signer == was.Signer && i.KeyType == was.KeyType &&
		!i.Renew.shortens(was.Renew, *leaf) &&
		i.Renew.Accepts(*leaf) && now.Before(i.RenewAt(*leaf))
}

// shortens says whether another lifetime is asked for than when the leaf was, and it
// lives longer than that. An issuer that gives longer ones than it is asked for is
// asked once.
func (r RenewRule) shortens(was RenewRule, leaf Leaf) bool {
	life := leaf.NotAfter.Sub(leaf.begins())
	return r.Lifetime > 0 && r.Lifetime != was.Lifetime && life > time.Duration(r.Lifetime)
}

// Waiting are the waits that hold something up. What is only due some day
// (WaitRenewal) does not: a plan that has nothing else is settled.
func (p Plan) Waiting() []Wait {
	var out []Wait
	for _, w := range p.Later {
		if w.Reason != WaitRenewal {
			out = append(out, w)
		}
	}
	return out
}

// Next is when the first of the plan's waits ends and it is worth planning again;
// zero when none has an end. Of an Outcome ask its Held.
func (p Plan) Next() time.Time {
	var next time.Time
	for _, w := range p.Later {
		if !w.Until.IsZero() && (next.IsZero() || w.Until.Before(next)) {
			next = w.Until
		}
	}
	return next
}
