package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"gatehouse.dev/internal/translate"
)

func wanted() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "policy.linkerd.io", Version: "v1beta3", Kind: "Server"},
		{Group: "policy.linkerd.io", Version: "v1beta1", Kind: "Server"},
		{Group: "kuma.io", Version: "v1alpha1", Kind: "Mesh"},
		{Group: "consul.hashicorp.com", Version: "v1alpha1", Kind: "Mesh"},
		{Group: "consul.hashicorp.com", Version: "v1alpha1", Kind: "ServiceDefaults"},
	}
}

// TestUntyped: kinds of one name in two groups are two, a kind in two versions is
// one, and none takes the place of a kind of the table.
func TestUntyped(t *testing.T) {
	rows := Untyped(wanted())
	if len(rows) != 4 || len(rows[0].Versions) != 2 || rows[0].Versions[0] != "v1beta3" {
		t.Fatalf("rows are %+v", rows)
	}
	names := map[string]bool{}
	for _, k := range append(Kinds(), rows...) {
		if names[k.Name] {
			t.Errorf("two rows are called %s", k.Name)
		}
		names[k.Name] = true
	}
	if got := rows[1].Definition(); got != "meshes.kuma.io" {
		t.Errorf("the definition of Mesh is %s", got)
	}
}

// TestDiscoverUntyped finds such kinds by their kind, whatever their plural, in the
// version that is liked best of those that are served, and reads each object once.
func TestDiscoverUntyped(t *testing.T) {
	served := map[string][]metav1.APIResource{
		"/apis/policy.linkerd.io/v1beta1": {{Name: "servers", Kind: "Server"}, {Name: "servers/status", Kind: "Server"}},
		// The plural that one would guess is another.
		"/apis/consul.hashicorp.com/v1alpha1": {{Name: "servicedefaults", Kind: "ServiceDefaults"}},
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resources, there := served[r.URL.Path]
		switch {
		case there:
			json.NewEncoder(w).Encode(metav1.APIResourceList{APIResources: resources})
		case r.URL.Path == "/apis/consul.hashicorp.com/v1alpha1/servicedefaults":
			json.NewEncoder(w).Encode(map[string]any{"apiVersion": "consul.hashicorp.com/v1alpha1", "kind": "ServiceDefaultsList", "metadata": map[string]any{"resourceVersion": "1"},
				"items": []any{map[string]any{"metadata": map[string]any{"namespace": "a", "name": "b"}, "spec": map[string]any{"protocol": "http"}}}})
		default:
			http.NotFound(w, r)
		}
	}))
	defer api.Close()
	c, err := New(&rest.Config{Host: api.URL}, Untyped(wanted())...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, ok := c.Resource("Server.policy.linkerd.io"); !ok || r.Version != "v1beta1" {
		t.Errorf("Server is served in %q", r.Version)
	}
	if _, ok := c.Resource("Mesh.kuma.io"); ok {
		t.Error("a kind that nobody serves is there")
	}
	r, ok := c.Resource("ServiceDefaults.consul.hashicorp.com")
	if !ok {
		t.Fatal("ServiceDefaults are not found")
	}
	list, err := r.ListWatch().ListWithContextFunc(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	items := list.(*unstructured.UnstructuredList).Items
	if len(items) != 1 {
		t.Fatalf("%d objects, want 1", len(items))
	}
	if key, ok := translate.KeyOf(&items[0]); !ok || key != (translate.Key{Kind: r.Kind.Name, Namespace: "a", Name: "b"}) {
		t.Errorf("it is %v for a Snapshot, and the row is called %s", key, r.Kind.Name)
	}
}
