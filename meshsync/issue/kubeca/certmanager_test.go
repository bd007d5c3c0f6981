package kubeca

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/lbmodel"
)

func certManager(o Objects) *CertManager {
	return NewCertManager(CertManagerConfig{Objects: o, Namespace: "gatehouse-system", Issuer: IssuerRef{Name: "mesh"}})
}

// requestOf is what a CertificateRequest asks for, in PEM.
func requestOf(t *testing.T, o *unstructured.Unstructured) []byte {
	t.Helper()
	text, _, _ := unstructured.NestedString(o.Object, "spec", "request")
	request, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// TestCertManager: made, signed, and deleted.
func TestCertManager(t *testing.T) {
	r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
	w := newWorld(t, certManager(r))
	w.refused(lbmodel.CodePending)
	o := r.only(t)
	ref, _, _ := unstructured.NestedStringMap(o.Object, "spec", "issuerRef")
	ca, _, _ := unstructured.NestedBool(o.Object, "spec", "isCA")
	if ref["group"] != "cert-manager.io" || ref["kind"] != "ClusterIssuer" || ref["name"] != "mesh" || ca {
		t.Errorf("asked for %v", o.Object)
	}
	if o.GetAnnotations()[account] != "gatehouse-system/gatehouse-1" || o.GetAnnotations()[binding] != bindingName {
		t.Errorf("nobody can say whose request it is: %v", o.GetAnnotations())
	}
	set(o, "Ready", "True", "Issued", w.sign(requestOf(t, o)))
	w.get()
	if r.creates != 1 || len(r.objects) != 0 {
		t.Errorf("%d requests were made and %d are left", r.creates, len(r.objects))
	}
}

// TestCertManagerWaits says for whom. Why this table: each must be helped by somebody
// else.
func TestCertManagerWaits(t *testing.T) {
	for _, tc := range []struct {
		name, kind, status, message, says string
	}{
		{"nobody approves", "", "", "", "cmctl approve -n gatehouse-system gatehouse-"},
		{"its controller does not run", "Approved", "True", "", "waits for ClusterIssuer mesh (cert-manager.io)"},
		{"no such issuer", "Ready", "False", `Referenced "ClusterIssuer" not found: clusterissuer.cert-manager.io "mesh" not found`, "make ClusterIssuer mesh"},
		{"the issuer works on it", "Ready", "False", "the order is open", "not signed yet: the order is open"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
			w := newWorld(t, certManager(r))
			w.refused(lbmodel.CodePending)
			if tc.kind != "" {
				set(r.only(t), tc.kind, tc.status, "Pending", nil)
				r.only(t).Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["message"] = tc.message
			}
			if e := w.refused(lbmodel.CodePending); !strings.Contains(e.Error(), tc.says) || e.RetryAfter != look {
				t.Errorf("%v after %s, want %q", e, e.RetryAfter, tc.says)
			}
			if r.creates != 1 {
				t.Errorf("%d requests", r.creates)
			}
		})
	}
}

// TestCertManagerRefused: what was refused is told, and asked anew an hour later.
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
			w := newWorld(t, certManager(r))
			w.refused(lbmodel.CodePending)
			o := r.only(t)
			set(o, tc.kind, tc.status, tc.reason, []byte("x"))
			o.SetCreationTimestamp(metav1.Now())
			for range 2 {
				if e := w.refused(lbmodel.CodeDenied); !strings.Contains(e.Error(), tc.says) || len(r.objects) != 1 {
					t.Errorf("%v, want %q, and that it stays for people: %s", e, tc.says, tc.why)
				}
			}
			o.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-refusedFor - time.Second)))
			w.refused(lbmodel.CodeDenied)
			if len(r.objects) != 0 || r.creates != 1 {
				t.Errorf("%d are left of %d", len(r.objects), r.creates)
			}
			w.refused(lbmodel.CodePending)
		})
	}
}

// TestForeignRequestStays: what we did not make is not deleted.
func TestForeignRequestStays(t *testing.T) {
	r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
	w := newWorld(t, certManager(r))
	w.refused(lbmodel.CodePending)
	o := r.only(t)
	o.Object["spec"].(map[string]any)["request"] = "eA=="
	o.SetLabels(nil)
	w.refused(lbmodel.CodeConflict)
	w.refused(lbmodel.CodePending) // with another key, and so by another name
	if len(r.objects) != 2 {
		t.Error("another's request was deleted")
	}
}

// TestSweep: what a process left that is gone is removed by the next one; requests of
// others, and of other gateways, are not.
func TestSweep(t *testing.T) {
	r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
	newWorld(t, certManager(r)).refused(lbmodel.CodePending)
	left := r.only(t)
	add := func(name string, change func(*unstructured.Unstructured)) {
		o := left.DeepCopy()
		o.SetName(name)
		o.SetCreationTimestamp(metav1.Now())
		change(o)
		r.objects[name] = o
	}
	other := func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{managedBy: manager, identity: "other"})
	}
	add("open", other)
	add("old", func(o *unstructured.Unstructured) {
		other(o)
		o.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-openFor - time.Second)))
	})
	add("theirs", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{identity: left.GetLabels()[identity]})
	})
	newWorld(t, certManager(r)).refused(lbmodel.CodePending)
	if r.objects[left.GetName()] != nil || r.objects["old"] != nil || r.objects["open"] == nil || r.objects["theirs"] == nil || len(r.objects) != 3 {
		t.Errorf("there are %v", r.objects)
	}
}

// TestNoCertManager: the kind may come any time, so it is looked for again.
func TestNoCertManager(t *testing.T) {
	r := objects{newShelf[*unstructured.Unstructured]("certificaterequests")}
	r.refuse = notServed
	if e := newWorld(t, certManager(r)).refused(lbmodel.CodeUnavailable); !strings.Contains(e.Error(), "which cert-manager brings") {
		t.Error(e)
	}
}
