package gcptraffic

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/lbmodel"
)

// Why: calls of gRPC are HTTP/2 to the end, and members of a mesh take those as they
// take requests: with the gateway's certificate.
func TestCallsToMembers(t *testing.T) {
	m := istio()
	m.proxy = inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP2}
	x := newWorld(t).meshed("RegionalExternal", m)
	p := x.start(m.pods, x.ca)
	pair, err := x.ca.Issue(ca.Request{DNSNames: []string{host}, Key: ca.ECDSA})
	x.do(err)
	x.gw.Identities = append(x.gw.Identities, x.vault.secret("web", pair))
	x.gw.Pools[0].Protocol = lbmodel.PoolGRPC
	x.gw.Listeners = []lbmodel.Listener{{Name: "https", Port: 443, Protocol: lbmodel.ProtocolHTTPS, Hostname: host, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"web"}},
		Rules: []lbmodel.Rule{rule("rpc", lbmodel.Match{GRPC: &lbmodel.GRPCMatch{}}, lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "cart", Weight: 1})})}}}
	x.bring(x.gw)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(x.ca.Bundle())
	c := x.client(x.gw.Owner, 443, &tls.Config{RootCAs: roots, ServerName: host})
	got := answer{}
	x.until(func() string { return fmt.Sprintf("a call is answered: it is %q", got.text) }, func() bool {
		got, err = c.ask(t.Context(), http.MethodPost, "/shop.Cart/Add", "Content-Type: application/grpc", "TE: trailers")
		return err == nil && strings.HasPrefix(got.text, "200")
	})
	if !strings.Contains(got.text, `"Proto":"HTTP/2.0"`) || p.Seen().Clients[m.client()] == 0 {
		t.Errorf("answered %q, and the pod saw %+v", got.text, p.Seen())
	}
}

// Why: whom a listener asks for certificates must have a good one, unless the gateway
// says that it does not matter.
func TestClientsAreVerified(t *testing.T) {
	for _, flavour := range []string{"GlobalExternal", "RegionalInternal"} {
		for _, insecure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/insecure %t", flavour, insecure), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				gw := w.shop(flavour)
				roots, err := lbmodel.ParseRoots(w.vault.mesh.Bundle())
				w.do(err)
				gw.Trust = []lbmodel.Trust{{Name: "clients", Source: lbmodel.Source{Kind: "ConfigMap", Namespace: "edge", Name: "clients"}, Roots: roots}}
				gw.Listeners = gw.Listeners[1:]
				gw.Listeners[0].TLS.Validation = &lbmodel.ClientValidation{Trust: "clients", Insecure: insecure}
				w.bring(gw)
				strange, err := ca.New(ca.Config{Name: "strange", RootKey: ca.ECDSA})
				w.do(err)
				ours := x509.NewCertPool()
				ours.AppendCertsFromPEM(w.vault.mesh.Bundle())
				with := func(by *ca.CA) *client {
					config := &tls.Config{RootCAs: ours, ServerName: host}
					if by != nil {
						pair, err := by.Issue(ca.Request{DNSNames: []string{"client.test"}, Key: ca.ECDSA})
						w.do(err)
						config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
					}
					return w.client(gw.Owner, 443, config)
				}
				with(w.vault.mesh).answers("/a", "200 a")
				for name, by := range map[string]*ca.CA{"none": nil, "a stranger's": strange} {
					got, err := with(by).ask(t.Context(), http.MethodGet, "/a")
					if through := err == nil && strings.HasPrefix(got.text, "200"); through != insecure {
						t.Errorf("with the certificate %s: %q, %v", name, got.text, err)
					}
				}
			})
		}
	}
}

// Why: endpoints are also outside of the network, and names; a copy goes where it is
// told, and who is too slow is not waited for.
func TestKindsOfEndpoints(t *testing.T) {
	for _, c := range []struct{ flavour, more string }{{"GlobalExternal", ""}, {"RegionalExternal", `"endpointType":"NON_GCP_PRIVATE_IP_PORT"`}} {
		t.Run(c.flavour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gw := w.shop(c.flavour)
			if c.more != "" {
				gw.Settings = settingsOf(c.flavour, c.more)
			}
			away := pool("away", lbmodel.PoolHTTP1)
			away.Endpoints = []lbmodel.Endpoint{{FQDN: "api.example.com", Port: podPort, Ready: true, Serving: true}}
			w.pod("api.example.com", "away")
			slow := pool("slow", lbmodel.PoolHTTP1, podAddress(9))
			copies := w.slow(podAddress(9))
			gw.Pools = append(gw.Pools, away, slow)
			gw.Listeners = gw.Listeners[:1]
			gw.Pools = append(gw.Pools[:2:2], gw.Pools[3:]...)
			gw.Identities = nil
			gw.Listeners[0].Rules = []lbmodel.Rule{
				rule("away", prefix("/away"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "away", Weight: 1})}),
				rule("slow", prefix("/slow"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "slow", Weight: 1}), Timeouts: lbmodel.Timeouts{Request: lbmodel.Duration(100 * time.Millisecond)}}),
				rule("copied", prefix("/copied"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "a", Weight: 1}), Edits: lbmodel.Edits{Mirrors: []lbmodel.Mirror{{Pool: "slow", Numerator: 1, Denominator: 1}}}}),
			}
			w.bring(gw)
			client := w.client(gw.Owner, 80, nil)
			client.answers("/away", "200 away")
			client.answers("/copied", "200 a")
			client.answers("/slow", "504")
			w.until(func() string { return "a copy comes" }, func() bool {
				client.answers("/copied", "200 a")
				return len(copies) > 0
			})
			w.remove(gw.Owner)
		})
	}
}

// slow is an application that answers to nothing but checks while anybody waits. It tells
// of requests.
func (w *world) slow(address string) <-chan string {
	asked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/copied") {
			select {
			case asked <- r.Host:
			default:
			}
			return
		}
		<-r.Context().Done()
	}))
	w.Cleanup(s.Close)
	w.place(fmt.Sprintf("%s:%d", address, podPort), s.Listener.Addr().String())
	return asked
}
