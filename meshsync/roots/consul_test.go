package roots

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/consul"
)

func startConsul(t *testing.T) (*consul.Server, *ca.CA) {
	t.Helper()
	m := newCA(t)
	s, err := consul.Start(consul.Config{CA: m})
	do(t, err)
	t.Cleanup(func() { s.Close() })
	return s, m
}

// TestConsulRotates: by either way roots come at once and whenever they change, and
// one that signs no more still counts.
func TestConsulRotates(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source func(*consul.Server) Source
		query  bool
	}{
		{"HTTP", func(s *consul.Server) Source { return Consul{URL: "http://" + s.HTTPAddr(), Token: "t"} }, true},
		{"gRPC", func(s *consul.Server) Source { return ConsulStream{Addr: s.GRPCAddr(), Plain: true, Token: "t"} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, m := startConsul(t)
			c := newClock()
			h := watch(t, tt.source(s), c)
			first := h.one()
			wants(t, first, "", m.Roots()...)
			if first.Name != s.Config().TrustDomain {
				t.Errorf("name %q", first.Name)
			}
			for _, step := range []func(){
				func() { do(t, m.Add(ca.Root{Name: "b"}), m.SignBy("b"), m.Intermediate("b", 0)) },
				func() { do(t, m.Drop("a")) },
			} {
				step()
				got := first
				for len(got.Roots) != len(m.Roots()) {
					if tt.query {
						c.next(t, consulPause)
					}
					got = h.one()
				}
				wants(t, got, "", m.Roots()...)
				first = got
			}
		})
	}
}

// TestConsulMissesARotation: roots that the server itself does not know of come when
// it does, by a query that reads all anew.
func TestConsulMissesARotation(t *testing.T) {
	s, m := startConsul(t)
	c := newClock()
	h := watch(t, Consul{URL: "http://" + s.HTTPAddr(), Wait: 10 * time.Millisecond}, c)
	old := m.Roots()
	wants(t, h.one(), "", old...)
	s.Freeze(consul.Roots)
	do(t, m.Add(ca.Root{Name: "b"}))
	c.next(t, consulPause)
	wants(t, h.one(), "", old...)
	s.Freeze("")
	c.next(t, consulPause)
	wants(t, h.one(), "", m.Roots()...)
}

// TestConsulIsDown: roots stay while the server is away, and are read when it is
// back, by either way.
func TestConsulIsDown(t *testing.T) {
	for _, tt := range []struct {
		name, to string
		source   func(at string) Source
	}{
		{"HTTP", "http", func(at string) Source { return Consul{URL: "http://" + at, Wait: 10 * time.Millisecond} }},
		{"gRPC", "grpc", func(at string) Source { return ConsulStream{Addr: at, Plain: true} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, m := startConsul(t)
			to := map[string]string{"http": s.HTTPAddr(), "grpc": s.GRPCAddr()}[tt.to]
			way := lineTo(t, to, nil)
			c := newClock()
			h := watch(t, tt.source(way.at), c)
			good := h.one()
			wants(t, good, "", m.Roots()...)
			way.down()
			c.next(t, 20*time.Second)
			bad := h.one()
			wants(t, bad, "connection refused", m.Roots()...)
			do(t, m.Add(ca.Root{Name: "b"}))
			way.up()
			c.next(t, 20*time.Second)
			wants(t, h.one(), "", m.Roots()...)
		})
	}
}

// TestConsulSettings: roots and tokens never travel in clear text to another host.
func TestConsulSettings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source Source
		want   string
	}{
		{"plain HTTP", Consul{URL: "http://consul.example:8500", Token: "s3cret"}, "travel by TLS alone"},
		{"plain HTTP to an address", Consul{URL: "http://192.0.2.1:8500"}, "travel by TLS alone"},
		{"a host that only looks local", Consul{URL: "http://localhost.example:8500"}, "travel by TLS alone"},
		{"a user", Consul{URL: "https://me:s3cret@consul.example"}, "has a user in it"},
		{"no URL", Consul{URL: "consul:8500"}, "not one of https"},
		{"broken roots", Consul{URL: "https://consul.example", ServerRoots: "x"}, "roots for the server itself"},
		{"plain gRPC", ConsulStream{Addr: "consul.example:8502", Plain: true, Token: "s3cret"}, "travel by TLS alone"},
		{"no port", ConsulStream{Addr: "consul.example"}, "not host:port"},
		{"broken roots for gRPC", ConsulStream{Addr: "consul.example:8503", ServerRoots: "x"}, "roots for the server itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := watch(t, tt.source, newClock()).one()
			wants(t, b, tt.want)
			if text := fmt.Sprintf("%v %+v %#v %v %s", tt.source, tt.source, tt.source, b, tt.source.Where()); strings.Contains(strings.ReplaceAll(text, "me:s3cret@", ""), "s3cret") {
				t.Errorf("a secret is printed: %s", text)
			}
		})
	}
}

// TestConsulIsRestored: where the index goes back or is lost, the next query does not
// wait for a change that may have been.
func TestConsulIsRestored(t *testing.T) {
	a := root(t)
	d, settings := serveDocuments(t)
	index := []string{"7", "9", "3", "4", "none", "5"}
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Consul-Index", index[len(d.requests())-1])
		fmt.Fprintf(w, `{"TrustDomain":"x.consul","Roots":[{"RootCert":%q}]}`, ca.PEM(a))
	})
	c := newClock()
	h := watch(t, Consul{URL: d.URL, ServerRoots: settings.WebRoots, ServerName: "example.com"}, c)
	wants(t, h.one(), "", a)
	for range index[1:] {
		c.next(t, consulPoll)
		wants(t, h.one(), "", a)
	}
	var got []string
	for _, r := range d.requests() {
		got = append(got, r.URL.Query().Get("index"))
	}
	if diff := cmp.Diff([]string{"", "7", "9", "", "4", ""}, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// TestConsulTLS: the token reaches a server that its own roots verify, and nobody
// that it leads to.
func TestConsulTLS(t *testing.T) {
	a := root(t)
	var tokens []string
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, "elsewhere "+r.Header.Get("X-Consul-Token"))
	}))
	defer elsewhere.Close()
	answers := []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"TrustDomain":"x.consul","Roots":[{"RootCert":%q,"Active":false}]}`, ca.PEM(a))
		},
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "ACL not found: "+r.Header.Get("X-Consul-Token")+"\n"+strings.Repeat("!", 1000), http.StatusForbidden)
		},
		func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"TrustDomain":"x.consul","Roots":[]}`)
		},
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"Roots":[]}`) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) },
	}
	d, settings := serveDocuments(t)
	source := Consul{URL: d.URL, ServerRoots: settings.WebRoots, ServerName: "example.com", Token: "s3cret"}
	c := newClock()
	d.answer(answers[0])
	h := watch(t, source, c)
	good := h.one()
	wants(t, good, "", a)
	if got := d.requests()[0]; got.Header.Get("X-Consul-Token") != "s3cret" || got.URL.RawQuery != "" {
		t.Errorf("token %q, query %q", got.Header.Get("X-Consul-Token"), got.URL.RawQuery)
	}
	if wait := good.RefreshAt.Sub(c.Now()); wait < consulPoll*9/10 {
		t.Errorf("a server without an index is asked again in %s", wait)
	}
	for i, want := range []string{"which is not followed", "status 403: ACL not found: (secret) !!!", "has no roots", "names no trust domain", "no list of roots"} {
		d.answer(answers[i+1])
		c.next(t, consulMost)
		bad := h.one()
		keeps(t, good, bad, want)
		if strings.Contains(bad.Problem, "s3cret") || len(bad.Problem) > 400 {
			t.Errorf("problem %q", bad.Problem)
		}
	}
	if len(tokens) > 0 {
		t.Errorf("the token went astray: %q", tokens)
	}
}

// TestConsulWithoutToken: who sent no token is told so, and not of a token that is wrong.
func TestConsulWithoutToken(t *testing.T) {
	d, settings := serveDocuments(t)
	d.answer(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Permission denied", http.StatusForbidden) })
	h := watch(t, Consul{URL: d.URL, ServerRoots: settings.WebRoots, ServerName: "example.com"}, newClock())
	if got, want := h.one().Problem, "status 403: no token was sent, and this Consul wants one: Permission denied"; !strings.HasSuffix(got, want) {
		t.Errorf("problem %q, want %q", got, want)
	}
}

// TestConsulStreamTLS: a Consul that its own roots and name do not verify has no
// roots for us.
func TestConsulStreamTLS(t *testing.T) {
	s, m := startConsul(t)
	agents := newCA(t)
	leaf, err := agents.Issue(ca.Request{DNSNames: []string{"server.dc1.consul"}})
	do(t, err)
	way := lineTo(t, s.GRPCAddr(), &tls.Config{Certificates: []tls.Certificate{leaf}, NextProtos: []string{"h2"}})
	good := ConsulStream{Addr: way.at, ServerRoots: string(agents.Bundle()), ServerName: "server.dc1.consul", Token: "s3cret"}
	wants(t, watch(t, good, newClock()).one(), "", m.Roots()...)
	unnamed, untrusted := good, good
	unnamed.ServerName = "server.dc2.consul"
	refuses(t, unnamed, "not server.dc2.consul")
	untrusted.ServerRoots = string(m.Bundle())
	refuses(t, untrusted, "unknown authority")
	s.Close()
	if b := watch(t, good, newClock()).one(); b.Problem == "" || b.Refused {
		t.Errorf("a Consul that is away: problem %q, told at once: %t", b.Problem, b.Refused)
	}
}

// refuses wants a source to have nothing, for a reason that is told at once.
func refuses(t *testing.T, s Source, problem string) {
	t.Helper()
	b := watch(t, s, newClock()).one()
	wants(t, b, problem)
	if !b.Refused {
		t.Errorf("%q is not told at once", b.Problem)
	}
}

// TestConsulOfAnotherTrustDomain: a Consul that is not the one that is expected has
// no roots for us; where any will do, each has its own bundle.
func TestConsulOfAnotherTrustDomain(t *testing.T) {
	s, m := startConsul(t)
	c := newClock()
	h := watch(t, ConsulStream{Addr: s.GRPCAddr(), Plain: true, TrustDomain: "other.consul"}, c)
	wants(t, h.one(), `and not of "other.consul"`)
	last := Bundle{Name: "before.consul", At: c.Now()}
	last.Roots, _ = normal(newCA(t).Roots())
	all := watch(t, ConsulStream{Addr: s.GRPCAddr(), Plain: true}, c, last).all()
	if len(all) != 2 || all[0].Name != s.Config().TrustDomain || all[1].Name != "before.consul" {
		t.Fatalf("%+v", all)
	}
	wants(t, all[0], "", m.Roots()...)
	keeps(t, last, all[1], "no bundle of this trust domain any more")
}
