package kubeca

import (
	"cmp"
	"context"
	"encoding/base64"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

// Objects are the CertificateRequests (cert-manager.io/v1) of one namespace, as
// client-go's dynamic client has them.
type Objects interface {
	Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error)
	Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error)
	Delete(context.Context, string, metav1.DeleteOptions, ...string) error
}

// IssuerRef names an Issuer or ClusterIssuer of cert-manager.
type IssuerRef struct{ Group, Kind, Name string } // "" are cert-manager.io and Issuer

// CertManager is a meshsync.Issuer by CertificateRequests
// (https://cert-manager.io/docs/usage/certificaterequest/), and not by Certificates:
// of those the key would be made by cert-manager and kept in a Secret.
type CertManager struct {
	objects Objects
	ref     IssuerRef
}

// NewCertManager makes an Issuer that asks one of cert-manager's.
func NewCertManager(objects Objects, ref IssuerRef) *CertManager {
	ref.Group = cmp.Or(ref.Group, "cert-manager.io")
	ref.Kind = cmp.Or(ref.Kind, "Issuer")
	return &CertManager{objects, ref}
}

const opRequest = "CreateCertificateRequest"

// Issue implements meshsync.Issuer. A request that is through is deleted: nobody else
// would.
func (c *CertManager) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	name := nameOf(r.CSR)
	there, err := c.objects.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if _, err := c.objects.Create(ctx, c.object(name, r), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return meshsync.Issued{}, failed(opRequest, err)
		}
		return meshsync.Issued{}, pending(opRequest, "CertificateRequest %s was made", name)
	case err != nil:
		return meshsync.Issued{}, failed(opRequest, err)
	}
	if asked, _, _ := unstructured.NestedString(there.Object, "spec", "request"); asked != base64.StdEncoding.EncodeToString(encode(r.CSR)) {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeConflict, opRequest, lbmodel.ID{}, "CertificateRequest %s is somebody else's", name)
	}
	issued, err := c.read(there)
	if lbmodel.CodeOf(err) != lbmodel.CodePending {
		// What was signed is not given up for an object that stays.
		_ = c.objects.Delete(ctx, name, metav1.DeleteOptions{})
	}
	return issued, err
}

func (c *CertManager) object(name string, r meshsync.Request) *unstructured.Unstructured {
	spec := map[string]any{
		"request":   base64.StdEncoding.EncodeToString(encode(r.CSR)),
		"isCA":      false,
		"usages":    []any{"digital signature", "client auth"},
		"issuerRef": map[string]any{"group": c.ref.Group, "kind": c.ref.Kind, "name": c.ref.Name},
	}
	if r.Lifetime > 0 {
		spec["duration"] = r.Lifetime.String()
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"app.kubernetes.io/managed-by": "gatehouse"}},
		"spec":     spec,
	}}
}

// read is what became of a request.
func (c *CertManager) read(o *unstructured.Unstructured) (meshsync.Issued, error) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	why := "nobody has looked at it"
	for _, condition := range conditions {
		at := func(key string) string {
			m, _ := condition.(map[string]any)
			text, _ := m[key].(string)
			return text
		}
		switch kind, status := at("type"), at("status"); {
		case status == "True" && (kind == "Denied" || kind == "InvalidRequest"), kind == "Ready" && at("reason") == "Failed":
			return meshsync.Issued{}, denied(opRequest, "CertificateRequest %s: %s: %.200s %.200s", o.GetName(), kind, at("reason"), at("message"))
		case kind == "Ready" && status == "True":
			return c.chain(o)
		case kind == "Ready":
			why = at("message")
		}
	}
	return meshsync.Issued{}, pending(opRequest, "CertificateRequest %s is not signed yet: %.200s", o.GetName(), why)
}

// chain does not read status.ca: it is one root at best.
func (c *CertManager) chain(o *unstructured.Unstructured) (meshsync.Issued, error) {
	text, _, _ := unstructured.NestedString(o.Object, "status", "certificate")
	pem, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return meshsync.Issued{}, denied(opRequest, "CertificateRequest %s: its certificate is not base64", o.GetName())
	}
	chain, err := issue.ParseChain(pem)
	if err != nil {
		return meshsync.Issued{}, denied(opRequest, "CertificateRequest %s: its certificate: %w", o.GetName(), err)
	}
	return meshsync.Issued{Chain: chain}, nil
}
