package live

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"time"
)

// variables are the values of custom header variables for a request ("Create custom
// headers in backend services").
func (f *front) variables(r *http.Request) map[string]string {
	out := map[string]string{}
	if host, port, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		out["client_ip_address"], out["client_port"] = host, port
	}
	out["server_ip_address"] = f.ip
	if r.TLS == nil {
		return out
	}
	out["tls_sni_hostname"], out["tls_version"], out["tls_cipher_suite"] = r.TLS.ServerName, tls.VersionName(r.TLS.Version), tls.CipherSuiteName(r.TLS.CipherSuite)
	if f.tls != nil && f.tls.client != nil {
		f.tls.client.describe(*r.TLS, out)
	}
	return out
}

// describe tells of a client's certificate.
func (c *clientTLS) describe(s tls.ConnectionState, out map[string]string) {
	failure := c.judge(s)
	out["client_cert_present"], out["client_cert_chain_verified"] = truth(len(s.PeerCertificates) > 0), truth(failure == "")
	if failure != "" {
		out["client_cert_error"] = "client_cert_" + string(failure)
	}
	if len(s.PeerCertificates) == 0 {
		return
	}
	leaf := s.PeerCertificates[0]
	sum := sha256.Sum256(leaf.Raw)
	out["client_cert_sha256_fingerprint"] = base64.StdEncoding.EncodeToString(sum[:])
	out["client_cert_serial_number"] = hex.EncodeToString(leaf.SerialNumber.Bytes())
	out["client_cert_valid_not_before"], out["client_cert_valid_not_after"] = leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339)
	out["client_cert_issuer_dn"], out["client_cert_subject_dn"] = base64.StdEncoding.EncodeToString(leaf.RawIssuer), base64.StdEncoding.EncodeToString(leaf.RawSubject)
	out["client_cert_leaf"], out["client_cert_chain"] = colon(s.PeerCertificates[:1]), colon(s.PeerCertificates[1:])
	var uris, names []string
	for _, u := range leaf.URIs {
		uris = append(uris, base64.StdEncoding.EncodeToString([]byte(u.String())))
		if u.Scheme == "spiffe" {
			out["client_cert_spiffe_id"] = u.String()
		}
	}
	for _, n := range leaf.DNSNames {
		names = append(names, base64.StdEncoding.EncodeToString([]byte(n)))
	}
	out["client_cert_uri_sans"], out["client_cert_dnsname_sans"] = strings.Join(uris, ","), strings.Join(names, ",")
}

// colon is certificates as RFC 9440 has them in headers.
func colon(all []*x509.Certificate) string {
	var out []string
	for _, c := range all {
		out = append(out, ":"+base64.StdEncoding.EncodeToString(c.Raw)+":")
	}
	return strings.Join(out, ",")
}

func truth(holds bool) string { //nolint:revive // it turns a boolean into the API's word
	if holds {
		return "true"
	}
	return "false"
}
