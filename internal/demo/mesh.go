package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/meshsync"
)

// What Istio calls things, and what the demo's team does.
const (
	cartID     = "spiffe://cluster.local/ns/checkout/sa/cart"
	rootsFile  = "mesh-roots.yaml"
	healthPort = 15021 // of every sidecar
	// requestsEach is how many requests a sidecar takes over one connection, so that
	// there are handshakes all the time.
	requestsEach = 100
)

// clock goes as the real one does, and is set forward where a story would take days.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// mesh is a pretended Istio on real sockets: its CA, istiod, and the sidecars of the
// checkout team.
type mesh struct {
	clock      *clock
	ca         *ca.CA
	istiod     *istiod.Server
	tokens     *tokens.Store
	sidecars   []*inbound.Pod
	root       string            // which one signs now
	names      map[string]string // of roots, by key and by fingerprint
	handshakes *tally            // by the key of the root of the gateway's certificate
}

func rootName(n int) string { return fmt.Sprintf("mesh CA %d", n) }

func newMesh() (*mesh, error) {
	m := &mesh{clock: new(clock), root: rootName(1), names: map[string]string{}, handshakes: newTally()}
	var err error
	if m.ca, err = ca.New(ca.Config{Name: "Gatehouse demo", Root: m.root, RootKey: ca.ECDSA, Now: m.clock.now}); err != nil {
		return nil, err
	}
	m.name(m.root)
	m.tokens = tokens.NewStore(m.clock.now)
	m.istiod, err = istiod.Start(istiod.Config{CA: m.ca, Tokens: m.tokens.Check})
	return m, err
}

// name notes whose a root is.
func (m *mesh) name(root string) {
	cert := m.ca.Root(root)
	sum := sha256.Sum256(cert.Raw)
	m.names[hex.EncodeToString(sum[:])], m.names[hex.EncodeToString(cert.SubjectKeyId)] = root, root
}

// members ask this mesh's CA, wherever an Istio has it. In a cluster, its API server
// would mint the tokens.
func (m *mesh) members() *member.Members {
	return member.New(member.Config{
		Tokens: func(_ context.Context, audience string, a meshsync.Account) (string, error) {
			return m.tokens.Mint(tokens.Account(a), audience), nil
		},
		Reach: func(string) string { return m.istiod.Addr() },
		Clock: m.clock.now,
	})
}

// sidecar stands before a workload that anybody may ask in clear text, and lets in
// only who the mesh knows.
func (m *mesh) sidecar(name string, at netip.AddrPort) error {
	leaf, err := m.leaf()
	if err != nil {
		return err
	}
	pod, err := inbound.Start(inbound.Config{
		Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, Leaf: leaf, Roots: m.ca.Roots(),
		App: inbound.App{Handler: echo(name)}, Listen: at, Health: healthPort, Requests: requestsEach,
		Now: m.clock.now, Watch: m.watch,
	})
	if err != nil {
		return backendError(name, err)
	}
	m.sidecars = append(m.sidecars, pod)
	return nil
}

func (m *mesh) leaf() (leafKey, error) {
	return m.ca.Issue(ca.Request{URIs: []string{cartID}, Life: 30 * day})
}

// watch counts who came, by the root of the certificate that was shown. Sidecars call
// it at any time: whose a root is is looked up when the story is told.
func (m *mesh) watch(c inbound.Connection) {
	if c.Outcome == inbound.Terminated {
		m.handshakes.add(c.Authority)
	}
}

// add makes a root, which the sidecars trust beside the one that there is.
func (m *mesh) add(root string) error {
	if err := m.ca.Add(ca.Root{Name: root}); err != nil {
		return err
	}
	m.name(root)
	m.trust()
	return nil
}

// sign has a root sign from now on; the sidecars get certificates of it.
func (m *mesh) sign(root string) error {
	if err := m.ca.SignBy(root); err != nil {
		return err
	}
	m.root = root
	for _, s := range m.sidecars {
		leaf, err := m.leaf()
		if err != nil {
			return err
		}
		s.Renew(leaf)
	}
	return nil
}

// drop ends a root.
func (m *mesh) drop(root string) error {
	if err := m.ca.Drop(root); err != nil {
		return err
	}
	m.trust()
	return nil
}

func (m *mesh) trust() {
	for _, s := range m.sidecars {
		s.Trust(m.ca.Roots())
	}
}

// yaml is what istiod publishes in every namespace.
func (m *mesh) yaml() []byte {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: istio-ca-root-cert\n  namespace: istio-system\ndata:\n  root-cert.pem: |\n")
	for line := range strings.Lines(string(m.ca.Bundle())) {
		b.WriteString("    " + line)
	}
	return []byte(b.String())
}

func (m *mesh) stop() error {
	var errs []error
	for _, s := range m.sidecars {
		errs = append(errs, s.Close())
	}
	if m.istiod != nil {
		errs = append(errs, m.istiod.Close())
	}
	return errors.Join(errs...)
}
