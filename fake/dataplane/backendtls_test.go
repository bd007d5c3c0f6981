package dataplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gatehouse.dev/lbmodel"
)

const (
	backendID = "spiffe://mesh.test/ns/apps/sa/a"
	gatewayID = "spiffe://mesh.test/ns/gatehouse-system/sa/edge"
)

// meshBackend demands a client certificate of its roots and answers with the
// caller's SPIFFE ID. Its own certificate and roots can be changed at any time.
type meshBackend struct {
	*backendServer
	mu     sync.Mutex
	config *tls.Config
	plain  atomic.Int64 // connections that did not begin with TLS
}

func newMeshBackend(t *testing.T, options ...func(*tls.Config)) *meshBackend {
	t.Helper()
	m := &meshBackend{}
	outer := &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.config, nil
	}}
	for _, o := range options {
		o(outer)
	}
	m.backendServer = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := ""
		if certs := r.TLS.PeerCertificates; len(certs) > 0 && len(certs[0].URIs) > 0 {
			caller = certs[0].URIs[0].String()
		}
		fmt.Fprintf(w, "%s HTTP/%d sni=%s", caller, r.ProtoMajor, r.TLS.ServerName)
	}), func(s *httptest.Server) {
		s.TLS = outer
		s.EnableHTTP2 = len(outer.NextProtos) > 0
		s.Listener = &sniffer{s.Listener, &m.plain}
	})
	return m
}

func (m *meshBackend) use(leaf tls.Certificate, clients ...*authority) {
	roots := clients[0].pool()
	for _, c := range clients[1:] {
		roots.AddCert(c.cert)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config = &tls.Config{Certificates: []tls.Certificate{leaf}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: m.TLS.NextProtos}
}

// sniffer counts connections whose first byte is no TLS record's.
type sniffer struct {
	net.Listener
	plain *atomic.Int64
}

func (s *sniffer) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	return &sniffed{Conn: conn, plain: s.plain}, err
}

type sniffed struct {
	net.Conn
	plain *atomic.Int64
	seen  bool
}

func (s *sniffed) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if n > 0 && !s.seen {
		s.seen = true
		if b[0] != 22 {
			s.plain.Add(1)
		}
	}
	return n, err
}

// meshGateway sends everything to one pool with mutual TLS.
func meshGateway(m *meshBackend, edit func(*lbmodel.BackendTLS), key tls.Certificate, roots ...*authority) Gateway {
	pool := poolOf("a", lbmodel.PoolHTTP1, m.addr())
	pool.TLS = &lbmodel.BackendTLS{SNI: "a.internal.test", SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: backendID}},
		Trust: "mesh", Identity: "edge", Floor: lbmodel.TLSClientAndServer}
	if edit != nil {
		edit(pool.TLS)
	}
	gw := gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("a")))}, pool)
	gw.Model.Trust = []lbmodel.Trust{trustOf("mesh", roots...)}
	gw.Keys = map[string]tls.Certificate{"edge": key}
	return gw
}

// TestBackendTLS is who is believed to be the backend, and who is not.
func TestBackendTLS(t *testing.T) {
	mesh, other := newAuthority(t, "mesh"), newAuthority(t, "other")
	m := newMeshBackend(t)
	m.use(mesh.issue(backendID, "a.internal.test", "*.wild.test"), mesh)
	uri := func(v string) []lbmodel.SAN { return []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: v}} }
	for _, c := range []struct {
		name, why string
		edit      func(*lbmodel.BackendTLS)
		roots     []*authority
		want      int
	}{
		{"SPIFFE ID", "the URI is in the certificate", nil, []*authority{mesh}, 200},
		{"two roots", "either may sign during a rotation", nil, []*authority{other, mesh}, 200},
		{"any one SAN", "one of the list is enough", func(b *lbmodel.BackendTLS) {
			b.SANs = append(uri("spiffe://mesh.test/ns/apps/sa/b"), b.SANs...)
		}, []*authority{mesh}, 200},
		{"DNS SAN", "a name in the certificate", func(b *lbmodel.BackendTLS) {
			b.SANs = []lbmodel.SAN{{Kind: lbmodel.SANDNS, Value: "x.wild.test"}}
		}, []*authority{mesh}, 200},
		{"no SANs", "then the server name must match", func(b *lbmodel.BackendTLS) { b.SANs = nil }, []*authority{mesh}, 200},
		{"no SANs, other name", "then the server name must match", func(b *lbmodel.BackendTLS) { b.SANs, b.SNI = nil, "b.internal.test" }, []*authority{mesh}, 502},
		{"other SPIFFE ID", "an ID is compared whole", func(b *lbmodel.BackendTLS) { b.SANs = uri(backendID + "x") }, []*authority{mesh}, 502},
		{"SNI does not authenticate beside SANs", "BackendTLSPolicy: with SANs the hostname is SNI only", func(b *lbmodel.BackendTLS) {
			b.SANs = uri("spiffe://mesh.test/ns/apps/sa/b")
		}, []*authority{mesh}, 502},
		{"other root", "the chain must end in the trust", nil, []*authority{other}, 502},
		{"no root", "an empty trust verifies nobody, and certainly not by the machine's roots", nil, nil, 500},
		{"unknown trust", "fail closed", func(b *lbmodel.BackendTLS) { b.Trust = "gone" }, []*authority{mesh}, 500},
		{"unknown identity", "the key is not here", func(b *lbmodel.BackendTLS) { b.Identity = "gone" }, []*authority{mesh}, 500},
		{"below the floor", "nothing below is programmed", func(b *lbmodel.BackendTLS) { b.Identity = "" }, []*authority{mesh}, 500},
		{"no client certificate", "the backend refuses the handshake", func(b *lbmodel.BackendTLS) { b.Identity, b.Floor = "", "" }, []*authority{mesh}, 502},
		{"nothing to compare", "neither SNI nor SANs", func(b *lbmodel.BackendTLS) { b.SNI, b.SANs = "", nil }, []*authority{mesh}, 500},
		{"TLS 1.3 only", "the backend has it", func(b *lbmodel.BackendTLS) { b.MinVersion = "1.3" }, []*authority{mesh}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlane(t, Config{})
			err := p.Program(t.Context(), []Gateway{meshGateway(m, c.edit, mesh.issue(gatewayID), c.roots...)})
			if (err != nil) != (c.want == 500) {
				t.Errorf("Program: %v", err)
			}
			res, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/"))
			if res.StatusCode != c.want || c.want == 200 && !strings.HasPrefix(body, gatewayID) {
				t.Errorf("status %d, %q; want %d: %s", res.StatusCode, body, c.want, c.why)
			}
		})
	}
	if n := m.plain.Load(); n != 0 {
		t.Errorf("the backend saw %d connections in plain text", n)
	}
}

// TestBackendProtocols is what a pool speaks inside its TLS.
func TestBackendProtocols(t *testing.T) {
	mesh := newAuthority(t, "mesh")
	for _, c := range []struct {
		name, why string
		protocol  lbmodel.PoolProtocol
		offers    []string // by the backend
		edit      func(*lbmodel.BackendTLS)
		want      string
	}{
		{"HTTP/1.1", "asked for by name", lbmodel.PoolHTTP1, []string{"h2", "http/1.1"}, nil, "HTTP/1"},
		{"HTTP/2", "negotiated", lbmodel.PoolHTTP2, []string{"h2", "http/1.1"}, nil, "HTTP/2"},
		{"HTTP/1.1 without ALPN", "some mesh proxies negotiate nothing", lbmodel.PoolHTTP1, []string{"http/1.1"},
			func(b *lbmodel.BackendTLS) { b.NoALPN = true }, "HTTP/1"},
		{"HTTP/1.1 pool that offers h2", "the model's own offer decides", lbmodel.PoolHTTP1, []string{"h2"},
			func(b *lbmodel.BackendTLS) { b.ALPN = []string{"h2", "http/1.1"} }, "HTTP/2"},
	} {
		m := newMeshBackend(t, func(config *tls.Config) { config.NextProtos = c.offers })
		m.use(mesh.issue(backendID), mesh)
		gw := meshGateway(m, c.edit, mesh.issue(gatewayID), mesh)
		gw.Model.Pools[0].Protocol = c.protocol
		p := newPlane(t, Config{}, gw)
		res, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/"))
		if res.StatusCode != 200 || !strings.Contains(body, c.want+" sni=a.internal.test") {
			t.Errorf("%s: %d %q, want %s: %s", c.name, res.StatusCode, body, c.want, c.why)
		}
	}
}

// TestC35FailClosed replaces the CA by a wrong one and back, while a backend on
// the same port would take plain text gladly.
func TestC35FailClosed(t *testing.T) {
	mesh, other := newAuthority(t, "mesh"), newAuthority(t, "other")
	m := newMeshBackend(t)
	m.use(mesh.issue(backendID), mesh)
	key := mesh.issue(gatewayID)
	p := newPlane(t, Config{})
	for _, c := range []struct {
		name  string
		roots []*authority
		want  int
	}{{"missing", nil, 500}, {"good", []*authority{mesh}, 200}, {"wrong", []*authority{other}, 502}, {"good again", []*authority{mesh}, 200}} {
		p.Program(t.Context(), []Gateway{meshGateway(m, nil, key, c.roots...)})
		if res, _ := answerOf(t, p.client(80, nil), get(t, "http://any.test/")); res.StatusCode != c.want {
			t.Errorf("CA %s: status %d, want %d at once", c.name, res.StatusCode, c.want)
		}
	}
	if n := m.plain.Load(); n != 0 {
		t.Errorf("the backend saw %d connections in plain text", n)
	}
	d := &dialer{tls: &backendTLS{}}
	if _, err := d.plain(t.Context()); err == nil {
		t.Error("a pool with TLS let itself be dialled in plain text")
	}
}

// TestC45Rotation rotates the mesh's CA twice under load: trust first, then the
// leaves of both sides, then the old root goes. Nothing fails.
func TestC45Rotation(t *testing.T) {
	old, fresh := newAuthority(t, "r1"), newAuthority(t, "r2")
	m := newMeshBackend(t)
	m.use(old.issue(backendID), old)
	p := newPlane(t, Config{}, meshGateway(m, nil, old.issue(gatewayID), old))
	load := startLoad(t, p, 8)
	for range 2 {
		p.program(meshGateway(m, nil, old.issue(gatewayID), old, fresh))
		load.atLeast(200)
		m.use(old.issue(backendID), old, fresh)
		p.program(meshGateway(m, nil, fresh.issue(gatewayID), old, fresh))
		load.atLeast(200)
		m.use(fresh.issue(backendID), old, fresh)
		p.program(meshGateway(m, nil, fresh.issue(gatewayID), old, fresh))
		load.atLeast(200)
		p.program(meshGateway(m, nil, fresh.issue(gatewayID), fresh))
		m.use(fresh.issue(backendID), fresh)
		load.atLeast(200)
		old, fresh = fresh, newAuthority(t, "r3")
	}
	load.stop()
	byRoot := map[string]uint64{}
	for _, h := range p.Counters().Handshakes {
		byRoot[h.Root] += h.Count
	}
	if len(byRoot) != 3 && len(byRoot) != 2 || byRoot[old.root().SHA256] == 0 {
		t.Errorf("handshakes by root: %v", byRoot)
	}
}

// load sends requests until it is stopped, and any failure is the test's.
type load struct {
	t       *testing.T
	done    atomic.Int64
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

func startLoad(t *testing.T, p *plane, workers int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t, cancel: cancel}
	for range workers {
		client := p.client(80, nil)
		l.workers.Go(func() { l.work(ctx, client) })
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) work(ctx context.Context, client *http.Client) {
	for ctx.Err() == nil {
		res, err := client.Do(get(l.t, "http://any.test/").WithContext(ctx))
		if err != nil {
			if ctx.Err() == nil {
				l.t.Errorf("a request under load: %v", err)
			}
			return
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != 200 {
			l.t.Errorf("a request under load: status %d", res.StatusCode)
			return
		}
		l.done.Add(1)
	}
}

// atLeast waits until n more requests were answered.
func (l *load) atLeast(n int64) {
	l.t.Helper()
	want := l.done.Load() + n
	eventually(l.t, fmt.Sprint(n, " more answers"), func() bool { return l.done.Load() >= want || l.t.Failed() })
}

func (l *load) stop() {
	l.cancel()
	l.workers.Wait()
}

// TestHTTP2PriorKnowledge speaks HTTP/2 inside TLS that negotiated no protocol,
// as proxies do that answer no ALPN.
func TestHTTP2PriorKnowledge(t *testing.T) {
	mesh := newAuthority(t, "mesh")
	leaf := mesh.issue(backendID)
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, " ", r.Host) }), func(s *httptest.Server) {
		s.Listener = opaque{tls.NewListener(s.Listener, &tls.Config{Certificates: []tls.Certificate{leaf}})}
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
	})
	for _, noALPN := range []bool{true, false} {
		pool := poolOf("a", lbmodel.PoolHTTP2, b.addr())
		pool.TLS = &lbmodel.BackendTLS{SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: backendID}}, Trust: "mesh", NoALPN: noALPN}
		gw := gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("a")))}, pool)
		gw.Model.Trust = []lbmodel.Trust{trustOf("mesh", mesh)}
		p := newPlane(t, Config{}, gw)
		if res, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/")); body != "HTTP/2.0 any.test" {
			t.Errorf("NoALPN %v: %d %q", noALPN, res.StatusCode, body)
		}
	}
}

// opaque hides from the server that its connections have TLS.
type opaque struct{ net.Listener }

func (o opaque) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	return struct{ net.Conn }{conn}, err
}
