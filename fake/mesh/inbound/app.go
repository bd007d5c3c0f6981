package inbound

import (
	"crypto/tls"
	"encoding/json/v2"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// App is the application of a pod, on a real socket of its own.
type App struct {
	Kind    AppKind
	Name    string       // in its answers; "" is "app"
	Handler http.Handler // nil answers every request with an Answer
	TLS     *tls.Config  // of HTTPS
	At      string       // host:port of an application that runs already; Kind says what it speaks
}

// AppKind is what an application speaks.
type AppKind string

// The kinds.
const (
	Both  AppKind = ""      // HTTP/1.1, and HTTP/2 without TLS
	HTTP1 AppKind = "HTTP1" // HTTP/1.1 only
	Echo  AppKind = "Echo"  // TCP: what it is sent it sends back
	HTTPS AppKind = "HTTPS" // HTTP/1.1 and HTTP/2 over TLS of its own
)

// Answer is what an application says that has no handler of its own, in JSON.
type Answer struct {
	App, Proto, Method, Path, Host string
	Client                         string // as the proxy told: x-forwarded-client-cert or l5d-client-id
	TLS                            bool   // the connection that it got was TLS
}

type application struct {
	App
	addr    string
	listen  net.Listener
	server  *http.Server
	open    conns
	running sync.WaitGroup
}

var errNoAppTLS = errors.New("an application that speaks HTTPS needs a TLS configuration")

func startApp(c App) (*application, error) {
	a := &application{App: c, addr: c.At}
	if c.At != "" {
		return a, nil
	}
	if c.Kind == HTTPS && c.TLS == nil {
		return nil, errNoAppTLS
	}
	if a.Name == "" {
		a.Name = "app"
	}
	if a.Handler == nil {
		a.Handler = a
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a.listen, a.addr = l, l.Addr().String()
	a.serve()
	return a, nil
}

func (a *application) serve() {
	if a.Kind == Echo {
		a.running.Go(a.echo)
		return
	}
	a.server = &http.Server{
		Handler: a.Handler, TLSConfig: a.TLS, Protocols: new(http.Protocols),
		ErrorLog: silent(), ReadHeaderTimeout: 10 * time.Second,
	}
	a.server.Protocols.SetHTTP1(true)
	switch a.Kind {
	case HTTPS:
		a.server.Protocols.SetHTTP2(true)
		a.running.Go(func() { _ = a.server.ServeTLS(a.listen, "", "") })
		return
	case Both:
		a.server.Protocols.SetUnencryptedHTTP2(true)
	}
	a.running.Go(func() { _ = a.server.Serve(a.listen) })
}

func (a *application) echo() {
	for {
		conn, err := a.listen.Accept()
		if err != nil {
			return
		}
		if !a.open.add(conn) {
			conn.Close()
			return
		}
		a.running.Go(func() {
			defer a.open.remove(conn)
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		})
	}
}

// answers says whether the application takes connections.
func (a *application) answers() bool {
	conn, err := net.DialTimeout("tcp", a.addr, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (a *application) close() {
	if a.listen == nil {
		return
	}
	a.listen.Close()
	if a.server != nil {
		a.server.Close()
	}
	a.open.closeAll()
	a.running.Wait()
}

// ServeHTTP implements http.Handler.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := Answer{
		App: a.Name, Proto: r.Proto, Method: r.Method, Path: r.URL.Path, Host: r.Host, TLS: r.TLS != nil,
		Client: r.Header.Get("X-Forwarded-Client-Cert") + r.Header.Get("L5d-Client-Id"),
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, answer)
}
