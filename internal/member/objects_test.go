package member

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

// produced is everything that somebody could read: objects, calls and errors.
type produced struct{ text bytes.Buffer }

func (p *produced) add(t *testing.T, things ...any) {
	t.Helper()
	for _, thing := range things {
		if err, is := thing.(error); is {
			p.text.WriteString(err.Error())
			continue
		}
		text, err := json.Marshal(thing)
		if err != nil {
			t.Fatal(err)
		}
		p.text.Write(text)
	}
}

// hasNoKey looks for a key in every form that it could have.
func (p *produced) hasNoKey(t *testing.T, pair tls.Certificate) {
	t.Helper()
	raw, err := pair.PrivateKey.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if p.text.Len() == 0 {
		t.Fatal("nothing was produced")
	}
	for _, form := range []string{string(raw), hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw)[:24], "PRIVATE KEY"} {
		if strings.Contains(p.text.String(), form) || strings.Contains(p.text.String(), base64.StdEncoding.EncodeToString([]byte(form))) {
			t.Error("a key is in what was produced")
		}
	}
}

// sign is what a signer makes of a request in PEM.
func (w *world) sign(request []byte) []byte {
	w.Helper()
	block, _ := pem.Decode(request)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	w.do(err)
	chain, err := w.ca.Sign(ca.Request{URIs: []string{csr.URIs[0].String()}, Life: time.Hour}, csr.PublicKey)
	w.do(err)
	return ca.PEM(chain...)
}

// TestSigner: a gateway's certificate by a signer of the cluster, from the request to
// the key that nobody sees.
func TestSigner(t *testing.T) {
	w := newWorld(t)
	requests := fake.NewClientset().CertificatesV1().CertificateSigningRequests()
	w.around.Requests = requests
	w.read(istioMesh, "issuer: CertificateSigningRequest, signerName: mesh.test/clients, duration: 24h")
	m := w.members()
	m.Over(w)
	out := new(produced)
	_, err := m.Keyring(noSecrets)(t.Context(), w.identity())
	out.add(t, err)
	if lbmodel.CodeOf(err) != lbmodel.CodePending || !strings.Contains(err.Error(), "may approve for signer mesh.test/clients: kubectl certificate approve gatehouse-") {
		t.Fatalf("error %v, want that somebody must approve", err)
	}
	list, err := requests.List(t.Context(), metav1.ListOptions{})
	w.do(err)
	if len(list.Items) != 1 || *list.Items[0].Spec.ExpirationSeconds != 86400 {
		t.Fatalf("there are %+v", list.Items)
	}
	r := &list.Items[0]
	r.Status = certv1.CertificateSigningRequestStatus{
		Certificate: w.sign(r.Spec.Request),
		Conditions:  []certv1.CertificateSigningRequestCondition{{Type: certv1.CertificateApproved, Status: "True"}},
	}
	_, err = requests.UpdateStatus(t.Context(), r, metav1.UpdateOptions{})
	w.do(err)
	pair := w.issued(m)
	out.add(t, list, w.told)
	out.hasNoKey(t, pair)
}

// TestCertManager: the same by cert-manager, in our own namespace only.
func TestCertManager(t *testing.T) {
	w := newWorld(t)
	kind := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificaterequests"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kind: "CertificateRequestList"})
	requests := client.Resource(kind).Namespace("gatehouse-system")
	w.around.Objects, w.around.Namespace = requests, "gatehouse-system"
	w.read(istioMesh, "issuer: CertManager, issuerRef: {name: mesh}")
	m := w.members()
	m.Over(w)
	out := new(produced)
	_, err := m.Keyring(noSecrets)(t.Context(), w.identity())
	out.add(t, err)
	if lbmodel.CodeOf(err) != lbmodel.CodePending {
		t.Fatalf("error %v, want Pending", err)
	}
	list, err := requests.List(t.Context(), metav1.ListOptions{})
	w.do(err)
	if len(list.Items) != 1 {
		t.Fatalf("there are %+v", list.Items)
	}
	o := &list.Items[0]
	ref, _, _ := unstructured.NestedStringMap(o.Object, "spec", "issuerRef")
	if ref["group"] != "cert-manager.io" || ref["kind"] != "ClusterIssuer" || ref["name"] != "mesh" {
		t.Errorf("asked is %v", ref)
	}
	text, _, _ := unstructured.NestedString(o.Object, "spec", "request")
	request, err := base64.StdEncoding.DecodeString(text)
	w.do(err)
	o.Object["status"] = map[string]any{
		"certificate": base64.StdEncoding.EncodeToString(w.sign(request)),
		"conditions":  []any{map[string]any{"type": "Ready", "status": "True", "reason": "Issued"}},
	}
	_, err = requests.Update(t.Context(), o, metav1.UpdateOptions{})
	w.do(err)
	pair := w.issued(m)
	if list, err := requests.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%v is left, %v", list, err)
	}
	for _, action := range client.Actions() {
		if action.GetNamespace() != "gatehouse-system" {
			t.Errorf("%s in namespace %s", action.GetVerb(), action.GetNamespace())
		}
	}
	out.add(t, list, client.Actions(), w.told)
	out.hasNoKey(t, pair)
}

// TestKuma: it signs for nobody outside, and takes gateways under a CA of their own that
// a MeshTrust brings in. Its own CA says nothing of them.
func TestKuma(t *testing.T) {
	w := newWorld(t)
	requests := fake.NewClientset().CertificatesV1().CertificateSigningRequests()
	w.around.Requests = requests
	own, err := ca.New(ca.Config{Name: "kuma"})
	w.do(err)
	mesh := strings.ReplaceAll(kumaMesh, "OWN", `"`+strings.ReplaceAll(string(own.Bundle()), "\n", `\n`)+`"`)
	w.read(mesh, "issuer: CertificateSigningRequest, signerName: mesh.test/clients")
	m := w.members()
	m.Over(w)
	w.refused(m, lbmodel.CodePending, "kubectl certificate approve")
	list, err := requests.List(t.Context(), metav1.ListOptions{})
	w.do(err)
	r := &list.Items[0]
	r.Status.Certificate = w.sign(r.Spec.Request)
	r.Status.Conditions = []certv1.CertificateSigningRequestCondition{{Type: certv1.CertificateApproved, Status: "True"}}
	_, err = requests.UpdateStatus(t.Context(), r, metav1.UpdateOptions{})
	w.do(err)
	pair := w.issued(m)
	if id := w.identity(); !strings.HasPrefix(id.SPIFFEID, "spiffe://gatehouse/ns/") || len(id.Renew.Authorities) != 1 {
		t.Errorf("the gateway is %s of authorities %v", id.SPIFFEID, id.Renew.Authorities)
	}
	if bundle := w.Index().Bounds()[0]; len(bundle.Trust.Roots) != 1 || len(bundle.Admits) != 1 || bundle.Trust.Roots[0].SHA256 == bundle.Admits[0].SHA256 {
		t.Errorf("backends are verified by %+v, and the gateway by %+v", bundle.Trust.Roots, bundle.Admits)
	}
	// Another CA of the gateways waits until proxies know it.
	w.live(w.identity(), pair)
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	w.read(mesh, "issuer: CertificateSigningRequest, signerName: mesh.test/clients")
	m.See()
	w.refused(m, lbmodel.CodePending, "kubectl certificate approve")
	w.read(mesh, "")
	w.refused(m, lbmodel.CodeUnsupported, "signs for nobody outside of the mesh: set identity.issuer")
}

const kumaMesh = `---
kind: Mesh
apiVersion: kuma.io/v1alpha1
metadata: {name: default}
spec: {meshServices: {mode: Exclusive}}
---
kind: MeshIdentity
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: identity, labels: {kuma.io/mesh: default}}
spec:
  selector: {dataplane: {matchLabels: {}}}
  provider: {type: Bundled, bundled: {certificateParameters: {expiry: 24h}}}
---
kind: MeshTrust
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: identity, labels: {kuma.io/mesh: default, kuma.io/origin: zone, kuma.io/zone: east}}
spec: {trustDomain: default.east.mesh.local, caBundles: [{type: Pem, pem: {value: OWN}}]}
---
kind: MeshTrust
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: gatehouse, labels: {kuma.io/mesh: default}}
spec: {trustDomain: gatehouse, caBundles: [{type: Pem, pem: {value: ROOTS}}]}
---
kind: MeshTLS
apiVersion: kuma.io/v1alpha1
metadata: {namespace: kuma-system, name: strict, labels: {kuma.io/mesh: default}}
spec: {rules: [{default: {mode: Strict}}]}
---
kind: Pod
apiVersion: v1
metadata:
  namespace: apps
  name: a-0
  labels: {app: a, kuma.io/mesh: default, kuma.io/workload: a}
  annotations: {kuma.io/sidecar-injected: "true"}
spec: {serviceAccountName: a, containers: [{name: app, ports: [{containerPort: 8080}]}, {name: kuma-sidecar}]}
status: {podIP: 10.0.0.1}
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: mesh}
spec: {controllerName: kuma.io/kuma, gateways: {namespaceSelector: {}}, identity: {IDENTITY}}
`
