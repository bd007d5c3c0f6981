package dataplane

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// scripted answers by turn: a status, or 0 to break the connection off, or a
// negative number of milliseconds to wait before 200.
func scripted(t *testing.T, turns ...int) *backendServer {
	var turn atomic.Int64
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		code := turns[min(int(turn.Add(1)), len(turns))-1]
		switch {
		case code == 0:
			panic(http.ErrAbortHandler)
		case code < 0:
			select {
			case <-time.After(time.Duration(-code) * time.Millisecond):
			case <-r.Context().Done():
			}
			code = 200
		}
		w.WriteHeader(code)
		w.Write(body)
	}))
}

// TestRetriesAndTimeouts is what of a failing backend reaches the client.
func TestRetriesAndTimeouts(t *testing.T) {
	retry := func(attempts int, codes ...int) func(*lbmodel.Rule) {
		return func(r *lbmodel.Rule) {
			r.Action.Retry = &lbmodel.Retry{Attempts: attempts, Codes: codes, Backoff: lbmodel.Duration(time.Millisecond)}
		}
	}
	ms := func(n int) lbmodel.Duration { return lbmodel.Duration(time.Duration(n) * time.Millisecond) }
	for _, c := range []struct {
		name, why string
		turns     []int
		body      string
		edit      func(*lbmodel.Rule)
		want      int
		attempts  int64
	}{
		{"no retry", "a code is an answer", []int{503, 200}, "", func(*lbmodel.Rule) {}, 503, 1},
		{"code", "the rule names it", []int{503, 502, 200}, "", retry(2, 502, 503), 200, 3},
		{"other code", "only the rule's codes", []int{500, 200}, "", retry(2, 503), 500, 1},
		{"used up", "the last answer is the client's", []int{503, 503, 503, 200}, "", retry(2, 503), 503, 3},
		{"body", "a small body is sent again", []int{503, 200}, "small", retry(1, 503), 200, 2},
		{"large body", "a body above ReplayBytes is not", []int{503, 200}, strings.Repeat("x", 100<<10), retry(1, 503), 503, 1},
		{"broken off", "a connection error counts as a failed attempt", []int{0, 200}, "small", retry(1), 200, 2},
		{"broken off without retry", "POST may have been done", []int{0, 200}, "small", func(*lbmodel.Rule) {}, 502, 1},
		{"request timeout", "504", []int{-2000}, "", func(r *lbmodel.Rule) { r.Action.Timeouts.Request = ms(50) }, 504, 1},
		{"backend timeout", "504", []int{-2000}, "", func(r *lbmodel.Rule) { r.Action.Timeouts.Backend = ms(50) }, 504, 1},
		{"backend timeout, retried", "each attempt has its own", []int{-2000, 200}, "small", func(r *lbmodel.Rule) {
			retry(1)(r)
			r.Action.Timeouts.Backend = ms(100)
		}, 200, 2},
		{"request timeout ends retries", "it is for all attempts together", []int{-2000}, "", func(r *lbmodel.Rule) {
			retry(50)(r)
			r.Action.Timeouts = lbmodel.Timeouts{Request: ms(150), Backend: ms(20)}
		}, 504, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := scripted(t, c.turns...)
			p := newPlane(t, Config{}, simple(b, c.edit))
			r := must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/", strings.NewReader(c.body)))
			res, body := answerOf(t, p.client(80, nil), r)
			if res.StatusCode != c.want || c.want == 200 && body != c.body {
				t.Errorf("status %d, %d bytes; want %d and %d bytes: %s", res.StatusCode, len(body), c.want, len(c.body), c.why)
			}
			if n := b.requests.Load(); c.attempts > 0 && n != c.attempts || c.attempts < 0 && n < 2 {
				t.Errorf("the backend got %d attempts, want %d: %s", n, c.attempts, c.why)
			}
		})
	}
}

// TestDeadEndpoints tries other endpoints when one does not accept, avoids it for
// a while, and gives up with 502 when all are like that.
func TestDeadEndpoints(t *testing.T) {
	a := echo(t, "a")
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/dead", to("dead")), prefixRule("/", to("some")))},
		poolOf("some", lbmodel.PoolHTTP1, closedPort(t), a.addr(), closedPort(t)), poolOf("dead", lbmodel.PoolHTTP1, closedPort(t), closedPort(t))))
	client := p.client(80, nil)
	for range 20 {
		r := must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/", strings.NewReader("x")))
		if res, _ := answerOf(t, client, r); res.StatusCode != 200 {
			t.Errorf("status %d, want 200 from the endpoint that lives", res.StatusCode)
		}
	}
	if n := p.Counters().Failures[FailedConnect]; n > 2 {
		t.Errorf("%d failed connects in 20 requests; a dead endpoint should be avoided after the first", n)
	}
	if res, _ := answerOf(t, client, get(t, "http://any.test/dead")); res.StatusCode != 502 {
		t.Errorf("all dead: status %d, want 502", res.StatusCode)
	}
}

// TestTerminatingEndpoints uses endpoints that leave only when nobody is ready.
func TestTerminatingEndpoints(t *testing.T) {
	ready, leaving := echo(t, "ready"), echo(t, "leaving")
	gone := lbmodel.Endpoint{Address: "127.0.0.1", Port: endpoint(leaving.addr()).Port, Serving: true, Terminating: true}
	pool := poolOf("a", lbmodel.PoolHTTP1, ready.addr())
	pool.Endpoints = append(pool.Endpoints, gone)
	listeners := []lbmodel.Listener{httpListener(80, prefixRule("/", to("a")))}
	p := newPlane(t, Config{}, gatewayOf("edge", listeners, pool))
	client := p.client(80, nil)
	for range 6 {
		if _, body := answerOf(t, client, get(t, "http://any.test/")); !strings.HasPrefix(body, "ready") {
			t.Errorf("answered by %q beside a ready endpoint", body)
		}
	}
	pool.Endpoints = []lbmodel.Endpoint{gone, {Address: "127.0.0.1", Port: 1}}
	p.program(gatewayOf("edge", listeners, pool))
	if _, body := answerOf(t, client, get(t, "http://any.test/")); !strings.HasPrefix(body, "leaving") {
		t.Errorf("answered by %q; a terminating endpoint that serves is better than nobody", body)
	}
}

// TestMirrors sends copies to several pools by their shares, waits for none and
// fails with none.
func TestMirrors(t *testing.T) {
	var mu sync.Mutex
	bodies := map[string]int{}
	copies := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies[string(body)+" "+r.Host+r.URL.Path]++
	}))
	half := echo(t, "half")
	gw := simple(scripted(t, 200), func(r *lbmodel.Rule) {
		r.Action.Edits.Mirrors = []lbmodel.Mirror{{Pool: "copies", Numerator: 1, Denominator: 1}, {Pool: "half", Numerator: 50, Denominator: 100},
			{Pool: "dead", Numerator: 1, Denominator: 1}, {Pool: "gone", Numerator: 1, Denominator: 1}}
	})
	gw.Model.Pools = append(gw.Model.Pools, poolOf("copies", lbmodel.PoolHTTP1, copies.addr()), poolOf("half", lbmodel.PoolHTTP1, half.addr()),
		poolOf("dead", lbmodel.PoolHTTP1, closedPort(t)))
	var heard ear
	p := newPlane(t, Config{Limits: Limits{Mirrors: 1000}, Trouble: heard.hear}, gw) // more than this test can have under way
	client := p.client(80, nil)
	for range 40 {
		r := must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/p", strings.NewReader("body")))
		if res, body := answerOf(t, client, r); res.StatusCode != 200 || body != "body" {
			t.Errorf("status %d %q: a mirror changed the answer", res.StatusCode, body)
		}
	}
	answerOf(t, client, must(http.NewRequestWithContext(t.Context(), "POST", "http://any.test/p", strings.NewReader(strings.Repeat("x", 100<<10)))))
	eventually(t, "40 copies with the body, and nothing else", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return bodies["body any.test/p"] == 40 && len(bodies) == 1
	})
	eventually(t, "about half as many", func() bool { n := half.requests.Load(); return n >= 18 && n <= 23 })
	if p.Counters().Failures[DroppedMirror] == 0 {
		t.Error("a body above ReplayBytes and a dead pool should be counted as dropped copies")
	}
	if told := heard.all(); len(told) != 1 || told[0].Pool != "dead" || told[0].Reason != ReasonRefused {
		t.Errorf("told %+v, want once that nothing listens at the dead pool: no answer would show it", told)
	}
}

// TestCORS answers preflights itself and replaces the backend's own marks.
func TestCORS(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Access-Control-Allow-Origin", "*") }))
	p := newPlane(t, Config{}, simple(b, func(r *lbmodel.Rule) {
		r.Action.CORS = &lbmodel.CORS{AllowOrigins: []string{"https://*.app.test"}, AllowMethods: []string{"GET", "PUT"}, AllowCredentials: true, MaxAge: 60}
	}))
	client := p.client(80, nil)
	preflight := get(t, "http://any.test/", "Origin: https://x.app.test", "Access-Control-Request-Method: PUT")
	preflight.Method = "OPTIONS"
	res, _ := answerOf(t, client, preflight)
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Methods") != "GET, PUT" || b.requests.Load() != 0 {
		t.Errorf("preflight: %d %v after %d backend requests", res.StatusCode, res.Header, b.requests.Load())
	}
	for origin, want := range map[string]string{"https://x.app.test": "https://x.app.test", "https://evil.test": ""} {
		res, _ := answerOf(t, client, get(t, "http://any.test/", "Origin: "+origin))
		if got := res.Header.Values("Access-Control-Allow-Origin"); strings.Join(got, ",") != want {
			t.Errorf("Origin %s: allowed %q, want %q alone", origin, got, want)
		}
	}
}

// TestPersistence keeps a client on its endpoint by cookie, header or address,
// and moves it when the endpoint goes.
func TestPersistence(t *testing.T) {
	a, b, c := echo(t, "a"), echo(t, "b"), echo(t, "c")
	for _, kind := range []lbmodel.PersistenceKind{lbmodel.PersistCookie, lbmodel.PersistHeader, lbmodel.PersistSource} {
		rule := prefixRule("/", lbmodel.Backend{Pool: "ab", Weight: 1}, lbmodel.Backend{Pool: "c", Weight: 1})
		if kind == lbmodel.PersistSource {
			rule = prefixRule("/", to("ab"))
		}
		rule.Action.Persistence = &lbmodel.Persistence{Kind: kind, Name: "S", IdleTimeout: lbmodel.Duration(time.Hour)}
		listeners := []lbmodel.Listener{httpListener(80, rule)}
		other := poolOf("c", lbmodel.PoolHTTP1, c.addr())
		p := newPlane(t, Config{}, gatewayOf("edge", listeners, poolOf("ab", lbmodel.PoolHTTP1, a.addr(), b.addr()), other))
		client := p.client(80, nil)
		var first, session string
		for i := range 12 {
			res, _ := answerOf(t, client, get(t, "http://any.test/", "Cookie: S="+session, "S: "+session))
			session = sessionOf(res, session)
			if i == 0 {
				first = res.Header.Get("Backend")
			}
			if got := res.Header.Get("Backend"); got != first {
				t.Errorf("%s: request %d went to %s, the first to %s", kind, i, got, first)
			}
		}
		rest := map[string]string{"a": b.addr(), "b": a.addr(), "c": c.addr()}[first]
		p.program(gatewayOf("edge", listeners, poolOf("ab", lbmodel.PoolHTTP1, rest), poolOf("c", lbmodel.PoolHTTP1)))
		for range 4 {
			res, _ := answerOf(t, client, get(t, "http://any.test/", "Cookie: S="+session, "S: "+session))
			if first != "c" && res.StatusCode == 200 && res.Header.Get("Backend") == first {
				t.Errorf("%s: still on %s, which is gone", kind, first)
			}
		}
	}
}

func sessionOf(res *http.Response, old string) string {
	if v := res.Header.Get("S"); v != "" {
		return v
	}
	for _, c := range res.Cookies() {
		return c.Value
	}
	return old
}

// TestPortTaken costs the gateway whose port it is, and says whose.
func TestPortTaken(t *testing.T) {
	taken := must(net.Listen("tcp", "127.0.0.1:0"))
	defer taken.Close()
	port := endpoint(taken.Addr().String()).Port
	a := echo(t, "a")
	d := New(Config{Ports: PortsExact})
	defer d.Shutdown(t.Context())
	free := endpoint(closedPort(t)).Port
	pool := poolOf("a", lbmodel.PoolHTTP1, a.addr())
	err := d.Program(t.Context(), []Gateway{
		gatewayOf("unlucky", []lbmodel.Listener{httpListener(port, prefixRule("/", to("a")))}, pool),
		gatewayOf("lucky", []lbmodel.Listener{httpListener(free, prefixRule("/", to("a")))}, pool),
	})
	if lbmodel.CodeOf(err) != lbmodel.CodeConflict || !strings.Contains(err.Error(), "apps/unlucky") {
		t.Errorf("Program: %v; want Conflict naming the gateway", err)
	}
	if res, _ := answerOf(t, http.DefaultClient, get(t, fmt.Sprintf("http://127.0.0.1:%d/", free))); res.StatusCode != 200 {
		t.Errorf("the other gateway answers %d", res.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	d.Shutdown(t.Context())
	if err := d.Program(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Program after Shutdown: %v", err)
	}
}

// TestPortChangesProtocol refuses what old connections bring when their port has
// begun to have TLS.
func TestPortChangesProtocol(t *testing.T) {
	ca := newAuthority(t, "ca")
	a := echo(t, "a")
	pool := poolOf("a", lbmodel.PoolHTTP1, a.addr())
	plain := gatewayOf("edge", []lbmodel.Listener{httpListener(443, prefixRule("/", to("a")))}, pool)
	p := newPlane(t, Config{}, plain)
	client := p.client(443, nil)
	answerOf(t, client, get(t, "http://any.test/"))
	secure := gatewayOf("edge", []lbmodel.Listener{httpsListener("tls", "", []string{"own"}, prefixRule("/", to("a")))}, pool)
	secure.Keys["own"] = ca.issue("any.test")
	p.program(secure)
	if res, _ := answerOf(t, client, get(t, "http://any.test/")); res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("plain text on a port that has TLS now: %d, want 421", res.StatusCode)
	}
	if res, _ := answerOf(t, p.client(443, &tls.Config{RootCAs: ca.pool()}), get(t, "https://any.test/")); res.StatusCode != 200 {
		t.Errorf("TLS: %d", res.StatusCode)
	}
}
