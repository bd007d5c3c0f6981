package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"gatehouse.dev/lbmodel"
)

// TestRetained keeps the record over a restart: what is retained must not look like
// an orphan to the next process, and costs no call when nothing is new.
func TestRetained(t *testing.T) {
	client := fake.NewClientset()
	owner := lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "apps", Name: "g", UID: "7b2f"}
	first := newRetained(client, "kube-system", "c")
	for _, deletion := range []lbmodel.Deletion{"", lbmodel.DeletionRetain, lbmodel.DeletionRetain, lbmodel.DeletionProtect} {
		if err := first.note(t.Context(), keep{Owner: owner, Provider: "fake", Deletion: deletion}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(client.Actions()); n != 3 {
		t.Errorf("%d calls, want a patch, a create and a patch: what is known already needs none", n)
	}
	second := newRetained(client, "kube-system", "c")
	if err := second.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := owner; !second.has(owner) {
		t.Errorf("the record does not know %s after a restart", again)
	}
	if another := (lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "apps", Name: "g", UID: "0000"}); second.has(another) {
		t.Error("another object of that name is retained too")
	}
	if err := second.note(t.Context(), keep{Owner: owner}); err != nil {
		t.Fatal(err)
	}
	m, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), retainedName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Data) > 0 {
		t.Errorf("the record has %v, want nothing: the owner is gone", m.Data)
	}
	m.Data = map[string]string{"7b2f": "{"}
	if _, err := client.CoreV1().ConfigMaps("kube-system").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := second.read(t.Context()); err == nil {
		t.Error("an entry that cannot be read is no error, though it may protect something")
	}
}
