package mesh

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/linkerdid"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/linkerd"
	"gatehouse.dev/providers"
)

type reconciled = reconcile.Gateway

// issuers are the CAs of the mesh on their sockets. Of SPIRE's there is only what
// signs: who is asked and how is another test's.
type issuers struct {
	tokens  *tokens.Store
	istiod  *istiod.Server
	linkerd *linkerdid.Server
	spire   *spire
	agent   *spiffe.Agent // that has SPIRE's certificates, where somebody asks one
}

func (i *issuers) start(w *world) {
	w.Helper()
	var err error
	i.tokens = tokens.NewStore(w.clock.now)
	switch w.mesh.controller {
	case istio.Controller:
		i.istiod, err = istiod.Start(istiod.Config{CA: w.ca, Tokens: i.tokens.Check})
	case linkerd.Controller:
		i.linkerd, err = linkerdid.Start(linkerdid.Config{CA: w.ca, Tokens: i.tokens.Check})
	default:
		i.spire = &spire{w: w}
	}
	w.do(err)
}

func (i *issuers) close(w *world) {
	w.Helper()
	switch {
	case i.istiod != nil:
		w.do(i.istiod.Close())
	case i.linkerd != nil:
		w.do(i.linkerd.Close())
	}
}

// desk is where the CA can be told to fail.
func (i *issuers) desk() *signing.Desk {
	if i.istiod != nil {
		return i.istiod.Desk
	}
	return i.linkerd.Desk
}

// count is how many certificates were asked for.
func (i *issuers) count() int {
	if i.spire != nil {
		return int(i.spire.asked.Load())
	}
	return len(i.desk().Calls())
}

func (i *issuers) token(_ context.Context, audience string, a meshsync.Account) (string, error) {
	return i.tokens.Mint(tokens.Account(a), audience), nil
}

func (i *issuers) reach(address string) string {
	switch {
	case i.istiod != nil:
		return i.istiod.Addr()
	case i.linkerd != nil:
		return i.linkerd.Addr()
	}
	return address
}

// keyring notes every key that is handed out, and answers for SPIRE's identities.
func (i *issuers) keyring(made *keys) func(providers.Keyring) providers.Keyring {
	return func(next providers.Keyring) providers.Keyring {
		return func(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
			answer := next
			if i.spire != nil && i.agent == nil {
				answer = i.spire.keyring()
			}
			pair, err := answer(ctx, id)
			if err == nil {
				made.add(pair)
			}
			return pair, err
		}
	}
}

// spire signs what it is asked for, for an hour, as SPIRE's server does.
type spire struct {
	w         *world
	asked     atomic.Int32
	published issue.Published
	once      sync.Once
	ring      providers.Keyring
}

// Issue implements meshsync.Issuer.
func (s *spire) Issue(_ context.Context, r meshsync.Request) (meshsync.Issued, error) {
	s.asked.Add(1)
	csr, err := x509.ParseCertificateRequest(r.CSR)
	if err != nil {
		return meshsync.Issued{}, err
	}
	chain, err := s.w.ca.Sign(ca.Request{URIs: []string{r.Identity.SPIFFEID}, Life: s.w.mesh.leafLife}, csr.PublicKey)
	return meshsync.Issued{Chain: chain}, err
}

func (s *spire) keyring() providers.Keyring {
	s.once.Do(func() {
		s.ring = issue.Keyring(issue.Config{
			Issuers: func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) { return s, meshsync.Account{}, nil },
			Roots:   s.roots, Live: s.live, Now: s.w.clock.now,
			Trusted: s.published.Trusted(func(string) time.Duration { return 5 * time.Minute }),
		})
	})
	return s.ring
}

func (s *spire) roots(issuer string) []lbmodel.Root {
	b, _ := s.w.stack.Loop.Index().Bound("mesh")
	s.published.See(issuer, b.Trust.Roots, s.w.clock.now())
	return b.Trust.Roots
}

func (s *spire) live(id lbmodel.Identity) (*lbmodel.Leaf, error) {
	for _, g := range s.w.stack.Loop.Gateways() {
		if leaf, ok := s.w.stack.Loop.Leaves(g)[id.Name]; ok {
			return &leaf, nil
		}
	}
	return nil, nil
}
