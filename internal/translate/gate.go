package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GatePrefix begins the types of the Pod conditions that are our readiness gates
// (Pod spec.readinessGates); the name of a Service of the pod's namespace follows.
// Such a pod becomes ready only when the load balancers in front of that Service
// say that it is healthy, which they can find out only if it is a target before it
// is ready.
const GatePrefix = "service.gatehouse.dev/"

// lacksOnlyGates says whether a pod that has gates of ours lacks nothing else to be
// ready. Whether it has those does not matter: between the last of them and the
// kubelet's verdict a target must not come and go.
func lacksOnlyGates(p *corev1.Pod) bool {
	ours := false
	for _, g := range p.Spec.ReadinessGates {
		if strings.HasPrefix(string(g.ConditionType), GatePrefix) {
			ours = true
		} else if !podHasCondition(p, g.ConditionType) {
			return false
		}
	}
	return ours && p.DeletionTimestamp == nil && podHasCondition(p, corev1.ContainersReady)
}

func podHasCondition(p *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// gateState is what translation reads of a pod's readiness gates.
type gateState struct {
	uid   types.UID
	ready bool
}

func gateStateOf(p *corev1.Pod) gateState {
	if !lacksOnlyGates(p) {
		return gateState{}
	}
	return gateState{uid: p.UID, ready: true}
}

// gated says whether an endpoint that is not ready is to be a target all the same:
// its pod is ready but for the gate of this very Service.
func (f *finder) gated(e *discoveryv1.Endpoint) bool {
	r := e.TargetRef
	if r == nil || r.Kind != KindPod || deref(e.Conditions.Terminating, false) || f.group.key.Kind != KindService {
		return false
	}
	namespace := f.group.key.Namespace // a gate names a Service of the pod's own namespace
	pod, ok := lookup[*corev1.Pod](f.x, KindPod, namespace, r.Name)
	return ok && (r.Namespace == "" || r.Namespace == namespace) && (r.UID == "" || r.UID == pod.UID) &&
		slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(GatePrefix + f.group.key.Name)}) &&
		f.x.podIs(pod, e.Addresses[0]) && lacksOnlyGates(pod)
}

// podIs says whether an address is a pod's: only so is the slice told of the pod's
// changes.
func (x *Index) podIs(p *corev1.Pod, address string) bool {
	of := partsOf[*corev1.Pod](x.at(Key{kindPodIP, p.Namespace, address}).parts)
	return slices.ContainsFunc(of, func(q *corev1.Pod) bool { return q.Name == p.Name })
}
