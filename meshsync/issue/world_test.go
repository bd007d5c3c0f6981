package issue

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

const mesh = "MeshBinding/mesh"

func identity(name string) lbmodel.Identity {
	return lbmodel.Identity{Name: mesh, Issuer: mesh, KeyType: KeyType, SPIFFEID: "spiffe://cluster.local/ns/gatehouse-system/sa/" + name}
}

// world is a mesh whose CA signs without a socket, a keyring and what is live.
type world struct {
	*testing.T
	ca   *ca.CA
	ring *keyring

	mu     sync.Mutex
	now    time.Time
	live   map[string]*lbmodel.Leaf
	asked  []meshsync.Request
	answer func(context.Context, meshsync.Request) (meshsync.Issued, error)
	life   time.Duration
	keys   []*ecdsa.PrivateKey
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: noon, live: map[string]*lbmodel.Leaf{}, life: 24 * time.Hour}
	w.answer = w.sign
	var err error
	if w.ca, err = ca.New(ca.Config{Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	w.start(nil)
	return w
}

// start makes a keyring that remembers nothing.
func (w *world) start(trusted Trusted) {
	w.ring = newKeyring(Config{
		Issuers: func(id lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
			account, _ := AccountOf(id)
			return w, account, nil
		},
		Roots: func(string) []lbmodel.Root { return w.roots() },
		Live: func(id lbmodel.Identity) (*lbmodel.Leaf, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.live[id.SPIFFEID], nil
		},
		Trusted: trusted, Now: w.clock, Quota: Quota{PerSecond: 1e6, Burst: 1e6},
	})
	w.ring.makeKey = func() (*ecdsa.PrivateKey, error) {
		key, err := newKey()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.keys = append(w.keys, key)
		return key, err
	}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) roots() []lbmodel.Root {
	if len(w.ca.Roots()) == 0 {
		return nil
	}
	roots, err := lbmodel.ParseRoots(w.ca.Bundle())
	if err != nil {
		w.Error(err)
	}
	return roots
}

// Issue implements meshsync.Issuer.
func (w *world) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	w.mu.Lock()
	w.asked = append(w.asked, r)
	answer := w.answer
	w.mu.Unlock()
	return answer(ctx, r)
}

func (w *world) sign(_ context.Context, r meshsync.Request) (meshsync.Issued, error) {
	csr, err := x509.ParseCertificateRequest(r.CSR)
	if err != nil {
		return meshsync.Issued{}, err
	}
	var uris []string
	for _, u := range csr.URIs {
		uris = append(uris, u.String())
	}
	chain, err := w.ca.Sign(ca.Request{URIs: uris, DNSNames: csr.DNSNames, Life: w.life}, csr.PublicKey)
	return meshsync.Issued{Chain: chain, Roots: w.ca.Roots()}, err
}

func (w *world) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)
}

// get asks for a certificate that must be given.
func (w *world) get(id lbmodel.Identity) tls.Certificate {
	w.Helper()
	pair, err := w.ring.pair(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return pair
}

// refused asks for one that must not be given.
func (w *world) refused(id lbmodel.Identity, code lbmodel.Code) *lbmodel.Error {
	w.Helper()
	pair, err := w.ring.pair(w.Context(), id)
	if lbmodel.CodeOf(err) != code || pair.PrivateKey != nil || len(pair.Certificate) > 0 {
		w.Fatalf("got %v and %d certificates, want %s and none", err, len(pair.Certificate), code)
	}
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.ID != (lbmodel.ID{Kind: "Identity", Name: id.Name}) || e.Op == "" {
		w.Fatalf("%#v does not name the identity", err)
	}
	return e
}

// use makes a certificate the live one.
func (w *world) use(id lbmodel.Identity, pair tls.Certificate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	leaf := leafOf(pair)
	w.live[id.SPIFFEID] = &leaf
}

func leafOf(pair tls.Certificate) lbmodel.Leaf {
	return lbmodel.Leaf{
		SHA256: fingerprint(pair.Leaf), NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		Authority: lbmodel.AuthorityOf([]*x509.Certificate{pair.Leaf}),
	}
}

// do fails the test unless all went well.
func (w *world) do(errs ...error) {
	w.Helper()
	for _, err := range errs {
		if err != nil {
			w.Fatal(err)
		}
	}
}
