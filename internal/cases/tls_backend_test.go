package cases

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// tlsBackend is a backend that speaks TLS, and takes clear text too, as a server
// would that a careless gateway leaks to; it counts what comes in clear.
type tlsBackend struct {
	*backend
	config atomic.Pointer[tls.Config]
	plain  atomic.Int64
}

// tlsBackend starts one, with the leaf that it shows and, when clients are named,
// the authorities whose certificate it asks for.
func (h *harness) tlsBackend(name string, show leaf, clients ...*authority) *tlsBackend {
	h.Helper()
	b := new(tlsBackend)
	b.set(show, clients...)
	b.backend = h.serve(name, &twoFaced{h.listen(), b}, new(http.Server))
	return b
}

// set changes what the backend shows and whom it trusts, as a mesh's agent does.
// A ticket would let a session outlive the CA that it was made under.
func (b *tlsBackend) set(show leaf, clients ...*authority) {
	c := &tls.Config{Certificates: []tls.Certificate{show.Certificate}, SessionTicketsDisabled: true}
	if len(clients) > 0 {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool(clients...)
	}
	b.config.Store(c)
}

// twoFaced is the listener of a tlsBackend.
type twoFaced struct {
	net.Listener
	backend *tlsBackend
}

// Accept implements net.Listener.
func (l *twoFaced) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &undecided{Conn: conn, backend: l.backend}, nil
}

// undecided is a connection that is TLS or not, as its first byte says.
type undecided struct {
	net.Conn // before the first Read the raw one
	backend  *tlsBackend
	once     sync.Once
	err      error
}

// Read implements io.Reader.
func (c *undecided) Read(b []byte) (int, error) {
	c.once.Do(c.decide)
	if c.err != nil {
		return 0, c.err
	}
	return c.Conn.Read(b)
}

const handshakeRecord = 22 // RFC 8446 §5.1

func (c *undecided) decide() {
	first := make([]byte, 1)
	if _, c.err = c.Conn.Read(first); c.err != nil {
		return
	}
	replay := &replayed{c.Conn, first}
	if first[0] == handshakeRecord {
		c.Conn = tls.Server(replay, c.backend.config.Load())
		return
	}
	c.backend.plain.Add(1)
	c.Conn = replay
}

// replayed is a connection some bytes of which were read already.
type replayed struct {
	net.Conn
	before []byte
}

// Read implements io.Reader.
func (r *replayed) Read(b []byte) (int, error) {
	if len(r.before) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.before)
	r.before = r.before[n:]
	return n, nil
}
