package translate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// meshWorld is the index as a dialect may look at it (meshsync.World).
type meshWorld struct{ x *Index }

func (w meshWorld) Namespace(name string) *corev1.Namespace {
	out, _ := lookup[*corev1.Namespace](w.x, KindNamespace, "", name)
	return out
}

func (w meshWorld) ConfigMap(namespace, name string) *corev1.ConfigMap {
	out, _ := lookup[*corev1.ConfigMap](w.x, KindConfigMap, namespace, name)
	return out
}

func (w meshWorld) ConfigMaps(namespace string) []*corev1.ConfigMap {
	return partsOf[*corev1.ConfigMap](w.x.at(Key{Kind: kindMapsIn, Namespace: namespace}).parts)
}

// gatewayKind is one that meshes read and that we have in a type of its own: a
// mesh's gateways are Gateways of another class.
var gatewayKind = schema.GroupKind{Group: groupGateway, Kind: KindGateway}

func (w meshWorld) Objects(kind schema.GroupKind, namespace string) []*unstructured.Unstructured {
	if kind == gatewayKind {
		return w.gateways(namespace)
	}
	return partsOf[*unstructured.Unstructured](w.x.at(meshPoint(kind, namespace)).parts)
}

// gateways are those of a namespace, as anybody else would read them.
func (w meshWorld) gateways(namespace string) (out []*unstructured.Unstructured) {
	for _, g := range partsOf[*gwv1.Gateway](w.x.at(meshPoint(gatewayKind, namespace)).parts) {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(g)
		if err != nil {
			continue // it came from such fields: there is nothing that could not go back
		}
		o := &unstructured.Unstructured{Object: fields}
		o.SetGroupVersionKind(gatewayKind.WithVersion("v1"))
		out = append(out, o)
	}
	return out
}

// meshKind is the Key.Kind of a mesh's own kind. Meshes use names that others have
// too (Server, Mesh), so it has the group in it.
func meshKind(kind schema.GroupKind) string { return kind.String() }

// meshPoint lists the objects of a mesh's kind in a namespace.
func meshPoint(kind schema.GroupKind, namespace string) Key {
	return Key{kindMeshIn + kind.String(), namespace, ""}
}

func meshEdges(o *unstructured.Unstructured) edges {
	return edges{listIn: []Key{meshPoint(o.GroupVersionKind().GroupKind(), o.GetNamespace())}}
}

// podAt is the pod behind an endpoint's address, as far as it is beyond doubt: the
// one that the slice names, if it has the address, or the only one of the namespace
// that has it.
func (x *Index) podAt(namespace, name, address string) *corev1.Pod {
	var found *corev1.Pod
	n := 0
	for key, obj := range x.at(Key{kindPodIP, namespace, address}).parts.all() {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		if key.Name == name {
			return pod
		}
		found, n = pod, n+1
	}
	if n != 1 || name != "" {
		return nil
	}
	return found
}
