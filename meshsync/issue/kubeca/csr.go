package kubeca

import (
	"bytes"
	"context"
	"math"
	"strings"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

// Requests are the CertificateSigningRequests of a cluster, as client-go has them.
type Requests interface {
	Get(context.Context, string, metav1.GetOptions) (*certv1.CertificateSigningRequest, error)
	Create(context.Context, *certv1.CertificateSigningRequest, metav1.CreateOptions) (*certv1.CertificateSigningRequest, error)
}

// CSR is a meshsync.Issuer by CertificateSigningRequests
// (https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/).
// Kubernetes deletes them by itself: an hour after they were signed or refused, and a
// day after nobody did either. So the right to delete anybody's is not needed. What a
// process left open that ended stays as long: without its key nobody can use it.
type CSR struct {
	requests Requests
	signer   string
}

// NewCSR makes an Issuer that asks a signer.
func NewCSR(requests Requests, signer string) *CSR { return &CSR{requests, signer} }

const (
	opCSR     = "CreateCertificateSigningRequest"
	rightsCSR = "deploy/issuer-csr.yaml"
)

// Kubernetes' own signers give access to the cluster, not to a mesh.
const builtin = "kubernetes.io/"

// Issue implements meshsync.Issuer.
func (c *CSR) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	if strings.HasPrefix(c.signer, builtin) {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeInvalid, opCSR, lbmodel.ID{}, "%s signs for Kubernetes itself: name a signer of the mesh", c.signer)
	}
	name := nameOf(r.CSR)
	there, err := c.requests.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if _, err := c.requests.Create(ctx, c.object(name, r), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return meshsync.Issued{}, failed(opCSR, err, rightsCSR)
		}
		return meshsync.Issued{}, c.waits(name)
	case err != nil:
		return meshsync.Issued{}, failed(opCSR, err, rightsCSR)
	case !bytes.Equal(there.Spec.Request, encode(r.CSR)) || there.Spec.SignerName != c.signer:
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeConflict, opCSR, lbmodel.ID{}, "CertificateSigningRequest %s is somebody else's", name)
	}
	return c.read(there)
}

func (c *CSR) object(name string, r meshsync.Request) *certv1.CertificateSigningRequest {
	out := &certv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelsOf(r), Annotations: annotationsOf(r)},
		Spec: certv1.CertificateSigningRequestSpec{
			Request: encode(r.CSR), SignerName: c.signer,
			Usages: []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageClientAuth},
		},
	}
	if r.Lifetime > 0 {
		const least = 600 // by the API
		seconds := int32(min(max(r.Lifetime/time.Second, least), math.MaxInt32))
		out.Spec.ExpirationSeconds = &seconds
	}
	return out
}

func (c *CSR) waits(name string) error {
	return pending(opCSR, "CertificateSigningRequest %s waits for somebody who may approve for signer %s: kubectl certificate approve %s", name, c.signer, name)
}

// read is what became of a request. One that is refused stays so; a signer that
// failed once has said its last word too.
func (c *CSR) read(r *certv1.CertificateSigningRequest) (meshsync.Issued, error) {
	approved := false
	for _, condition := range r.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case certv1.CertificateDenied, certv1.CertificateFailed:
			return meshsync.Issued{}, denied(opCSR, "CertificateSigningRequest %s: %s: %.200s %.200s; another is made an hour later, or when this one is deleted",
				r.Name, condition.Type, condition.Reason, condition.Message)
		case certv1.CertificateApproved:
			approved = true
		}
	}
	switch {
	case !approved:
		return meshsync.Issued{}, c.waits(r.Name)
	case len(r.Status.Certificate) == 0:
		return meshsync.Issued{}, pending(opCSR, "CertificateSigningRequest %s is approved and waits for its signer, %s: see that it is spelled as that signer has it, and runs", r.Name, c.signer)
	}
	chain, err := issue.ParseChain(r.Status.Certificate)
	if err != nil {
		return meshsync.Issued{}, denied(opCSR, "CertificateSigningRequest %s: its certificate: %w", r.Name, err)
	}
	return meshsync.Issued{Chain: chain}, nil
}
