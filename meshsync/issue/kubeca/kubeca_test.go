package kubeca

import (
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
	if o.Annotations[account] != "gatehouse-system/gatehouse-1" || o.Annotations[binding] != bindingName || o.Labels[managedBy] != manager {
		t.Errorf("nobody can say whose request it is: %v %v", o.Labels, o.Annotations)
	}
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

// TestCSRRefused: what was refused is told, and asked anew when it is gone.
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
			if tc.want == lbmodel.CodeDenied { // nobody is asked again as long as the refusal is there
				if e := w.refused(lbmodel.CodeDenied); r.creates != 1 || e.RetryAfter != relax {
					t.Errorf("%d requests, again after %s: want that it is left at one, and looked at", r.creates, e.RetryAfter)
				}
				clear(r.objects) // by Kubernetes, an hour later
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

// TestLostReply: a request that was made although its answer was lost is found again;
// another would be another certificate.
func TestLostReply(t *testing.T) {
	r := requests{newShelf[*certv1.CertificateSigningRequest]("x")}
	c := objects{newShelf[*unstructured.Unstructured]("x")}
	r.lost, c.lost = errors.New("connection reset"), errors.New("connection reset")
	one, other := newWorld(t, NewCSR(r, signer)), newWorld(t, certManager(c))
	for _, w := range []*world{one, other} {
		if e := w.refused(lbmodel.CodeUnavailable); !strings.Contains(e.Error(), "connection reset") {
			t.Error(e)
		}
		w.refused(lbmodel.CodePending)
	}
	o := r.only(t)
	o.Status.Conditions = append(o.Status.Conditions, condition(certv1.CertificateApproved))
	o.Status.Certificate = one.sign(o.Spec.Request)
	one.get()
	set(c.only(t), "Ready", "True", "Issued", other.sign(requestOf(t, c.only(t))))
	other.get()
	if r.creates != 1 || c.creates != 1 {
		t.Errorf("%d and %d requests for one certificate each", r.creates, c.creates)
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
		says      string
	}{
		{"forbidden", "a Role is missing", apierrors.NewForbidden(kind, "x", errors.New("no")), lbmodel.CodeDenied, 0, "apply deploy/issuer-"},
		{"quota", "of the namespace", apierrors.NewForbidden(kind, "x", errors.New("exceeded quota: few")), lbmodel.CodeQuota, 0, "exceeded quota: few"},
		{"throttled", "with its time", apierrors.NewTooManyRequests("slow down", 7), lbmodel.CodeThrottled, 7 * time.Second, ""},
		{"bad", "our object is wrong", apierrors.NewBadRequest("what"), lbmodel.CodeInvalid, 0, "what"},
		{"down", "it comes again", errors.New("connection refused"), lbmodel.CodeUnavailable, 0, "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := requests{newShelf[*certv1.CertificateSigningRequest]("x")}
			b := objects{newShelf[*unstructured.Unstructured]("x")}
			a.fail, b.fail = tc.err, tc.err
			for _, issuer := range []meshsync.Issuer{NewCSR(a, signer), certManager(b)} {
				if e := newWorld(t, issuer).refused(tc.want); e.RetryAfter != tc.after || !strings.Contains(e.Error(), tc.says) {
					t.Errorf("%v, after %s: %s", e, e.RetryAfter, tc.why)
				}
			}
		})
	}
}
