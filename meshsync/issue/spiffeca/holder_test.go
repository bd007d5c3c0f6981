package spiffeca

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const binding = "MeshBinding/spire"

func identity(path string) lbmodel.Identity {
	return lbmodel.Identity{Name: binding, Issuer: binding, SPIFFEID: "spiffe://example.org" + path}
}

// world is an agent with two entries, and a gateway.
type world struct {
	*testing.T
	ca    *ca.CA
	agent *spiffe.Agent
	live  *lbmodel.Leaf
	ring  func(context.Context, lbmodel.Identity) (tls.Certificate, error)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t}
	var err error
	if w.ca, err = ca.New(ca.Config{}); err != nil {
		t.Fatal(err)
	}
	w.agent, err = spiffe.StartAgent(spiffe.AgentConfig{
		CA: w.ca, Socket: filepath.Join(t.TempDir(), "a"),
		Entries: []spiffe.Entry{{Path: "/other"}, {Path: "/gatehouse"}, {Path: "/named", DNSNames: []string{"lb.test"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.agent.Close() })
	w.ring = issue.Keyring(issue.Config{
		Issuers: func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
			return New(w.agent.Addr()), meshsync.Account{}, nil
		},
		Roots: func(string) []lbmodel.Root {
			roots, err := lbmodel.ParseRoots(w.ca.Bundle())
			if err != nil {
				t.Error(err)
			}
			return roots
		},
		Live: func(lbmodel.Identity) (*lbmodel.Leaf, error) { return w.live, nil },
	})
	return w
}

func (w *world) get(id lbmodel.Identity) string {
	w.Helper()
	pair, err := w.ring(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(pair.Leaf.PublicKey) || pair.Leaf.URIs[0].String() != id.SPIFFEID {
		w.Errorf("%T for %s", pair.PrivateKey, pair.Leaf.URIs)
	}
	sum := sha256.Sum256(pair.Leaf.Raw)
	return hex.EncodeToString(sum[:])
}

func (w *world) refused(id lbmodel.Identity, code lbmodel.Code, says string) {
	w.Helper()
	_, err := w.ring(w.Context(), id)
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.Code != code || !strings.Contains(e.Error(), says) {
		w.Errorf("got %v, want %s with %q", err, code, says)
	}
}

// TestHold: the agent's own certificate for exactly this identity, and a newer one
// only when it has one.
func TestHold(t *testing.T) {
	w := newWorld(t)
	id := identity("/gatehouse")
	first := w.get(id)
	w.live = &lbmodel.Leaf{SHA256: first}
	w.refused(id, lbmodel.CodePending, "no newer certificate")
	if err := w.agent.Rotate(); err != nil {
		t.Fatal(err)
	}
	if second := w.get(id); second == first {
		t.Error("a renewal is the same certificate")
	}
}

// TestRefused is what an agent cannot give.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.refused(identity("/nobody"), lbmodel.CodeDenied, "certificates for spiffe://example.org/other, spiffe://example.org/gatehouse, spiffe://example.org/named for this process, and none for spiffe://example.org/nobody")
	w.refused(lbmodel.Identity{Name: binding, Issuer: binding, DNSNames: []string{"a.b"}}, lbmodel.CodeUnsupported, "by DNS names (a.b)")
	w.refused(identity("/named"), lbmodel.CodeDenied, "lb.test")
	w.agent.Break(signing.Refuse, 1)
	w.refused(identity("/gatehouse"), lbmodel.CodeDenied, "knows no entry for this process: register one with SPIFFE ID spiffe://example.org/gatehouse")
	w.agent.Close()
	w.refused(identity("/gatehouse"), lbmodel.CodeUnavailable, "")
	if _, err := New("").Hold(t.Context(), meshsync.Request{Identity: identity("/gatehouse")}); lbmodel.CodeOf(err) != lbmodel.CodeInvalid || !strings.Contains(err.Error(), "identity.socket") {
		t.Errorf("got %v", err)
	}
	if _, err := New("").Issue(t.Context(), meshsync.Request{}); lbmodel.CodeOf(err) != lbmodel.CodeUnsupported {
		t.Errorf("got %v", err)
	}
}
