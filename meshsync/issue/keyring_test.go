package issue

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// TestKeyring: a certificate for exactly the identity, from a P-256 key of ours.
func TestKeyring(t *testing.T) {
	for _, tc := range []struct {
		name, why string
		id        lbmodel.Identity
		account   meshsync.Account
	}{
		{name: "SPIFFE", why: "Istio, Kuma", id: identity("gatehouse-1"), account: meshsync.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}},
		{name: "DNS", why: "Linkerd", account: meshsync.Account{Namespace: "gw", Name: "g"},
			id: lbmodel.Identity{Name: mesh, Issuer: mesh, DNSNames: []string{"g.gw.serviceaccount.identity.linkerd.cluster.local"}}},
		{name: "Consul", why: "no ServiceAccount is in its name", id: lbmodel.Identity{Name: mesh, Issuer: mesh, SPIFFEID: "spiffe://x.consul/ns/default/dc/dc1/svc/g"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			tc.id.Renew.Lifetime = lbmodel.Duration(7 * time.Hour)
			pair := w.get(tc.id)
			key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
			if !ok || key.Curve != elliptic.P256() || !key.PublicKey.Equal(pair.Leaf.PublicKey) || !bytes.Equal(pair.Certificate[0], pair.Leaf.Raw) {
				t.Errorf("key %T, leaf of another: %s", pair.PrivateKey, tc.why)
			}
			asked := w.asked[0]
			csr, err := x509.ParseCertificateRequest(asked.CSR)
			w.do(err, csr.CheckSignature())
			if csr.Subject.String() != "" || len(csr.URIs)+len(csr.DNSNames) != 1 || len(csr.IPAddresses)+len(csr.EmailAddresses) != 0 {
				t.Errorf("the request names %s %s %s, want one name: %s", csr.Subject, csr.URIs, csr.DNSNames, tc.why)
			}
			if asked.Account != tc.account || asked.Lifetime != 7*time.Hour {
				t.Errorf("asked for %v and %s: %s", asked.Account, asked.Lifetime, tc.why)
			}
		})
	}
}

// TestAccountOf: only names that a ServiceAccount can have have one.
func TestAccountOf(t *testing.T) {
	for _, tc := range []struct {
		name, why, uri, dns string
		want                meshsync.Account
	}{
		{name: "SPIFFE", why: "Istio's and Kuma's path", uri: "spiffe://td/ns/a/sa/b", want: meshsync.Account{Namespace: "a", Name: "b"}},
		{name: "a longer path", why: "another's scheme", uri: "spiffe://td/ns/a/sa/b/c"},
		{name: "another path", why: "Consul's", uri: "spiffe://td/ns/a/dc/b"},
		{name: "empty parts", why: "nobody's", uri: "spiffe://td/ns//sa/b"},
		{name: "no SPIFFE ID", why: "a scheme is a part of the name", uri: "https://td/ns/a/sa/b"},
		{name: "Linkerd", why: "a trust domain has dots", dns: "b.a.serviceaccount.identity.linkerd.cluster.local", want: meshsync.Account{Namespace: "a", Name: "b"}},
		{name: "a host", why: "no account", dns: "b.a.svc.cluster.local.x"},
		{name: "short", why: "no trust domain", dns: "b.a.serviceaccount.identity.linkerd"},
	} {
		id := lbmodel.Identity{SPIFFEID: tc.uri}
		if tc.dns != "" {
			id.DNSNames = []string{tc.dns}
		}
		if got, ok := AccountOf(id); got != tc.want || ok != (tc.want != meshsync.Account{}) {
			t.Errorf("%s: %v %v, want %v: %s", tc.name, got, ok, tc.want, tc.why)
		}
	}
}

func TestNotIssued(t *testing.T) {
	for _, tc := range []struct {
		name, why string
		change    func(*lbmodel.Identity)
		want      lbmodel.Code
	}{
		{"Secret", "somebody else keeps it", func(id *lbmodel.Identity) { id.Issuer = lbmodel.IssuerSecret }, lbmodel.CodeUnsupported},
		{"RSA", "Linkerd takes none", func(id *lbmodel.Identity) { id.KeyType = "RSA-2048" }, lbmodel.CodeUnsupported},
		{"nobody", "a certificate without a name is anybody's", func(id *lbmodel.Identity) { id.SPIFFEID = "" }, lbmodel.CodeInvalid},
		{"no SPIFFE ID", "another scheme is another kind of name", func(id *lbmodel.Identity) { id.SPIFFEID = "https://a.test/x" }, lbmodel.CodeInvalid},
		{"unknown leaf", "its key was never here, or is gone", func(id *lbmodel.Identity) { id.Leaf = &lbmodel.Leaf{SHA256: "ab"} }, lbmodel.CodeConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			id := identity("g")
			tc.change(&id)
			w.refused(id, tc.want)
			if n := w.calls(); n != 0 {
				t.Errorf("the CA was called %d times: %s", n, tc.why)
			}
		})
	}
}

// TestRemembered: what was given is given again until it is live, and by its
// fingerprint; a renewal has a new key.
func TestRemembered(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	first := w.get(id)
	again := w.get(id)
	if leafOf(first).SHA256 != leafOf(again).SHA256 || w.calls() != 1 {
		t.Fatalf("a step that was tried again cost %d certificates", w.calls())
	}
	leaf := leafOf(first)
	exact := id
	exact.Leaf = &leaf
	if got := w.get(exact); leafOf(got).SHA256 != leaf.SHA256 {
		t.Error("another leaf than asked for")
	}
	w.use(id, first)
	second := w.get(id)
	if leafOf(second).SHA256 == leaf.SHA256 || first.PrivateKey.(*ecdsa.PrivateKey).Equal(second.PrivateKey) {
		t.Error("a renewal is the same certificate, or has the same key")
	}
	w.refused(exact, lbmodel.CodeConflict)
	w.pass(12 * time.Hour)
	newest := leafOf(second)
	exact.Leaf = &newest
	w.refused(exact, lbmodel.CodeConflict)
	w.start(nil)
	exact.Leaf = &leaf
	w.refused(exact, lbmodel.CodeConflict)
}

// TestOtherNames: what was signed for one name is never given for another.
func TestOtherNames(t *testing.T) {
	w := newWorld(t)
	one, other := identity("g"), identity("g")
	other.SPIFFEID = "spiffe://other.domain/ns/gatehouse-system/sa/g"
	w.get(one)
	if got := w.get(other); got.Leaf.URIs[0].String() != other.SPIFFEID || w.calls() != 2 {
		t.Errorf("%s after %d calls", got.Leaf.URIs, w.calls())
	}
}

// TestHeldIsBounded: memory does not grow with the number of identities.
func TestHeldIsBounded(t *testing.T) {
	w := newWorld(t)
	w.ring.held.most = 3
	for i := range 10 {
		w.pass(time.Second)
		w.get(identity(fmt.Sprint("g", i)))
	}
	if n := len(w.ring.held.entries); n != 3 {
		t.Errorf("%d are held, want the newest 3", n)
	}
	w.get(identity("g9"))
	if w.calls() != 10 {
		t.Error("the newest was not held")
	}
	w.pass(13 * time.Hour)
	w.get(identity("h"))
	if n := len(w.ring.held.entries); n != 1 {
		t.Errorf("%d are held past half of their lives", n-1)
	}
}

// TestOneFlight: calls for one identity at a time get one certificate.
func TestOneFlight(t *testing.T) {
	w := newWorld(t)
	entered, open := make(chan struct{}, 8), make(chan struct{})
	w.answer = func(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
		entered <- struct{}{}
		<-open
		return w.sign(ctx, r)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := w.ring.pair(w.Context(), identity("g")); err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.ring.pair(ctx, identity("g")); !errors.Is(err, context.Canceled) || lbmodel.CodeOf(err) != lbmodel.CodeUnavailable {
		t.Errorf("who gives up waiting gets %v", err)
	}
	close(open)
	wg.Wait()
	if w.calls() != 1 {
		t.Errorf("%d calls for one identity", w.calls())
	}
}

// TestIssuerErrors: an issuer's words and code reach the user, and nothing is tried
// again.
func TestIssuerErrors(t *testing.T) {
	for _, tc := range []struct {
		name, why, says string
		err             error
		want            lbmodel.Code
		after           time.Duration
	}{
		{name: "denied", why: "the CA knows", err: lbmodel.Errorf(lbmodel.CodeDenied, "Certify", lbmodel.ID{}, "no"), want: lbmodel.CodeDenied, says: "Certify: Denied Identity.MeshBinding/mesh: no"},
		{name: "throttled", why: "with its time", err: &lbmodel.Error{Code: lbmodel.CodeThrottled, RetryAfter: time.Minute}, want: lbmodel.CodeThrottled, after: time.Minute},
		{name: "wrapped", why: "all words are kept", err: fmt.Errorf("far away: %w", lbmodel.Errorf(lbmodel.CodeQuota, "", lbmodel.ID{}, "full")), want: lbmodel.CodeQuota, says: "far away"},
		{name: "plain", why: "an issuer that breaks its law", err: errors.New("what"), want: lbmodel.CodeUnknown, says: "what"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = func(context.Context, meshsync.Request) (meshsync.Issued, error) { return meshsync.Issued{}, tc.err }
			e := w.refused(identity("g"), tc.want)
			if e.RetryAfter != tc.after || !strings.Contains(e.Error(), tc.says) || w.calls() != 1 {
				t.Errorf("%v after %s and %d calls: %s", e, e.RetryAfter, w.calls(), tc.why)
			}
		})
	}
}

// TestOpenRequest: a request that waits for somebody keeps its key, for a day.
func TestOpenRequest(t *testing.T) {
	w := newWorld(t)
	w.answer = func(context.Context, meshsync.Request) (meshsync.Issued, error) {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodePending, "", lbmodel.ID{}, "not approved yet")
	}
	w.refused(identity("g"), lbmodel.CodePending)
	pending := w.answer
	w.answer = func(context.Context, meshsync.Request) (meshsync.Issued, error) {
		return meshsync.Issued{}, context.DeadlineExceeded
	}
	w.pass(8 * time.Hour)
	w.refused(identity("g"), lbmodel.CodeUnavailable)
	w.answer = pending
	w.pass(8 * time.Hour)
	w.refused(identity("g"), lbmodel.CodePending)
	if !bytes.Equal(w.asked[0].CSR, w.asked[2].CSR) {
		t.Error("who approves one request gets another")
	}
	w.pass(10 * time.Hour)
	w.answer = w.sign
	w.get(identity("g"))
	if bytes.Equal(w.asked[0].CSR, w.asked[3].CSR) || len(w.keys) != 2 {
		t.Error("the request was kept for more than a day")
	}
}

// TestRefusedRequest: one that was refused is not asked about again.
func TestRefusedRequest(t *testing.T) {
	w := newWorld(t)
	for _, code := range []lbmodel.Code{lbmodel.CodePending, lbmodel.CodeDenied, lbmodel.CodePending} {
		w.answer = func(context.Context, meshsync.Request) (meshsync.Issued, error) {
			return meshsync.Issued{}, lbmodel.Errorf(code, "", lbmodel.ID{}, "no")
		}
		w.refused(identity("g"), code)
	}
	if !bytes.Equal(w.asked[0].CSR, w.asked[1].CSR) || bytes.Equal(w.asked[1].CSR, w.asked[2].CSR) {
		t.Error("a request that was refused was asked about again")
	}
}

// TestPlanIsOld: the roots that a plan was made for are not those of now. The new
// plan costs no other certificate.
func TestPlanIsOld(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	id.Renew.Authorities = []string{"ab"}
	w.refused(id, lbmodel.CodeConflict)
	id.Renew.Authorities = []string{w.roots()[0].KeyID}
	w.get(id)
	if w.calls() != 1 {
		t.Errorf("%d calls", w.calls())
	}
}

// TestRequestStays: what may have been signed, or refused, is asked about with the same
// key; what never came to be is asked with another.
func TestRequestStays(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  *lbmodel.Error
		same bool
	}{
		{"open", &lbmodel.Error{Code: lbmodel.CodePending}, true},
		{"no answer", &lbmodel.Error{Code: lbmodel.CodeUnavailable}, true},
		{"later", &lbmodel.Error{Code: lbmodel.CodeThrottled}, true},
		{"refused, and there to be seen", &lbmodel.Error{Code: lbmodel.CodeDenied, RetryAfter: time.Minute}, true},
		{"refused", &lbmodel.Error{Code: lbmodel.CodeDenied}, false},
		{"wrong", &lbmodel.Error{Code: lbmodel.CodeInvalid}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = func(context.Context, meshsync.Request) (meshsync.Issued, error) { return meshsync.Issued{}, tc.err }
			for range 2 {
				w.refused(identity("g"), tc.err.Code)
			}
			if same := bytes.Equal(w.asked[0].CSR, w.asked[1].CSR); same != tc.same {
				t.Errorf("the same request: %v, want %v", same, tc.same)
			}
			w.pass(patience)
			w.refused(identity("g"), tc.err.Code)
			if bytes.Equal(w.asked[0].CSR, w.asked[2].CSR) {
				t.Error("a day later it is still the same")
			}
		})
	}
}
