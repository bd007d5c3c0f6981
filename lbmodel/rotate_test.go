package lbmodel

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRotate(t *testing.T) {
	const day = Duration(24 * time.Hour)
	all := newRotationRoots(t)
	for _, c := range []struct {
		name, why  string
		want, have string // of want the roots
		trust      Trust  // and the rest
		now        time.Duration
		roots      string
		next       time.Duration // 0 is never
	}{
		{name: "first", why: "with nothing there it is canonical", want: "A B", trust: Trust{Overlap: day}, roots: "A B"},
		{name: "a root comes", why: "add fast", want: "A B", have: "A", trust: Trust{Overlap: day}, roots: "A B"},
		{name: "a root goes", why: "remove slowly, and note since when", want: "B", have: "A B", trust: Trust{Overlap: day}, roots: "A@0s B", next: 24 * time.Hour},
		{name: "one for another", why: "one step does both", want: "B", have: "A", trust: Trust{Overlap: day}, roots: "A@0s B", next: 24 * time.Hour},
		{name: "it stays", why: "the record counts", want: "B", have: "A@0s B", trust: Trust{Overlap: day}, now: 23 * time.Hour, roots: "A@0s B", next: 24 * time.Hour},
		{name: "it is over", why: "the overlap has passed since the record", want: "B", have: "A@0s B", trust: Trust{Overlap: day}, now: 24 * time.Hour, roots: "B"},
		{name: "no overlap", why: "a BackendTLSPolicy's word counts at once", want: "B", have: "A B", roots: "B"},
		{name: "published again", why: "as if it had never gone", want: "A B", have: "A@-23h B", trust: Trust{Overlap: day}, roots: "A B"},
		{name: "the record is lost", why: "the time starts anew: longer, never shorter", want: "B", have: "A B", trust: Trust{Overlap: day}, now: 20 * time.Hour, roots: "A@20h0m0s B", next: 44 * time.Hour},
		{name: "the clock was set back", why: "a record of the future is one of now", want: "B", have: "A@720h B", trust: Trust{Overlap: day}, roots: "A@0s B", next: 24 * time.Hour},
		{name: "part of a second", why: "records are in seconds, rounded so that no overlap is shorter", want: "B", have: "A B", trust: Trust{Overlap: day}, now: time.Millisecond, roots: "A@1s B", next: 24*time.Hour + time.Second},
		{name: "the same part of a second", why: "the second plan is empty", want: "B", have: "A@1s B", trust: Trust{Overlap: day}, now: 2 * time.Millisecond, roots: "A@1s B", next: 24*time.Hour + time.Second},
		{name: "a longer overlap", why: "it counts from the same record", want: "B", have: "A@0s B", trust: Trust{Overlap: 3 * day}, now: 30 * time.Hour, roots: "A@0s B", next: 72 * time.Hour},
		{name: "seen", why: "somebody still shows a certificate under it (istio-on-eks #112)", want: "B", have: "A@0s B", trust: Trust{Overlap: day, Seen: []string{all["A"].SPKI}}, now: 100 * time.Hour, roots: "A@0s B"},
		{name: "seen, without overlap", why: "what is seen outweighs every rule", want: "B", have: "A B", trust: Trust{Seen: []string{all["A"].SPKI}}, roots: "A@0s B"},
		{name: "two go", why: "each by its own record", want: "B", have: "A@1h S@-1h B", trust: Trust{Overlap: day}, now: time.Hour, roots: "A@1h0m0s B S@-1h0m0s", next: 2 * time.Hour},
		{name: "unknown", why: "a source that cannot be read has dropped nothing", have: "A@0s B", trust: Trust{Overlap: day, Unknown: true}, now: 100 * time.Hour, roots: "A@0s B"},
		{name: "nothing published", why: "never empty, whoever forgot to say that it is unknown", have: "A B", trust: Trust{Overlap: day}, roots: "A B"},
		{name: "the system's", why: "they are not ours to list", trust: Trust{System: true}},
		{name: "signed again", why: "leaves of the old verify under the new (Istio's self-signed CA)", want: "A2", have: "A", trust: Trust{Overlap: day}, roots: "A2"},
		{name: "signed again and back", why: "the old one does not hold as long", want: "A", have: "A2", trust: Trust{Overlap: day}, roots: "A A2@0s", next: 24 * time.Hour},
		{name: "signed again for later", why: "it does not hold yet", want: "A3", have: "A", trust: Trust{Overlap: day}, roots: "A3 A@0s", next: 24 * time.Hour},
		{name: "signed again, holds now", why: "no need to wait for the overlap", want: "A3", have: "A@0s A3", trust: Trust{Overlap: 9 * day}, now: 25 * time.Hour, roots: "A3"},
		{name: "signed again for less", why: "it would end before the old one", want: "A4", have: "A", trust: Trust{Overlap: day}, roots: "A4 A@0s", next: 24 * time.Hour},
		{name: "signed again, longer path", why: "what it restricts may matter to somebody", want: "A5", have: "A", trust: Trust{Overlap: day}, roots: "A5 A@0s", next: 24 * time.Hour},
		{name: "the same key, another name", why: "leaves name their issuer: they do not verify under it", want: "A6", have: "A", trust: Trust{Overlap: day}, roots: "A6 A@0s", next: 24 * time.Hour},
		{name: "an expired root goes", why: "it verifies nothing; its record comes first", want: "B", have: "B X", trust: Trust{Overlap: day}, roots: "B X@0s", next: time.Second},
		{name: "an expired root has gone", why: "a valid one remains", want: "B", have: "B X@0s", trust: Trust{Overlap: day}, now: time.Second, roots: "B"},
		{name: "all have expired", why: "the clock may be wrong", want: "X", have: "X S@0s", trust: Trust{Overlap: day}, now: 3 * time.Hour, roots: "S@0s X", next: 24 * time.Hour},
		{name: "a published root has expired", why: "it is the source's to say", want: "B X", have: "B X", trust: Trust{Overlap: day}, roots: "B X"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, have := c.trust, all.set(t, c.have)
			want.Roots = all.set(t, c.want)
			before := slices.Clone(have)
			roots, next := Rotate(want, have, midnight.Add(c.now))
			if got := all.tell(roots); got != c.roots {
				t.Errorf("roots %q, want %q: %s", got, c.roots, c.why)
			}
			if c.next == 0 != next.IsZero() || c.next != 0 && !next.Equal(midnight.Add(c.next)) {
				t.Errorf("next after %s, want %s: %s", next.Sub(midnight), c.next, c.why)
			}
			again, _ := Rotate(want, roots, midnight.Add(c.now))
			if diff := cmp.Diff(roots, again); diff != "" {
				t.Errorf("the second look is not the first (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(before, have); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
		})
	}
}

// Why the restrictions on a root that is signed again: this is what a verifier does
// with a leaf of the old one when only the new one is there.
func TestSignedAgainVerifies(t *testing.T) {
	keys, year := authorities{}, midnight.AddDate(1, 0, 0)
	old := keys.make(t, authority{name: "A", subject: "ca", begins: midnight.AddDate(-1, 0, 0), until: year})
	leaf := keys.leaf(t, old, "A")
	for _, c := range []struct {
		name string
		next authority
		want bool
	}{
		{"the same name", authority{name: "A2", subject: "ca"}, true},
		{"another name", authority{name: "A2", subject: "other"}, false},
		{"another key", authority{name: "B", subject: "ca"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.next.begins, c.next.until = midnight, year
			next := keys.make(t, c.next)
			pool := x509.NewCertPool()
			pool.AddCert(next)
			_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: midnight})
			if got := resigned(newRoot(next), newRoot(old), midnight); got != c.want || got != (err == nil) {
				t.Errorf("stands for the old one is %t, want %t; the leaf says %v", got, c.want, err)
			}
		})
	}
}

// What a leaf's authority is, whether its chain brings the root along or not.
func TestAuthorityOf(t *testing.T) {
	keys := authorities{}
	root := keys.make(t, authority{name: "A", subject: "ca", begins: midnight, until: midnight.AddDate(1, 0, 0)})
	leaf := keys.leaf(t, root, "A")
	want := newRoot(root).KeyID
	if want == "" {
		t.Fatal("the root has no key identifier")
	}
	for _, c := range []struct {
		name, want string
		chain      []*x509.Certificate
	}{
		{"leaf alone", want, []*x509.Certificate{leaf}},
		{"with its root", want, []*x509.Certificate{leaf, root}},
		{"nothing", "", nil},
	} {
		if got := AuthorityOf(c.chain); got != c.want {
			t.Errorf("%s: authority %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRotationFlows(t *testing.T) {
	all := newRotationRoots(t)
	for _, c := range []struct {
		name, why, want, have string
		flows                 bool
	}{
		{"comes", "who adds a root takes nothing away", "A B", "A", true},
		{"is dropped by its source", "it is still there", "A@0s B", "A B", true},
		{"goes after its overlap", "its record says that nobody decided but the source, long ago", "B", "A@0s B", true},
		{"goes without a record", "somebody took it away", "B", "A B", false},
		{"is signed again", "its key stays", "A2", "A", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := RotationFlows(all.set(t, c.want), all.set(t, c.have)); got != c.flows {
				t.Errorf("flows is %t: %s", got, c.why)
			}
		})
	}
}
