package kubeca

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

const signer = "mesh.test/clients"

// TestCSR: made, approved, signed; one object and one key all the way.
func TestCSR(t *testing.T) {
	r := requests{newShelf[*certv1.CertificateSigningRequest]("certificatesigningrequests")}
	w := newWorld(t, NewCSR(r, signer))
	if e := w.refused(lbmodel.CodePending); !strings.Contains(e.Error(), "kubectl certificate approve gatehouse-") || e.RetryAfter != look {
		t.Errorf("%v after %s", e, e.RetryAfter)
	}
	o := r.only(t)
	if o.Spec.SignerName != signer || len(o.Spec.Usages) != 2 || o.Spec.ExpirationSeconds != nil {
		t.Errorf("asked for %+v", o.Spec)
	}
	w.refused(lbmodel.CodePending)
	o.Status.Conditions = append(o.Status.Conditions, condition(certv1.CertificateApproved))
	if e := w.refused(lbmodel.CodePending); !strings.Contains(e.Error(), "waits for its signer, "+signer) {
		t.Error(e)
	}
	o.Status.Certificate = w.sign(o.Spec.Request)
	w.get()
	w.get()
	if r.creates != 1 {
		t.Errorf("%d requests for one certificate", r.creates)
	}
}

// TestCSRRefused: what was refused is told, and asked anew with another key.
func TestCSRRefused(t *testing.T) {
	for _, tc := range []struct {
		name, why, says string
		change          func(*world, *certv1.CertificateSigningRequest)
		want            lbmodel.Code
	}{
		{name: "denied", why: "a person said no", says: "Denied: Because of me", want: lbmodel.CodeDenied,
			change: func(_ *world, o *certv1.CertificateSigningRequest) {
				o.Status.Conditions = append(o.Status.Conditions, condition(certv1.CertificateDenied))
			}},
		{name: "failed", why: "the signer said no", says: "Failed: Because", want: lbmodel.CodeDenied,
			change: func(_ *world, o *certv1.CertificateSigningRequest) {
				o.Status.Conditions = append(o.Status.Conditions, condition(certv1.CertificateApproved), condition(certv1.CertificateFailed))
			}},
		{name: "garbage", why: "the signer is broken", says: "no certificate", want: lbmodel.CodeDenied,
			change: func(_ *world, o *certv1.CertificateSigningRequest) {
				o.Status.Conditions = append(o.Status.Conditions, condition(certv1.CertificateApproved))
				o.Status.Certificate = []byte("x")
			}},
		{name: "foreign", why: "an object of that name that we did not make", says: "somebody else's", want: lbmodel.CodeConflict,
			change: func(_ *world, o *certv1.CertificateSigningRequest) { o.Spec.SignerName = "other" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := requests{newShelf[*certv1.CertificateSigningRequest]("certificatesigningrequests")}
			w := newWorld(t, NewCSR(r, signer))
			w.refused(lbmodel.CodePending)
			tc.change(w, r.only(t))
			if e := w.refused(tc.want); !strings.Contains(e.Error(), tc.says) {
				t.Errorf("%v, want %q: %s", e, tc.says, tc.why)
			}
			w.refused(lbmodel.CodePending)
			if r.creates != 2 {
				t.Errorf("%d requests, want another: %s", r.creates, tc.why)
			}
		})
	}
}

// TestCSRAsks: lives within the API's bounds, and never Kubernetes' own signers.
func TestCSRAsks(t *testing.T) {
	for _, tc := range []struct {
		name, why string
		life      time.Duration
		want      int32
	}{
		{"a week", "as it was asked for", 168 * time.Hour, 604800},
		{"short", "the API takes ten minutes at least", time.Minute, 600},
		{"endless", "the field has 32 bits", 100 * 365 * 24 * time.Hour, 1<<31 - 1},
	} {
		if o := NewCSR(nil, signer).object("x", meshsync.Request{Lifetime: tc.life}); *o.Spec.ExpirationSeconds != tc.want {
			t.Errorf("%s: %d seconds, want %d: %s", tc.name, *o.Spec.ExpirationSeconds, tc.want, tc.why)
		}
	}
	w := newWorld(t, NewCSR(nil, "kubernetes.io/kube-apiserver-client"))
	w.refused(lbmodel.CodeInvalid)
}

// TestCertManager: made, signed, and deleted.
func TestCertManager(t *testing.T) {
	r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
	w := newWorld(t, NewCertManager(r, IssuerRef{Name: "mesh"}))
	w.refused(lbmodel.CodePending)
	o := r.only(t)
	ref, _, _ := unstructured.NestedStringMap(o.Object, "spec", "issuerRef")
	ca, _, _ := unstructured.NestedBool(o.Object, "spec", "isCA")
	if ref["group"] != "cert-manager.io" || ref["kind"] != "Issuer" || ref["name"] != "mesh" || ca {
		t.Errorf("asked for %v", o.Object)
	}
	set(o, "Ready", "False", "Pending", nil)
	if e := w.refused(lbmodel.CodePending); !strings.Contains(e.Error(), "says who") {
		t.Error(e)
	}
	text, _, _ := unstructured.NestedString(o.Object, "spec", "request")
	request, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	set(o, "Ready", "True", "Issued", w.sign(request))
	w.get()
	if r.creates != 1 || len(r.objects) != 0 {
		t.Errorf("%d requests were made and %d are left", r.creates, len(r.objects))
	}
}

func TestCertManagerRefused(t *testing.T) {
	for _, tc := range []struct {
		name, why, kind, status, reason, says string
	}{
		{"denied", "by approver-policy", "Denied", "True", "policy.cert-manager.io", "Denied: policy.cert-manager.io says who"},
		{"invalid", "the issuer does not understand it", "InvalidRequest", "True", "x", "InvalidRequest"},
		{"failed", "the issuer gave up", "Ready", "False", "Failed", "Ready: Failed"},
		{"garbage", "the issuer is broken", "Ready", "True", "Issued", "no certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
			w := newWorld(t, NewCertManager(r, IssuerRef{Name: "mesh"}))
			w.refused(lbmodel.CodePending)
			set(r.only(t), tc.kind, tc.status, tc.reason, []byte("x"))
			if e := w.refused(lbmodel.CodeDenied); !strings.Contains(e.Error(), tc.says) || len(r.objects) != 0 {
				t.Errorf("%v, want %q: %s", e, tc.says, tc.why)
			}
		})
	}
}

// TestForeignRequestStays: what we did not make is not deleted.
func TestForeignRequestStays(t *testing.T) {
	r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
	w := newWorld(t, NewCertManager(r, IssuerRef{Name: "mesh"}))
	w.refused(lbmodel.CodePending)
	r.only(t).Object["spec"].(map[string]any)["request"] = "eA=="
	w.refused(lbmodel.CodeConflict)
	if len(r.objects) != 1 {
		t.Error("another's request was deleted")
	}
}

// TestServerErrors: the API server's words have codes too.
func TestServerErrors(t *testing.T) {
	kind := schema.GroupResource{Resource: "x"}
	for _, tc := range []struct {
		name, why string
		err       error
		want      lbmodel.Code
		after     time.Duration
	}{
		{"forbidden", "a Role is missing", apierrors.NewForbidden(kind, "x", errors.New("no")), lbmodel.CodeDenied, 0},
		{"throttled", "with its time", apierrors.NewTooManyRequests("slow down", 7), lbmodel.CodeThrottled, 7 * time.Second},
		{"bad", "our object is wrong", apierrors.NewBadRequest("what"), lbmodel.CodeInvalid, 0},
		{"down", "it comes again", errors.New("connection refused"), lbmodel.CodeUnavailable, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := requests{newShelf[*certv1.CertificateSigningRequest]("x")}
			b := objects{newShelf[*unstructured.Unstructured]("x")}
			a.fail, b.fail = tc.err, tc.err
			for _, issuer := range []meshsync.Issuer{NewCSR(a, signer), NewCertManager(b, IssuerRef{})} {
				if e := newWorld(t, issuer).refused(tc.want); e.RetryAfter != tc.after {
					t.Errorf("after %s: %s", e.RetryAfter, tc.why)
				}
			}
		})
	}
	if got := codeOf(apierrors.NewNotFound(kind, "x")); got != lbmodel.CodeUnresolved {
		t.Errorf("not found is %s", got)
	}
}
