package controller

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/controller/infrastructure"
	"gatehouse.dev/internal/translate"
)

// misrepresented are the Gateways whose Service, or a part of it, somebody else takes
// away or edits with a change. It is asked before the change is taken. What we write
// ourselves has another digest than what was there.
func misrepresented(x *translate.Index, change translate.Change) (out []translate.Key) {
	for _, key := range change.Delete {
		if owner, is := represents(x.Object(key)); is {
			out = append(out, owner)
		}
	}
	for _, obj := range change.Put {
		key, known := translate.KeyOf(obj)
		if !known {
			continue
		}
		old := x.Object(key)
		owner, is := represents(old)
		if is && infrastructure.Digest(metaOf(old)) == infrastructure.Digest(metaOf(obj)) && !sameContent(old, obj) {
			out = append(out, owner)
		}
	}
	return out
}

// represents is the Gateway that a Service or a slice of it stands for.
func represents(obj any) (translate.Key, bool) {
	meta := metaOf(obj)
	if meta == nil || infrastructure.Digest(meta) == "" {
		return translate.Key{}, false
	}
	owner := metav1.GetControllerOf(meta)
	if owner == nil || owner.Kind != translate.KindGateway || owner.APIVersion != gwv1.GroupVersion.String() {
		return translate.Key{}, false
	}
	return translate.Key{Kind: translate.KindGateway, Namespace: meta.GetNamespace(), Name: owner.Name}, true
}

func sameContent(a, b any) bool {
	before, after := metaOf(a), metaOf(b)
	if !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!reflect.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		return false
	}
	switch o := a.(type) {
	case *corev1.Service:
		n, is := b.(*corev1.Service)
		return is && reflect.DeepEqual(o.Spec, n.Spec)
	case *discoveryv1.EndpointSlice:
		n, is := b.(*discoveryv1.EndpointSlice)
		return is && reflect.DeepEqual(o.Ports, n.Ports) && reflect.DeepEqual(o.Endpoints, n.Endpoints)
	}
	return true
}
