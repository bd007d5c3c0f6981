package lbmodel

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leafSpec is a spec with a certificate that is renewed by a rule.
type leafSpec struct{ Rule RenewRule }

func (leafSpec) Needs() []ID { return nil }

func (s leafSpec) RenewAt(f Facts) time.Time {
	if f.Leaf == nil {
		return time.Time{}
	}
	return s.Rule.At(*f.Leaf)
}

var midnight = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func dayOf(from time.Time) *Leaf {
	return &Leaf{NotBefore: from, NotAfter: from.Add(24 * time.Hour), Authority: "aa"}
}

func TestRenewRule(t *testing.T) {
	tests := []struct {
		name string
		rule RenewRule
		want time.Time
		why  string
	}{
		{"before", RenewRule{Before: Duration(3 * time.Hour)}, midnight.Add(21 * time.Hour), "the rule says how much must be left"},
		{"unset", RenewRule{}, midnight.Add(16 * time.Hour), "two thirds leave room for many tries whatever the life is"},
		{"longer than the life", RenewRule{Before: Duration(48 * time.Hour)}, midnight.Add(8 * time.Hour), "a CA that gives less than was asked for must not be asked at every look"},
		{"of an authority that is published", RenewRule{Authorities: []string{"aa", "bb"}}, midnight.Add(16 * time.Hour), "it is as good as ever"},
		{"of an authority that its issuer has left", RenewRule{Authorities: []string{"aa", "bb"}, Held: &Held{"bb", midnight.Add(time.Second)}}, midnight, "a tainted root is published until it is revoked"},
		{"newer than what its issuer has", RenewRule{Held: &Held{"bb", midnight}}, midnight.Add(16 * time.Hour), "another agent may be behind"},
		{"its issuer has renewed", RenewRule{Held: &Held{"aa", midnight.Add(time.Hour)}}, midnight.Add(16 * time.Hour), "a renewal is no change of authority"},
		{"of another authority", RenewRule{Authorities: []string{"bb"}, Before: Duration(time.Hour)}, midnight, "backends that have the mesh's roots refuse it already"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rule.At(*dayOf(midnight)); !got.Equal(tt.want) {
				t.Errorf("due at %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}

// Leaves of unknown begin or authority are renewed, and not all the time.
func TestRenewRuleKnowsLittle(t *testing.T) {
	leaf := dayOf(midnight)
	leaf.NotBefore, leaf.Authority = time.Time{}, ""
	if got := (RenewRule{Authorities: []string{"bb"}}).At(*leaf); !got.Equal(midnight.Add(16 * time.Hour)) {
		t.Errorf("due at %s: a day's life is assumed, and what nobody knows is no reason", got)
	}
}

// Why: gateways that joined a mesh together would ask its CA together for ever.
func TestRenewalsAreSpread(t *testing.T) {
	for _, life := range []time.Duration{time.Minute, 24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		leaf := Leaf{NotBefore: midnight, NotAfter: midnight.Add(life)}
		seen := map[time.Time]bool{}
		for i := range 200 {
			id := Identity{Name: "MeshBinding/istio", SPIFFEID: fmt.Sprint("spiffe://td/ns/gatehouse-system/sa/gatehouse-", i)}
			at := id.RenewAt(leaf)
			if again := id.RenewAt(leaf); !again.Equal(at) {
				t.Fatalf("due at %s and at %s: chance must not decide", at, again)
			}
			if share := float64(at.Sub(midnight)) / float64(life); share < 0.6 || share > 0.667 {
				t.Errorf("of a life of %s, %.3f has passed, want 0.6 to two thirds", life, share)
			}
			seen[at] = true
		}
		if len(seen) < 150 {
			t.Errorf("of 200 identities with a life of %s only %d are due at times of their own", life, len(seen))
		}
	}
	id := Identity{Renew: RenewRule{Before: Duration(8 * time.Hour)}}
	if got := id.RenewAt(*dayOf(midnight)); !got.Equal(midnight.Add(16 * time.Hour)) {
		t.Errorf("due at %s: who says when is taken at the word", got)
	}
}

func TestIdentityKeeps(t *testing.T) {
	was := Identity{SPIFFEID: "spiffe://td/a", DNSNames: []string{"a.test"}, Issuer: "MeshBinding/istio", KeyType: "ECDSA-P256"}
	for _, c := range []struct {
		name, why string
		change    func(*Identity)
		after     time.Duration
		keeps     bool
	}{
		{"the same", "nothing is issued without a reason", func(*Identity) {}, time.Hour, true},
		{"a longer lifetime", "it is as short as anybody wants", func(i *Identity) { i.Renew.Lifetime = Duration(48 * time.Hour) }, 0, true},
		{"a shorter lifetime", "whoever shortens it wants no longer one to be about", func(i *Identity) { i.Renew.Lifetime = Duration(23 * time.Hour) }, 0, false},
		{"the lifetime that it has", "as wanted", func(i *Identity) { i.Renew.Lifetime = Duration(24 * time.Hour) }, 0, true},
		{"the issuer's own lifetime", "nobody wants anything of it", func(i *Identity) { i.Renew.Lifetime = 0 }, 0, true},
		{"due", "two thirds have passed", func(*Identity) {}, 16 * time.Hour, false},
		{"another SPIFFE ID", "it would not be believed", func(i *Identity) { i.SPIFFEID = "spiffe://td/b" }, 0, false},
		{"another DNS name", "it would not be believed", func(i *Identity) { i.DNSNames = nil }, 0, false},
		{"another issuer", "who is asked has changed", func(i *Identity) { i.Issuer = "CertManager" }, 0, false},
		{"another signer", "its CA may not be trusted any longer, and the new one is to be known by backends", func(i *Identity) { i.Signer = "CertManager" }, 0, false},
		{"another key type", "the key must be another", func(i *Identity) { i.KeyType = "RSA-2048" }, 0, false},
		{"its authority is published", "as well as the next one", func(i *Identity) { i.Renew.Authorities = []string{"aa", "bb"} }, 0, true},
		{"its authority is gone", "at once, whatever the clock says", func(i *Identity) { i.Renew.Authorities = []string{"bb"} }, -time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := was
			c.change(&want)
			if got := want.Keeps(was, dayOf(midnight), midnight.Add(c.after)); got != c.keeps {
				t.Errorf("keeps is %t: %s", got, c.why)
			}
		})
	}
	given := was
	given.Renew.Lifetime = Duration(time.Hour)
	if !given.Keeps(given, dayOf(midnight), midnight) {
		t.Error("an issuer that gives a day when asked for an hour is asked at every look")
	}
	if was.Keeps(was, nil, midnight) {
		t.Error("a leaf that is not known is kept")
	}
}

// TestRenewalsAreInformation: they are told in order, only of what is there and
// may be renewed, and a plan that has nothing else is settled, in text and JSON.
func TestRenewalsAreInformation(t *testing.T) {
	leaf, other := ID{Kind: "Certificate", Name: "a"}, ID{Kind: "Certificate", Name: "b"}
	want := Graph{
		other:                               NewResource(other, leafSpec{}),
		leaf:                                NewResource(leaf, leafSpec{}),
		{Kind: "Certificate", Name: "held"}: NewResource(ID{Kind: "Certificate", Name: "held"}, leafSpec{}).With(External),
		{Kind: "Certificate", Name: "new"}:  NewResource(ID{Kind: "Certificate", Name: "new"}, leafSpec{}),
		{Kind: "Rule", Name: "r"}:           NewResource(ID{Kind: "Rule", Name: "r"}, shopSpec{}),
	}
	have := Graph{}
	for id, r := range want {
		if id.Name != "new" {
			r.Facts.Leaf = dayOf(midnight)
			have[id] = r
		}
	}
	due := midnight.Add(16 * time.Hour)
	plan := Plan{Later: Renewals(want, have)}
	if diff := cmp.Diff([]Wait{
		{ID: leaf, Until: due, Reason: WaitRenewal, Why: "renews"},
		{ID: other, Until: due, Reason: WaitRenewal, Why: "renews"},
	}, plan.Later); diff != "" {
		t.Fatalf("renewals (-want +got):\n%s", diff)
	}
	if n := len(plan.Waiting()) + plan.Summary().Wait; n != 0 || !plan.Empty() {
		t.Errorf("%d waits are counted; a renewal in the future holds nothing up", n)
	}
	var text bytes.Buffer
	if err := PrintPlan(&text, plan, Plain); err != nil {
		t.Fatal(err)
	}
	const shown = "Waiting\n\n  * Certificate.a renews 2026-12-01T16:00:00Z\n  * Certificate.b renews 2026-12-01T16:00:00Z\n\n" +
		"No changes. What is there is what is wanted.\n"
	if diff := cmp.Diff(shown, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestNext(t *testing.T) {
	at := func(hour int) Wait { return Wait{Until: midnight.Add(time.Duration(hour) * time.Hour)} }
	tests := []struct {
		name  string
		later []Wait
		want  time.Time
		why   string
	}{
		{"nothing waits", nil, time.Time{}, "there is nothing to plan again for"},
		{"no end", []Wait{{}}, time.Time{}, "only a change ends it"},
		{"the first", []Wait{at(3), {}, at(1), at(2)}, at(1).Until, "the earliest is due first, whatever has no end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Plan{Later: tt.later}).Next(); !got.Equal(tt.want) {
				t.Errorf("next at %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}
