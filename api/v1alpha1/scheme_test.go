package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestAddToScheme holds that a client of ours can read every kind and its list.
func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"GatewayParameters", "MeshBinding", "GatewayPlan"} {
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(GroupVersion.WithKind(name)) {
				t.Errorf("%s is not known to the scheme", name)
			}
		}
	}
}
