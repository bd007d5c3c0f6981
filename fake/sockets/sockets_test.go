package sockets

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// ends are two ends of a TCP connection.
func ends(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	client, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	must(t, err)
	server, err = l.Accept()
	must(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// joined are a client and a backend whose connections are joined; done is closed when
// they are no more.
func joined(t *testing.T, idle Idle) (client, backend net.Conn, done chan struct{}) {
	t.Helper()
	client, a := ends(t)
	b, backend := ends(t)
	done = make(chan struct{})
	go func() {
		defer close(done)
		Join(a, b, idle)
	}()
	return client, backend, done
}

// TestHalfClosed: who has said all is still answered.
func TestHalfClosed(t *testing.T) {
	client, backend, done := joined(t, Idle{Both: time.Minute, Write: time.Minute})
	_, err := io.WriteString(client, "question")
	must(t, err)
	must(t, client.(*net.TCPConn).CloseWrite())
	if got, err := io.ReadAll(backend); err != nil || string(got) != "question" {
		t.Errorf("the backend reads %q (%v)", got, err)
	}
	_, err = io.WriteString(backend, "answer")
	must(t, err)
	must(t, backend.Close())
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("the client reads %q (%v)", got, err)
	}
	<-done
}

// TestIdle: a silence one way does not count while the other way is busy; one both ways
// ends the stream.
func TestIdle(t *testing.T) {
	const idle = 200 * time.Millisecond
	client, backend, done := joined(t, Idle{Both: idle})
	begun, b := time.Now(), make([]byte, 1)
	for time.Since(begun) < 2*idle {
		_, err := client.Write(b)
		must(t, err)
		_, err = io.ReadFull(backend, b)
		must(t, err)
	}
	<-done
	if _, err := client.Read(b); err == nil {
		t.Error("the client's end is open after a silence")
	}
}

// TestSlowReader: who takes nothing is given up where that is wanted, although it was
// written to all the time.
func TestSlowReader(t *testing.T) {
	client, _, done := joined(t, Idle{Both: time.Minute, Write: 50 * time.Millisecond})
	for much := make([]byte, 1<<20); ; {
		if _, err := client.Write(much); err != nil {
			break
		}
	}
	<-done
}

// TestHandover: what is given is accepted, and what comes too late is closed.
func TestHandover(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	h := NewHandover(at)
	if h.Addr() != net.Addr(at) {
		t.Errorf("it listens at %s", h.Addr())
	}
	client, server := ends(t)
	go h.Give(server)
	got, err := h.Accept()
	if err != nil || got != server {
		t.Errorf("accepted %v (%v), want what was given", got, err)
	}
	must(t, h.Close())
	must(t, h.Close())
	if _, err := h.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted with %v after the end", err)
	}
	h.Give(server)
	if n, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes (%v) of a connection that came too late, want its end", n, err)
	}
}

// TestAddrPortOf: IPv4 is IPv4, however the system names it.
func TestAddrPortOf(t *testing.T) {
	want := netip.MustParseAddrPort("192.0.2.1:53")
	mapped := net.ParseIP("::ffff:192.0.2.1")
	for _, a := range []net.Addr{&net.TCPAddr{IP: mapped, Port: 53}, &net.UDPAddr{IP: mapped, Port: 53}} {
		if got := AddrPortOf(a); got != want {
			t.Errorf("%s of %T is %s", a, a, got)
		}
	}
	if got := AddrPortOf(&net.UnixAddr{Name: "x"}); got.IsValid() {
		t.Errorf("a Unix socket is at %s", got)
	}
}
