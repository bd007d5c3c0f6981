package roots

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/federation"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"gatehouse.dev/fake/mesh/ca"
)

var example = spiffeid.RequireTrustDomainFromString("example.org")

// documents is a web server whose answer is whatever a test sets.
type documents struct {
	*httptest.Server
	mu      sync.Mutex
	handler http.HandlerFunc
	asked   []*http.Request
}

func serveDocuments(t *testing.T) (*documents, Endpoint) {
	t.Helper()
	d := &documents{}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.asked = append(d.asked, r)
		handler := d.handler
		d.mu.Unlock()
		handler(w, r)
	}))
	d.Config.ErrorLog = log.New(io.Discard, "", 0)
	d.StartTLS()
	t.Cleanup(d.Close)
	return d, Endpoint{TrustDomain: "example.org", URL: d.URL + "/bundle?key=s3cret", WebRoots: string(ca.PEM(d.Certificate()))}
}

func (d *documents) answer(h http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handler = h
}

func (d *documents) requests() []*http.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// document is a bundle as go-spiffe writes it; sequence 0 is none.
func document(t *testing.T, sequence uint64, certs ...*x509.Certificate) string {
	t.Helper()
	b := spiffebundle.FromX509Authorities(example, certs)
	if sequence > 0 {
		b.SetSequenceNumber(sequence)
	}
	text, err := b.Marshal()
	do(t, err)
	return string(text)
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// TestSequence: a bundle never goes back, and one of the same sequence is the same.
func TestSequence(t *testing.T) {
	a, b := root(t), root(t)
	d, settings := serveDocuments(t)
	c := newClock()
	d.answer(say(document(t, 5, a)))
	h := watch(t, settings, c)
	good := h.one()
	wants(t, good, "", a)
	for _, tt := range []struct {
		name, document, want string
	}{
		{"older", document(t, 4, b), "sequence 4 is older than 5"},
		{"other roots of the same", document(t, 5, a, b), "sequence 5 was read before with other roots"},
	} {
		d.answer(say(tt.document))
		c.next(t, time.Hour)
		keeps(t, good, h.one(), tt.want)
	}
	d.answer(say(document(t, 5, a)))
	c.next(t, time.Hour)
	if same := h.one(); same.Problem != "" || same.Sequence != 5 || !same.At.Equal(c.Now()) {
		t.Errorf("the same again: %+v", same)
	}
	d.answer(say(document(t, 6, b)))
	c.next(t, time.Hour)
	newer := h.one()
	wants(t, newer, "", b)
	h.stop()
	d.answer(say(document(t, 5, a)))
	later := watch(t, settings, c, newer).one()
	keeps(t, newer, later, "sequence 5 is older than 6")
}

// TestGoSPIFFEServes reads what go-spiffe's own handler serves.
func TestGoSPIFFEServes(t *testing.T) {
	a := root(t)
	d, settings := serveDocuments(t)
	handler, err := federation.NewHandler(example, spiffebundle.FromX509Authorities(example, []*x509.Certificate{a}))
	do(t, err)
	d.answer(handler.ServeHTTP)
	wants(t, watch(t, settings, newClock()).one(), "", a)
}

// TestTag: a document that was taken is not sent again; one that was not, is.
func TestTag(t *testing.T) {
	a, b := root(t), root(t)
	d, settings := serveDocuments(t)
	c := newClock()
	tagged := func(tag, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("ETag", tag)
			say(text)(w, r)
		}
	}
	d.answer(tagged(`"1"`, document(t, 2, a)))
	h := watch(t, settings, c)
	wants(t, h.one(), "", a)
	c.next(t, time.Hour)
	if same := h.one(); same.Problem != "" || !same.At.Equal(c.Now()) || len(same.Roots) != 1 {
		t.Errorf("not modified: %+v", same)
	}
	d.answer(tagged(`"2"`, document(t, 1, b)))
	for range 2 {
		c.next(t, time.Hour)
		wants(t, h.one(), "sequence 1 is older than 2", a)
	}
	if got := d.requests()[3].Header.Get("If-None-Match"); got != "" {
		t.Errorf("a document that was refused is asked for by its tag %s", got)
	}
}

// TestDocuments: an answer is taken whole or not at all.
func TestDocuments(t *testing.T) {
	a := root(t)
	web := newCA(t)
	leaf, err := web.Issue(ca.Request{DNSNames: []string{"leaf.test"}})
	do(t, err)
	good := document(t, 0, a)
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"no hint, no sequence", say(good), ""},
		{"keys for other uses", say(strings.Replace(good, `"keys":[`, `"keys":[{"use":"other","kty":"RSA","n":"AQAB","e":"AQAB"},`, 1)), ""},
		{"a hint beyond all bounds", say(strings.Replace(good, `"keys"`, `"spiffe_refresh_hint":9223372036854775807,"keys"`, 1)), ""},
		{"a leaf beside a root", say(document(t, 0, a, leaf.Leaf)), "is not a CA"},
		{"a sequence that is no number", say(strings.Replace(good, `"keys"`, `"spiffe_sequence":-1,"keys"`, 1)), "no SPIFFE bundle"},
		{"more than a bundle can have", say(good + strings.Repeat(" ", maxBody)), "more than the 1048576 bytes"},
		{"without end", func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1024))
			}
		}, "more than the 1048576 bytes"},
		{"much in little", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 2 * maxBody / 1024 {
				_, _ = z.Write(make([]byte, 1024))
			}
			_ = z.Close()
		}, "more than the 1048576 bytes"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "status 404"},
		{"nothing was asked for by tag", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "status 304"},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4096")
			_, _ = io.WriteString(w, good[:10])
		}, "broke off"},
		{"moved to plain http", moved("http://localhost/b?key=s3cret"), "localhost/b: the URL is not one of https"},
		{"moved round and round", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		}, "redirected more than 5 times"},
		{"moved and found", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				say(good)(w, r)
				return
			}
			moved("/there")(w, r)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, settings := serveDocuments(t)
			d.answer(tt.answer)
			c := newClock()
			b := watch(t, settings, c).one()
			if strings.Contains(b.Problem, "s3cret") {
				t.Errorf("a secret is told: %s", b.Problem)
			}
			if tt.want != "" {
				wants(t, b, tt.want)
				return
			}
			wants(t, b, "", a)
			if wait := b.RefreshAt.Sub(c.Now()); wait < leastHint*9/10 || wait > mostHint {
				t.Errorf("read again in %s", wait)
			}
		})
	}
}

// TestRetryAfter: both forms of the header, and no trust in it beyond an hour.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, text string
		want       time.Duration
	}{
		{"seconds", "120", 2 * time.Minute},
		{"a date", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"a date that is over", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"negative", "-5", 0},
		{"beyond all numbers", "99999999999999999999", 0},
		{"words", "soon", 0},
		{"nothing", "", 0},
	} {
		if got := retryAfter(tt.text, now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	s := Start{Random: func() float64 { return 0 }}
	year := laterError{io.EOF, 365 * 24 * time.Hour}
	if got := (pace{usual: time.Minute}).wait(s, reading{}, year, 1); got != maxLater {
		t.Errorf("a server that wants a year of rest gets %s, want %s", got, maxLater)
	}
}

// TestServerAsksForTime: a 503 with a date is kept to.
func TestServerAsksForTime(t *testing.T) {
	d, settings := serveDocuments(t)
	c := newClock()
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", c.Now().Add(30*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	b := watch(t, settings, c).one()
	wants(t, b, "status 503")
	if wait := b.RefreshAt.Sub(c.Now()); wait < 29*time.Minute || wait > 33*time.Minute {
		t.Errorf("read again in %s", wait)
	}
}

// TestSlowBody: an answer that never ends is given up, and with it nothing else.
func TestSlowBody(t *testing.T) {
	a := root(t)
	d, settings := serveDocuments(t)
	settings.Timeout = 3 * time.Second
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, document(t, 0, a)[:20])
		_ = http.NewResponseController(w).Flush()
		<-over // and not until the client leaves: that would end the answer well
	})
	c := newClock()
	h := watch(t, settings, c)
	wants(t, h.one(), "the answer broke off: no answer in time")
	d.answer(say(document(t, 0, a)))
	c.next(t, firstHint)
	wants(t, h.one(), "", a)
}

// TestOnlyTheUnreachedIsAskedTwice: a request that may have reached the server is
// not repeated.
func TestOnlyTheUnreachedIsAskedTwice(t *testing.T) {
	d, settings := serveDocuments(t)
	d.answer(func(w http.ResponseWriter, _ *http.Request) { // a reset
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			err = conn.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
		}
		if err != nil {
			t.Error(err)
			return
		}
		conn.(*tls.Conn).NetConn().Close()
	})
	c := newClock()
	h := watch(t, settings, c)
	wants(t, h.one(), "connection reset")
	if got := len(d.requests()); got != 1 {
		t.Errorf("%d requests to a server that cut the connection, want 1", got)
	}
	d.Close()
	began := time.Now()
	c.next(t, time.Hour)
	wants(t, h.one(), "connection refused")
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("%s: nobody tried again", took)
	}
}
