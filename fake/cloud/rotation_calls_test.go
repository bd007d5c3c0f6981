package cloud

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// meshCA is a mesh's CA with a few roots, of which one signs.
type meshCA struct {
	testing.TB
	now    func() time.Time
	roots  map[string]tls.Certificate
	signer string
	issued int
}

// root is a root's PEM.
func (m *meshCA) root(name string) string {
	m.Helper()
	pair, ok := m.roots[name]
	if !ok {
		pair = issue(m, lbmodel.Identity{Name: name, Renew: lbmodel.RenewRule{Lifetime: lbmodel.Duration(10 * 365 * 24 * time.Hour)}})
		m.roots[name] = pair
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
}

// issue is a providers.Keyring: leaves live thirty days.
func (m *meshCA) issue(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	if id.Leaf != nil {
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnresolved, "Keyring", lbmodel.ID{}, "nobody keeps that key")
	}
	m.issued++
	root, err := x509.ParseCertificate(m.roots[m.signer].Certificate[0])
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: m.now(), NotAfter: m.now().Add(30 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, root, key.Public(), m.roots[m.signer].PrivateKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// joined is a gateway that is a member of a mesh which publishes these roots, in
// this text.
func (m *meshCA) joined(text string) lbmodel.Gateway {
	m.Helper()
	roots, err := lbmodel.ParseRoots([]byte(text))
	if err != nil {
		m.Fatal(err)
	}
	const name = "MeshBinding/istio"
	return lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u1"},
		Trust: []lbmodel.Trust{{Name: name, Roots: roots, Overlap: lbmodel.Duration(24 * time.Hour)}},
		Identities: []lbmodel.Identity{{
			Name: name, Issuer: name, SPIFFEID: "spiffe://mesh.test/edge", KeyType: "ECDSA-P256",
			Renew: lbmodel.RenewRule{Authorities: lbmodel.Authorities(roots)},
		}},
		Pools: []lbmodel.Pool{{
			Name: "p", Group: "apps/p:80", Protocol: lbmodel.PoolHTTP2, Endpoints: []lbmodel.Endpoint{ready("10.0.0.1")},
			TLS: &lbmodel.BackendTLS{SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://mesh.test/p"}}, Trust: name, Identity: name},
		}},
		Listeners: []lbmodel.Listener{httpListener(80, prefix("/", "p"))},
	}
}

// rotating is an Account in front of the cloud, which may be started anew.
type rotating struct {
	*meshCA
	cloud   *Cloud
	account *providers.Account
	at      time.Time
}

func newRotating(t testing.TB) *rotating {
	r := &rotating{at: time.Now().UTC().Truncate(time.Second)}
	now := func() time.Time { return r.at }
	r.meshCA = &meshCA{TB: t, now: now, roots: map[string]tls.Certificate{}}
	r.cloud = newCloud(t, func(o *Options) { o.Now = now })
	r.restart()
	return r
}

func (r *rotating) restart() {
	r.account = providers.NewAccount(providers.Config{
		Provider: NewProvider(r.cloud, r.issue), Cluster: "c1",
		Clock: providers.Clock{Now: r.now, After: time.After},
	})
}

// pass is one pass over a gateway: what it wrote, and when it wants the next one.
func (r *rotating) pass(gw lbmodel.Gateway, policies ...lbmodel.Policy) (writes map[string]int, next time.Time) {
	r.Helper()
	before := r.cloud.Calls()
	for _, f := range r.account.Want(gw) {
		r.Errorf("finding: %+v", f)
	}
	plan, err := r.account.Plan(r.Context(), []lbmodel.Owner{gw.Owner}, policies...)
	if err != nil {
		r.Fatal(err)
	}
	out := r.account.Apply(r.Context(), plan, nil)
	if err := out.Err(); err != nil || len(plan.Findings) > 0 {
		r.Errorf("%v %v", err, plan.Findings)
	}
	writes = r.cloud.Calls()
	maps.DeleteFunc(writes, func(name string, n int) bool {
		return n == before[name] || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "Find")
	})
	for name := range writes {
		writes[name] -= before[name]
	}
	return writes, out.Held.Next()
}

// Why: an API call is paid for in quota, and an update in the attention of whoever
// reads the audit log. Rotating one root costs what must be: one update of the roots
// to add, one to note what was dropped and one to drop it, and one of the certificate.
func TestRotationCosts(t *testing.T) {
	r := newRotating(t)
	a, b, c := r.root("A"), r.root("B"), r.root("C")
	for _, step := range []struct {
		name, why string
		text      string
		signer    string
		after     time.Duration
		restart   bool
		writes    map[string]int
		next      time.Duration // from now, of roots; 0 is not before the certificate is due
	}{
		{name: "A", text: a, signer: "A", why: "what there was not", writes: map[string]int{
			"CreateTrust": 1, "CreateCertificate": 1, "CreatePool": 1, "CreateEndpointGroup": 1,
			"CreateAddress": 1, "CreateBalancer": 1, "CreateListener": 1, "CreateRule": 1}},
		{name: "A+B", text: a + b, signer: "A", why: "one root more", writes: map[string]int{"UpdateTrust": 1}},
		{name: "B+A", text: b + a, signer: "A", why: "an order means nothing (istio #59909)"},
		{name: "the same with CRLF and text", text: "# roots\r\n" + strings.ReplaceAll(b+a, "\n", "\r\n"), signer: "A", why: "so do line ends (linkerd2 #3880)"},
		{name: "A+B+B", text: a + b + b, signer: "B", why: "and repetitions (istio #30947); the live certificate is as good as ever"},
		{name: "a restart", text: a + b, signer: "B", restart: true, why: "a restart issues nothing"},
		{name: "B", text: b, signer: "B", after: 24 * time.Hour, why: "since when A is dropped is noted, and its certificate goes at once",
			writes: map[string]int{"UpdateTrust": 1, "UpdateCertificate": 1}, next: 24 * time.Hour},
		{name: "a look in between", text: b, signer: "B", after: 10 * time.Hour, why: "it is all noted", next: 14 * time.Hour},
		{name: "a restart in between", text: b, signer: "B", after: 10 * time.Hour, restart: true, why: "the note is in the cloud", next: 4 * time.Hour},
		{name: "B alone", text: b, signer: "B", after: 4 * time.Hour, restart: true, why: "the overlap is over", writes: map[string]int{"UpdateTrust": 1}},
		{name: "a restart after it", text: b, signer: "B", restart: true, why: "that is all"},
		{name: "C for B", text: c, signer: "C", why: "what comes and what is noted are one update",
			writes: map[string]int{"UpdateTrust": 1, "UpdateCertificate": 1}, next: 24 * time.Hour},
		{name: "B comes back", text: b + c, signer: "C", after: time.Hour, why: "only the note goes", writes: map[string]int{"UpdateTrust": 1}},
		{name: "long after", text: b + c, signer: "C", after: 48 * time.Hour, why: "as if it had never gone"},
	} {
		r.at = r.at.Add(step.after)
		r.signer = step.signer
		if step.restart {
			r.restart()
		}
		writes, next := r.pass(r.joined(step.text))
		if len(writes) == 0 {
			writes = nil
		}
		if diff := cmp.Diff(step.writes, writes); diff != "" {
			t.Errorf("%s: %s: writing calls (-want +got):\n%s", step.name, step.why, diff)
		}
		if got := next.Sub(r.at); step.next != 0 && got != step.next || step.next == 0 && got < 15*24*time.Hour {
			t.Errorf("%s: %s: to be looked at again after %s, want %s", step.name, step.why, got, step.next)
		}
	}
}

// Why: under apply: Approve a rotation must not wait for a person, neither when a
// root comes nor when its time is over; what takes a root away by hand must.
func TestRotationNeedsNoApproval(t *testing.T) {
	r := newRotating(t)
	a, b := r.root("A"), r.root("B")
	r.signer = "A"
	r.pass(r.joined(a))
	for _, step := range []struct {
		name, text string
		after      time.Duration
		byHand     bool
		writes     map[string]int
	}{
		{name: "a root comes", text: a + b, writes: map[string]int{"UpdateTrust": 1}},
		{name: "it is dropped by its source", text: a, writes: map[string]int{"UpdateTrust": 1}},
		{name: "its overlap is over", text: a, after: 24 * time.Hour, writes: map[string]int{"UpdateTrust": 1}},
		{name: "it comes again", text: a + b, writes: map[string]int{"UpdateTrust": 1}},
		{name: "somebody takes it away without an overlap", text: a, byHand: true, writes: map[string]int{}},
	} {
		r.at = r.at.Add(step.after)
		gw := r.joined(step.text)
		if step.byHand {
			gw.Trust[0].Overlap = 0
		}
		writes, _ := r.pass(gw, lbmodel.HoldStructure)
		if diff := cmp.Diff(step.writes, writes); diff != "" {
			t.Errorf("%s: writing calls (-want +got):\n%s", step.name, diff)
		}
	}
}

// Why: an issuer that signs under a root which its mesh does not publish makes a
// certificate that no backend accepts. The live one stays, and nothing is asked for
// again and again.
func TestForeignAuthorityIsRefused(t *testing.T) {
	r := newRotating(t)
	a, b := r.root("A"), r.root("B")
	r.signer = "A"
	gw := r.joined(a + b)
	r.pass(gw)
	before := r.cloud.Dump()
	gw = r.joined(b)
	r.account.Want(gw)
	plan, err := r.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner})
	if err != nil {
		t.Fatal(err)
	}
	out := r.account.Apply(t.Context(), plan, nil)
	if err := out.Err(); lbmodel.CodeOf(err) != lbmodel.CodeDenied || !strings.Contains(err.Error(), "does not publish") || r.issued != 2 {
		t.Errorf("the outcome is %v after %d certificates, want a refusal that says why, and one try", err, r.issued)
	}
	for i, o := range r.cloud.Dump() {
		if o.Kind == KindCertificate && cmp.Diff(before[i].Leaf, o.Leaf) != "" {
			t.Errorf("the live certificate was replaced: %+v", o.Leaf)
		}
	}
}

// Why: a person approves that a mesh is trusted, and the mesh rotates while they
// think; which roots a BackendTLSPolicy names is what they approve.
func TestTrustStructure(t *testing.T) {
	r := newRotating(t)
	structure := func(overlap time.Duration, roots string) lbmodel.Digest {
		gw := r.joined(roots)
		gw.Trust[0].Overlap = lbmodel.Duration(overlap)
		p := NewProvider(r.cloud, nil)
		_, shared, _ := p.Compile(gw)
		placed, _ := p.Place(shared, nil, r.at)
		for _, res := range placed {
			if trust, ok := res.Spec.(*Trust); ok {
				return lbmodel.DigestOf(trust.Structure())
			}
		}
		t.Fatal("there is no trust")
		return lbmodel.Digest{}
	}
	a, b := r.root("A"), r.root("B")
	if structure(time.Hour, a) != structure(time.Hour, a+b) {
		t.Error("a rotation takes an approval away")
	}
	if structure(0, a) == structure(0, a+b) {
		t.Error("other roots are approved with the old ones")
	}
}
