package dataplane

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"gatehouse.dev/fake/sockets"
)

// maxHello bounds what is read of a client before its name is known, in bytes.
// A ClientHello with post-quantum key shares takes about 2 KiB.
const maxHello = 32 << 10

// peeked is a connection whose ClientHello was read and will be read again.
type peeked struct {
	net.Conn
	first *bytes.Reader
}

// Read implements net.Conn.
func (p *peeked) Read(b []byte) (int, error) {
	if p.first.Len() > 0 {
		return p.first.Read(b)
	}
	return p.Conn.Read(b)
}

// CloseWrite lets a half-closed stream stay one.
func (p *peeked) CloseWrite() error { return sockets.CloseWrite(p.Conn) }

// errPeeked ends the look at a ClientHello: it is no failure.
var errPeeked = errors.New("seen enough")

// peekName reads the server name of a ClientHello within the limits and without
// answering anything, so that the session can still be passed through. The
// standard library does the parsing.
func peekName(conn net.Conn, within time.Duration) (name string, _ *peeked, _ error) {
	var read bytes.Buffer
	look := listenOnly{io.TeeReader(io.LimitReader(conn, maxHello), &read)}
	conn.SetReadDeadline(time.Now().Add(within))
	err := tls.Server(look, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errPeeked
		},
	}).Handshake()
	conn.SetReadDeadline(time.Time{})
	if !errors.Is(err, errPeeked) {
		return "", nil, err
	}
	return name, &peeked{conn, bytes.NewReader(read.Bytes())}, nil
}

// listenOnly is a connection that swallows what is written to it. Its methods
// are net.Conn's.
type listenOnly struct{ from io.Reader }

func (l listenOnly) Read(b []byte) (int, error)     { return l.from.Read(b) }
func (listenOnly) Write(b []byte) (int, error)      { return len(b), nil }
func (listenOnly) Close() error                     { return nil }
func (listenOnly) LocalAddr() net.Addr              { return nil }
func (listenOnly) RemoteAddr() net.Addr             { return nil }
func (listenOnly) SetDeadline(time.Time) error      { return nil }
func (listenOnly) SetReadDeadline(time.Time) error  { return nil }
func (listenOnly) SetWriteDeadline(time.Time) error { return nil }
