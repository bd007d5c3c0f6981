package aip_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	certmanager "cloud.google.com/go/certificatemanager/apiv1"
	cm "cloud.google.com/go/certificatemanager/apiv1/certificatemanagerpb"
	netsec "cloud.google.com/go/networksecurity/apiv1"
	ns "cloud.google.com/go/networksecurity/apiv1/networksecuritypb"
	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/networkservices/v1"
	"google.golang.org/api/option"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

const global = "projects/test-project/locations/global"

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// world is a project with Google's clients, in the same process.
type world struct {
	*testing.T
	*gcpapi.Server
	clock    *clock.Manual
	certs    *certmanager.Client
	security *netsec.Client
	services *networkservices.Service
	compute  *compute.Service
}

func newWorld(t *testing.T, config gcpapi.Config) *world {
	t.Helper()
	w := &world{T: t, clock: clock.NewManual(start)}
	config.Clock = w.clock
	w.Server = gcpapi.New(config)
	through := option.WithHTTPClient(&http.Client{Transport: w.Server})
	var errs [4]error
	w.certs, errs[0] = certmanager.NewRESTClient(t.Context(), through)
	w.security, errs[1] = netsec.NewRESTClient(t.Context(), through)
	w.services, errs[2] = networkservices.NewService(t.Context(), through)
	w.compute, errs[3] = compute.NewService(t.Context(), through)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.certs.Close(), w.security.Close() })
	return w
}

// must is a call by which the world must not fail.
func must[T any](w *world) func(T, error) T {
	w.Helper()
	return func(out T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return out
	}
}

// wants checks that an error is an HTTP status with a text; a status of 0 is no error.
func (w *world) wants(err error, status int, text string) {
	w.Helper()
	var refused *googleapi.Error
	switch {
	case status == 0 && err == nil:
	case status == 0 || !errors.As(err, &refused):
		w.Errorf("error is %v, want status %d", err, status)
	case refused.Code != status || !strings.Contains(refused.Error(), text):
		w.Errorf("status is %d (%s), want %d with %q", refused.Code, refused.Error(), status, text)
	}
}

func trust(roots ...*pkitest.Pair) *cm.TrustConfig {
	one := &cm.TrustConfig_TrustStore{}
	for _, r := range roots {
		one.TrustAnchors = append(one.TrustAnchors, &cm.TrustConfig_TrustAnchor{Kind: &cm.TrustConfig_TrustAnchor_PemCertificate{PemCertificate: r.PEM()}})
	}
	return &cm.TrustConfig{TrustStores: []*cm.TrustConfig_TrustStore{one}}
}

// trusts makes a trust config in location global.
func (w *world) trusts(id string, c *cm.TrustConfig) (*cm.TrustConfig, error) {
	w.Helper()
	op, err := w.certs.CreateTrustConfig(w.Context(), &cm.CreateTrustConfigRequest{Parent: global, TrustConfigId: id, TrustConfig: c})
	if err != nil {
		return nil, err
	}
	return op.Poll(w.Context())
}

// identity is a leaf as a self-managed certificate.
func identity(t *testing.T, scope cm.Certificate_Scope, leaf *pkitest.Pair) *cm.Certificate {
	t.Helper()
	return &cm.Certificate{Scope: scope, Type: &cm.Certificate_SelfManaged{SelfManaged: &cm.Certificate_SelfManagedCertificate{PemCertificate: leaf.PEM(), PemPrivateKey: leaf.KeyPEM(t)}}}
}

// certifies makes a certificate in location global.
func (w *world) certifies(id string, c *cm.Certificate) (*cm.Certificate, error) {
	w.Helper()
	op, err := w.certs.CreateCertificate(w.Context(), &cm.CreateCertificateRequest{Parent: global, CertificateId: id, Certificate: c})
	if err != nil {
		return nil, err
	}
	return op.Poll(w.Context())
}

// authenticates makes a backend authentication config in location global.
func (w *world) authenticates(id string, c *ns.BackendAuthenticationConfig) (*ns.BackendAuthenticationConfig, error) {
	w.Helper()
	op, err := w.security.CreateBackendAuthenticationConfig(w.Context(), &ns.CreateBackendAuthenticationConfigRequest{Parent: global, BackendAuthenticationConfigId: id, BackendAuthenticationConfig: c})
	if err != nil {
		return nil, err
	}
	return op.Poll(w.Context())
}
