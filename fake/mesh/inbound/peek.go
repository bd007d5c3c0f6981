package inbound

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// maxPeek bounds what is read of a client before its fate is known, in bytes.
const maxPeek = 32 << 10

// The first bytes of TLS records (RFC 8446, 5.1); a session begins with a handshake.
const (
	recordTypeAlert     = 0x15
	recordTypeHandshake = 0x16
)

// replay is a connection of which a part was read and will be read again.
type replay struct {
	net.Conn
	first *bytes.Buffer
}

// Read implements net.Conn.
func (r *replay) Read(b []byte) (int, error) {
	if r.first.Len() > 0 {
		return r.first.Read(b)
	}
	return r.Conn.Read(b)
}

// CloseWrite lets a half-closed stream stay one.
func (r *replay) CloseWrite() error { return closeWrite(r.Conn) }

// errSeen ends the look at a ClientHello: it is no failure.
var errSeen = errors.New("seen enough")

// peekHello looks at what a client begins with, without answering. A client that
// says nothing in time has begun with nothing.
func peekHello(conn net.Conn, within time.Duration) (Hello, *replay) {
	var read bytes.Buffer
	conn.SetReadDeadline(time.Now().Add(within))
	defer conn.SetReadDeadline(time.Time{})
	var h Hello
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		h.Silent = true
		return h, &replay{conn, &read}
	}
	read.Write(first)
	if first[0] != recordTypeHandshake {
		return h, &replay{conn, &read}
	}
	rest := io.TeeReader(io.LimitReader(conn, maxPeek), &read)
	err := tls.Server(deaf{io.MultiReader(bytes.NewReader(first), rest)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			h = Hello{TLS: true, SNI: hello.ServerName, ALPN: hello.SupportedProtos}
			return nil, errSeen
		},
	}).Handshake()
	if !errors.Is(err, errSeen) {
		h = Hello{}
	}
	return h, &replay{conn, &read}
}

// deaf is a connection that swallows what is written to it. Its methods are
// net.Conn's.
type deaf struct{ from io.Reader }

func (d deaf) Read(b []byte) (int, error)     { return d.from.Read(b) }
func (deaf) Write(b []byte) (int, error)      { return len(b), nil }
func (deaf) Close() error                     { return nil }
func (deaf) LocalAddr() net.Addr              { return nil }
func (deaf) RemoteAddr() net.Addr             { return nil }
func (deaf) SetDeadline(time.Time) error      { return nil }
func (deaf) SetReadDeadline(time.Time) error  { return nil }
func (deaf) SetWriteDeadline(time.Time) error { return nil }

// preface is how HTTP/2 begins (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// kind is what clear text turns out to be.
type kind int

const (
	undecided kind = iota
	isHTTP
	notHTTP
)

// peekHTTP reads until it is clear whether HTTP is spoken, or nothing more comes.
func peekHTTP(conn net.Conn, within time.Duration) (kind, *replay) {
	var read bytes.Buffer
	conn.SetReadDeadline(time.Now().Add(within))
	defer conn.SetReadDeadline(time.Time{})
	some := make([]byte, 1024)
	for read.Len() < maxPeek {
		n, err := conn.Read(some)
		read.Write(some[:n])
		if k := kindOf(read.String()); k != undecided {
			return k, &replay{conn, &read}
		}
		if err != nil {
			break
		}
	}
	return notHTTP, &replay{conn, &read}
}

func kindOf(text string) kind {
	switch {
	case strings.HasPrefix(text, preface):
		return isHTTP
	case strings.HasPrefix(preface, text):
		return undecided
	}
	line, _, whole := strings.Cut(text, "\n")
	method, _, _ := strings.Cut(line, " ")
	upper := func(r rune) bool { return r < 'A' || r > 'Z' }
	switch {
	case strings.ContainsFunc(method, upper):
		return notHTTP
	case !whole:
		return undecided
	case strings.HasSuffix(strings.TrimSuffix(line, "\r"), " HTTP/1.1"), strings.HasSuffix(strings.TrimSuffix(line, "\r"), " HTTP/1.0"):
		return isHTTP
	}
	return notHTTP
}
