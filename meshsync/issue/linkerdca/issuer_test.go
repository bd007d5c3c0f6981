package linkerdca

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/identity"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/linkerdid"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/linkerd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const binding = "MeshBinding/linkerd"

var id = lbmodel.Identity{
	Name: binding, Issuer: binding, KeyType: issue.KeyType,
	DNSNames: []string{"gatehouse-1.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"},
}

// world is an identity service behind its proxy, and a gateway that gets its
// certificates there.
type world struct {
	*testing.T
	ca      *ca.CA
	service *linkerdid.Server
	tokens  *tokens.Store
	life    time.Duration // of tokens
	live    *lbmodel.Leaf
	trusted issue.Trusted
	config  Config
	ring    func(context.Context, lbmodel.Identity) (tls.Certificate, error)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, life: time.Hour, tokens: tokens.NewStore(nil)}
	var err error
	if w.ca, err = ca.New(ca.Config{}); err != nil {
		t.Fatal(err)
	}
	w.do(w.ca.Intermediate("a", 365*24*time.Hour))
	if w.service, err = linkerdid.Start(linkerdid.Config{CA: w.ca, Tokens: w.tokens.Check}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.service.Close() })
	w.config = Config{Address: w.service.Addr(), Token: w.token, Roots: func() *x509.CertPool { return ca.Pool(w.ca.Roots()...) }}
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
		Roots: func(string) []lbmodel.Root {
			roots, err := lbmodel.ParseRoots(w.ca.Bundle())
			if err != nil {
				w.Error(err)
			}
			return roots
		},
		Live:    func(lbmodel.Identity) (*lbmodel.Leaf, error) { return w.live, nil },
		Trusted: w.trusted, Timeout: 2 * time.Second,
	})
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

// use makes a certificate the live one.
func (w *world) use(pair tls.Certificate) {
	w.Helper()
	sum := sha256.Sum256(pair.Leaf.Raw)
	middle, err := x509.ParseCertificate(pair.Certificate[1])
	w.do(err)
	w.live = &lbmodel.Leaf{
		SHA256: hex.EncodeToString(sum[:]), NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		Authority: lbmodel.AuthorityOf([]*x509.Certificate{pair.Leaf, middle}),
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

// TestIssue: over TLS 1.3 without ALPN, ECDSA, with the issuer's certificate.
func TestIssue(t *testing.T) {
	w := newWorld(t)
	pair := w.get()
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() || len(pair.Certificate) != 2 || pair.Leaf.DNSNames[0] != id.DNSNames[0] || pair.Leaf.Subject.CommonName != "" {
		t.Errorf("%T, %d certificates, for %s %s", pair.PrivateKey, len(pair.Certificate), pair.Leaf.Subject, pair.Leaf.DNSNames)
	}
	calls := w.service.Calls()
	if want := (tokens.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}); len(calls) != 1 || calls[0].Account != want {
		t.Errorf("calls %+v", calls)
	}
	seen := w.service.Proxy().Seen()
	if seen.Clear != 0 || seen.Terminated != 1 || len(seen.Last) != 1 || len(seen.Last[0].ALPN) != 0 {
		t.Errorf("the proxy saw %+v, want one connection, that it ended", seen)
	}
}

// TestFaults is every way in which the service breaks.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name, why, says string
		fault           signing.Fault
		prepare         func(*world)
		want            lbmodel.Code
	}{
		{name: "refused", why: "Linkerd says FailedPrecondition", fault: signing.Refuse, want: lbmodel.CodeDenied, says: "could not be authenticated"},
		{name: "token expired", why: "as one that was kept for too long", prepare: func(w *world) { w.life = -time.Minute }, want: lbmodel.CodeDenied, says: "could not be authenticated"},
		{name: "another account", why: "the name must be the token's", want: lbmodel.CodeDenied, says: "did not match provided token", prepare: func(w *world) {
			w.config.Token = func(ctx context.Context, audience string, a meshsync.Account) (string, error) {
				a.Name = "other"
				return w.token(ctx, audience, a)
			}
		}},
		{name: "unavailable", why: "the control plane restarts", fault: signing.Unavailable, want: lbmodel.CodeUnavailable, says: "not ready"},
		{name: "hang", why: "there is a deadline", fault: signing.Hang, want: lbmodel.CodeUnavailable, says: "did not answer in time"},
		{name: "wrong key", why: "the answer of another request", fault: signing.WrongKey, want: lbmodel.CodeDenied, says: "another key"},
		{name: "wrong name", why: "it would be somebody else", fault: signing.WrongName, want: lbmodel.CodeDenied, says: "other-gatehouse-1"},
		{name: "expired", why: "backends refuse it", fault: signing.Expired, want: lbmodel.CodeDenied, says: "it ended at"},
		{name: "stranger", why: "no backend trusts it", fault: signing.Stranger, want: lbmodel.CodeDenied, says: "does not verify"},
		{name: "garbage", why: "no certificate at all", fault: signing.Garbage, want: lbmodel.CodeDenied, says: "certificate 1 of the answer"},
		{name: "the root in the chain", why: "operators put it into the issuer's file; it is cut off", fault: signing.RootTwice},
		{name: "SPIFFE", why: "the service signs DNS names", want: lbmodel.CodeInvalid, says: "one DNS name", prepare: func(*world) { id.SPIFFEID, id.DNSNames = "spiffe://a/b", nil }},
		{name: "another trust domain", why: "its proxy has another name, and ends no TLS for ours", want: lbmodel.CodeUnavailable, says: "nothing was sent", prepare: func(w *world) { w.config.TrustDomain = "other" }},
		{name: "roots unknown", why: "the system's are not the mesh's", prepare: func(w *world) { w.config.Roots = func() *x509.CertPool { return nil } }, want: lbmodel.CodeUnresolved, says: "no roots are known"},
		{name: "a stranger's roots", why: "it did not prove who it is", prepare: func(w *world) { w.config.Roots = x509.NewCertPool }, want: lbmodel.CodeUnavailable, says: "nothing was sent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			defer func(was lbmodel.Identity) { id = was }(id)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			w.start()
			if tc.fault != "" {
				w.service.Break(tc.fault, 0)
			}
			if tc.want == lbmodel.CodeOK {
				if n := len(w.get().Certificate); n != 2 {
					t.Errorf("%d certificates, want leaf and issuer: %s", n, tc.why)
				}
				return
			}
			if e := w.refused(tc.want); !strings.Contains(e.Error(), tc.says) {
				t.Errorf("%v, want %q: %s", e, tc.says, tc.why)
			}
			if n, clear := len(w.service.Calls()), w.service.Proxy().Seen().Clear; n > 1 || clear != 0 {
				t.Errorf("%d calls, %d in plain text: nothing is tried again, or without TLS", n, clear)
			}
		})
	}
}

// pod is one whose proxy was injected with these roots.
func pod(name string, pem []byte) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "linkerd-proxy", Env: []corev1.EnvVar{{Name: "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS", Value: string(pem)}},
		}}},
	}
}

// TestRotation is the whole way of a new trust anchor. The service's own proxy keeps
// its old certificate until the control plane is restarted.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	pods := []*corev1.Pod{pod("a", w.ca.Bundle()), pod("b", w.ca.Bundle())}
	w.trusted = issue.Anchored(func(_ string, root lbmodel.Root) ([]string, error) { return linkerd.Lacking(pods, root), nil })
	w.start()
	w.use(w.get())
	w.do(w.ca.Intermediate("a", 0))
	w.use(w.get()) // a new issuer below the same anchor waits for nobody

	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.Intermediate("b", 0))
	restart(w)
	w.do(w.ca.SignBy("b"))
	for _, left := range []string{"2 pods do not trust it until they are restarted: apps/a, apps/b", "1 pods do not trust it until they are restarted: apps/b"} {
		if e := w.refused(lbmodel.CodePending); !strings.Contains(e.Error(), left) || !strings.Contains(e.Error(), "CN=b") {
			t.Errorf("%v, want %q", e, left)
		}
		pods = append(pods[1:], pod("new-"+pods[0].Name, w.ca.Bundle()))
	}
	w.use(w.get())
	if n := len(w.service.Calls()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	restart(w)
	w.do(w.ca.Drop("a"))
	w.get()
}

// restart gives the service's proxy a certificate and roots of now.
func restart(w *world) {
	w.Helper()
	leaf, err := w.ca.Issue(ca.Request{DNSNames: []string{linkerdid.ServerName}})
	w.do(err)
	w.service.Proxy().Renew(leaf)
	w.service.Proxy().Trust(w.ca.Roots())
}

// TestServerName: the name that is asked for is that of the service's account.
func TestServerName(t *testing.T) {
	if got := New(Config{}).server(); got.Name != linkerdid.ServerName || got.Address != "linkerd-identity-headless.linkerd.svc:8080" || got.Protocols != nil {
		t.Errorf("%+v", got)
	}
	if got := New(Config{Namespace: "l5d", TrustDomain: "corp"}).server(); got.Name != "linkerd-identity.l5d.serviceaccount.identity.l5d.corp" || got.Address != "linkerd-identity-headless.l5d.svc:8080" {
		t.Errorf("%+v", got)
	}
	w := newWorld(t)
	w.config.ServerName = "other.corp"
	w.refused(lbmodel.CodeUnavailable)
	w.config.ServerName = linkerdid.ServerName
	w.use(w.get())
}

// TestRead: an answer without a leaf is no answer.
func TestRead(t *testing.T) {
	if _, err := read(&pb.CertifyResponse{}); lbmodel.CodeOf(err) != lbmodel.CodeDenied {
		t.Errorf("got %v", err)
	}
}
