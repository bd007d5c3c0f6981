package live_test

import (
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	cm "cloud.google.com/go/certificatemanager/apiv1/certificatemanagerpb"
	ns "cloud.google.com/go/networksecurity/apiv1/networksecuritypb"
	compute "google.golang.org/api/compute/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

// meshed is a pod that speaks TLS, wants a client of its mesh if there are roots for
// that, and answers with who came.
func meshed(t *testing.T, leaf *pkitest.Pair, clients ...*pkitest.Pair) (*httptest.Server, func(*pkitest.Pair)) {
	t.Helper()
	var mu sync.Mutex
	now := leaf.TLS()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if len(r.TLS.PeerCertificates) > 0 && len(r.TLS.PeerCertificates[0].URIs) > 0 {
			who = r.TLS.PeerCertificates[0].URIs[0].String()
		}
		_, _ = fmt.Fprintf(w, "%s as %q by %s", who, r.TLS.ServerName, r.Proto)
	}))
	roots := x509.NewCertPool()
	for _, c := range clients {
		roots.AddCert(c.Cert)
	}
	// A certificate of the test server's own would win over GetCertificate without SNI.
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		c := &tls.Config{Certificates: []tls.Certificate{now}, NextProtos: []string{"h2", "http/1.1"}, ClientCAs: roots, ClientAuth: tls.RequestClientCert}
		if len(clients) > 0 {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
		return c, nil
	}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, func(next *pkitest.Pair) {
		mu.Lock()
		defer mu.Unlock()
		now = next.TLS()
	}
}

const workload = "spiffe://cluster.local/ns/apps/sa/shop"

// Why: tlsSettings, trust config and client certificate mean what Google documents, and a
// refusal has the documented name.
func TestBackendTLS(t *testing.T) {
	root, other := pkitest.New(t, "root"), pkitest.New(t, "other")
	shop := root.Leaf(t, []string{"shop.example.com", workload})
	gateway := root.Leaf(t, []string{"spiffe://cluster.local/ns/gateways/sa/edge"})
	uri := []*compute.BackendServiceTlsSettingsSubjectAltName{{UniformResourceIdentifier: workload}}
	for _, c := range []struct {
		name, why string
		leaf      *pkitest.Pair
		clients   []*pkitest.Pair // whom the pod trusts; none lets everybody in
		protocol  string          // HTTPS
		settings  *compute.BackendServiceTlsSettings
		trusts    []*pkitest.Pair // none has no authentication config
		presents  bool
		want      string
		details   string
	}{
		{name: "nothing said", leaf: shop, want: `200 nobody as "" by HTTP/1.1`, why: "any certificate is accepted"},
		{name: "HTTP2", leaf: shop, protocol: "HTTP2", want: `200 nobody as "" by HTTP/2.0`, why: "the protocol chooses ALPN"},
		{name: "sni", leaf: shop, settings: &compute.BackendServiceTlsSettings{Sni: "shop.example.com"}, want: `200 nobody as "shop.example.com" by HTTP/1.1`, why: "sent, and a SAN"},
		{name: "sni is no SAN", leaf: shop, settings: &compute.BackendServiceTlsSettings{Sni: "other.example.com"}, want: "502", details: "ssl_certificate_san_verification_failed", why: "also without authentication config"},
		{name: "SAN replaces sni", leaf: shop, settings: &compute.BackendServiceTlsSettings{Sni: "other.example.com", SubjectAltNames: uri}, want: `200 nobody as "other.example.com" by HTTP/1.1`, why: "the list alone is matched"},
		{name: "trusted", leaf: shop, settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, want: `200 nobody as "" by HTTP/1.1`, why: "chain and name"},
		{name: "not trusted", leaf: shop, settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{other}, want: "502", details: "ssl_certificate_chain_verification_failed", why: "another root"},
		{name: "another workload", leaf: root.Leaf(t, []string{workload + "2"}), settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, want: "502", details: "ssl_certificate_san_verification_failed", why: "SANs match exactly"},
		{name: "mutual", leaf: shop, clients: []*pkitest.Pair{root}, settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, presents: true, want: `200 spiffe://cluster.local/ns/gateways/sa/edge as "" by HTTP/1.1`, why: "the promise"},
		{name: "mutual HTTP2", leaf: shop, protocol: "HTTP2", clients: []*pkitest.Pair{root}, settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, presents: true, want: `200 spiffe://cluster.local/ns/gateways/sa/edge as "" by HTTP/2.0`, why: "the promise"},
		{name: "nothing to present", leaf: shop, clients: []*pkitest.Pair{root}, settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, want: "503", details: "backend_connection_closed_before_data_sent_to_client", why: "the pod ends it"},
		{name: "P-521", leaf: root.LeafWith(t, pkitest.Key(t, elliptic.P521()), []string{workload}), settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, want: "502", details: "server_cert_unsupported_elliptic_curve_key", why: "P-256 and P-384 only"},
		{name: "client only", leaf: root.Leaf(t, []string{workload}, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), settings: &compute.BackendServiceTlsSettings{SubjectAltNames: uri}, trusts: []*pkitest.Pair{root}, want: "502", details: "server_cert_chain_invalid_eku", why: "serverAuth is needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, live.Config{})
			server, _ := meshed(t, c.leaf, c.clients...)
			w.place("10.9.0.1:443", server.Listener.Addr().String())
			if len(c.trusts) > 0 {
				config := &ns.BackendAuthenticationConfig{TrustConfig: w.trusts("mesh", c.trusts...)}
				if c.presents {
					config.ClientCertificate = w.certifies("edge", cm.Certificate_CLIENT_AUTH, gateway)
				}
				c.settings.AuthenticationConfig = w.authenticates("mesh", config)
			}
			if c.protocol == "" {
				c.protocol = "HTTPS"
			}
			w.hybrid(&compute.BackendService{Name: "b", Protocol: c.protocol, TlsSettings: c.settings}, "10.9.0.1:443")
			front := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b"})
			if got, _ := front.get("http://s/x"); got != c.want {
				t.Errorf("%s, want %s: %s; logged %+v", got, c.want, c.why, w.details("/x"))
			}
			if e := w.details("/x"); e.Details != c.details {
				t.Errorf("logged %q, want %q: %s", e.Details, c.details, c.why)
			}
		})
	}
}

// Why: roots and the client's certificate are rotated in place, under load, and not one
// request is lost; what was dropped is refused afterwards.
func TestRotation(t *testing.T) {
	w := newWorld(t, live.Config{})
	first, second := pkitest.New(t, "first"), pkitest.New(t, "second")
	server, renew := meshed(t, first.Leaf(t, []string{workload}), first, second)
	w.place("10.9.0.1:443", server.Listener.Addr().String())
	trusted := w.trusts("mesh", first)
	client := w.certifies("edge", cm.Certificate_CLIENT_AUTH, first.Leaf(t, []string{"spiffe://cluster.local/first"}))
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTPS", TlsSettings: &compute.BackendServiceTlsSettings{SubjectAltNames: []*compute.BackendServiceTlsSettingsSubjectAltName{{UniformResourceIdentifier: workload}},
		AuthenticationConfig: w.authenticates("mesh", &ns.BackendAuthenticationConfig{TrustConfig: trusted, ClientCertificate: client})}}, "10.9.0.1:443")
	c := w.front(&compute.UrlMap{Name: "f", DefaultService: "global/backendServices/b"})
	rotate := func(roots ...*pkitest.Pair) {
		t.Helper()
		config := trust(roots...)
		config.Name = trusted
		_, err := w.certs.UpdateTrustConfig(t.Context(), &cm.UpdateTrustConfigRequest{TrustConfig: config, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"trust_stores"}}})
		w.ok(err)
	}
	done := c.load()
	rotate(first, second)
	next := identity(t, cm.Certificate_CLIENT_AUTH, second.Leaf(t, []string{"spiffe://cluster.local/second"}))
	next.Name = client
	_, err := w.certs.UpdateCertificate(t.Context(), &cm.UpdateCertificateRequest{Certificate: next, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"self_managed"}}})
	w.ok(err)
	w.until("the new client certificate is used", func() bool {
		got, _ := c.get("http://s/who")
		return strings.Contains(got, "spiffe://cluster.local/second")
	})
	renew(second.Leaf(t, []string{workload}))
	rotate(second)
	if sent, lost := done(); sent == 0 || lost != "" {
		t.Errorf("of %d requests one was lost: %q", sent, lost)
	}
	renew(first.Leaf(t, []string{workload}))
	server.CloseClientConnections()
	w.until("the old root is refused", func() bool {
		got, _ := c.get("http://s/old")
		return got == "502"
	})
}

// load asks all the time, until done is called, which tells how often, and one answer
// that was not 200.
func (c *client) load() (done func() (sent int64, lost string)) {
	stop, lost := make(chan struct{}), make(chan string, 1)
	var running sync.WaitGroup
	var sent atomic.Int64
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got, _ := c.get("http://s/load"); !strings.HasPrefix(got, "200") {
					select {
					case lost <- got:
					default:
					}
				}
				sent.Add(1)
			}
		})
	}
	return func() (int64, string) {
		before := sent.Load()
		c.until("all have asked after the last change", func() bool { return sent.Load() >= before+8 })
		close(stop)
		running.Wait()
		select {
		case one := <-lost:
			return sent.Load(), one
		default:
			return sent.Load(), ""
		}
	}
}
