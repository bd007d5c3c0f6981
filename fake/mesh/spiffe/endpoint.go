package spiffe

import (
	"context"
	"crypto/tls"
	"encoding/json/v2"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
)

// Profile is how an endpoint proves who it is.
type Profile string

// The profiles.
const (
	Web    Profile = "https_web"    // by a DNS name, as any web server
	SPIFFE Profile = "https_spiffe" // by a SPIFFE ID of the trust domain itself
)

// EndpointConfig says what a bundle endpoint is like.
type EndpointConfig struct {
	CA          *ca.CA
	TrustDomain string        // "" is example.org
	Profile     Profile       // "" is Web
	Web         *ca.CA        // of Profile Web: signs for localhost
	RefreshHint time.Duration // spiffe_refresh_hint; zero says nothing
	RetryAfter  time.Duration // of TooMany; zero says nothing
	Delay       time.Duration // of Slow
}

// BundleFault is a way in which an endpoint fails.
type BundleFault string

// The faults.
const (
	Stale    BundleFault = "Stale"    // the document of the moment of Break, for ever
	Garbage  BundleFault = "Garbage"  // no JSON
	Empty    BundleFault = "Empty"    // a document without keys
	Slow     BundleFault = "Slow"     // after Delay
	TooMany  BundleFault = "TooMany"  // 429
	Overload BundleFault = "Overload" // 503
)

// Endpoint is a running bundle endpoint.
type Endpoint struct {
	config  EndpointConfig
	server  *http.Server
	addr    string
	running sync.WaitGroup
	context context.CancelFunc

	mu       sync.Mutex
	sequence uint64
	fault    BundleFault
	left     int
	kept     []byte
	requests int
}

var errNoWeb = errors.New("an endpoint of profile https_web needs a CA that signs for it")

// StartEndpoint serves until Close.
func StartEndpoint(c EndpointConfig) (*Endpoint, error) {
	if c.TrustDomain == "" {
		c.TrustDomain = "example.org"
	}
	serving := &signing.Serving{CA: c.Web, Request: ca.Request{DNSNames: []string{"localhost"}}}
	if c.Profile == SPIFFE {
		serving = &signing.Serving{CA: c.CA, Request: ca.Request{URIs: []string{"spiffe://" + c.TrustDomain + "/spire/server"}}}
	}
	if serving.CA == nil {
		return nil, errNoWeb
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Endpoint{config: c, addr: l.Addr().String(), sequence: 1, context: cancel}
	e.server = &http.Server{
		Handler: e, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{GetCertificate: serving.Certificate, MinVersion: tls.VersionTLS12},
	}
	changed := c.CA.Changed()
	e.running.Go(func() { e.count(ctx, changed) })
	e.running.Go(func() { _ = e.server.ServeTLS(l, "", "") })
	return e, nil
}

// count raises the sequence with every change of the CA.
func (e *Endpoint) count(ctx context.Context, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = e.config.CA.Changed()
			e.mu.Lock()
			e.sequence++
			e.mu.Unlock()
		}
	}
}

// URL is where the bundle is.
func (e *Endpoint) URL() string {
	_, port, _ := net.SplitHostPort(e.addr)
	return "https://localhost:" + port
}

// Addr is the same without a name.
func (e *Endpoint) Addr() string { return e.addr }

// Close ends it.
func (e *Endpoint) Close() error {
	e.context()
	err := e.server.Close()
	e.running.Wait()
	return err
}

// Break has the next requests fail; with requests zero all, until Break("", 0).
func (e *Endpoint) Break(f BundleFault, requests int) {
	kept := e.document()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault, e.left, e.kept = f, requests, kept
}

// Requests is how many were answered.
func (e *Endpoint) Requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// next is the fault of this request, and the document of when it began.
func (e *Endpoint) next() (BundleFault, []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	f := e.fault
	if e.left > 0 {
		if e.left--; e.left == 0 {
			e.fault = ""
		}
	}
	return f, e.kept
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "method is not allowed", http.StatusMethodNotAllowed)
		return
	}
	body := e.document()
	fault, kept := e.next()
	switch fault {
	case Stale:
		body = kept
	case Garbage:
		body = []byte(`{"keys": [`)
	case Empty:
		body = []byte(`{"keys": []}`)
	case Slow:
		select {
		case <-time.After(e.config.Delay):
		case <-r.Context().Done():
		}
	case TooMany:
		if e.config.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(e.config.RetryAfter.Seconds())))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case Overload:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// document is the bundle as SPIFFE's Trust Domain and Bundle specification has it.
func (e *Endpoint) document() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := bundle{Sequence: e.sequence, RefreshHint: int(e.config.RefreshHint.Seconds())}
	for _, c := range e.config.CA.Roots() {
		out.Keys = append(out.Keys, keyOf(c))
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // it holds nothing that cannot be written
	}
	return text
}
