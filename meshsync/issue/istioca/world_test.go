package istioca

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const binding = "MeshBinding/istio"

var id = lbmodel.Identity{
	Name: binding, Issuer: binding, KeyType: issue.KeyType,
	SPIFFEID: "spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse-1",
}

// clock is a time that passes by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is an istiod on a socket, and a gateway that gets its certificates there.
type world struct {
	*testing.T
	ca      *ca.CA
	istiod  *istiod.Server
	tokens  *tokens.Store
	theirs  *clock // the mesh's clock
	ours    *clock
	life    time.Duration // of tokens
	live    *lbmodel.Leaf
	trusted issue.Trusted
	config  Config
	timeout time.Duration
	ring    func(context.Context, lbmodel.Identity) (tls.Certificate, error)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := &world{T: t, theirs: &clock{at: start}, ours: &clock{at: start}, life: time.Hour, timeout: 10 * time.Second}
	var err error
	if w.ca, err = ca.New(ca.Config{Now: w.theirs.now}); err != nil {
		t.Fatal(err)
	}
	w.tokens = tokens.NewStore(w.theirs.now)
	if w.istiod, err = istiod.Start(istiod.Config{CA: w.ca, Tokens: w.tokens.Check}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.istiod.Close() })
	w.config = Config{Address: w.istiod.Addr(), Roots: w.pool, Token: w.token, Now: w.ours.now}
	w.start()
	return w
}

// start makes a keyring that remembers nothing.
func (w *world) start() {
	w.ring = issue.Keyring(issue.Config{
		Issuers: func(id lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
			account, _ := issue.AccountOf(id)
			return New(w.config), account, nil
		},
		Roots:   func(string) []lbmodel.Root { return w.roots() },
		Live:    func(lbmodel.Identity) (*lbmodel.Leaf, error) { return w.live, nil },
		Trusted: w.trusted, Now: w.ours.now, Timeout: w.timeout,
	})
}

func (w *world) pool() *x509.CertPool { return ca.Pool(w.ca.Roots()...) }

func (w *world) roots() []lbmodel.Root {
	roots, err := lbmodel.ParseRoots(w.ca.Bundle())
	if err != nil {
		w.Error(err)
	}
	return roots
}

func (w *world) token(_ context.Context, audience string, a meshsync.Account) (string, error) {
	return w.tokens.MintFor(w.life, tokens.Account(a), audience), nil
}

func (w *world) get() tls.Certificate {
	w.Helper()
	pair, err := w.ring(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return pair
}

func (w *world) refused(code lbmodel.Code) *lbmodel.Error {
	w.Helper()
	pair, err := w.ring(w.Context(), id)
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.Code != code || pair.PrivateKey != nil {
		w.Fatalf("got %v, want %s", err, code)
	}
	return e
}

func (w *world) use(pair tls.Certificate) {
	sum := sha256.Sum256(pair.Leaf.Raw)
	w.live = &lbmodel.Leaf{
		SHA256: hex.EncodeToString(sum[:]), NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		Authority: lbmodel.AuthorityOf([]*x509.Certificate{pair.Leaf}),
	}
}

func (w *world) do(errs ...error) {
	w.Helper()
	for _, err := range errs {
		if err != nil {
			w.Fatal(err)
		}
	}
}
