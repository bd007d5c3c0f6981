package inbound

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// port is where a connection came in.
type port int

const (
	atApp port = iota
	atProxy
)

func (p *Pod) accept(l net.Listener, at port) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.handle(conn, at) })
	}
}

// handle is the life of a connection, as far as no HTTP server has it.
func (p *Pod) handle(conn net.Conn, at port) {
	if !p.open.add(conn) {
		conn.Close()
		return
	}
	kept := false
	defer func() {
		if !kept {
			p.open.remove(conn)
			conn.Close()
		}
	}()
	set := p.setting.Load()
	hello, peeked := peekHello(conn, p.config.Detect)
	hello.Own = at == atProxy
	if from, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		hello.From = from.Addr()
	}
	chain := set.Proxy.Accept(hello)
	t := &taken{Conn: peeked, pod: p, socket: conn, chain: chain, hello: hello, visit: Visit{From: hello.From}}
	kept = t.treat(set)
}

// taken is a connection with its fate.
type taken struct {
	net.Conn // what is read from: clear text, once TLS has ended
	pod      *Pod
	socket   net.Conn // the client's own
	chain    Chain
	hello    Hello
	visit    Visit
	state    *tls.ConnectionState
	close    sync.Once
	carried  atomic.Int32 // requests so far
}

// Close implements net.Conn, and forgets the connection.
func (t *taken) Close() error {
	t.close.Do(func() { t.pod.open.remove(t.socket) })
	return t.Conn.Close()
}

// CloseWrite lets a half-closed stream stay one.
func (t *taken) CloseWrite() error { return closeWrite(t.Conn) }

// treat reports whether somebody else closes the connection.
func (t *taken) treat(set *Setting) bool {
	switch t.chain.Do {
	case Terminate:
		if err := t.terminate(set); err != nil {
			t.note(Refused, err)
			return false
		}
		t.note(Terminated, nil)
	case Pass:
		outcome := Clear
		if t.hello.TLS {
			outcome = Passed
		}
		t.note(outcome, nil)
	default:
		t.note(WasReset, nil)
		reset(t.socket)
		return false
	}
	return t.read()
}

func (t *taken) read() bool {
	switch t.chain.Read {
	case Web:
		if t.chain.Do == Pass && !t.beginsAsHTTP() {
			t.badRequest()
			return false
		}
		return t.pod.web.serve(t)
	case Tunnel:
		return t.pod.web.serve(t)
	case Detect:
		if t.beginsAsHTTP() {
			return t.pod.web.serve(t)
		}
	}
	t.splice()
	return false
}

// beginsAsHTTP looks, and has what it read be read again.
func (t *taken) beginsAsHTTP() bool {
	if t.hello.TLS && t.chain.Do == Pass {
		return false
	}
	is, again := peekHTTP(t.Conn, t.pod.config.Detect)
	t.Conn = again
	return is == isHTTP
}

// badRequest is what Envoy's HTTP reader says to anything else.
func (t *taken) badRequest() {
	t.pod.records.count(func(s *Seen) { s.BadRequests++ })
	_, _ = io.WriteString(t.socket, "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

// splice carries bytes between the client and the application.
func (t *taken) splice() {
	if t.chain.Admit != nil && !t.chain.Admit(t.visit) {
		t.pod.records.count(func(s *Seen) { s.Denied++ })
		reset(t.socket)
		return
	}
	up, err := net.Dial("tcp", t.pod.app.addr)
	if err != nil {
		reset(t.socket)
		return
	}
	if !t.pod.open.add(up) {
		up.Close()
		return
	}
	defer t.pod.open.remove(up)
	defer up.Close()
	carry(t.Conn, up)
}

// carry copies both ways until both ends have said all, or one fails.
func carry(a, b net.Conn) {
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if err != nil || closeWrite(to) != nil {
			to.Close()
			from.Close()
		}
	}
	both.Go(func() { one(a, b) })
	both.Go(func() { one(b, a) })
	both.Wait()
}

var errWhole = errors.New("the connection cannot be half closed")

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errWhole
}

// reset closes with RST: nothing that was sent is owed any more.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
