package controller

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
)

// recordWorld is a mesh world whose record is in a cluster of its own.
func recordWorld(t *testing.T) (*meshWorld, *fake.Clientset) {
	t.Helper()
	w, client := newMeshWorld(t, binding()), fake.NewClientset()
	w.config.Log = slog.New(slog.DiscardHandler)
	w.config.Meshes = NewMeshes(MeshConfig{Client: client, Cluster: "c", Namespace: "ours"})
	t.Cleanup(w.config.Meshes.roots.Close)
	w.recall(t.Context())
	// What is remembered of the binding: without it there is nothing to write.
	w.config.Meshes.members.Recall(map[string]rootsync.Binding{"istio": {Roots: rootsOf(t, newCA(t)), Seen: map[string]time.Time{"k": time.Now()}}})
	return w, client
}

// TestRecordGone: a record that somebody removes is written anew at the next look, which
// is soon.
func TestRecordGone(t *testing.T) {
	w, client := recordWorld(t)
	there := func() bool {
		_, err := client.CoreV1().ConfigMaps("ours").Get(t.Context(), rememberedName, metav1.GetOptions{})
		return err == nil
	}
	keep := func() {
		t.Helper()
		if err := w.remember(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	if !there() {
		t.Fatal("nothing is written")
	}
	if err := client.CoreV1().ConfigMaps("ours").Delete(t.Context(), rememberedName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	keep()
	if there() {
		t.Fatal("it is written without being news: this test tests nothing")
	}
	w.take(watch.Batch{Change: translate.Change{Delete: []translate.Key{{Kind: translate.KindConfigMap, Namespace: "ours", Name: rememberedName}}}})
	if it, over := w.work.Get(); over || it != meshItem {
		t.Fatalf("the next work is %v, want that on meshes", it)
	}
	keep()
	if !there() {
		t.Error("it is not written anew")
	}
}

// TestRecordFails: who reads events learns that nothing is remembered, why, and the way
// out; also when the one that was removed cannot be made again.
func TestRecordFails(t *testing.T) {
	immutable := apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), rememberedName,
		field.ErrorList{field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")})
	for _, c := range []struct {
		name string
		err  error
		says string
	}{
		{"immutable", immutable, "it may be immutable: delete it, and it is made anew at once"},
		{"not ours to write", apierrors.NewForbidden(corev1.Resource("configmaps"), rememberedName, nil), "Role gatehouse-controller-manager of deploy/rbac.yaml"},
		{"the server is away", apierrors.NewServiceUnavailable("it starts"), "it starts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, client := recordWorld(t)
			fails := true
			client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return fails, nil, c.err })
			if err := w.remember(t.Context()); err == nil {
				t.Fatal("no error")
			}
			heard := strings.Join(w.heard(), "\n")
			if !strings.Contains(heard, "Warning RecordFailed ConfigMap ours/gatehouse-roots") || !strings.Contains(heard, c.says) {
				t.Errorf("told is %q, want %q", heard, c.says)
			}
			fails = false
			if err := w.remember(t.Context()); err != nil || len(w.heard()) > 0 {
				t.Errorf("once it can be written: %v", err)
			}
		})
	}
}
