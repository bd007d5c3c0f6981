//go:build e2e

package e2e

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/test/cluster"
)

const certificateRequestKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificaterequests.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: CertificateRequest, plural: certificaterequests, singular: certificaterequest, listKind: CertificateRequestList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const signedBySigner = `
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: istio}
spec:
  controllerName: istio.io/istio
  gateways: {namespaceSelector: {matchLabels: {mesh-edge: "true"}}}
  identity: {issuer: CertificateSigningRequest, signerName: gatehouse.test/mesh, duration: 3h}
`

const secondGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: second, namespace: shop}
spec:
  gatewayClassName: edge
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: second, namespace: shop}
spec:
  parentRefs: [{name: second}]
  rules: [{backendRefs: [{name: api, port: 80}]}]
`

// issuersWorld is a mesh whose gateways get their certificates through objects of the
// cluster, and the manager with the rights that deploy/ gives for that.
type issuersWorld struct {
	*testing.T
	*cluster.Cluster
	mesh *mesh
}

// TestIssuers has a gateway's certificate approved and signed by others than the mesh's
// CA, and compares what the manager asked for with the rights of deploy/issuer-*.yaml.
func TestIssuers(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Packages: map[string]string{sidecarImage: "gatehouse.dev/test/cluster/sidecar"}})
	c.InstallCRDs(t, cluster.Standard)
	own := deployed(t, "issuer-csr.yaml", "issuer-cert-manager.yaml")
	if err := c.ApplyObjects(t.Context(), append(deployed(t, "namespace.yaml", "rbac.yaml"), own...)...); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, meshNamespaces)
	c.Apply(t, certificateRequestKind)
	c.Apply(t, peerAuthentications)
	c.Apply(t, edge)
	w := &issuersWorld{T: t, Cluster: c, mesh: newMesh(t, c)}
	w.mesh.publish(t)
	for _, text := range []string{strict, sidecarred, signedBySigner, meshed} {
		c.Apply(t, text)
	}
	readyPods(t, c, "app=api", 1)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	who, err := c.AsServiceAccount(t.Context(), system, account)
	w.mesh.do(t, err)
	w.mesh.do(t, c.WriteKubeconfig(kubeconfig, who))
	audit, err := c.Audit()
	w.mesh.do(t, err)
	o := newOutside(t)
	start := func(port int) (kill func()) {
		r := newReplica(t, kubeconfig, port, o, "--leader-elect-resource-namespace="+system)
		return func() { _ = r.Process.Kill() }
	}
	kill := start(10268)
	w.bySigner()
	w.leave() // it would ask the other issuer at once
	w.merge(`{"spec":{"identity":{"issuer":"CertManager","signerName":null,"issuerRef":{"name":"mesh"}}}}`)
	c.Apply(t, secondGateway)
	w.byCertManager(func() {
		kill()
		kill = start(10269)
	})
	t.Cleanup(func() { kill() })
	used, refused := requests(t, audit, "system:serviceaccount:"+system+":"+account)
	for _, r := range refused {
		t.Errorf("refused: %s", r)
	}
	for _, r := range slices.Sorted(maps.Keys(rights(own))) {
		if !used[r] {
			t.Errorf("granted and never used: %s", r)
		}
	}
}

// rights are those of roles, whatever their names.
func rights(objects []*unstructured.Unstructured) map[string]bool {
	out := map[string]bool{}
	for _, o := range objects {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, rule := range rules {
			of := func(key string) []string {
				list, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), key)
				return list
			}
			for _, verb := range of("verbs") {
				for _, resource := range of("resources") {
					out[right(verb, of("apiGroups")[0], resource)] = true
				}
			}
		}
	}
	return out
}

func (w *issuersWorld) merge(patch string) {
	w.Helper()
	_, err := w.Dynamic().Resource(bindings).Patch(w.Context(), "istio", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.mesh.do(w.T, err)
}

// says waits until a Gateway's membership is told so.
func (w *issuersWorld) says(gateway, reason, text string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		var g gwv1.Gateway
		if err := read(ctx, w.Cluster, gateways, namespace, gateway, &g); err != nil {
			return err
		}
		for _, c := range g.Status.Conditions {
			if c.Type == "gatehouse.dev/MeshMember" {
				if c.Reason == reason && strings.Contains(c.Message, text) {
					return nil
				}
				return fmt.Errorf("it is %s: %s; want %s with %q", c.Reason, c.Message, reason, text)
			}
		}
		return errors.New("nothing is said of its membership")
	})
}

// open waits for a request that nobody has decided about.
func (w *issuersWorld) open() (out *certv1.CertificateSigningRequest) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		list, err := w.Client().CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=gatehouse"})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if len(list.Items[i].Status.Conditions) == 0 {
				out = &list.Items[i]
				return nil
			}
		}
		return fmt.Errorf("none of %d is open", len(list.Items))
	})
	return out
}

func (w *issuersWorld) decide(r *certv1.CertificateSigningRequest, what certv1.RequestConditionType) {
	w.Helper()
	r.Status.Conditions = append(r.Status.Conditions, certv1.CertificateSigningRequestCondition{Type: what, Status: corev1.ConditionTrue, Reason: "Person", Message: "said so"})
	got, err := w.Client().CertificatesV1().CertificateSigningRequests().UpdateApproval(w.Context(), r.Name, r, metav1.UpdateOptions{})
	w.mesh.do(w.T, err)
	*r = *got
}

func (w *issuersWorld) sign(request []byte) []byte {
	w.Helper()
	block, _ := pem.Decode(request)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	w.mesh.do(w.T, err)
	chain, err := w.mesh.ca.Sign(ca.Request{URIs: []string{csr.URIs[0].String()}, Life: 3 * time.Hour}, csr.PublicKey)
	w.mesh.do(w.T, err)
	return ca.PEM(chain...)
}

// bySigner: a person denies, corrects the binding, approves, and a signer signs.
func (w *issuersWorld) bySigner() {
	r := w.open()
	w.says("edge", "IdentityPending", "may approve for signer gatehouse.test/mesh: kubectl certificate approve "+r.Name)
	w.decide(r, certv1.CertificateDenied)
	w.says("edge", "IdentityRefused", "Denied: Person said so; another is made an hour later, or when this one is deleted")
	w.merge(`{"spec":{"identity":{"duration":"2h"}}}`)
	r = w.open()
	w.decide(r, certv1.CertificateApproved)
	w.says("edge", "IdentityPending", "waits for its signer, gatehouse.test/mesh")
	r.Status.Certificate = w.sign(r.Spec.Request)
	_, err := w.Client().CertificatesV1().CertificateSigningRequests().UpdateStatus(w.Context(), r, metav1.UpdateOptions{})
	w.mesh.do(w.T, err)
	w.says("edge", "Joined", "")
	backendSeesWho(w.T, w.Cluster, "http://"+programmed(w.T, w.Cluster, "edge"))
	if n := *r.Spec.ExpirationSeconds; n != 7200 {
		w.Errorf("asked for %d seconds", n)
	}
}

var certificateRequests = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificaterequests"}

// leave deletes the first gateway, and waits until it is gone.
func (w *issuersWorld) leave() {
	w.Helper()
	of := w.Dynamic().Resource(gateways).Namespace(namespace)
	w.mesh.do(w.T, of.Delete(w.Context(), "edge", metav1.DeleteOptions{}))
	eventually(w.T, func(ctx context.Context) error { return gone(ctx, of, "edge") })
}

// only waits for the one CertificateRequest that there is beside those by a name.
func (w *issuersWorld) only(but string) (out *unstructured.Unstructured) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		list, err := w.Dynamic().Resource(certificateRequests).Namespace(system).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].GetName() == but {
			return fmt.Errorf("there are %d requests, want one that is not %q", len(list.Items), but)
		}
		out = &list.Items[0]
		return nil
	})
	return out
}

// byCertManager: the manager dies with a request open; the next one has another key,
// removes what was left, and after use its own.
func (w *issuersWorld) byCertManager(restart func()) {
	left := w.only("")
	w.says("second", "IdentityPending", "cmctl approve -n "+system+" "+left.GetName())
	restart()
	o := w.only(left.GetName())
	text, _, _ := unstructured.NestedString(o.Object, "spec", "request")
	request, err := base64.StdEncoding.DecodeString(text)
	w.mesh.do(w.T, err)
	o.Object["status"] = map[string]any{
		"certificate": base64.StdEncoding.EncodeToString(w.sign(request)),
		"conditions":  []any{map[string]any{"type": "Approved", "status": "True"}, map[string]any{"type": "Ready", "status": "True", "reason": "Issued"}},
	}
	of := w.Dynamic().Resource(certificateRequests).Namespace(system)
	_, err = of.UpdateStatus(w.Context(), o, metav1.UpdateOptions{})
	w.mesh.do(w.T, err)
	w.says("second", "Joined", "")
	serves(w.T, "http://"+programmed(w.T, w.Cluster, "second"))
	eventually(w.T, func(ctx context.Context) error {
		list, err := of.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d requests are left", len(list.Items))
		}
		return err
	})
}
