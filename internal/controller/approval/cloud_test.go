package approval

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// site is a cloud and whoever holds the keys.
type site struct {
	*testing.T
	cloud   *cloud.Cloud
	account *providers.Account
	pairs   map[string]tls.Certificate // by leaf
}

func newSite(t *testing.T) *site {
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, cloud: c, pairs: map[string]tls.Certificate{}}
	s.restart()
	return s
}

// restart is another process over the same cloud.
func (s *site) restart() {
	ring := func(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		return s.pairs[id.Leaf.SHA256], nil
	}
	s.account = providers.NewAccount(providers.Config{Provider: cloud.NewProvider(s.cloud, ring), Cluster: "c"})
}

// issue makes a certificate: a leaf for the gateway, or a root.
func (s *site) issue() (der []byte, sum string) {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(s.pairs) + 1)), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	if der, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key); err != nil {
		s.Fatal(err)
	}
	hash := sha256.Sum256(der)
	sum = hex.EncodeToString(hash[:])
	s.pairs[sum] = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return der, sum
}

func (s *site) root() lbmodel.Root {
	der, sum := s.issue()
	return lbmodel.Root{SHA256: sum, PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// gateway serves HTTPS, and speaks TLS to a backend of these addresses.
func (s *site) gateway(leaf string, roots []lbmodel.Root, addresses ...string) lbmodel.Gateway {
	pool := lbmodel.Pool{Name: "a", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1, TLS: &lbmodel.BackendTLS{SNI: "a.test", Trust: "roots"}}
	for _, a := range addresses {
		pool.Endpoints = append(pool.Endpoints, lbmodel.Endpoint{Address: a, Port: 80, Ready: true})
	}
	return lbmodel.Gateway{
		Owner:      lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u"},
		Identities: []lbmodel.Identity{{Name: "apps/cert", Issuer: lbmodel.IssuerSecret, Leaf: &lbmodel.Leaf{SHA256: leaf, NotAfter: time.Now().Add(time.Hour)}}},
		Trust:      []lbmodel.Trust{{Name: "roots", Roots: roots}},
		Pools:      []lbmodel.Pool{pool},
		Listeners: []lbmodel.Listener{{Name: "https", Port: 443, Protocol: lbmodel.ProtocolHTTPS,
			TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"apps/cert"}},
			Rules: []lbmodel.Rule{{Action: lbmodel.Action{Forward: &lbmodel.Forward{
				Backends: []lbmodel.Backend{{Pool: "a", Weight: 1}}}}}}}},
	}
}

// pass plans and applies under Approve. It returns the hash of what waits, and what
// was done.
func (s *site) pass(gw lbmodel.Gateway, approved string) (waits, did string) {
	s.Helper()
	s.account.Want(gw)
	plan, err := s.account.Plan(s.Context(), []lbmodel.Owner{gw.Owner}, Policy(v1alpha1.ApplyApprove, approved))
	if err != nil {
		s.Fatal(err)
	}
	if out := s.account.Apply(s.Context(), plan, nil); out.Err() != nil {
		s.Fatal(out.Err())
	}
	var kinds []string
	for _, step := range plan.Steps {
		kinds = append(kinds, string(step.Verb)+step.ID.Kind)
	}
	return Hash(plan.Held), strings.Join(kinds, " ")
}

// TestApproveOverACloud: nothing is made without approval; the approval holds while
// pods and certificates change and the process restarts; afterwards those flow, and
// a new listener waits.
func TestApproveOverACloud(t *testing.T) {
	s := newSite(t)
	_, leaf := s.issue()
	roots := []lbmodel.Root{s.root()}
	first, did := s.pass(s.gateway(leaf, roots, "10.0.0.1"), "")
	if did != "" || len(s.cloud.Dump()) != 0 || first == "" {
		t.Fatalf("without approval it did %q; the hash is %q", did, first)
	}
	_, renewed := s.issue()
	s.restart()
	if again, _ := s.pass(s.gateway(renewed, roots, "10.0.0.2", "10.0.0.3"), strings.Repeat("0", 64)); again != first {
		t.Errorf("pods and a certificate changed the hash from %s to %s", first, again)
	}
	if waits, did := s.pass(s.gateway(renewed, roots, "10.0.0.2"), first); waits != "" || !strings.Contains(did, "CreateListener") {
		t.Fatalf("approved, it did %q, and %q waits", did, waits)
	}
	_, latest := s.issue()
	grown := append([]lbmodel.Root{s.root()}, roots...)
	next := s.gateway(latest, grown, "10.0.0.4")
	next.Listeners = append(next.Listeners, lbmodel.Listener{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP})
	waits, did := s.pass(next, first)
	if waits == "" || did != "UpdateCertificate UpdateEndpointGroup UpdateTrust" {
		t.Errorf("it did %q, want what flows and nothing else; %q waits", did, waits)
	}
	if waits, did := s.pass(s.gateway(latest, grown[:1], "10.0.0.4"), first); waits == "" || did != "" {
		t.Errorf("a root was dropped without approval: %q", did)
	}
}
