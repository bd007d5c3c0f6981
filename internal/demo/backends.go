package demo

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
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

// backends are the demo's workloads outside of the mesh, real HTTP servers on
// loopback.
type backends struct {
	servers []*http.Server
	done    chan error
}

func newBackends() *backends { return &backends{done: make(chan error, 32)} }

// serve runs one backend in clear text on addr.
func (b *backends) serve(ctx context.Context, name, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return backendError(name, err)
	}
	server := &http.Server{
		Handler:           echo(name),
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	b.servers = append(b.servers, server)
	go func() { b.done <- server.Serve(listener) }()
	return nil
}

func backendError(name string, err error) error {
	return fmt.Errorf("backend %s: %w (another demo on this machine? end it, or free the port)", name, err)
}

// echo answers with what it was asked. Who came, a sidecar tells.
func echo(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := answer{Backend: name, Path: r.URL.Path, Host: r.Host, Edge: r.Header.Get("X-Shop-Edge")}
		_, a.Client, _ = strings.Cut(r.Header.Get("X-Forwarded-Client-Cert"), ";URI=")
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
