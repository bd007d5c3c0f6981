package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// web reads HTTP: a server for each way in which a connection may begin, and a
// proxy for each way in which the application is spoken to.
type web struct {
	pod            *Pod
	one, two, both *server
	asOne, asTwo   *httputil.ReverseProxy
	transports     []*http.Transport
	running        sync.WaitGroup
}

// server is an HTTP server that is handed its connections.
type server struct {
	http.Server
	hand handed
}

func newWeb(p *Pod) *web {
	w := &web{pod: p}
	protocols := func(set ...func(*http.Protocols, bool)) *http.Protocols {
		out := new(http.Protocols)
		for _, s := range set {
			s(out, true)
		}
		return out
	}
	h1, h2 := (*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2
	w.one, w.two, w.both = w.start(protocols(h1)), w.start(protocols(h2)), w.start(protocols(h1, h2))
	w.asOne, w.asTwo = w.forward(protocols(h1)), w.forward(protocols(h2))
	return w
}

func (w *web) start(p *http.Protocols) *server {
	s := &server{hand: handed{make(chan net.Conn), w.pod.done}}
	s.Server = http.Server{
		Handler: w, Protocols: p, ErrorLog: silent(), ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, takenKey{}, c)
		},
	}
	w.running.Go(func() { _ = s.Serve(s.hand) })
	return s
}

type takenKey struct{}

func (w *web) forward(p *http.Protocols) *httputil.ReverseProxy {
	transport := &http.Transport{Protocols: p, DisableCompression: true}
	w.transports = append(w.transports, transport)
	app := &url.URL{Scheme: "http", Host: w.pod.app.addr}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: silent(),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(app)
			r.Out.Host = r.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = v
				}
			}
		},
		ModifyResponse: statusLast,
		ErrorHandler:   unavailable,
	}
}

// deadlineSkew is how much later than an application its caller may see that the
// time is over.
const deadlineSkew = 250 * time.Millisecond

// unavailable is the answer for an application that gives none, in gRPC's words to
// who speaks gRPC.
func unavailable(w http.ResponseWriter, r *http.Request, _ error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.Header.Get("Grpc-Timeout") != "" {
		// The application may have kept the caller's deadline a moment before the caller.
		select {
		case <-r.Context().Done():
		case <-time.After(deadlineSkew):
		}
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", "14")
	w.Header().Set("Grpc-Message", "no answer of the application")
}

// statusLast turns a gRPC answer of headers alone into one with trailers: the
// standard library's proxy may send the headers before it knows that nothing
// follows, and a client would then wait for a status that was told already.
func statusLast(r *http.Response) error {
	if r.ProtoMajor != 2 || r.Header.Get("Grpc-Status") == "" {
		return nil
	}
	if r.Trailer == nil {
		r.Trailer = http.Header{}
	}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "Grpc-") {
			r.Trailer[name] = values
			delete(r.Header, name)
		}
	}
	return nil
}

func (w *web) close() {
	for _, s := range []*server{w.one, w.two, w.both} {
		s.Close()
	}
	w.running.Wait()
	for _, t := range w.transports {
		t.CloseIdleConnections()
	}
}

// serve hands a connection over, and reports whether it could.
func (w *web) serve(t *taken) bool {
	s := w.both
	switch {
	case t.chain.Read == Tunnel:
		s = w.two
	case t.state == nil:
	case t.state.NegotiatedProtocol == "h2":
		s = w.two
	case t.state.NegotiatedProtocol == "http/1.1":
		s = w.one
	}
	select {
	case s.hand.conns <- t:
		return true
	case <-w.pod.done:
		return false
	}
}

// ServeHTTP implements http.Handler: it asks the chain, and forwards.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	t, ok := r.Context().Value(takenKey{}).(*taken)
	if !ok {
		panic("a connection that no chain took")
	}
	visit := t.visit
	visit.Path = r.URL.Path
	w.pod.records.count(func(s *Seen) { s.Requests++ })
	if most := w.pod.config.Requests; most > 0 && t.carried.Add(1) >= most {
		rw.Header().Set("Connection", "close")
	}
	admitted := t.chain.Admit == nil || t.chain.Admit(visit)
	if !admitted {
		w.pod.records.count(func(s *Seen) { s.Forbidden++ })
	}
	switch {
	case t.chain.Read == Tunnel:
		w.tunnel(rw, r, admitted)
		return
	case !admitted:
		http.Error(rw, "RBAC: access denied", http.StatusForbidden)
		return
	case t.chain.Tell != nil:
		t.chain.Tell(visit, r.Header)
	}
	if r.ProtoMajor == 2 && w.pod.config.App.Kind != HTTP1 {
		w.asTwo.ServeHTTP(rw, r)
		return
	}
	w.asOne.ServeHTTP(rw, r)
}

// tunnel is HBONE: HTTP/2 CONNECT to the pod's own address. The answers are
// ztunnel's.
func (w *web) tunnel(rw http.ResponseWriter, r *http.Request, admitted bool) {
	host, _, err := net.SplitHostPort(r.Host)
	switch {
	case r.Method != http.MethodConnect || err != nil || host != w.pod.config.Listen.Addr().String():
		rw.WriteHeader(http.StatusBadRequest)
		return
	case !admitted:
		rw.WriteHeader(http.StatusUnauthorized)
		return
	case r.Host != w.pod.Addr():
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	up, err := net.Dial("tcp", w.pod.app.addr)
	if err != nil {
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer up.Close()
	stop := context.AfterFunc(r.Context(), func() { up.Close() })
	defer stop()
	rw.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(rw).Flush()
	var sent sync.WaitGroup
	sent.Go(func() {
		_, _ = io.Copy(up, r.Body)
		_ = closeWrite(up)
	})
	_, _ = io.Copy(flushing{rw}, up)
	up.Close()
	r.Body.Close()
	sent.Wait()
}

// flushing sends on what it is given at once.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

// handed is a listener whose connections somebody else accepted.
type handed struct {
	conns chan net.Conn
	done  <-chan struct{}
}

// Accept implements net.Listener.
func (h handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (handed) Close() error { return nil }

// Addr implements net.Listener.
func (handed) Addr() net.Addr { return &net.TCPAddr{} }

// forwardedClientCert is the header by which Envoy tells who came.
func forwardedClientCert(v Visit, h http.Header) {
	h.Del("X-Forwarded-Client-Cert")
	if v.Cert == nil {
		return
	}
	sum := sha256.Sum256(v.Cert.Raw)
	h.Set("X-Forwarded-Client-Cert", fmt.Sprintf("Hash=%s;Subject=%q;URI=%s", hex.EncodeToString(sum[:]), v.Cert.Subject, v.Client))
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }
