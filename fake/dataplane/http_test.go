package dataplane

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"gatehouse.dev/lbmodel"
)

func h2cOnly(t *testing.T) *backendServer {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }), func(s *httptest.Server) {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
	})
}

// simple is a gateway that sends everything to one HTTP/1.1 backend.
func simple(b *backendServer, edit ...func(*lbmodel.Rule)) Gateway {
	rule := prefixRule("/", to("b"))
	for _, e := range edit {
		e(&rule)
	}
	return gatewayOf("edge", []lbmodel.Listener{httpListener(80, rule)}, poolOf("b", lbmodel.PoolHTTP1, b.addr()))
}

// headersOf answers with the request's headers, one a line, sorted.
func headersOf(t *testing.T) *backendServer {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lines []string
		for name, values := range r.Header {
			lines = append(lines, name+": "+strings.Join(values, " | "))
		}
		slices.Sort(lines)
		w.Header().Set("Content-Type", "text/x-headers")
		fmt.Fprint(w, strings.Join(append(lines, "Query "+r.URL.RawQuery), "\n"))
	}))
}

// TestForwardedHeaders replaces what clients say of themselves and drops what
// concerns one hop only.
func TestForwardedHeaders(t *testing.T) {
	p := newPlane(t, Config{}, simple(headersOf(t), func(r *lbmodel.Rule) {
		r.Action.Edits.Request = &lbmodel.HeaderEdit{Set: []lbmodel.Header{{Name: "x-set", Value: "1"}},
			Add: []lbmodel.Header{{Name: "X-Add", Value: "2"}}, Remove: []string{"x-remove"}}
		r.Action.Forward.Backends[0].Edits.Request = &lbmodel.HeaderEdit{Add: []lbmodel.Header{{Name: "X-Add", Value: "3"}}}
		r.Action.Edits.Response = &lbmodel.HeaderEdit{Set: []lbmodel.Header{{Name: "X-Answer", Value: "4"}}, Remove: []string{"Content-Type"}}
	}))
	res, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/?a;b&c=%zz&d",
		"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.test", "Forwarded: for=192.0.2.1",
		"X-Forwarded-Client-Cert: URI=spiffe://evil", "Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 5", "Te: trailers", "Proxy-Authorization: x",
		"X-Set: 0", "X-Remove: 1", "X-Add: 1", "X-Kept: yes", "User-Agent: me"))
	want := "Te: trailers\nUser-Agent: me\nX-Add: 1 | 2 | 3\nX-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: any.test\nX-Forwarded-Proto: http\n" +
		"X-Kept: yes\nX-Set: 1\nQuery a;b&c=%zz&d"
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(body, "\n")); diff != "" {
		t.Errorf("the backend saw other headers (-want +got):\n%s", diff)
	}
	if res.Header.Get("X-Answer") != "4" || res.Header.Get("Content-Type") != "" {
		t.Errorf("the client saw %v, want X-Answer set and no Content-Type, not even a guessed one", res.Header)
	}
}

// TestUpgrade carries WebSocket both ways, refuses HTTP/2 smuggled in an
// upgrade, and ends the connection at shutdown.
func TestUpgrade(t *testing.T) {
	upgrader := websocket.Upgrader{}
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !websocket.IsWebSocketUpgrade(r) {
			fmt.Fprintf(w, "upgrade=%q settings=%q", r.Header.Get("Upgrade"), r.Header.Get("Http2-Settings"))
			return
		}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			conn.WriteMessage(kind, append([]byte("echo "), message...))
		}
	}))
	gw := simple(b)
	gw.Model.Pools[0].Protocol = lbmodel.PoolWebSocket
	p := newPlane(t, Config{DrainTimeout: 300 * time.Millisecond}, gw)
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+p.at(80)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{"one", strings.Repeat("x", 200<<10)} {
		conn.WriteMessage(websocket.TextMessage, []byte(text))
		if _, got, err := conn.ReadMessage(); err != nil || string(got) != "echo "+text {
			t.Errorf("WebSocket: %d bytes, %v", len(got), err)
		}
	}
	_, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"))
	if body != `upgrade="" settings=""` {
		t.Errorf("an h2c upgrade reached the backend: %s", body)
	}
	var cut *CutError
	if err := p.Shutdown(t.Context()); !errors.As(err, &cut) || cut.Lost() != 0 || cut.Streams != 1 {
		t.Errorf("Shutdown: %v, want that a stream was closed and no request lost", err)
	}
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, _, err := conn.ReadMessage(); err == nil || isTimeout(err) {
		t.Errorf("after Shutdown the WebSocket lives on: %v", err)
	}
}

// TestInformational passes 100 and 103 on, and a refusal instead of 100 before
// the body was sent.
func TestInformational(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		io.Copy(w, r.Body)
	}))
	p := newPlane(t, Config{}, simple(b))
	var hints, continued int
	trace := &httptrace.ClientTrace{
		Got100Continue: func() { continued++ },
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == http.StatusEarlyHints && h.Get("Link") != "" {
				hints++
			}
			return nil
		},
	}
	client := p.client(80, nil)
	client.Transport.(*http.Transport).ExpectContinueTimeout = 5 * time.Second
	r := must(http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "POST", "http://any.test/", strings.NewReader("body")))
	r.Header.Set("Expect", "100-continue")
	if res, body := answerOf(t, client, r); res.StatusCode != 200 || body != "body" || hints != 1 || continued != 1 {
		t.Errorf("status %d, %q, %d early hints, %d continues; want 200, the body and one of each", res.StatusCode, body, hints, continued)
	}
	unread := &countingReader{Reader: strings.NewReader("body")}
	r = must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/refuse", unread))
	r.Header.Set("Expect", "100-continue")
	if res, _ := answerOf(t, client, r); res.StatusCode != http.StatusExpectationFailed || unread.n != 0 {
		t.Errorf("status %d after %d bytes of body, want 417 after none", res.StatusCode, unread.n)
	}
}

type countingReader struct {
	io.Reader
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// TestTrailers passes them both ways in HTTP/1.1 and HTTP/2.
func TestTrailers(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.Copy(w, r.Body)
		w.Header().Set("X-Sum", "got "+r.Trailer.Get("X-Check"))
		w.Header().Set(http.TrailerPrefix+"X-Late", "unannounced")
	}))
	for _, protocol := range []string{"http1", "h2c"} {
		p := newPlane(t, Config{}, simple(b))
		r := must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/", io.NopCloser(strings.NewReader("body"))))
		r.ContentLength = -1
		r.Trailer = http.Header{"X-Check": {"c"}}
		res, body := answerOf(t, p.client(80, nil, protocol), r)
		if body != "body" || res.Trailer.Get("X-Sum") != "got c" || res.Trailer.Get("X-Late") != "unannounced" {
			t.Errorf("%s: %q with trailers %v", protocol, body, res.Trailer)
		}
	}
}

// TestStreaming answers each piece before the next is sent, and passes bodies
// that are larger than any buffer.
func TestStreaming(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		control.Flush()
		buffer := make([]byte, 32<<10)
		for {
			n, err := r.Body.Read(buffer)
			w.Write(buffer[:n])
			control.Flush()
			if err != nil {
				return
			}
		}
	}))
	p := newPlane(t, Config{}, simple(b))
	for _, protocol := range []string{"http1", "h2c"} {
		client := p.client(80, nil, protocol)
		send, pipe := io.Pipe()
		r := must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/", send))
		res, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", protocol, err)
		}
		lines := bufio.NewReader(res.Body)
		for i := range 3 {
			fmt.Fprintln(pipe, i)
			if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintln(i) {
				t.Errorf("%s: piece %d came back as %q, %v", protocol, i, line, err)
			}
		}
		pipe.Close()
		res.Body.Close()
		large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
		r = must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/", bytes.NewReader(large)))
		if _, body := answerOf(t, client, r); body != string(large) {
			t.Errorf("%s: 16 MiB came back as %d bytes, or changed", protocol, len(body))
		}
	}
}

// TestEarlyAnswer lets a backend answer an upload that it does not read, while
// the client is still sending.
func TestEarlyAnswer(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	p := newPlane(t, Config{}, simple(b))
	conn := must(net.Dial("tcp", p.at(80)))
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: any.test\r\nContent-Length: 1000000\r\n\r\nbegin")
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusForbidden {
		t.Fatalf("%v %v, want 403 without waiting for the body", res, err)
	}
	eventually(t, "the request is over", func() bool {
		counts := p.Counters().Requests
		return slices.ContainsFunc(counts, func(c RequestCount) bool { return c.Code == 403 && c.Count == 1 })
	})
}

// TestReusedConnection survives backends that close kept connections just when
// the next request is sent: the repetition is net/http's, if it may.
func TestReusedConnection(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }),
		func(s *httptest.Server) { s.Config.IdleTimeout = time.Millisecond })
	p := newPlane(t, Config{}, simple(b))
	client := p.client(80, nil)
	for i := range 600 {
		method := []string{"GET", "PUT", "DELETE"}[i%3]
		r := must(http.NewRequestWithContext(t.Context(), method, "http://any.test/", strings.NewReader("body")))
		if res, body := answerOf(t, client, r); res.StatusCode != 200 || body != "body" {
			t.Errorf("%s number %d: %d %q", method, i, res.StatusCode, body)
		}
		time.Sleep(time.Millisecond - 200*time.Microsecond + time.Duration(i%40)*10*time.Microsecond)
	}
}
