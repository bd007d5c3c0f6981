package mesh

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// give has the Gateway show the certificate of a Secret of its own, in place of one that
// the mesh issues.
func (w *world) give(pair leafKey) {
	w.Helper()
	w.made.add(pair)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	w.do(err)
	var chain bytes.Buffer
	for _, der := range pair.Certificate {
		w.do(pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	text := base64.StdEncoding.EncodeToString
	w.put("secret", fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: own, namespace: edge}
type: kubernetes.io/tls
data: {tls.crt: %s, tls.key: %s}
`, text(chain.Bytes()), text(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))))
	w.options.gateway = "  tls: {backend: {clientCertificateRef: {name: own}}}\n"
	w.put("gateway", w.gatewayYAML())
}

// owned is a certificate for the gateway, by some CA.
func (w *world) owned(by *ca.CA, life time.Duration) leafKey {
	w.Helper()
	pair, err := by.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/edge/sa/own"}, Life: life})
	w.do(err)
	return pair
}

// TestGateGivenCertificate: another certificate in the Secret that a Gateway names, which
// pods refuse, never reaches the provider, nor one that nobody could be shown; the one
// before serves on, until it is about to end.
func TestGateGivenCertificate(t *testing.T) {
	w := withPods(t, istioMesh(), probing("Gate"))
	w.give(w.owned(w.ca, 48*time.Hour))
	w.settle()
	w.works("with the Secret's certificate")
	w.writes.take()
	unchanged := func(when string) {
		w.Helper()
		w.works(when)
		if n := w.writes.take()["UpdateCertificate"]; n > 0 {
			t.Errorf("%s: the provider's certificate was changed %d times", when, n)
		}
	}

	w.give(w.owned(another(w), 48*time.Hour))
	w.pass()
	w.held("a certificate of another CA", "pods of apps/cart:80 do not take the new certificate: ", "client certificate refused")
	w.expect("HTTPRoute", backendTLS, "False/ProbeFailed", "client certificate refused")
	unchanged("with the certificate before")
	again := w.restarted()
	again.held("after a restart", "do not take the new certificate")
	unchanged("after a restart")

	w.give(w.owned(w.ca, 96*time.Hour))
	w.settle()
	w.works("with the next one")
	w.expect("HTTPRoute", backendTLS, "True/ProtectedWithLosses")
	if n := w.writes.take()["UpdateCertificate"]; n != 1 {
		t.Errorf("the provider's certificate was changed %d times, want once", n)
	}

	w.give(w.owned(another(w), 192*time.Hour))
	w.pass()
	unchanged("with the one before again")
	if end := w.clock.now().Add(96 * time.Hour); w.last.Next.Before(end.Add(-time.Hour)) || w.last.Next.After(end) {
		t.Errorf("the next look is at %s, want shortly before the live certificate ends at %s", w.last.Next, end)
	}
	w.clock.pass(96*time.Hour - 10*time.Minute)
	renewing(w)
	w.pass()
	if n := w.writes.take()["UpdateCertificate"]; n != 1 {
		t.Errorf("with nothing to lose the certificate was changed %d times, want once", n)
	}
}

// TestGateGivenToOne: a pod that refused the live certificate too holds up nobody else.
func TestGateGivenToOne(t *testing.T) {
	w := withPods(t, istioMesh(), probing("Gate"))
	stranger := w.pods[0]
	stranger.Trust(another(w).Roots())
	w.give(w.owned(w.ca, 48*time.Hour))
	w.settle()
	w.writes.take()
	w.give(w.owned(w.ca, 96*time.Hour))
	w.settle()
	if n := w.writes.take()["UpdateCertificate"]; n != 1 {
		t.Errorf("the provider's certificate was changed %d times, want once: one pod takes none, whatever is shown", n)
	}
	stranger.Trust(w.ca.Roots())
	w.clock.pass(time.Minute)
	w.settle()
	w.works("when all pods take it")
}
