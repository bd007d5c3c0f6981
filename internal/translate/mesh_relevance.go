package translate

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/meshsync"
)

// meshChange finds out which gateways a change concerns because they are, were or
// become members of a mesh. What concerns a gateway for another reason is found
// without it.
type meshChange struct {
	old, next *Index
	bindings  map[string]*v1alpha1.MeshBinding // of both; those of next where both have one
	concerned map[Key]bool
}

// concernMeshes adds the members that a change concerns. Clusters without a
// MeshBinding have none. What all members of a mesh share is forgotten when
// something of the kinds that it is made of changed.
func (x *Index) concernMeshes(next *Index, c Change, concerned map[Key]bool) {
	m := meshChange{old: x, next: next, concerned: concerned, bindings: map[string]*v1alpha1.MeshBinding{}}
	shared := false
	each := func(do func(key Key, old, obj any)) {
		for _, obj := range c.Put {
			if key, ok := KeyOf(obj); ok {
				do(key, x.at(key).obj, obj)
			}
		}
		for _, key := range c.Delete {
			if old := x.at(key).obj; old != nil {
				do(key, old, nil)
			}
		}
	}
	each(func(key Key, old, obj any) { shared = shared || sharedByMesh(old, obj) })
	if shared {
		next.meshes = newMeshMemory()
	}
	for _, list := range [][]*v1alpha1.MeshBinding{x.bindings(), next.bindings()} {
		for _, b := range list {
			m.bindings[b.Name] = b
		}
	}
	if len(m.bindings) == 0 {
		return
	}
	each(m.object)
	if shared {
		m.shared()
	}
}

// sharedByMesh says whether a change is of what Dialect.Mesh and a binding's trust
// are made of.
func sharedByMesh(old, obj any) bool {
	for _, o := range []any{old, obj} {
		switch o.(type) {
		case *v1alpha1.MeshBinding, *corev1.ConfigMap, *certv1.ClusterTrustBundle, *Bundle, *Sight, *unstructured.Unstructured, *corev1.Namespace:
			return !reflect.DeepEqual(old, obj)
		}
	}
	return false
}

// object is one changed object.
func (m *meshChange) object(key Key, old, obj any) {
	switch {
	case key.Kind == KindMeshBinding:
		m.binding(old, obj)
	case key.Kind == KindSight:
		m.sight(old, obj)
	case key.Kind == KindHeld:
		m.held(old, obj)
	case key.Kind == KindNamespace:
		m.namespace(key.Name, old, obj)
	case key.Kind == KindPod:
		if !sameInMesh(old, obj) {
			m.walk(key, old, obj)
		}
		m.padPod(old, obj)
	case key.Kind == KindService || strings.HasSuffix(key.Kind, "Route"):
		if !sameLabels(old, obj) {
			m.walk(key, old, obj)
		}
		if !sameSpec(old, obj) {
			m.meshRoute(key, old, obj)
		}
	case key.Kind == KindGateway:
		if !sameSpec(old, obj) {
			m.meshGateway(key)
		}
	case key.Kind == KindNode:
		if !sameLocation(old, obj) {
			m.node(key.Name)
		}
	default:
		if isMeshObject(old) || isMeshObject(obj) {
			m.meshObject(key, old, obj)
		}
	}
}

func isMeshObject(obj any) bool { _, is := obj.(*unstructured.Unstructured); return is }

// binding concerns whom it lets in, before or after.
func (m *meshChange) binding(old, obj any) {
	before, _ := old.(*v1alpha1.MeshBinding)
	after, _ := obj.(*v1alpha1.MeshBinding)
	if before != nil && after != nil && reflect.DeepEqual(before.Spec, after.Spec) {
		return
	}
	m.members(func(x *Index, namespace string) bool {
		return before != nil && m.old.admits(before, namespace) || after != nil && m.next.admits(after, namespace)
	})
}

// namespace concerns the gateways in it that are let in now and were not, or the
// other way round; members whose routes are in it and wanted differently; and
// members with backends in it, of which dialects may judge by its labels.
func (m *meshChange) namespace(name string, old, obj any) {
	before, after := namespaceLabels(name, old), namespaceLabels(name, obj)
	if maps.Equal(before, after) && sameAnnotations(old, obj) {
		return
	}
	for _, b := range m.bindings {
		if s := &b.Spec.Gateways.NamespaceSelector; selects(s, before) != selects(s, after) {
			m.members(func(_ *Index, namespace string) bool { return namespace == name })
		}
		if b.Spec.LabelSelector != nil && selects(b.Spec.LabelSelector, before) != selects(b.Spec.LabelSelector, after) {
			m.routesIn(name)
		}
	}
	m.podsIn(name)
}

// meshObject concerns members with backends in its namespace; all members when it
// is where a mesh's own configuration is, or in no namespace.
func (m *meshChange) meshObject(key Key, old, obj any) {
	if old != nil && obj != nil && sameMeshObject(old.(*unstructured.Unstructured), obj.(*unstructured.Unstructured)) {
		return
	}
	for _, b := range m.bindings {
		d := m.next.options.Dialects[b.Spec.ControllerName]
		if d == nil {
			continue
		}
		reads := hasKind(d.Reads(), key.Kind)
		if a, is := d.(meshsync.Authorizer); is && m.next.options.Refusals && hasKind(a.Permits(), key.Kind) {
			m.membersOf(b) // policies may be for other namespaces, and refer to them
		}
		root := key.Namespace == "" || key.Namespace == m.old.mesh(d).Namespace || key.Namespace == m.next.mesh(d).Namespace
		switch {
		case reads && root:
			m.membersOf(b)
		case reads:
			m.podsIn(key.Namespace)
		}
	}
}

func hasKind(all []schema.GroupVersionKind, kind string) bool {
	return slices.ContainsFunc(all, func(gvk schema.GroupVersionKind) bool { return meshKind(gvk.GroupKind()) == kind })
}

// meshGateway is a Gateway that pods of a mesh may serve.
func (m *meshChange) meshGateway(key Key) {
	for _, b := range m.bindings {
		if pad := b.Spec.LandingPad; pad != nil && pad.Namespace == key.Namespace && pad.Name == key.Name {
			m.membersOf(b)
		}
	}
	for at, obj := range m.next.at(Key{Kind: kindPodsIn, Name: key.Namespace}).parts.all() {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Labels[labelGatewayName] == key.Name {
			m.walk(at, pod, pod)
		}
	}
}

// node is one that moved: endpoints tell where they are, those of a landing pad too.
func (m *meshChange) node(name string) {
	for _, b := range m.bindings {
		if b.Spec.LandingPad == nil {
			continue
		}
		for _, obj := range m.next.at(Key{Kind: kindPodsIn, Name: b.Spec.LandingPad.Namespace}).parts.all() {
			if pod, ok := obj.(*corev1.Pod); ok && padPod(b, pod) && pod.Spec.NodeName == name {
				m.membersOf(b)
			}
		}
	}
}

// padPod is a pod that may serve a landing pad: its address and state are then
// those of an endpoint of all members.
func (m *meshChange) padPod(old, obj any) {
	for _, b := range m.bindings {
		if !padPod(b, old) && !padPod(b, obj) {
			continue
		}
		a, was := old.(*corev1.Pod)
		n, is := obj.(*corev1.Pod)
		if was != is || !sameInMesh(old, obj) || !equivalentPods(a, n) {
			m.membersOf(b)
		}
	}
}

// sameMeshObject compares what its owner wrote: not the status, nor what the API
// server keeps for itself.
func sameMeshObject(a, b *unstructured.Unstructured) bool {
	if a.GetUID() != b.GetUID() || !a.GetCreationTimestamp().Time.Equal(b.GetCreationTimestamp().Time) ||
		!maps.Equal(a.GetLabels(), b.GetLabels()) || !maps.Equal(a.GetAnnotations(), b.GetAnnotations()) {
		return false
	}
	rest := func(o *unstructured.Unstructured) map[string]any {
		out := maps.Clone(o.Object)
		delete(out, "metadata")
		delete(out, "status")
		return out
	}
	return reflect.DeepEqual(rest(a), rest(b))
}

// shared compares what all members of a mesh share.
func (m *meshChange) shared() {
	for _, b := range m.bindings {
		d := m.next.options.Dialects[b.Spec.ControllerName]
		if d == nil {
			continue
		}
		before, after := m.old.mesh(d), m.next.mesh(d)
		if !reflect.DeepEqual(before, after) || !reflect.DeepEqual(m.old.boundTrust(b, before), m.next.boundTrust(b, after)) {
			m.membersOf(b)
		}
	}
}

func (m *meshChange) membersOf(b *v1alpha1.MeshBinding) {
	m.members(func(x *Index, namespace string) bool { return x.admits(b, namespace) })
}

// members adds the gateways of some namespaces.
func (m *meshChange) members(in func(x *Index, namespace string) bool) {
	for _, x := range []*Index{m.old, m.next} {
		for _, key := range x.Gateways() {
			if key.Kind == KindGateway && !m.concerned[key] && in(x, key.Namespace) {
				m.concerned[key] = true
			}
		}
	}
}

// routesIn adds the members that routes of a namespace name.
func (m *meshChange) routesIn(namespace string) {
	for _, key := range m.next.Gateways() {
		if !m.isMember(key) {
			continue
		}
		t := translation{x: m.next, key: key}
		for part := range m.next.at(key).parts.all() {
			if part.Kind == KindListenerSet {
				t.sets = append(t.sets, &setState{key: part})
			}
		}
		for _, r := range t.namingRoutes() {
			if r.key.Namespace == namespace {
				m.concerned[key] = true
			}
		}
	}
}

// podsIn adds the members that lead to pods of a namespace.
func (m *meshChange) podsIn(namespace string) {
	for key, pod := range m.next.at(Key{Kind: kindPodsIn, Name: namespace}).parts.all() {
		m.walk(key, pod, pod)
	}
}

// walk adds the members among the gateways that a change would concern.
func (m *meshChange) walk(key Key, old, obj any) {
	found := map[Key]bool{}
	m.next.walk(key, old, obj, found)
	for k := range found {
		if k.Kind == KindGateway && m.isMember(k) {
			m.concerned[k] = true
		}
	}
}

func (m *meshChange) isMember(key Key) bool {
	if key.Kind != KindGateway {
		return false
	}
	for _, b := range m.bindings {
		if m.old.admits(b, key.Namespace) || m.next.admits(b, key.Namespace) {
			return true
		}
	}
	return false
}

// sameInMesh compares what dialects read of a pod. What it runs does not change as
// long as it lives, but for images; files, where a UID says nothing, may change it.
func sameInMesh(old, obj any) bool {
	a, was := old.(*corev1.Pod)
	b, is := obj.(*corev1.Pod)
	if !was || !is {
		return true // whether it is there concerns everybody
	}
	return maps.Equal(a.Annotations, b.Annotations) && maps.Equal(a.Labels, b.Labels) &&
		(a.UID != "" && a.UID == b.UID || reflect.DeepEqual(a.Spec, b.Spec))
}

func sameLabels(old, obj any) bool {
	a, was := old.(metav1.Object)
	b, is := obj.(metav1.Object)
	return !was || !is || maps.Equal(a.GetLabels(), b.GetLabels())
}

func sameAnnotations(old, obj any) bool {
	a, was := old.(metav1.Object)
	b, is := obj.(metav1.Object)
	return was == is && (!was || maps.Equal(a.GetAnnotations(), b.GetAnnotations()))
}
