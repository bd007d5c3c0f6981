package dataplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"gatehouse.dev/lbmodel"
)

// raw sends bytes and returns the status of the answer, 0 when there is none.
func raw(t *testing.T, p *plane, text string) int {
	t.Helper()
	conn := must(net.Dial("tcp", p.at(80)))
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	go io.WriteString(conn, text)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	return res.StatusCode
}

// TestLimits is what clients may not do.
func TestLimits(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	p := newPlane(t, Config{Limits: Limits{HeaderBytes: 8 << 10, HeaderValues: 50, HeaderTime: 200 * time.Millisecond,
		BodyBytes: 1000, BodyIdle: 200 * time.Millisecond}}, simple(b))
	for _, c := range []struct {
		name, why, request string
		want               int
	}{
		{"fine", "", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		{"large header", "431 (RFC 6585)", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", 431},
		{"many headers", "one line each would still be small", "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: 1\r\n", 200) + "\r\n", 431},
		{"slow header", "slowloris: the connection is closed", "GET / HTTP/1.1\r\nHost: a\r\n", 0},
		{"large body", "413 before anything is sent", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n", 413},
		{"large chunked body", "413 when it turns out", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + strings.Repeat("x", 2000) + "\r\n0\r\n\r\n", 413},
		{"slow body", "408", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nx", 408},
		{"forward proxy", "405", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 405},
		{"two lengths", "400: which body did they mean (RFC 9112 §6.3)", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nxxxxxx", 400},
		{"odd transfer coding", "501 or 400, never a guess", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
		{"no host", "400 (RFC 9112 §3.2)", "GET / HTTP/1.1\r\n\r\n", 400},
		{"dot segments", "no rule may see them", "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	} {
		if got := raw(t, p, c.request); got != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, got, c.want, c.why)
		}
	}
	if n := b.requests.Load(); n > 3 {
		t.Errorf("the backend saw %d requests", n)
	}
}

// TestMalformedBody blames the client for its own body (M3): the answer is 400 and
// closes the connection, whether or not the body could be kept for a retry, and
// nothing is held against the backend.
func TestMalformedBody(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	p := newPlane(t, Config{}, simple(b, func(r *lbmodel.Rule) {
		r.Action.Retry = &lbmodel.Retry{Attempts: 3, Codes: []int{502}}
	}))
	chunked := func(method, body string) string {
		return method + " / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body
	}
	for _, c := range []struct{ name, why, request string }{
		{"bare LF", "chunk lines end in CRLF (RFC 9112 §7.1)", chunked("POST", "3\nabc\n0\n\n")},
		{"no size", "a size is hexadecimal", chunked("POST", "xyz\r\nabc\r\n0\r\n\r\n")},
		{"idempotent", "nor is it sent twice", chunked("PUT", "3\r\nabcdef\r\n0\r\n\r\n")},
		{"after much", "a body that cannot be kept", chunked("PUT", "20000\r\n"+strings.Repeat("x", 0x20000)+"\r\nxyz\r\n")},
	} {
		conn := must(net.Dial("tcp", p.at(80)))
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		go io.WriteString(conn, c.request)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusBadRequest || !res.Close {
			t.Errorf("%s: %+v, %v; want 400 and the end of the connection: %s", c.name, res, err, c.why)
		}
		conn.Close()
	}
	if failures := p.Counters().Failures; failures[FailedBackend]+failures[FailedConnect]+failures[RepeatedAttempt] > 0 {
		t.Errorf("failures %v: the backend is blamed for the client's body", failures)
	}
	for _, of := range p.Health() {
		for target, health := range of {
			if health != lbmodel.HealthHealthy {
				t.Errorf("%s is %s", target, health)
			}
		}
	}
}

// TestUnreadAnswer ends a client that does not read, in both protocols.
func TestUnreadAnswer(t *testing.T) {
	ended := make(chan error, 2)
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 64<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				ended <- err
				return
			}
		}
	}))
	p := newPlane(t, Config{Limits: Limits{BodyIdle: 300 * time.Millisecond}}, simple(b))
	one := must(net.Dial("tcp", p.at(80)))
	defer one.Close()
	io.WriteString(one, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	two, err := p.client(80, nil, "h2c").Do(get(t, "http://any.test/"))
	if err != nil {
		t.Fatal(err)
	}
	defer two.Body.Close()
	for range 2 {
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("an answer that nobody reads goes on")
		}
	}
}

// TestQuietStreams lives on while nothing is to be written: an idle limit is for
// stalled writes, not for events that are rare.
func TestQuietStreams(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			fmt.Fprintln(w, "event")
			http.NewResponseController(w).Flush()
			time.Sleep(700 * time.Millisecond)
		}
	}))
	p := newPlane(t, Config{Limits: Limits{BodyIdle: 200 * time.Millisecond}}, simple(b))
	for _, protocol := range []string{"http1", "h2c"} {
		if _, body := answerOf(t, p.client(80, nil, protocol), get(t, "http://any.test/")); body != "event\nevent\n" {
			t.Errorf("%s: %q", protocol, body)
		}
	}
}

// TestTooManyConnections closes what is above the limit and serves the rest.
func TestTooManyConnections(t *testing.T) {
	p := newPlane(t, Config{Limits: Limits{Connections: 2}}, simple(echo(t, "a")))
	for range 2 {
		conn := must(net.Dial("tcp", p.at(80)))
		defer conn.Close()
	}
	eventually(t, "the third is closed", func() bool {
		conn := must(net.Dial("tcp", p.at(80)))
		defer conn.Close()
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		return err != nil && !isTimeout(err)
	})
}

// TestRapidReset opens and cancels streams as fast as it can (CVE-2023-44487):
// others are served all the while, and the connection is ended or survives, but
// nothing is left running.
func TestRapidReset(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
	}))
	p := newPlane(t, Config{Limits: Limits{HTTP2Streams: 50}}, simple(b))
	conn := must(net.Dial("tcp", p.at(80)))
	defer conn.Close()
	go io.Copy(io.Discard, conn)
	attack := func() error { return resetStreams(conn, 5000) }
	done := make(chan error, 1)
	go func() { done <- attack() }()
	client := p.client(80, nil)
	for range 20 {
		if res, _ := answerOf(t, client, get(t, "http://any.test/")); res.StatusCode != 200 {
			t.Errorf("status %d beside the attack", res.StatusCode)
		}
	}
	<-done
	conn.Close()
	s := p.sockets[firstKey(p)].(*tcpSocket)
	eventually(t, "the attacker's requests are over", func() bool {
		for _, l := range s.port.Load().gateway.pools["b"].links {
			if l.load.Load() != 0 {
				return false
			}
		}
		return true
	})
}

func firstKey(p *plane) socketKey {
	for key := range p.sockets {
		return key
	}
	return socketKey{}
}

func resetStreams(conn net.Conn, n uint32) error {
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return err
	}
	framer := http2.NewFramer(conn, conn)
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "any.test"}, {":path", "/slow"}} {
		encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	err := framer.WriteSettings()
	for id := uint32(1); id < 2*n && err == nil; id += 2 {
		err = errors.Join(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(block.String()), EndStream: true, EndHeaders: true}),
			framer.WriteRSTStream(id, http2.ErrCodeCancel))
	}
	return err
}

// TestClientGone stops the backend's work when nobody waits for it.
func TestClientGone(t *testing.T) {
	over := make(chan struct{}, 1)
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		over <- struct{}{}
	}))
	p := newPlane(t, Config{}, simple(b))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.client(80, nil).Do(get(t, "http://any.test/").WithContext(ctx)); err == nil {
		t.Fatal("the backend answered")
	}
	select {
	case <-over:
	case <-time.After(5 * time.Second):
		t.Error("the backend still works for a client that left")
	}
	eventually(t, "it is counted as 499", func() bool {
		for _, c := range p.Counters().Requests {
			if c.Code == statusClientClosed && c.Pool == "b" {
				return true
			}
		}
		return false
	})
}
