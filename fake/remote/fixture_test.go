package remote

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
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// directory is one whose name is short enough for a socket's, and closed to others.
func directory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "gh") //nolint:usetesting // its directories are too long for a socket, and open to others
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

// running is a Server that runs.
type running struct {
	*Server
	testing.TB
	stop func() error // ends it once, and waits
}

func start(tb testing.TB, config ServerConfig) *running {
	tb.Helper()
	config.Ports = dataplane.PortsFree
	server, err := Start(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	s := &running{Server: server, TB: tb, stop: sync.OnceValue(func() error {
		cancel()
		return <-ended
	})}
	tb.Cleanup(func() {
		if err := s.stop(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// account is a new process's: it remembers nothing.
func account(r *Remote) *providers.Account {
	return providers.NewAccount(providers.Config{Provider: r.Provider, Cluster: "c", Name: "fake", Patience: r.Patience(), CallTimeout: 5 * time.Second})
}

// gateway sends everything to a backend.
func gateway(name string, backend netip.AddrPort) lbmodel.Gateway {
	source := lbmodel.Source{Kind: "HTTPRoute", Namespace: "a", Name: "r"}
	return lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "a", Name: name},
		Settings: []byte(`{"allowLoopbackEndpoints":true,"addressPool":["127.73.0.0/24"]}`),
		Listeners: []lbmodel.Listener{{
			Name: "http", Port: 8080, Protocol: lbmodel.ProtocolHTTP, Source: source,
			Rules: []lbmodel.Rule{{
				Source: source, Match: lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/"}},
				Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Source: source, Pool: "p", Weight: 1}}}},
			}},
		}},
		Pools: []lbmodel.Pool{{
			Name: "p", Group: "a/" + name + ":80", Protocol: lbmodel.PoolHTTP1, Source: source,
			Endpoints: []lbmodel.Endpoint{{Address: backend.Addr().String(), Port: int32(backend.Port()), Ready: true, Serving: true}},
		}},
	}
}

func plan(tb testing.TB, a *providers.Account, gateways ...lbmodel.Gateway) providers.Plan {
	tb.Helper()
	var owners []lbmodel.Owner
	for _, gw := range gateways {
		if findings := a.Want(gw); len(findings) > 0 {
			tb.Fatalf("findings: %+v", findings)
		}
		owners = append(owners, gw.Owner)
	}
	out, err := a.Plan(tb.Context(), owners)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func apply(tb testing.TB, a *providers.Account, gateways ...lbmodel.Gateway) {
	tb.Helper()
	if err := a.Apply(tb.Context(), plan(tb, a, gateways...), nil).Err(); err != nil {
		tb.Fatal(err)
	}
}

// backend answers hello.
func backend(tb testing.TB) netip.AddrPort {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	tb.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

// get asks a gateway on a new connection.
func get(address netip.AddrPort) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	response, err := client.Get("http://" + address.String() + "/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}

// eventually waits until something is so, for ten seconds.
func eventually(tb testing.TB, why string, so func() error) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		err := so()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: %v", why, err)
		}
	}
}

// says expects hello from where a gateway is bound.
func says(bound func() []Bound, name string) func() error {
	return func() error {
		for _, b := range bound() {
			if b.Owner.Name != name {
				continue
			}
			got, err := get(b.Addr)
			if err == nil && got != "200 hello" {
				err = errors.New(got)
			}
			return err
		}
		return errors.New("it is not bound")
	}
}

// secure is a gateway with HTTPS, and the keyring that has its key.
func secure(tb testing.TB, name string, backend netip.AddrPort) (lbmodel.Gateway, *ring) {
	tb.Helper()
	keys := newRing(tb)
	gw := gateway(name, backend)
	gw.Identities = []lbmodel.Identity{{Name: "id", Issuer: lbmodel.IssuerSecret, Leaf: keys.leaf, DNSNames: keys.leaf.DNSNames}}
	gw.Listeners[0].Protocol = lbmodel.ProtocolHTTPS
	gw.Listeners[0].TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"id"}}
	return gw, keys
}

// ring is a keyring of one key that counts how often it is asked.
type ring struct {
	pair tls.Certificate
	leaf *lbmodel.Leaf

	mu    sync.Mutex
	asked int
}

func (r *ring) key(context.Context, lbmodel.Identity) (tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.pair, nil
}

func newRing(tb testing.TB) *ring {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	leaf := &lbmodel.Leaf{SHA256: fingerprint(der), DNSNames: template.DNSNames,
		NotBefore: template.NotBefore.UTC().Truncate(time.Second), NotAfter: template.NotAfter.UTC().Truncate(time.Second)}
	return &ring{pair: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf: leaf}
}

// shown is the leaf that a gateway shows.
func shown(tb testing.TB, address netip.AddrPort) string {
	tb.Helper()
	conn, err := tls.Dial("tcp", address.String(), &tls.Config{ServerName: "a.test", InsecureSkipVerify: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	return fingerprint(conn.ConnectionState().PeerCertificates[0].Raw)
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// files are the names in a directory of keys.
func files(tb testing.TB, state string) []string {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Join(state, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// slow is a backend that takes its time, and says when it is asked.
type slow struct {
	at    netip.AddrPort
	asked chan struct{}
}

func slowBackend(tb testing.TB, takes time.Duration) slow {
	tb.Helper()
	asked := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		time.Sleep(takes)
		fmt.Fprint(w, "slow")
	}))
	tb.Cleanup(s.Close)
	return slow{at: netip.MustParseAddrPort(s.Listener.Addr().String()), asked: asked}
}

func openAdmin(tb testing.TB, address string) *Admin {
	tb.Helper()
	a, err := OpenAdmin(Config{Address: address})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(a.Close)
	return a
}
