package watch

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/internal/keypair"
	"gatehouse.dev/internal/translate"
)

// secret stands for a Secret in a cache: its name and what is public of it.
type secret struct {
	metav1.ObjectMeta
	public *translate.Secret
}

// trimmer drops what nobody reads before an object is kept.
type trimmer struct{ texts texts }

// trim is what an informer's transform is, and may see an object twice.
func (t *trimmer) trim(obj any) (any, error) {
	if meta, ok := obj.(metav1.Object); ok {
		meta.SetManagedFields(nil)
		trimAnnotations(meta)
	}
	switch o := obj.(type) {
	case *corev1.Secret:
		return split(o), nil
	case *corev1.Pod:
		t.trimPod(o)
	case *corev1.Node:
		o.Status = corev1.NodeStatus{Addresses: o.Status.Addresses, Conditions: nil}
	case *corev1.ConfigMap:
		t.trimConfigMap(o)
	case *corev1.Namespace:
		o.Annotations = t.only(o.Annotations, namespaceAnnotations())
	case *unstructured.Unstructured:
		delete(o.Object, "status")
	}
	return obj, nil
}

// trimAnnotations drops the copy of itself that kubectl leaves in an object.
func trimAnnotations(meta metav1.Object) {
	if _, there := meta.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; !there {
		return
	}
	rest := maps.Clone(meta.GetAnnotations())
	delete(rest, corev1.LastAppliedConfigAnnotation)
	meta.SetAnnotations(rest)
}

// split keeps no reference into the Secret's data.
func split(s *corev1.Secret) *secret {
	return &secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion},
		public:     keypair.Take(s).Public,
	}
}

// trimPod keeps where a Pod is, whether it is ready, and the gates that make it so;
// and what meshes read of it.
func (t *trimmer) trimPod(p *corev1.Pod) {
	gates := p.Spec.ReadinessGates
	conditions := slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c corev1.PodCondition) bool {
		gate := slices.ContainsFunc(gates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == c.Type })
		return !gate && c.Type != corev1.PodReady && c.Type != corev1.ContainersReady
	})
	p.OwnerReferences, p.Finalizers = nil, nil
	p.Annotations = t.only(p.Annotations, podAnnotations())
	spec := corev1.PodSpec{
		NodeName: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork, ServiceAccountName: p.Spec.ServiceAccountName, ReadinessGates: gates,
	}
	if spec.Volumes = identityVolumes(p.Spec.Volumes); inMesh(p) {
		spec.Containers, spec.InitContainers = t.containers(p.Spec.Containers), t.containers(p.Spec.InitContainers)
	}
	p.Spec = spec
	p.Status = corev1.PodStatus{
		Phase: p.Status.Phase, PodIP: p.Status.PodIP, PodIPs: p.Status.PodIPs, Conditions: conditions,
	}
}

// public is an object as a Snapshot has it.
func public(obj any) any {
	if s, ok := obj.(*secret); ok {
		return s.public
	}
	return obj
}
