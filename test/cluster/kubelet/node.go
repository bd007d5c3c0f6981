package kubelet

import (
	"context"
	"fmt"
	"maps"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// register creates the Node object, ready from the start.
func (k *Kubelet) register(ctx context.Context, n Node) error {
	_, err := k.config.Client.CoreV1().Nodes().Create(ctx, k.object(n), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return nil
}

func (k *Kubelet) object(n Node) *corev1.Node {
	all := map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
	}
	maps.Copy(all, n.Labels)
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("10000"),
	}
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: all},
		Spec:       corev1.NodeSpec{ProviderID: n.ProviderID},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				Message: "the process kubelet runs", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.Name}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(k.config.Port)}},
			NodeInfo:        corev1.NodeSystemInfo{OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH, KubeletVersion: "v1.37.2"},
		},
	}
	for _, a := range n.Addresses {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	return node
}

// bind gives a pod to the node with the fewest pods among those that take it.
// That there is none is no error: it is tried again.
func (k *Kubelet) bind(pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		return nil
	}
	counts := k.counts()
	best := ""
	for _, n := range k.config.Nodes {
		if k.takes(n.Name, pod) && (best == "" || counts[n.Name] < counts[best]) {
			best = n.Name
		}
	}
	if best == "" {
		k.recorder.Event(pod, corev1.EventTypeWarning, "FailedScheduling", "no node is schedulable and has the labels of nodeSelector")
		return nil
	}
	err := k.config.Client.CoreV1().Pods(pod.Namespace).Bind(k.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: best},
	}, metav1.CreateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // bound or deleted meanwhile
	}
	if err == nil {
		k.mu.Lock()
		k.bound[pod.UID] = best
		k.mu.Unlock()
	}
	return err
}

func (k *Kubelet) takes(name string, pod *corev1.Pod) bool {
	node, err := k.nodes.Get(name)
	return err == nil && !node.Spec.Unschedulable && labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels))
}

// counts are the pods of each node.
func (k *Kubelet) counts() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]int{}
	for _, node := range k.bound {
		out[node]++
	}
	return out
}
