package inbound

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/mesh/ca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The identities that tests use.
const (
	cart    = "spiffe://cluster.local/ns/apps/sa/cart"
	gateway = "spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse"
	foreign = "spiffe://elsewhere.example/ns/apps/sa/cart"
	linkerd = "cart.apps.serviceaccount.identity.linkerd.cluster.local"
)

// mesh is a CA that fails the test where it fails.
type mesh struct {
	*ca.CA
	t *testing.T
}

func newMesh(t *testing.T) mesh {
	t.Helper()
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return mesh{m, t}
}

func (m mesh) issue(r ca.Request) tls.Certificate {
	m.t.Helper()
	leaf, err := m.Issue(r)
	if err != nil {
		m.t.Fatal(err)
	}
	return leaf
}

// of is a leaf that names one SPIFFE ID.
func (m mesh) of(id string) tls.Certificate {
	m.t.Helper()
	return m.issue(ca.Request{URIs: []string{id}})
}

// pod starts a pod of the mesh.
func (m mesh) pod(c Config) *Pod {
	m.t.Helper()
	if c.Leaf.Certificate == nil {
		c.Leaf = m.of(cart)
	}
	if c.Roots == nil {
		c.Roots = m.Roots()
	}
	if c.App.Kind == HTTPS && c.App.TLS == nil {
		c.App.TLS = &tls.Config{Certificates: []tls.Certificate{m.issue(ca.Request{DNSNames: []string{"app.example"}})}}
	}
	p, err := Start(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { p.Close() })
	return p
}

// client is how a load balancer connects.
func (m mesh) client(alpn []string, leaf ...tls.Certificate) *tls.Config {
	roots := ca.Pool(m.Roots()...)
	return &tls.Config{
		NextProtos: alpn,
		// Load balancers present what they have, whatever CAs are named.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(leaf) == 0 {
				return new(tls.Certificate), nil
			}
			return &leaf[0], nil
		},
		InsecureSkipVerify: true, // the name is no host: the chain is verified below
		VerifyConnection: func(s tls.ConnectionState) error {
			between := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				between.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		},
	}
}

// reached is what came of a request.
type reached struct {
	Answer
	Code  int
	State tls.ConnectionState
}

// errStatus is an answer other than 200.
var errStatus = errors.New("status")

// dial connects with TLS.
func dial(t *testing.T, addr string, c *tls.Config) (*tls.Conn, error) {
	t.Helper()
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: c}
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn.(*tls.Conn), nil
}

// reach connects with TLS and asks once, in what was negotiated.
func reach(t *testing.T, addr string, c *tls.Config) (reached, error) {
	t.Helper()
	conn, err := dial(t, addr, c)
	if err != nil {
		return reached{}, err
	}
	out, err := ask(t, conn, conn.ConnectionState().NegotiatedProtocol == "h2")
	out.State = conn.ConnectionState()
	return out, err
}

// ask sends one request over a connection: in HTTP/2 with prior knowledge, or in
// HTTP/1.1.
func ask(t *testing.T, conn net.Conn, http2 bool) (reached, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/cart", nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer *http.Response
	if http2 {
		answer, err = overTwo(t, conn, r)
	} else if err = r.Write(conn); err == nil {
		answer, err = http.ReadResponse(bufio.NewReader(conn), r)
	}
	if err != nil {
		return reached{}, err
	}
	defer answer.Body.Close()
	out := reached{Code: answer.StatusCode}
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return out, err
	case answer.StatusCode != http.StatusOK:
		return out, fmt.Errorf("%w %d: %s", errStatus, answer.StatusCode, body)
	}
	return out, json.Unmarshal(body, &out.Answer)
}

// overTwo speaks HTTP/2 over a connection that is there already.
func overTwo(t *testing.T, conn net.Conn, r *http.Request) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{
		Protocols:   new(http.Protocols),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return struct{ net.Conn }{conn}, nil },
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return transport.RoundTrip(r)
}

// plain connects without TLS.
func plain(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

// eventually waits for what other goroutines count.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func netipOf(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	out, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
