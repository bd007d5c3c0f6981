package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// requestsEach is after how many requests a connection is closed, so that there are
// handshakes all the time.
const requestsEach = 20

// material is what the mesh gave: who this is, and whose clients may be let in.
type material struct {
	leaf  tls.Certificate
	roots []*x509.Certificate
}

// server ends mutual TLS.
type server struct {
	clients []string
	keep    time.Duration
	now     atomic.Pointer[material]
	seen    seen

	mu        sync.Mutex
	published map[string]time.Time // roots, by DER, and when the mesh last had them
}

func newServer(clients []string) *server {
	return &server{clients: clients, published: map[string]time.Time{}, seen: seen{
		Clients: map[string]int{}, Authorities: map[string]int{}, Refused: map[string]int{}, Own: map[string]int{},
	}}
}

// take has the next connection meet what the mesh gave.
func (s *server) take(m material) {
	m.roots = s.kept(m.roots)
	before := s.now.Swap(&m)
	if before == nil || !slices.EqualFunc(before.roots, m.roots, (*x509.Certificate).Equal) {
		log.Printf("now with %d roots", len(m.roots))
	}
	s.seen.add(s.seen.Own, hex.EncodeToString(m.leaf.Leaf.AuthorityKeyId))
}

// kept are the roots, and those that were dropped lately.
func (s *server) kept(roots []*x509.Certificate) (out []*x509.Certificate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, root := range roots {
		s.published[string(root.Raw)] = now
	}
	for _, der := range slices.Sorted(maps.Keys(s.published)) {
		root, err := x509.ParseCertificate([]byte(der))
		if err == nil && now.Sub(s.published[der]) <= s.keep {
			out = append(out, root)
		}
	}
	return out
}

func (s *server) serve(l net.Listener) error {
	type counter struct{}
	h := http.Server{
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.Default(),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, counter{}, new(atomic.Int64))
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := r.Context().Value(counter{}).(*atomic.Int64); n.Add(1) >= requestsEach {
				w.Header().Set("Connection", "close")
			}
			s.answer(w, r)
		}),
	}
	return h.Serve(&listener{l, s})
}

// listener makes TLS of connections, so that each handshake is seen.
type listener struct {
	net.Listener
	server *server
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{tls.Server(c, l.server.config()), l.server}, nil
}

// conn counts a handshake that failed.
type conn struct {
	*tls.Conn
	server *server
}

// HandshakeContext is net/http's.
func (c *conn) HandshakeContext(ctx context.Context) error {
	err := c.Conn.HandshakeContext(ctx)
	if err != nil {
		c.server.seen.add(c.server.seen.Refused, err.Error())
	}
	return err
}

// Read implements net.Conn. The first one makes the handshake.
func (c *conn) Read(b []byte) (int, error) {
	if !c.ConnectionState().HandshakeComplete {
		if err := c.HandshakeContext(context.Background()); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(b)
}

// config is what holds for one connection.
func (s *server) config() *tls.Config {
	m := s.now.Load()
	if m == nil {
		m = &material{}
	}
	pool := x509.NewCertPool()
	for _, root := range m.roots {
		pool.AddCert(root)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{m.leaf}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true, VerifyConnection: s.admit,
	}
}

var errStranger = errors.New("it is nobody that is let in")

// admit looks who it is; that the certificate is the mesh's was verified before.
func (s *server) admit(state tls.ConnectionState) error {
	leaf := state.PeerCertificates[0]
	if len(leaf.URIs) != 1 || !slices.Contains(s.clients, leaf.URIs[0].String()) {
		return fmt.Errorf("%v: %w", leaf.URIs, errStranger)
	}
	chain := state.VerifiedChains[0]
	s.seen.add(s.seen.Clients, leaf.URIs[0].String())
	s.seen.add(s.seen.Authorities, hex.EncodeToString(chain[len(chain)-1].SubjectKeyId))
	return nil
}

// answer tells a client who it is.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintln(w, r.Context().Value(http.LocalAddrContextKey)) // the client may be gone
}

// seen is what was seen so far: by name, how often.
type seen struct {
	mu          sync.Mutex
	Clients     map[string]int `json:"clients"`     // handshakes by the client's SPIFFE ID
	Authorities map[string]int `json:"authorities"` // likewise by the key of the root that the client's chain ends in
	Refused     map[string]int `json:"refused"`     // handshakes that failed, and why
	Own         map[string]int `json:"own"`         // certificates that the mesh gave, by the key of who signed
}

func (s *seen) add(to map[string]int, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to[name]++
}

func (s *seen) copy() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(map[string]map[string]int{
		"clients": maps.Clone(s.Clients), "authorities": maps.Clone(s.Authorities), "refused": maps.Clone(s.Refused), "own": maps.Clone(s.Own),
	})
	if err != nil {
		panic("seen: maps of numbers always encode: " + err.Error())
	}
	return text
}
