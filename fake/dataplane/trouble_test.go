package dataplane

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
)

// ear keeps what a data plane tells.
type ear struct {
	mu   sync.Mutex
	told []Trouble
}

func (e *ear) hear(t Trouble) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, t)
}

func (e *ear) all() []Trouble {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Trouble(nil), e.told...)
}

// TestTroublesAreTold gives each failure its own sentence, once, while clients
// read the same 502 for all (M2).
func TestTroublesAreTold(t *testing.T) {
	mesh, other := newAuthority(t, "mesh"), newAuthority(t, "other")
	sound := mesh.issue(backendID, "a.internal.test")
	key := mesh.issue(gatewayID)
	plain := func(t *testing.T) string { return echo(t, "plain").addr() }
	mutual := func(leaf tls.Certificate) func(t *testing.T) string {
		return func(t *testing.T) string {
			m := newMeshBackend(t)
			m.use(leaf, mesh)
			return m.addr()
		}
	}
	for _, c := range []struct {
		name, why string
		backend   func(*testing.T) string
		edit      func(*lbmodel.Pool)
		root      *authority
		reason    Reason
		words     []string
	}{
		{"wrong CA", "the issuer tells which root is missing", mutual(sound), nil, other, ReasonUnknownCA, []string{"CN=mesh"}},
		{"wrong SAN", "both names are needed to see the difference", mutual(sound), func(p *lbmodel.Pool) {
			p.TLS.SANs = []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://mesh.test/ns/apps/sa/b"}}
		}, mesh, ReasonWrongName, []string{backendID, "wanted is \"spiffe://mesh.test/ns/apps/sa/b\""}},
		{"wrong host", "without SANs the server name counts", mutual(sound), func(p *lbmodel.Pool) {
			p.TLS.SANs, p.TLS.SNI = nil, "b.internal.test"
		}, mesh, ReasonWrongName, []string{"a.internal.test", "wanted is \"b.internal.test\""}},
		{"expired", "when, so that a clock can be blamed", mutual(mesh.expired(backendID)), nil, mesh, ReasonExpired, []string{"expired at 2"}},
		{"no client certificate", "TLS 1.3 tells only after the handshake", mutual(sound), func(p *lbmodel.Pool) {
			p.TLS.Identity, p.TLS.Floor = "", ""
		}, mesh, ReasonClientCertificate, []string{"wants a client certificate", "certificate required"}},
		{"plain text", "the port was mistaken", plain, nil, mesh, ReasonNotTLS, []string{"does not speak TLS"}},
		{"refused", "nothing listens", func(t *testing.T) string { return closedPort(t) }, nil, mesh, ReasonRefused, []string{"nothing listens there"}},
		{"TLS without TLS", "the pool was mistaken", says("\x15\x03\x01\x00\x02\x02\x0a"), func(p *lbmodel.Pool) { p.TLS = nil }, mesh, ReasonBadAnswer, []string{"another protocol, or TLS"}},
		{"broke off", "no answer at all", says(""), func(p *lbmodel.Pool) { p.TLS = nil }, mesh, ReasonBrokeOff, []string{"closed the connection"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var heard ear
			pool := poolOf("a", lbmodel.PoolHTTP1, c.backend(t))
			pool.Group = "apps/shop:443"
			pool.TLS = &lbmodel.BackendTLS{SNI: "a.internal.test", SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: backendID}},
				Trust: "mesh", Identity: "edge", Floor: lbmodel.TLSClientAndServer}
			if c.edit != nil {
				c.edit(&pool)
			}
			gw := gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("a")))}, pool)
			gw.Model.Trust, gw.Keys = []lbmodel.Trust{trustOf("mesh", c.root)}, map[string]tls.Certificate{"edge": key}
			p := newPlane(t, Config{Trouble: heard.hear}, gw)
			for range 3 {
				res, body := answerOf(t, p.client(80, nil), get(t, "http://any.test/"))
				if res.StatusCode != http.StatusBadGateway || strings.Contains(body, "certificate") {
					t.Errorf("the client reads %d %q, want a plain 502", res.StatusCode, body)
				}
			}
			told := heard.all()
			if len(told) != 1 || told[0].Reason != c.reason || told[0].Owner != gw.Model.Owner {
				t.Fatalf("told %+v, want %s once: %s", told, c.reason, c.why)
			}
			for _, want := range append(c.words, "backend apps/shop:443 at 127.0.0.1:") {
				if !strings.Contains(told[0].String(), want) {
					t.Errorf("%q does not say %q: %s", told[0], want, c.why)
				}
			}
		})
	}
}

// says is a server that reads a request, says the same to everybody, and closes.
func says(answer string) func(*testing.T) string {
	return func(t *testing.T) string {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		var served sync.WaitGroup
		served.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 1024))
				conn.Write([]byte(answer))
				conn.Close()
			}
		})
		t.Cleanup(func() { l.Close(); served.Wait() })
		return l.Addr().String()
	}
}

// TestTroublesGoToTheLog is what happens where nobody asks: a line at Warn.
func TestTroublesGoToTheLog(t *testing.T) {
	var log bytes.Buffer
	d := New(Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	defer d.Shutdown(t.Context())
	d.complain(linkTo(d, "10.0.0.1:80"), &connectError{syscall.ECONNREFUSED})
	for _, want := range []string{"level=WARN", "backend shop at 10.0.0.1:80", "nothing listens there", "reason=Refused"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
}

func linkTo(d *DataPlane, target string) *link {
	return newLink(linkKey{pool: "a", target: lbmodel.Target(target)}, &dialer{backend: "shop", limits: &d.config.Limits})
}

// TestTroublesAreBounded tells a reason again only when the endpoint worked in
// between and some time has passed, and counts what a burst leaves out, which is
// told later.
func TestTroublesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard ear
		d := New(Config{Trouble: heard.hear})
		defer d.Shutdown(t.Context())
		l, refused := linkTo(d, "10.0.0.1:80"), &connectError{syscall.ECONNREFUSED}
		count := func(want int, why string) {
			t.Helper()
			if got := len(heard.all()); got != want {
				t.Errorf("%d told, want %d: %s", got, want, why)
			}
		}
		d.relent(l)
		count(0, "a link that always worked is no news")
		d.complain(l, refused)
		time.Sleep(time.Hour)
		d.complain(l, refused)
		count(1, "it did not work in between")
		d.relent(l)
		d.relent(l)
		count(2, "that it is over is told once")
		d.complain(l, refused)
		count(3, "it worked in between, long after")
		d.relent(l)
		d.complain(l, refused)
		count(4, "it flaps: over, and not again so soon")

		time.Sleep(time.Hour)
		many := make([]*link, 2*troubleBurst)
		for i := range many {
			many[i] = linkTo(d, fmt.Sprintf("10.0.1.%d:80", i))
			d.complain(many[i], refused)
		}
		count(4+troubleBurst, "no more than a burst")
		time.Sleep(troubleWindow)
		d.complain(many[2*troubleBurst-1], refused)
		count(5+troubleBurst, "what was left out is told when it happens again")
		if last := heard.all()[4+troubleBurst]; last.More != troubleBurst {
			t.Errorf("%q: %d more, want %d", last, last.More, troubleBurst)
		}
	})
}
