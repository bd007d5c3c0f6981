// Command echo is the backend of the end-to-end tests: it tells what reached it
// and who it is. It is the program of the image gatehouse.test/echo.
//
//	HTTP and h2c  $HTTP_PORT, 8080    JSON about the request
//	HTTPS         $HTTPS_PORT, 8443   likewise, when $TLS_CERT and $TLS_KEY name files; they are read for each connection
//	TCP           $TCP_PORT, 9000     one line of JSON, then every line as it came
//	UDP           $UDP_PORT, 9000     JSON with the datagram
//
// A request may ask for ?status=503, ?delay=2s, ?size=BYTES. POST /ready and
// /unready set the answer of GET /healthz. At SIGTERM it goes on to serve for
// $LINGER (0s) and then lets requests end.
//
// It understands nothing of what it is sent and keeps nothing. Start with main.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Answer is what the echo says.
type Answer struct {
	Pod       string      `json:"pod"`
	Namespace string      `json:"namespace"`
	Node      string      `json:"node,omitzero"`
	Remote    string      `json:"remote"`
	Protocol  string      `json:"protocol"`
	Method    string      `json:"method,omitzero"`
	Host      string      `json:"host,omitzero"`
	Path      string      `json:"path,omitzero"`
	Query     string      `json:"query,omitzero"`
	Headers   http.Header `json:"headers,omitzero"`
	Data      string      `json:"data,omitzero"`
	TLS       *Hop        `json:"tls,omitzero"`
}

// Hop is the TLS that a request came by.
type Hop struct {
	Version string   `json:"version"`
	SNI     string   `json:"sni"`
	ALPN    string   `json:"alpn"`
	Client  []string `json:"client,omitzero"` // DNS names and URIs of the client's certificate
}

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	linger, err := time.ParseDuration(env("LINGER", "0s"))
	if err != nil {
		return err
	}
	failed := make(chan error, 4)
	servers := []*http.Server{newServer(env("HTTP_PORT", "8080"))}
	go func() { failed <- servers[0].ListenAndServe() }()
	if cert, key := os.Getenv("TLS_CERT"), os.Getenv("TLS_KEY"); cert != "" {
		s := newServer(env("HTTPS_PORT", "8443"))
		s.TLSConfig = serving(cert, key)
		servers = append(servers, s)
		go func() { failed <- s.ListenAndServeTLS("", "") }()
	}
	go func() { failed <- serveTCP(":" + env("TCP_PORT", "9000")) }()
	go func() { failed <- serveUDP(":" + env("UDP_PORT", "9000")) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	time.Sleep(linger)
	var all []error
	for _, s := range servers {
		all = append(all, s.Shutdown(context.Background())) // the kubelet's grace is the deadline
	}
	return errors.Join(all...)
}

func env(name, otherwise string) string { return cmp.Or(os.Getenv(name), otherwise) }

// serving reads the certificate for each connection, so that a new one counts at
// once. A client's certificate is asked for and shown; $TLS_CLIENT_CA verifies it.
func serving(cert, key string) *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		c := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert, NextProtos: []string{"h2", "http/1.1"}}
		if name := os.Getenv("TLS_CLIENT_CA"); name != "" {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			c.ClientCAs.AppendCertsFromPEM(text)
		}
		return c, nil
	}}
}

func newServer(port string) *http.Server {
	var unready atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if unready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /ready", func(http.ResponseWriter, *http.Request) { unready.Store(false) })
	mux.HandleFunc("POST /unready", func(http.ResponseWriter, *http.Request) { unready.Store(true) })
	mux.HandleFunc("/", echo)
	s := &http.Server{Addr: ":" + port, Handler: mux, ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

func about(remote, protocol string) Answer {
	name, _ := os.Hostname() // also without the downward API
	return Answer{
		Pod: env("POD_NAME", name), Namespace: os.Getenv("POD_NAMESPACE"), Node: os.Getenv("NODE_NAME"),
		Remote: remote, Protocol: protocol,
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	log.Printf("%s %s %s%s %s", r.Proto, r.Method, r.Host, r.URL.Path, r.Header.Get("X-Request-Id"))
	a := about(r.RemoteAddr, r.Proto)
	a.Method, a.Host, a.Path, a.Query, a.Headers = r.Method, r.Host, r.URL.Path, r.URL.RawQuery, r.Header
	if t := r.TLS; t != nil {
		a.TLS = &Hop{Version: tls.VersionName(t.Version), SNI: t.ServerName, ALPN: t.NegotiatedProtocol}
		for _, c := range t.PeerCertificates[:min(1, len(t.PeerCertificates))] {
			a.TLS.Client = append(a.TLS.Client, c.DNSNames...)
			for _, u := range c.URIs {
				a.TLS.Client = append(a.TLS.Client, u.String())
			}
		}
	}
	if d, err := time.ParseDuration(r.FormValue("delay")); err == nil {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return
		}
	}
	if n, err := strconv.Atoi(r.FormValue("size")); err == nil {
		a.Data = strings.Repeat("x", n)
	}
	w.Header().Set("Content-Type", "application/json")
	if code, err := strconv.Atoi(r.FormValue("status")); err == nil {
		w.WriteHeader(code)
	}
	_ = json.NewEncoder(w).Encode(a) // the client may have gone
}

func serveTCP(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go echoTCP(c)
	}
}

// echoTCP says who it is and then repeats all that it gets.
func echoTCP(c net.Conn) {
	defer c.Close()
	if json.NewEncoder(c).Encode(about(c.RemoteAddr().String(), "TCP")) != nil {
		return // it has gone
	}
	t := c.(*net.TCPConn)
	_, _ = t.WriteTo(c) // until it has gone
}

func serveUDP(at string) error {
	c, err := net.ListenPacket("udp", at)
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			continue // an earlier answer was not wanted
		}
		a := about(from.String(), "UDP")
		a.Data = string(buf[:n])
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		_, _ = c.WriteTo(text, from) // datagrams may be lost
	}
}
