package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// TestACLToken reads a Secret of our own namespace that is meant for it. Why this
// table: whoever may write a MeshBinding says its name, and where the token is sent.
func TestACLToken(t *testing.T) {
	secret := func(namespace, name string, kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind, Data: map[string][]byte{"token": []byte("hidden\n")}}
	}
	forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "consul", nil)
	for _, tt := range []struct {
		name string
		has  *corev1.Secret
		err  error
		want lbmodel.Code
		says string
	}{
		{"the one", secret("gatehouse-system", "consul", v1alpha1.SecretTypeConsulToken), nil, lbmodel.CodeOK, ""},
		{"of another kind", secret("gatehouse-system", "consul", corev1.SecretTypeOpaque), nil, lbmodel.CodeUnavailable, "not of type gatehouse.dev/consul-token"},
		{"of another namespace", secret("apps", "consul", v1alpha1.SecretTypeConsulToken), nil, lbmodel.CodeUnavailable, "not in namespace gatehouse-system"},
		{"one that we may not read", secret("gatehouse-system", "consul", v1alpha1.SecretTypeConsulToken), forbidden, lbmodel.CodeDenied, "forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := fake.NewClientset(tt.has)
			client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return tt.err != nil, nil, tt.err })
			around := MeshConfig{Client: client, Namespace: "gatehouse-system"}.around()
			token, err := around.Secret(t.Context(), "consul")
			if lbmodel.CodeOf(err) != tt.want || (err == nil) != (token == "hidden") {
				t.Fatalf("token %q, error %v, want %s", token, err, tt.want)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hidden")) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if around.Objects != nil || around.Requests == nil || around.Namespace != "gatehouse-system" {
				t.Errorf("around is %+v", around)
			}
		})
	}
}
