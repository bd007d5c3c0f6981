package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
)

// TestClusterTrustBundle is the test that the suite has not got yet for the
// feature of that name (GEP-5075): a BackendTLSPolicy takes its roots from a
// ClusterTrustBundle, follows every change of it, and trusts nobody when it is
// gone: what was known before must not be used on.
func TestClusterTrustBundle(t *testing.T) {
	c := begin(t, map[string]string{alikeImage: echoPackage})
	k := clientOf(t, c)
	c.Apply(t, trustBackend)
	right, ca, key := kubernetes.MustCreateCACertConfigMap(t, "alike", "right")
	wrong, _, _ := kubernetes.MustCreateCACertConfigMap(t, "alike", "wrong")
	pair := kubernetes.MustCreateCASignedCertSecret(t, "alike", "pair", []string{"secure.test"}, ca, key)
	if err := k.Create(t.Context(), pair); err != nil {
		t.Fatal(err)
	}
	awaitPod(t, c, "alike", "secure")
	gateway := awaitGateway(t, k, "outside")
	both := right.Data["ca.crt"] + wrong.Data["ca.crt"]
	for _, step := range []struct {
		name, why          string
		bundle             string // "" is deleted
		accepted, resolved string
		status             int
	}{
		{"absent", "no roots, no traffic", "", "NoValidCACertificate", "InvalidCACertificateRef", 500},
		{"right", "the bundle appears after its policy", right.Data["ca.crt"], "Accepted", "ResolvedRefs", 200},
		{"wrong", "roots that are gone are not trusted on", wrong.Data["ca.crt"], "Accepted", "ResolvedRefs", 502},
		{"both", "a bundle has many roots", both, "Accepted", "ResolvedRefs", 200},
		{"deleted", "what was known before must not be used", "", "NoValidCACertificate", "InvalidCACertificateRef", 500},
		{"again", "and it comes back", both, "Accepted", "ResolvedRefs", 200},
	} {
		setBundle(t, k, step.bundle)
		awaitPolicy(t, k, step.name, step.accepted, step.resolved)
		awaitStatus(t, step.name+" ("+step.why+")", gateway, step.status)
	}
}

// setBundle makes the bundle what it should be.
func setBundle(t *testing.T, k client.Client, pem string) {
	t.Helper()
	b := &certv1.ClusterTrustBundle{}
	b.Name = "alike-roots"
	if err := client.IgnoreNotFound(k.Get(t.Context(), client.ObjectKeyFromObject(b), b)); err != nil {
		t.Fatal(err)
	}
	b.Spec.TrustBundle = pem
	var err error
	switch exists := b.UID != ""; {
	case pem == "" && exists:
		err = k.Delete(t.Context(), b)
	case exists:
		err = k.Update(t.Context(), b)
	case pem != "":
		err = k.Create(t.Context(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func awaitPolicy(t *testing.T, k client.Client, step, accepted, resolved string) {
	t.Helper()
	poll(t, step+": BackendTLSPolicy secure", func(ctx context.Context) error {
		p := &gwv1.BackendTLSPolicy{}
		if err := k.Get(ctx, types.NamespacedName{Namespace: "alike", Name: "secure"}, p); err != nil {
			return err
		}
		if len(p.Status.Ancestors) != 1 {
			return fmt.Errorf("%d ancestors, want the Gateway", len(p.Status.Ancestors))
		}
		conditions := p.Status.Ancestors[0].Conditions
		a, r := meta.FindStatusCondition(conditions, "Accepted"), meta.FindStatusCondition(conditions, "ResolvedRefs")
		if a == nil || r == nil || a.Reason != accepted || r.Reason != resolved {
			return fmt.Errorf("conditions %+v, want Accepted with %s and ResolvedRefs with %s", conditions, accepted, resolved)
		}
		return nil
	})
}

func awaitStatus(t *testing.T, step string, gateway netip.Addr, status int) {
	t.Helper()
	poll(t, step, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+gateway.String()+"/", nil)
		if err != nil {
			return err
		}
		resp, err := (&http.Client{Timeout: 5 * time.Second}).Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			return fmt.Errorf("status %d, want %d", resp.StatusCode, status)
		}
		return nil
	})
}

// trustBackend speaks TLS, and waits for its Secret.
const trustBackend = `
apiVersion: v1
kind: Namespace
metadata: {name: alike}
---
apiVersion: v1
kind: Service
metadata: {name: secure, namespace: alike}
spec: {selector: {app: secure}, ports: [{name: https, port: 443, targetPort: 8443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: secure, namespace: alike}
spec:
  selector: {matchLabels: {app: secure}}
  template:
    metadata: {labels: {app: secure}}
    spec:
      containers:
      - name: echo
        image: ` + alikeImage + `
        env:
        - {name: TLS_SERVER_CERT, value: /tls/tls.crt}
        - {name: TLS_SERVER_PRIVKEY, value: /tls/tls.key}
        volumeMounts: [{name: tls, mountPath: /tls}]
        readinessProbe: {tcpSocket: {port: 8443}, periodSeconds: 1}
      volumes: [{name: tls, secret: {secretName: pair}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: outside, namespace: alike}
spec: {gatewayClassName: ` + className + `, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: secure, namespace: alike}
spec:
  parentRefs: [{name: outside}]
  rules: [{backendRefs: [{name: secure, port: 443}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: secure, namespace: alike}
spec:
  targetRefs: [{group: "", kind: Service, name: secure}]
  validation:
    hostname: secure.test
    caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: alike-roots}]
`
