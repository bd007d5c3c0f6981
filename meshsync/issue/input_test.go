package issue

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// TestInput15 is consul #8681 and #10871: after a rotation the roots that are told are
// old, or the certificate is. Either way what is signed does not verify under what is
// published: it is not uploaded, the live one stays, and each side mends itself.
func TestInput15(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	w.use(id, w.get(id))
	live := *w.live[id.SPIFFEID]
	published := w.roots()
	w.ring.config.Roots = func(string) []lbmodel.Root { return published }
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	w.pass(20 * time.Hour) // it is to be renewed
	if e := w.refused(id, lbmodel.CodeDenied); !strings.Contains(e.Error(), "does not verify under the 1 roots") {
		t.Errorf("stale roots: %v", e)
	}
	if now := w.live[id.SPIFFEID]; now.SHA256 != live.SHA256 {
		t.Errorf("stale roots: the live certificate is %s, want %s as before", now.SHA256, live.SHA256)
	}

	published = w.roots() // of both
	fresh := leafOf(w.get(id))
	if fresh.SHA256 == live.SHA256 || !slices.ContainsFunc(published, func(r lbmodel.Root) bool { return r.KeyID == fresh.Authority }) {
		t.Errorf("roots are right again: got %+v", fresh)
	}
	var old meshsync.Issued // what an agent's cache has
	w.answer = func(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
		if old.Chain != nil {
			return old, nil
		}
		var err error
		old, err = w.sign(ctx, r)
		return old, err
	}
	other := identity("h")
	w.use(other, w.get(other))
	w.pass(20 * time.Hour)
	if e := w.refused(other, lbmodel.CodeDenied); !strings.Contains(e.Error(), "key") {
		t.Errorf("a stale certificate: %v", e)
	}
}
