package kubeca

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	certificatesv1 "k8s.io/client-go/kubernetes/typed/certificates/v1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

// What client-go has is what is asked for.
var (
	_ Requests = certificatesv1.CertificateSigningRequestInterface(nil)
	_ Objects  = dynamic.ResourceInterface(nil)
)

const bindingName = "MeshBinding/kuma"

var id = lbmodel.Identity{Name: bindingName, Issuer: bindingName, SPIFFEID: "spiffe://gatehouse/ns/gatehouse-system/sa/gatehouse-1"}

// shelf holds objects of one kind, and fails when it is told to.
type shelf[T any] struct {
	kind    string
	objects map[string]T
	fail    error
	lost    error // the answer to the next create, which is done all the same
	refuse  error // of every create
	creates int
}

var notServed = apierrors.NewNotFound(schema.GroupResource{}, "")

func newShelf[T any](kind string) *shelf[T] { return &shelf[T]{kind: kind, objects: map[string]T{}} }

func (s *shelf[T]) get(name string) (none T, _ error) {
	if s.fail != nil {
		return none, s.fail
	}
	o, ok := s.objects[name]
	if !ok {
		return none, apierrors.NewNotFound(schema.GroupResource{Resource: s.kind}, name)
	}
	return o, nil
}

func (s *shelf[T]) create(name string, o T) (T, error) {
	if s.refuse != nil {
		return o, s.refuse
	}
	if _, ok := s.objects[name]; ok {
		return o, apierrors.NewAlreadyExists(schema.GroupResource{Resource: s.kind}, name)
	}
	s.creates++
	s.objects[name] = o
	lost := s.lost
	s.lost = nil
	return o, lost
}

// only is the one object that there is.
func (s *shelf[T]) only(t *testing.T) T {
	t.Helper()
	if len(s.objects) != 1 {
		t.Fatalf("there are %d objects, want one", len(s.objects))
	}
	for _, o := range s.objects {
		return o
	}
	panic("unreachable")
}

// requests are a cluster's CertificateSigningRequests.
type requests struct {
	*shelf[*certv1.CertificateSigningRequest]
}

func (r requests) Get(_ context.Context, name string, _ metav1.GetOptions) (*certv1.CertificateSigningRequest, error) {
	return r.get(name)
}

func (r requests) Create(_ context.Context, o *certv1.CertificateSigningRequest, _ metav1.CreateOptions) (*certv1.CertificateSigningRequest, error) {
	return r.create(o.Name, o)
}

// objects are cert-manager's CertificateRequests.
type objects struct {
	*shelf[*unstructured.Unstructured]
}

func (r objects) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	return r.get(name)
}

func (r objects) Create(_ context.Context, o *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	return r.create(o.GetName(), o)
}

func (r objects) Delete(_ context.Context, name string, _ metav1.DeleteOptions, _ ...string) error {
	if r.fail != nil {
		return r.fail
	}
	delete(r.objects, name)
	return nil
}

func (r objects) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil || r.fail != nil {
		return nil, errors.Join(err, r.fail)
	}
	out := &unstructured.UnstructuredList{}
	for _, item := range r.objects {
		if selector.Matches(labels.Set(item.GetLabels())) {
			out.Items = append(out.Items, *item)
		}
	}
	return out, nil
}

// world is a CA that signs what is in objects, and a gateway.
type world struct {
	*testing.T
	ca   *ca.CA
	ring func(context.Context, lbmodel.Identity) (tls.Certificate, error)
}

func newWorld(t *testing.T, issuer meshsync.Issuer) *world {
	t.Helper()
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, ca: m}
	w.ring = issue.Keyring(issue.Config{
		Issuers: func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
			return issuer, meshsync.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}, nil
		},
		Roots: func(string) []lbmodel.Root {
			roots, err := lbmodel.ParseRoots(m.Bundle())
			if err != nil {
				t.Error(err)
			}
			return roots
		},
		Live: func(lbmodel.Identity) (*lbmodel.Leaf, error) { return nil, nil },
	})
	return w
}

// sign is the chain for a request in PEM.
func (w *world) sign(request []byte) []byte {
	w.Helper()
	block, _ := pem.Decode(request)
	if block == nil {
		w.Fatalf("the request is %q", request)
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		w.Fatal(err)
	}
	chain, err := w.ca.Sign(ca.Request{URIs: []string{csr.URIs[0].String()}, Life: time.Hour}, csr.PublicKey)
	if err != nil {
		w.Fatal(err)
	}
	return ca.PEM(chain...)
}

func (w *world) refused(code lbmodel.Code) *lbmodel.Error {
	w.Helper()
	_, err := w.ring(w.Context(), id)
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.Code != code {
		w.Fatalf("got %v, want %s", err, code)
	}
	return e
}

func (w *world) get() {
	w.Helper()
	pair, err := w.ring(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	if got := pair.Leaf.URIs[0].String(); got != id.SPIFFEID {
		w.Errorf("a certificate for %s", got)
	}
}

func condition(kind certv1.RequestConditionType) certv1.CertificateSigningRequestCondition {
	return certv1.CertificateSigningRequestCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Because", Message: "of me"}
}

// set writes the status of a CertificateRequest.
func set(o *unstructured.Unstructured, kind, status, reason string, certificate []byte) {
	o.Object["status"] = map[string]any{
		"certificate": base64.StdEncoding.EncodeToString(certificate),
		"conditions":  []any{map[string]any{"type": kind, "status": status, "reason": reason, "message": "says who"}},
	}
}
