package local_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway answers /  from a backend and everything below /moved itself.
func gateway(backend netip.AddrPort, redirect string) lbmodel.Gateway {
	source := lbmodel.Source{Kind: "HTTPRoute", Namespace: "a", Name: "r"}
	path := func(value string) lbmodel.Match {
		return lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: value}}
	}
	return lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "a", Name: "g"},
		Settings: []byte(`{"allowLoopbackEndpoints":true,"addressPool":["127.71.9.0/24"]}`),
		Listeners: []lbmodel.Listener{{
			Name: "http", Port: 8080, Protocol: lbmodel.ProtocolHTTP, Source: source,
			Rules: []lbmodel.Rule{
				{Source: source, Match: path("/moved"), Action: lbmodel.Action{Redirect: &lbmodel.Redirect{Status: 302, Hostname: redirect}}},
				{Source: source, Match: path("/"), Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Source: source, Pool: "p", Weight: 1}}}}},
			},
		}},
		Pools: []lbmodel.Pool{{
			Name: "p", Group: "a/p:80", Protocol: lbmodel.PoolHTTP1, Source: source,
			Endpoints: []lbmodel.Endpoint{{Address: backend.Addr().String(), Port: int32(backend.Port()), Ready: true, Serving: true}},
		}},
	}
}

func apply(t *testing.T, l *local.Local, gw lbmodel.Gateway) {
	t.Helper()
	account := providers.NewAccount(providers.Config{Provider: l.Provider, Cluster: "c", Name: "fake", Patience: l.Patience()})
	if findings := account.Want(gw); len(findings) > 0 {
		t.Fatalf("findings: %+v", findings)
	}
	plan, err := account.Plan(t.Context(), []lbmodel.Owner{gw.Owner})
	if err != nil {
		t.Fatal(err)
	}
	if err := account.Apply(t.Context(), plan, nil).Err(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, config local.Config) *local.Local {
	t.Helper()
	config.Ports = dataplane.PortsFree
	l, err := local.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := errors.Join(l.Shutdown(ctx), l.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func get(t *testing.T, l *local.Local, path string) string {
	t.Helper()
	bound := l.Bound()
	if len(bound) != 1 {
		t.Fatalf("bound: %+v", bound)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	client := http.Client{Transport: transport, Timeout: 5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get("http://" + bound[0].Addr.String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s%s", response.StatusCode, response.Header.Get("Location"), body)
}

func backend(t *testing.T) netip.AddrPort {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

// TestServesWhatTheCloudHolds: what is applied is what answers, a change is
// followed without being asked for, and a restart finds everything again.
func TestServesWhatTheCloudHolds(t *testing.T) {
	dir, at := t.TempDir(), backend(t)
	first, err := local.Open(local.Config{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, first, gateway(at, "old.test"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	l := open(t, local.Config{StateDir: dir})
	if err := l.Program(t.Context()); err == nil {
		t.Error("Program before Serve is not refused")
	}
	if err := errors.Join(l.Serve(t.Context()), l.Serve(t.Context()), l.Program(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := get(t, l, "/x"); got != "200 hello" {
		t.Errorf("/x is answered %q", got)
	}
	if got := get(t, l, "/moved"); got != "302 http://old.test:8080/moved" {
		t.Errorf("/moved is answered %q", got)
	}
	apply(t, l, gateway(at, "new.test"))
	for deadline := time.Now().Add(5 * time.Second); get(t, l, "/moved") != "302 http://new.test:8080/moved"; {
		if time.Now().After(deadline) {
			t.Fatalf("the change is not followed: %q", get(t, l, "/moved"))
		}
		time.Sleep(time.Millisecond)
	}
	if l.Broken() != nil || len(l.Counters().Requests) == 0 {
		t.Errorf("broken: %v, counters: %+v", l.Broken(), l.Counters())
	}
}

// TestKeysComeBack: the state directory has no keys, so a restart reads them
// again; without them the listener is not served, and never without TLS.
func TestKeysComeBack(t *testing.T) {
	pair, leaf := certificate(t)
	ring := func(context.Context, lbmodel.Identity) (tls.Certificate, error) { return pair, nil }
	gw := gateway(backend(t), "new.test")
	gw.Identities = []lbmodel.Identity{{Name: "id", Issuer: lbmodel.IssuerSecret, Leaf: leaf, DNSNames: leaf.DNSNames}}
	gw.Listeners[0].Protocol = lbmodel.ProtocolHTTPS
	gw.Listeners[0].TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"id"}}

	dir := t.TempDir()
	first, err := local.Open(local.Config{StateDir: dir, Keyring: ring})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, first, gw)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		ring providers.Keyring
		ok   bool
	}{{"with its key", ring, true}, {"without", nil, false}} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t, local.Config{StateDir: dir, Keyring: c.ring})
			if err := l.Serve(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := l.Program(t.Context()); (err == nil) != c.ok {
				t.Errorf("Program: %v, want success %v", err, c.ok)
			}
			if c.ok && handshake(t, l) != leaf.SHA256 {
				t.Error("another certificate is served")
			}
			if err := l.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func handshake(t *testing.T, l *local.Local) string {
	t.Helper()
	conn, err := tls.Dial("tcp", l.Bound()[0].Addr.String(), &tls.Config{ServerName: "a.test", InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return fingerprint(conn.ConnectionState().PeerCertificates[0].Raw)
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func certificate(t *testing.T) (tls.Certificate, *lbmodel.Leaf) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &lbmodel.Leaf{SHA256: fingerprint(der), DNSNames: template.DNSNames,
		NotBefore: template.NotBefore.UTC().Truncate(time.Second), NotAfter: template.NotAfter.UTC().Truncate(time.Second)}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf
}

func TestSettings(t *testing.T) {
	if local.AllowsLoopback(nil) || local.AllowsLoopback([]byte(`{}`)) || !local.AllowsLoopback([]byte(`{"allowLoopbackEndpoints":true}`)) {
		t.Error("loopback is allowed where settings say so, and nowhere else")
	}
	offers, findings := local.Compiler().Offers(local.Without(lbmodel.FeatureMirror))
	if len(findings) > 0 || offers.Offers(lbmodel.FeatureMirror) || !offers.Offers(lbmodel.FeatureHTTP) {
		t.Errorf("a flavour without mirrors offers %v, findings %v", offers.Has[lbmodel.FeatureMirror], findings)
	}
}

// TestTroubleIsPassedOn names a backend as people do, not by a handle of the cloud.
func TestTroubleIsPassedOn(t *testing.T) {
	told := make(chan dataplane.Trouble, 10)
	l := open(t, local.Config{Trouble: func(trouble dataplane.Trouble) { told <- trouble }})
	s := httptest.NewServer(http.NotFoundHandler())
	gone := netip.MustParseAddrPort(s.Listener.Addr().String())
	s.Close()
	apply(t, l, gateway(gone, "x.test"))
	if err := errors.Join(l.Serve(t.Context()), l.Program(t.Context())); err != nil {
		t.Fatal(err)
	}
	get(t, l, "/")
	want := "backend a/p:80 at " + gone.String() + ": nothing listens there: the connection was refused"
	if trouble := <-told; trouble.String() != want || trouble.Owner.Name != "g" {
		t.Errorf("told %q of %s, want %q", trouble, trouble.Owner, want)
	}
}

// TestServeAfterShutdown is an error, not silence.
func TestServeAfterShutdown(t *testing.T) {
	l := open(t, local.Config{})
	if err := errors.Join(l.Serve(t.Context()), l.Shutdown(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := l.Serve(t.Context()); !errors.Is(err, dataplane.ErrClosed) {
		t.Errorf("Serve after Shutdown: %v, want %v", err, dataplane.ErrClosed)
	}
}
