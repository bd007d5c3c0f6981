package roots

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
)

// hinted is what a double's endpoint hints at.
const hinted = 10 * time.Minute

// endpointOf starts a bundle endpoint of a CA, and has the settings to read it.
func endpointOf(t *testing.T, m *ca.CA, c spiffe.EndpointConfig) (*spiffe.Endpoint, Endpoint) {
	t.Helper()
	web := newCA(t)
	c.CA, c.Web, c.RefreshHint = m, web, hinted
	e, err := spiffe.StartEndpoint(c)
	do(t, err)
	t.Cleanup(func() { e.Close() })
	settings := Endpoint{TrustDomain: "example.org", URL: e.URL(), WebRoots: string(web.Bundle())}
	if c.Profile == spiffe.SPIFFE {
		settings.Profile, settings.WebRoots = SPIFFE, ""
		settings.ID, settings.Bootstrap = "spiffe://example.org/spire/server", string(m.Bundle())
	}
	return e, settings
}

// TestEndpointRotates: both profiles follow a whole rotation. In https_spiffe the
// server is verified by what was read last, to the end by a root that the settings
// know nothing of.
func TestEndpointRotates(t *testing.T) {
	for _, profile := range []spiffe.Profile{spiffe.Web, spiffe.SPIFFE} {
		t.Run(string(profile), func(t *testing.T) {
			m, c := newCA(t), newClock()
			_, settings := endpointOf(t, m, spiffe.EndpointConfig{Profile: profile})
			h := watch(t, settings, c)
			first := h.one()
			wants(t, first, "", m.Roots()...)
			if first.Name != "example.org" || first.Sequence != 1 || !first.At.Equal(c.Now()) {
				t.Errorf("%+v", first)
			}
			if wait := first.RefreshAt.Sub(c.Now()); wait > hinted || wait < hinted*9/10 {
				t.Errorf("read again in %s, want the hint of %s or up to a tenth less", wait, hinted)
			}
			steps := []func(){
				func() { do(t, m.Add(ca.Root{Name: "b"})) },
				func() { do(t, m.SignBy("b")) },
				func() { do(t, m.Drop("a")) },
				func() { do(t, m.Add(ca.Root{Name: "c"}), m.SignBy("c")) },
			}
			for i, step := range steps {
				if step(); i == len(steps)-1 && profile == spiffe.SPIFFE {
					break
				}
				c.next(t, hinted)
				wants(t, h.one(), "", m.Roots()...)
			}
			if profile == spiffe.SPIFFE { // published and signing at once: nobody can know it
				c.next(t, hinted)
				if got := h.one(); got.Problem == "" || len(got.Roots) != 1 {
					t.Errorf("a server with a certificate of an unknown root is believed: %+v", got)
				}
			}
		})
	}
}

// TestEndpointFails: whatever is wrong, roots stay, the problem says it, the next
// reading is at the usual time or when the server wants it, and then all is well.
func TestEndpointFails(t *testing.T) {
	const usual = usualHint - usualHint/20 // half of the jitter
	for _, tt := range []struct {
		name  string
		fault spiffe.BundleFault
		want  string
		wait  time.Duration
	}{
		{"no JSON", spiffe.Garbage, "the answer is no SPIFFE bundle", usual},
		{"no keys", spiffe.Empty, "the bundle has no X.509 roots", usual},
		{"too slow", spiffe.Slow, "no answer in time", usual},
		{"too many requests", spiffe.TooMany, "status 429", 15*time.Minute + 45*time.Second},
		{"overload", spiffe.Overload, "status 503", usual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, c := newCA(t), newClock()
			e, settings := endpointOf(t, m, spiffe.EndpointConfig{RetryAfter: 15 * time.Minute, Delay: soon})
			if tt.fault == spiffe.Slow {
				settings.Timeout = 3 * time.Second
			}
			h := watch(t, settings, c)
			good := h.one()
			asked := e.Requests()
			e.Break(tt.fault, 1)
			c.next(t, hinted)
			bad := h.one()
			keeps(t, good, bad, strings.TrimPrefix(settings.URL, "https://")+": "+tt.want)
			answered := tt.fault == spiffe.Garbage || tt.fault == spiffe.Empty
			if told := bad.Condition(c.Now()) != ""; told != answered {
				t.Errorf("a person is told at once: %t, want it of what is published and not taken, and of no interruption", told)
			}
			if wait := bad.RefreshAt.Sub(c.Now()); wait != tt.wait {
				t.Errorf("read again in %s, want %s", wait, tt.wait)
			}
			if got := e.Requests() - asked; got != 1 {
				t.Errorf("%d requests, want 1: an answer is an answer", got)
			}
			do(t, m.Add(ca.Root{Name: "b"}))
			c.next(t, time.Hour)
			wants(t, h.one(), "", m.Roots()...)
		})
	}
}

// TestEndpointIsSomebodyElse: roots of one who cannot prove to be the trust domain's
// server are not read.
func TestEndpointIsSomebodyElse(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile spiffe.Profile
		change  func(*Endpoint)
		want    string
	}{
		{"another SPIFFE ID", spiffe.SPIFFE, func(e *Endpoint) { e.ID = "spiffe://example.org/other" }, "unexpected ID"},
		{"another CA", spiffe.SPIFFE, func(e *Endpoint) { e.Bootstrap = string(ca.PEM(root(t))) }, "unknown authority"},
		{"a name that it does not have", spiffe.Web, func(e *Endpoint) { e.URL = strings.Replace(e.URL, "localhost", "127.0.0.1", 1) }, "127.0.0.1"},
		{"a web server of another CA", spiffe.Web, func(e *Endpoint) { e.WebRoots = string(ca.PEM(root(t))) }, "unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, c := newCA(t), newClock()
			e, settings := endpointOf(t, m, spiffe.EndpointConfig{Profile: tt.profile})
			tt.change(&settings)
			b := watch(t, settings, c).one()
			wants(t, b, tt.want)
			if e.Requests() != 0 {
				t.Error("it was asked")
			}
			if wait := b.RefreshAt.Sub(c.Now()); wait > firstHint {
				t.Errorf("without any roots, the next look is in %s", wait)
			}
		})
	}
}

// TestEndpointForgetsItsBootstrap: once a bundle was read, a root that is only in the
// settings verifies nobody. That the server goes on with it is a mistake that CAs
// make.
func TestEndpointForgetsItsBootstrap(t *testing.T) {
	m, c := newCA(t), newClock()
	_, settings := endpointOf(t, m, spiffe.EndpointConfig{Profile: spiffe.SPIFFE})
	h := watch(t, settings, c)
	wants(t, h.one(), "", m.Roots()...)
	do(t, m.Add(ca.Root{Name: "b"}))
	c.next(t, hinted)
	wants(t, h.one(), "", m.Roots()...)
	do(t, m.Drop("a"))
	c.next(t, hinted)
	wants(t, h.one(), "", m.Roots()...)
	c.next(t, hinted)
	last := h.one()
	wants(t, last, "unknown authority", m.Roots()...)
	if said := last.Condition(c.Now()); !strings.HasPrefix(said, "no roots are taken from their source since ") {
		t.Errorf("condition %q, want that a person is told at once", said)
	}
}

// TestEndpointSettings: what cannot work is said, and nobody is asked.
func TestEndpointSettings(t *testing.T) {
	good := Endpoint{TrustDomain: "example.org", URL: "https://example.org/"}
	for _, tt := range []struct {
		name   string
		change func(*Endpoint)
		want   string
	}{
		{"no trust domain", func(e *Endpoint) { e.TrustDomain = "" }, "is not the name of a trust domain"},
		{"an ID for a trust domain", func(e *Endpoint) { e.TrustDomain = "spiffe://example.org" }, "is not the name of a trust domain"},
		{"plain http", func(e *Endpoint) { e.URL = "http://example.org/b?key=s3cret" }, "example.org/b: the URL is not one of https"},
		{"a user", func(e *Endpoint) { e.URL = "https://me:s3cret@example.org/" }, "has a user in it"},
		{"no URL", func(e *Endpoint) { e.URL = "https://s3cret\x00/" }, "cannot be read"},
		{"no such profile", func(e *Endpoint) { e.Profile = "plain" }, "no profile"},
		{"broken web roots", func(e *Endpoint) { e.WebRoots = "x" }, "roots for the server itself"},
		{"an ID of another trust domain", func(e *Endpoint) { e.Profile, e.ID = SPIFFE, "spiffe://example.com/a" }, "SPIFFE ID in example.org"},
		{"nothing to begin with", func(e *Endpoint) { e.Profile, e.ID = SPIFFE, "spiffe://example.org/a" }, "to begin with"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settings := good
			tt.change(&settings)
			b := watch(t, settings, newClock()).one()
			wants(t, b, tt.want)
			if strings.Contains(b.Problem+settings.Where(), "s3cret") {
				t.Errorf("a secret is told: %q", b.Problem)
			}
		})
	}
}

// line is a way to a server that can be cut.
type line struct {
	t       *testing.T
	at, to  string
	config  *tls.Config // nil: as it comes
	running sync.WaitGroup
	l       net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

func lineTo(t *testing.T, to string, config *tls.Config) *line {
	l := &line{t: t, at: "127.0.0.1:0", to: to, config: config}
	l.up()
	t.Cleanup(l.down)
	return l
}

func (l *line) up() {
	l.t.Helper()
	listener, err := net.Listen("tcp", l.at)
	do(l.t, err)
	l.l, l.at = listener, listener.Addr().String()
	if l.config != nil {
		listener = tls.NewListener(listener, l.config)
	}
	l.running.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.carry(in) })
		}
	})
}

func (l *line) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer out.Close()
	l.mu.Lock()
	l.conns = append(l.conns, in)
	l.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(in, out); in.Close() })
	_, _ = io.Copy(out, in)
	out.Close()
	back.Wait()
}

func (l *line) down() {
	l.l.Close()
	l.mu.Lock()
	for _, c := range l.conns {
		c.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
}

// TestEndpointIsDownForADay: the roots stay, after a day a person is told, and when
// the server is back nothing is left of it.
func TestEndpointIsDownForADay(t *testing.T) {
	m, c := newCA(t), newClock()
	e, settings := endpointOf(t, m, spiffe.EndpointConfig{})
	way := lineTo(t, e.Addr(), nil)
	_, port, _ := net.SplitHostPort(way.at)
	settings.URL = "https://localhost:" + port + "/bundle?key=s3cret"
	h := watch(t, settings, c)
	good := h.one()
	way.down()
	c.next(t, hinted)
	bad := h.one()
	keeps(t, good, bad, "connection refused")
	if bad.Condition(c.Now()) != "" {
		t.Errorf("a person is told of an interruption: %s", bad.Condition(c.Now()))
	}
	c.await(t, hinted)
	c.advance(25 * time.Hour)
	worse := h.one()
	keeps(t, good, worse, "localhost:"+port+"/bundle: ")
	said := worse.Condition(c.Now())
	if !strings.HasPrefix(said, "the roots could not be read since ") || strings.Contains(said, "s3cret") {
		t.Errorf("condition %q", said)
	}
	if age := worse.Age(c.Now()); age < 25*time.Hour {
		t.Errorf("age %s", age)
	}
	do(t, m.Add(ca.Root{Name: "b"}))
	way.up()
	c.next(t, time.Hour)
	again := h.one()
	wants(t, again, "", m.Roots()...)
	if again.Condition(c.Now()) != "" || !again.Since.IsZero() {
		t.Errorf("%+v", again)
	}
}

// TestEndpointHangs: a server that takes the connection and says nothing holds
// nobody who wants to end.
func TestEndpointHangs(t *testing.T) {
	e, settings := endpointOf(t, newCA(t), spiffe.EndpointConfig{Delay: time.Hour})
	e.Break(spiffe.Slow, 0)
	h := watch(t, settings, newClock())
	for e.Requests() == 0 {
		time.Sleep(time.Millisecond) // a poll: the double counts, and tells nobody
	}
	began := time.Now()
	h.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if len(h.told) > 0 {
		t.Errorf("it tells of its own end: %+v", <-h.told)
	}
}
