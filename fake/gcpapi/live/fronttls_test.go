package live_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	cm "cloud.google.com/go/certificatemanager/apiv1/certificatemanagerpb"
	ns "cloud.google.com/go/networksecurity/apiv1/networksecuritypb"
	compute "google.golang.org/api/compute/v1"

	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

// secure is an HTTPS front of its own name.
func (w *world) secure(proxy *compute.TargetHttpsProxy) {
	w.Helper()
	w.do(w.compute.UrlMaps.Insert(project, &compute.UrlMap{Name: proxy.Name, DefaultService: "global/backendServices/b"}).Do)
	proxy.UrlMap = "global/urlMaps/" + proxy.Name
	w.do(w.compute.TargetHttpsProxies.Insert(project, proxy).Do)
	w.do(w.compute.GlobalForwardingRules.Insert(project, &compute.ForwardingRule{Name: proxy.Name, LoadBalancingScheme: "EXTERNAL_MANAGED", PortRange: "443", Target: "global/targetHttpsProxies/" + proxy.Name}).Do)
}

// mapped is a certificate map of entries; "" is the PRIMARY one.
func (w *world) mapped(id string, entries map[string]string) string {
	w.Helper()
	_, err := w.certs.CreateCertificateMap(w.Context(), &cm.CreateCertificateMapRequest{Parent: global, CertificateMapId: id, CertificateMap: &cm.CertificateMap{}})
	w.ok(err)
	for host, certificate := range entries {
		entry := &cm.CertificateMapEntry{Certificates: []string{certificate}, Match: &cm.CertificateMapEntry_Hostname{Hostname: host}}
		if host == "" {
			entry.Match = &cm.CertificateMapEntry_Matcher_{Matcher: cm.CertificateMapEntry_PRIMARY}
		}
		name := "e" + strings.NewReplacer(".", "-", "*", "w").Replace(host)
		_, err := w.certs.CreateCertificateMapEntry(w.Context(), &cm.CreateCertificateMapEntryRequest{Parent: global + "/certificateMaps/" + id, CertificateMapEntryId: name, CertificateMapEntry: entry})
		w.ok(err)
	}
	return "//certificatemanager.googleapis.com/" + global + "/certificateMaps/" + id
}

// served is the name in the certificate that a client of a name gets; "" is none.
func (w *world) served(rule, name string) string {
	w.Helper()
	conn, err := tls.Dial("tcp", w.at(rule), &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].DNSNames[0]
}

// Why: certificates are chosen by exact name, then by the wildcard of one label, then the
// primary one; without any the handshake fails.
func TestCertificateChoice(t *testing.T) {
	w := newWorld(t, live.Config{})
	root := pkitest.New(t, "root")
	w.place("10.9.0.1:80", pod(t, "a").Listener.Addr().String())
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP"}, "10.9.0.1:80")
	exact := w.certifies("exact", cm.Certificate_DEFAULT, root.Leaf(t, []string{"a.example.com"}))
	wild := w.certifies("wild", cm.Certificate_DEFAULT, root.Leaf(t, []string{"*.example.com"}))
	primary := w.certifies("primary", cm.Certificate_DEFAULT, root.Leaf(t, []string{"primary"}))
	w.secure(&compute.TargetHttpsProxy{Name: "bare", CertificateMap: w.mapped("bare", map[string]string{"a.example.com": exact, "*.example.com": wild})})
	w.secure(&compute.TargetHttpsProxy{Name: "whole", CertificateMap: w.mapped("whole", map[string]string{"a.example.com": exact, "*.example.com": wild, "": primary})})
	for _, c := range []struct{ front, name, want string }{
		{"bare", "a.example.com", "a.example.com"}, {"bare", "b.example.com", "*.example.com"}, {"bare", "x.b.example.com", ""}, {"bare", "b.org", ""},
		{"whole", "a.example.com", "a.example.com"}, {"whole", "b.org", "primary"}, {"whole", "", "primary"},
	} {
		if got := w.served(c.front, c.name); got != c.want {
			t.Errorf("%s for %q serves %q, want %q", c.front, c.name, got, c.want)
		}
	}
}

// Why: a server TLS policy rejects, or lets in and tells, by the variables of custom
// headers.
func TestClientValidation(t *testing.T) {
	w := newWorld(t, live.Config{})
	root, other := pkitest.New(t, "root"), pkitest.New(t, "other")
	w.place("10.9.0.1:80", echo(t))
	w.hybrid(&compute.BackendService{Name: "b", Protocol: "HTTP", CustomRequestHeaders: []string{"X-Verified:{client_cert_chain_verified}", "X-Error:{client_cert_error}", "X-Spiffe:{client_cert_spiffe_id}"}}, "10.9.0.1:80")
	certificates := w.mapped("m", map[string]string{"": w.certifies("web", cm.Certificate_DEFAULT, root.Leaf(t, []string{"a.example.com"}))})
	trusted := w.trusts("clients", root)
	for name, mode := range map[string]ns.ServerTlsPolicy_MTLSPolicy_ClientValidationMode{"strict": ns.ServerTlsPolicy_MTLSPolicy_REJECT_INVALID, "lenient": ns.ServerTlsPolicy_MTLSPolicy_ALLOW_INVALID_OR_MISSING_CLIENT_CERT} {
		_, err := w.security.CreateServerTlsPolicy(t.Context(), &ns.CreateServerTlsPolicyRequest{Parent: global, ServerTlsPolicyId: name,
			ServerTlsPolicy: &ns.ServerTlsPolicy{MtlsPolicy: &ns.ServerTlsPolicy_MTLSPolicy{ClientValidationMode: mode, ClientValidationTrustConfig: trusted}}})
		w.ok(err)
		w.secure(&compute.TargetHttpsProxy{Name: name, CertificateMap: certificates, ServerTlsPolicy: "//networksecurity.googleapis.com/" + global + "/serverTlsPolicies/" + name})
	}
	good, bad := root.Leaf(t, []string{workload}).TLS(), other.Leaf(t, []string{workload}).TLS()
	weak := root.Leaf(t, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }).TLS()
	for _, c := range []struct {
		name, front string
		client      *tls.Certificate
		want        string // "" is no connection
	}{
		{"strict, trusted", "strict", &good, "true||" + workload},
		{"strict, other root", "strict", &bad, ""},
		{"strict, none", "strict", nil, ""},
		{"strict, not for clients", "strict", &weak, ""},
		{"lenient, trusted", "lenient", &good, "true||" + workload},
		{"lenient, other root", "lenient", &bad, "false|client_cert_validation_failed|" + workload},
		{"lenient, none", "lenient", nil, "false|client_cert_not_provided|"},
		{"lenient, not for clients", "lenient", &weak, "false|client_cert_chain_invalid_eku|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := &tls.Config{InsecureSkipVerify: true}
			if c.client != nil {
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.client, nil }
			}
			got, _ := w.client(c.front, config).get("https://a.example.com/")
			if c.want == "" && !strings.HasPrefix(got, "error: ") || c.want != "" && got != "200 "+c.want {
				t.Errorf("%s, want %q", got, c.want)
			}
		})
	}
}
