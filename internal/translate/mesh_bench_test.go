//go:build unix

package translate

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/meshsync/istio"
)

// meshed is the fleet as members of a mesh: every pod has a proxy.
func (f fleet) meshed() Snapshot {
	s := f.snapshot()
	b := &v1alpha1.MeshBinding{ObjectMeta: metav1.ObjectMeta{Name: "istio"}}
	b.Spec.ControllerName = istio.Controller
	s.MeshBindings = []*v1alpha1.MeshBinding{b}
	s.ConfigMaps = append(s.ConfigMaps, rootsOf("istio-system", "istio-ca-root-cert", "root-cert.pem"))
	strict := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"mtls": map[string]any{"mode": "STRICT"}}}}
	strict.SetAPIVersion("security.istio.io/v1")
	strict.SetKind("PeerAuthentication")
	strict.SetNamespace("istio-system")
	strict.SetName("default")
	s.MeshObjects = []*unstructured.Unstructured{strict}
	for _, p := range s.Pods {
		p.Annotations = map[string]string{"sidecar.istio.io/status": "{}"}
		p.Spec.ServiceAccountName = "default"
		p.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: "istio-proxy"}}
	}
	return s
}

// BenchmarkMeshTranslate is the figure: 5,000 pods in 500 Services behind
// one member, under 200 ms; with what it costs without a mesh.
func BenchmarkMeshTranslate(b *testing.B) {
	shape := fleet{1, 250, 2, 10}
	for _, c := range []struct {
		name     string
		snapshot Snapshot
	}{{"member", shape.meshed()}, {"no mesh", shape.snapshot()}} {
		b.Run(c.name, func(b *testing.B) {
			x := New(c.snapshot, meshOptions())
			pools := 0
			start := cpu(b)
			for b.Loop() {
				pools = len(x.Gateway(Key{KindGateway, "apps", "gw-0"}).Gateway.Pools)
			}
			b.ReportMetric(float64((cpu(b)-start).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
			b.ReportMetric(float64(pools), "pools")
		})
	}
}

// BenchmarkMeshPodChange is the other figure: what one endpoint of a member costs on
// the fast path, under 1 ms; and one pod that loses its proxy, until it is known whom
// it concerns.
func BenchmarkMeshPodChange(b *testing.B) {
	x := New(fleet{1, 250, 2, 10}.meshed(), meshOptions())
	before := x.Gateway(Key{KindGateway, "apps", "gw-0"})
	b.Run("endpoint", func(b *testing.B) {
		slice, _ := lookup[*discoveryv1.EndpointSlice](x, KindEndpointSlice, "apps", "s-0-3-1")
		smaller := *slice
		smaller.Endpoints = slice.Endpoints[1:]
		for b.Loop() {
			after, _ := x.With(Change{Put: []any{&smaller}})
			if pools, _, again := after.PoolsOf(ServiceKey(&smaller), before); again || len(pools) != 1 {
				b.Fatal("the fast path is not taken")
			}
		}
	})
	b.Run("pod", func(b *testing.B) {
		pod, _ := lookup[*corev1.Pod](x, KindPod, "apps", fmt.Sprintf("pod-%d", 7))
		bare := *pod
		bare.Spec.Containers = pod.Spec.Containers[:1]
		for b.Loop() {
			if _, keys := x.With(Change{Put: []any{&bare}}); len(keys) != 1 {
				b.Fatalf("it concerns %v", keys)
			}
		}
	})
}
