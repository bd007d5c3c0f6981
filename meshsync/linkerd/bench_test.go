package linkerd

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync/meshtest"
)

// indexed is a World that has everything at hand, as a real one does.
type indexed struct {
	*meshtest.World
	shop    *corev1.Namespace
	servers []*unstructured.Unstructured
}

func (w indexed) Namespace(string) *corev1.Namespace { return w.shop }

func (w indexed) Objects(schema.GroupKind, string) []*unstructured.Unstructured { return w.servers }

// BenchmarkInbound is one pod among twenty Servers of its namespace.
func BenchmarkInbound(b *testing.B) {
	w := cluster(b, nil)
	for i := range 20 {
		port := fmt.Sprintf("port: %d", 8080+i)
		w.Apply(strings.Replace(srv(fmt.Sprintf("s%02d", i), "HTTP/1", "all-authenticated"), "port: 8080", port, 1))
	}
	world := indexed{w, w.Namespace("shop"), w.Objects(serverKind, "shop")}
	mesh, port, pod := Dialect{}.Mesh(w), w.Port("shop", "cart"), w.Pod("shop", "cart-1")
	for b.Loop() {
		Dialect{}.Inbound(world, mesh, port, pod)
	}
}
