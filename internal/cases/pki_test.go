package cases

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// authority is a CA of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// leaf is a certificate with its key.
type leaf struct {
	tls.Certificate
	certPEM, keyPEM []byte
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{key: newKey(t)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes a leaf that is good for both sides of a handshake.
func (a *authority) issue(t *testing.T, names ...string) leaf {
	t.Helper()
	key := newKey(t)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, DNSNames: names, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	l := leaf{
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}
	if l.Certificate, err = tls.X509KeyPair(l.certPEM, l.keyPEM); err != nil {
		t.Fatal(err)
	}
	return l
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

func (a *authority) fingerprint() string { return fingerprint(a.cert.Raw) }

func (l leaf) fingerprint() string { return fingerprint(l.Certificate.Certificate[0]) }

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func pool(roots ...*authority) *x509.CertPool {
	p := x509.NewCertPool()
	for _, a := range roots {
		p.AddCert(a.cert)
	}
	return p
}

// secretYAML is a TLS Secret.
func secretYAML(namespace, name string, l leaf) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: %s}
type: kubernetes.io/tls
data: {tls.crt: %s, tls.key: %s}
`, name, namespace, base64.StdEncoding.EncodeToString(l.certPEM), base64.StdEncoding.EncodeToString(l.keyPEM))
}

// configMap is one of apps with one key. Its text may be anything that YAML can
// quote.
func (h *harness) configMap(name, key, text string) string {
	h.Helper()
	out, err := yaml.Marshal(fields{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": name, "namespace": "apps"}, "data": fields{key: text},
	})
	if err != nil {
		h.Fatal(err)
	}
	return string(out)
}

// policyYAML is the BackendTLSPolicy of the cases: Service name, verified as
// name.internal.test by the roots in a ConfigMap (or what kind says).
func policyYAML(service, kind, roots string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: %s, namespace: apps}
spec:
  targetRefs: [{group: "", kind: Service, name: %[1]s}]
  validation:
    hostname: %[1]s.internal.test
    caCertificateRefs: [{group: "", kind: %s, name: %s}]
`, service, kind, roots)
}

// handshake is the leaf that gateway edge shows for a server name; "" is that
// there is no handshake.
func (h *harness) handshake(port int32, name string) string {
	h.Helper()
	addr, err := h.stack.Address("edge", port)
	if err != nil {
		return ""
	}
	dialer := tls.Dialer{NetDialer: new(net.Dialer), Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(h.Context(), "tcp", addr.String())
	if err != nil {
		return ""
	}
	defer conn.Close()
	return fingerprint(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
}
