package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"gatehouse.dev/internal/translate"
)

// TestKinds holds the table against the types of a Snapshot: a kind that has no row
// would never be watched.
func TestKinds(t *testing.T) {
	rows := map[string]Kind{}
	for _, k := range Kinds() {
		rows[k.Name] = k
	}
	snapshot := reflect.TypeFor[translate.Snapshot]()
	for i := range snapshot.NumField() {
		if snapshot.Field(i).Type.Kind() != reflect.Slice {
			continue
		}
		obj := reflect.New(snapshot.Field(i).Type.Elem().Elem()).Interface()
		switch obj.(type) {
		case *unstructured.Unstructured: // of the kinds that dialects read
			continue
		case *translate.Bundle, *translate.Sight, *translate.Held: // of no cluster
			continue
		}
		key, ok := translate.KeyOf(obj)
		k, there := rows[key.Kind]
		if !ok || !there {
			t.Errorf("%s of a Snapshot has no row", snapshot.Field(i).Name)
			continue
		}
		if made := reflect.TypeOf(k.New()); made != reflect.TypeOf(obj) && key.Kind != translate.KindSecret {
			t.Errorf("%s makes %s, a Snapshot has %T", key.Kind, made, obj)
		}
	}
}

// server serves some versions, and an object in whatever version it is asked for.
type server struct {
	served map[string][]string // by path, the resources
	broken bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var out any = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	resources, there := s.served[r.URL.Path]
	switch {
	case s.broken:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/apis/gateway.networking.k8s.io/v1beta1/namespaces/a/referencegrants/g":
		out = map[string]any{"apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant", "metadata": map[string]any{"namespace": "a", "name": "g"},
			"spec": map[string]any{"from": []any{map[string]any{"group": "", "kind": "Service", "namespace": "b"}}, "to": []any{}}}
	case there:
		list := metav1.APIResourceList{}
		for _, name := range resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		out = list
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	json.NewEncoder(w).Encode(out)
}

// TestDiscover finds what is served, in the version that is preferred among those,
// and keeps what it knew when the server cannot tell.
func TestDiscover(t *testing.T) {
	s := &server{served: map[string][]string{
		"/api/v1":                                   {"services", "pods", "pods/status"},
		"/apis/gateway.networking.k8s.io/v1":        {"gateways"},
		"/apis/gateway.networking.k8s.io/v1beta1":   {"gateways", "referencegrants"},
		"/apis/certificates.k8s.io/v1beta1":         {"clustertrustbundles"},
		"/apis/gateway.networking.x-k8s.io/v1beta1": {"xbackends"},
	}}
	api := httptest.NewServer(s)
	defer api.Close()
	c, err := New(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Service": "v1", "Pod": "v1", "Gateway": "v1", "ReferenceGrant": "v1beta1", "ClusterTrustBundle": "v1beta1"}
	check := func(when string) {
		t.Helper()
		for _, k := range Kinds() {
			r, served := c.Resource(k.Name)
			if version := want[k.Name]; served != (version != "") || r.Version != version {
				t.Errorf("%s: %s is served in %q, want %q", when, k.Name, r.Version, version)
			}
		}
	}
	if err := c.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("at first")
	s.broken = true
	if err := c.Discover(t.Context()); err == nil {
		t.Error("a server that is not ready is no error")
	}
	check("while the server is not ready")
	s.broken = false
	r, _ := c.Resource("ReferenceGrant")
	obj, err := r.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: "g"})
	if err != nil {
		t.Fatal(err)
	}
	if key, _ := translate.KeyOf(obj); key != (translate.Key{Kind: "ReferenceGrant", Namespace: "a", Name: "g"}) {
		t.Errorf("an old version is read as %T: %v", obj, key)
	}
}
