package kubeca

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Objects are the CertificateRequests (cert-manager.io/v1) of one namespace, as
// client-go's dynamic client has them.
type Objects interface {
	Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error)
	Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error)
	Delete(context.Context, string, metav1.DeleteOptions, ...string) error
	List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// IssuerRef names an Issuer or ClusterIssuer of cert-manager.
type IssuerRef struct{ Group, Kind, Name string } // "" are cert-manager.io and ClusterIssuer

func (r IssuerRef) String() string { return fmt.Sprintf("%s %s (%s)", r.Kind, r.Name, r.Group) }

// CertManagerConfig says whom a CertManager asks. Objects is required.
type CertManagerConfig struct {
	Objects   Objects
	Namespace string // of Objects: for what is told
	Issuer    IssuerRef
	Now       func() time.Time // nil is time.Now
}

// CertManager is a meshsync.Issuer by CertificateRequests
// (https://cert-manager.io/docs/usage/certificaterequest/), and not by Certificates:
// of those the key would be made by cert-manager and kept in a Secret.
//
// Nobody else removes CertificateRequests. One that was signed is deleted, one that
// was refused when it is an hour old, and what an earlier process has left when the
// next one is made.
type CertManager struct{ config CertManagerConfig }

// NewCertManager makes an Issuer that asks one of cert-manager's.
func NewCertManager(c CertManagerConfig) *CertManager {
	c.Issuer.Group = cmp.Or(c.Issuer.Group, "cert-manager.io")
	c.Issuer.Kind = cmp.Or(c.Issuer.Kind, "ClusterIssuer")
	if c.Now == nil {
		c.Now = time.Now
	}
	return &CertManager{c}
}

const (
	opRequest     = "CreateCertificateRequest"
	rightsRequest = "deploy/issuer-cert-manager.yaml"

	refusedFor = time.Hour      // how long a refused request stays
	openFor    = 24 * time.Hour // how long an open one may be somebody's: see issue.Keyring
)

// Issue implements meshsync.Issuer.
func (c *CertManager) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	name := nameOf(r.CSR)
	there, err := c.config.Objects.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return meshsync.Issued{}, c.make(ctx, name, r)
	case err != nil:
		return meshsync.Issued{}, failed(opRequest, err, rightsRequest)
	}
	if asked, _, _ := unstructured.NestedString(there.Object, "spec", "request"); asked != base64.StdEncoding.EncodeToString(encode(r.CSR)) {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeConflict, opRequest, lbmodel.ID{}, "CertificateRequest %s is somebody else's", name)
	}
	issued, err := c.read(there)
	switch {
	case err == nil:
		c.drop(ctx, there)
	case lbmodel.CodeOf(err) == lbmodel.CodeDenied && c.older(there, refusedFor):
		c.drop(ctx, there)
	}
	return issued, err
}

func (c *CertManager) make(ctx context.Context, name string, r meshsync.Request) error {
	c.sweep(ctx, name, identityOf(r.Identity))
	_, err := c.config.Objects.Create(ctx, c.object(name, r), metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return lbmodel.Errorf(lbmodel.CodeUnavailable, opRequest, lbmodel.ID{},
			"namespace %s cannot have CertificateRequests (cert-manager.io/v1), which cert-manager brings: install it: %w", c.config.Namespace, err)
	case err != nil && !apierrors.IsAlreadyExists(err):
		return failed(opRequest, err, rightsRequest)
	}
	return pending(opRequest, "CertificateRequest %s/%s was made", c.config.Namespace, name)
}

// sweep removes requests whose keys are gone: earlier ones of the same identity, of
// which there is one open at a time, and those that are too old. What cannot be
// removed now is removed when the next request is made.
func (c *CertManager) sweep(ctx context.Context, name, of string) {
	list, err := c.config.Objects.List(ctx, metav1.ListOptions{LabelSelector: managedBy + "=" + manager})
	if err != nil {
		return
	}
	for i := range list.Items {
		o := &list.Items[i]
		if o.GetName() != name && (o.GetLabels()[identity] == of || c.older(o, openFor)) {
			c.drop(ctx, o)
		}
	}
}

// drop deletes a request, and no other by its name. What was signed is not given up
// for an object that stays: the next sweep has it.
func (c *CertManager) drop(ctx context.Context, o *unstructured.Unstructured) {
	_ = c.config.Objects.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
}

func (c *CertManager) older(o *unstructured.Unstructured, age time.Duration) bool {
	made := o.GetCreationTimestamp()
	return !made.IsZero() && c.config.Now().Sub(made.Time) > age
}

func (c *CertManager) object(name string, r meshsync.Request) *unstructured.Unstructured {
	spec := map[string]any{
		"request":   base64.StdEncoding.EncodeToString(encode(r.CSR)),
		"isCA":      false,
		"usages":    []any{"digital signature", "client auth"},
		"issuerRef": map[string]any{"group": c.config.Issuer.Group, "kind": c.config.Issuer.Kind, "name": c.config.Issuer.Name},
	}
	if r.Lifetime > 0 {
		spec["duration"] = r.Lifetime.String()
	}
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest", "spec": spec}}
	out.SetName(name)
	out.SetLabels(labelsOf(r))
	out.SetAnnotations(annotationsOf(r))
	return out
}
