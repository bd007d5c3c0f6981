package inbound

import (
	"crypto/x509"
	"net/http"
	"net/netip"
)

// Proxy is a mesh's way with inbound connections. Implementations are plain values.
type Proxy interface {
	// Accept says what becomes of a connection.
	Accept(Hello) Chain
	// Healthy says whether a path of the health port asks for the proxy's health.
	Healthy(path string) bool
}

// Hello is what is known of a connection before anything is answered.
type Hello struct {
	From netip.Addr
	Own  bool // it came to the proxy's own port
	TLS  bool // it begins with a ClientHello
	// Silent says that the client said nothing at all: it left, or waits.
	Silent bool
	SNI    string
	ALPN   []string // what the client offers
}

// Treatment is what a proxy does with a connection.
type Treatment string

// The treatments.
const (
	Terminate Treatment = "Terminate" // ends TLS
	Pass      Treatment = "Pass"      // takes the bytes as they are: clear text, or TLS that is the application's
	Reset     Treatment = "Reset"     // closes at once
)

// Layer is how a proxy reads what it takes.
type Layer string

// The layers.
const (
	Bytes  Layer = "Bytes"  // not at all
	Web    Layer = "HTTP"   // as HTTP/1.1 or HTTP/2
	Detect Layer = "Detect" // as HTTP if it begins like that
	Tunnel Layer = "Tunnel" // as HTTP/2 CONNECT to the pod's own address
)

// Certificates is what a proxy wants of a client.
type Certificates string

// What is wanted.
const (
	Required Certificates = "Required" // "" too
	Optional Certificates = "Optional" // verified when it is shown
	Unasked  Certificates = "Unasked"
)

// Chain is how a connection is dealt with.
type Chain struct {
	Name string // for the records
	Do   Treatment
	Read Layer // "" is Bytes

	// Of Terminate.
	ALPN       []string // what the proxy negotiates, its favourite first
	MustAgree  bool     // a client that offers only other protocols is refused, not taken without
	MinVersion uint16   // zero is TLS 1.2
	Client     Certificates
	Prefixes   []string                  // the client's URI must begin with one; nil takes any name
	Keys       []x509.PublicKeyAlgorithm // of client certificates; nil takes all

	// Admit says whether who came may pass: on Bytes once, on HTTP for every request.
	// nil lets everybody.
	Admit func(Visit) bool
	// Tell adds to a request what the application is told of its client.
	Tell func(Visit, http.Header)
}

// Visit is who wants what.
type Visit struct {
	Client string // the first name of the verified certificate; "" is nobody
	Cert   *x509.Certificate
	From   netip.Addr
	Path   string // of HTTP; "" on Bytes
}

// Mode is how strictly a mesh asks for mutual TLS.
type Mode string

// The modes.
const (
	Strict     Mode = "STRICT"
	Permissive Mode = "PERMISSIVE"
	Disable    Mode = "DISABLE"
)

// Protocol is what a mesh believes a port to speak.
type Protocol string

// The protocols.
const (
	Auto  Protocol = "" // nobody said: the proxy looks
	HTTP  Protocol = "HTTP"
	HTTP2 Protocol = "HTTP2" // gRPC too; Istio makes no difference to HTTP
	TCP   Protocol = "TCP"
)

func (p Protocol) layer() Layer {
	switch p {
	case HTTP, HTTP2:
		return Web
	case Auto:
		return Detect
	}
	return Bytes
}
