package demo

import (
	"context"
	"crypto/tls"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// answer is what every backend of the demo says about the request it got.
type answer struct {
	Backend string `json:"backend"` // namespace/service
	Path    string `json:"path"`    // as the backend saw it
	Host    string `json:"host"`
	Edge    string `json:"edge,omitzero"`   // the header that the catalog's route sets
	Client  string `json:"client,omitzero"` // SPIFFE ID that the gateway proved
}

// mesh is what the pretended mesh's sidecars hold now; a rotation swaps it.
type mesh struct {
	config     atomic.Pointer[tls.Config]
	handshakes *tally // by the CA that signed the client's certificate
}

// set gives every sidecar a new leaf and a new set of roots, as an agent does.
func (m *mesh) set(leaf *leaf, roots ...*authority) {
	m.config.Store(&tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{leaf.Certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool(roots...),
		NextProtos:   []string{"http/1.1"},
		// A ticket would let a session outlive the CA it was made under.
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			m.handshakes.add(s.VerifiedChains[0][len(s.VerifiedChains[0])-1].Subject.CommonName)
			return nil
		},
	})
}

// backends are the demo's workloads, real HTTP servers on loopback.
type backends struct {
	mesh    *mesh
	servers []*http.Server
	done    chan error
}

func newBackends() *backends {
	return &backends{mesh: &mesh{handshakes: newTally()}, done: make(chan error, 32)}
}

// plain serves one backend in clear text on addr.
func (b *backends) plain(ctx context.Context, name, addr string) error {
	return b.serve(ctx, name, addr, nil)
}

// meshed serves one backend behind a sidecar that demands a client certificate.
func (b *backends) meshed(ctx context.Context, name, addr string) error {
	return b.serve(ctx, name, addr, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return b.mesh.config.Load(), nil
		},
	})
}

func (b *backends) serve(ctx context.Context, name, addr string, config *tls.Config) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("backend %s: %w (another demo on this machine? end it, or free the port)", name, err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	server := &http.Server{
		Handler:           echo(name),
		ReadHeaderTimeout: 5 * time.Second,
		// Drained connections end in handshakes that are cut short; not news.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	b.servers = append(b.servers, server)
	go func() { b.done <- server.Serve(listener) }()
	return nil
}

func echo(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := answer{Backend: name, Path: r.URL.Path, Host: r.Host, Edge: r.Header.Get("X-Shop-Edge")}
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && len(r.TLS.PeerCertificates[0].URIs) > 0 {
			a.Client = r.TLS.PeerCertificates[0].URIs[0].String()
		}
		w.Header().Set("Content-Type", "application/json")
		body, err := json.Marshal(a)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(body) // the client may be gone; nobody is left to tell
	}
}

// stop ends all backends and waits for them.
func (b *backends) stop() error {
	var errs []error
	for _, s := range b.servers {
		errs = append(errs, s.Close())
	}
	for range b.servers {
		if err := <-b.done; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
