package tokens

import (
	"errors"
	"testing"
	"time"
)

// TestStore: a token is of one account, for some audiences, for a while.
func TestStore(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	s := NewStore(func() time.Time { return now })
	me := Account{"gatehouse-system", "gatehouse"}
	token := s.Mint(me, "istio-ca")
	if got, err := s.Check(t.Context(), token, "istio-ca"); err != nil || got != me {
		t.Fatalf("%v, %v", got, err)
	}
	refused := func(why, text, audience string) {
		t.Helper()
		if _, err := s.Check(t.Context(), text, audience); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", why, err)
		}
	}
	refused("another audience", token, "identity.l5d.io")
	refused("no token", "", "istio-ca")
	short := s.MintFor(time.Minute, me, "istio-ca")
	now = now.Add(time.Minute)
	refused("expired", short, "istio-ca")
	s.Revoke(token)
	refused("revoked", token, "istio-ca")
	if _, err := NewStore(nil).Check(t.Context(), token, "istio-ca"); !errors.Is(err, ErrRefused) {
		t.Errorf("another store: %v", err)
	}
}
