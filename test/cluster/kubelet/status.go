package kubelet

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// report writes the status whenever it changes, until the context ends; then
// once more, for the end of the pod is news too.
func (w *worker) report(ctx context.Context) {
	var sent corev1.PodStatus
	for {
		select {
		case <-w.touched:
		case <-ctx.Done():
		}
		last := ctx.Err() != nil
		now := w.status(sent.Conditions)
		if !equality.Semantic.DeepEqual(now, sent) {
			// The deadline also holds for the last report, whose context has ended.
			one, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			err := w.patch(one, now)
			cancel()
			switch {
			case err == nil:
				sent = now
			case !apierrors.IsNotFound(err) && !last && w.kubelet.ctx.Err() == nil:
				w.kubelet.config.Log.Info("status of a pod", "pod", w.namespace+"/"+w.name, "error", err)
				sleep(ctx, 200*time.Millisecond)
				w.touch()
			}
		}
		if last {
			return
		}
	}
}

// patch writes what is ours of the status; conditions of others stay.
func (w *worker) patch(ctx context.Context, s corev1.PodStatus) error {
	if w.kubelet.ctx.Err() != nil {
		return nil // as after a power cut
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.uid}, "status": s})
	if err != nil {
		return err
	}
	_, err = w.kubelet.config.Client.CoreV1().Pods(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	return err
}

// status is the pod's, from what runs now. The conditions last sent keep their
// times when they say the same.
func (w *worker) status(before []corev1.PodCondition) corev1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := corev1.PodStatus{
		StartTime: &w.begun, HostIP: w.node.Addresses[0].String(), ObservedGeneration: w.pod.Generation,
		InitContainerStatuses: statuses(w.inits), ContainerStatuses: statuses(w.mains),
	}
	for _, a := range w.node.Addresses {
		s.HostIPs = append(s.HostIPs, corev1.HostIP{IP: a.String()})
	}
	for _, a := range w.addresses {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: a})
	}
	if len(w.addresses) > 0 {
		s.PodIP = w.addresses[0]
	}
	s.Phase = w.phase(s)
	s.Conditions = w.conditions(s, before)
	return s
}

func statuses(containers []*container) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range containers {
		out = append(out, c.status())
	}
	return out
}

func (c *container) status() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := c.started
	s := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: "process://" + c.spec.Image,
		State: *c.state.DeepCopy(), LastTerminationState: *c.last.DeepCopy(),
		RestartCount: c.restarts, Ready: c.ready, Started: &started,
	}
	if c.state.Waiting == nil {
		s.ContainerID = c.id(c.restarts)
	}
	// An init container that has done its work is ready.
	if t := c.state.Terminated; t != nil && t.ExitCode == 0 && c.isInit() {
		s.Ready = true
	}
	return s
}

func (c *container) isInit() bool {
	for i := range c.worker.inits {
		if c.worker.inits[i] == c {
			return true
		}
	}
	return false
}

// phase is the pod's. The caller holds the lock.
func (w *worker) phase(s corev1.PodStatus) corev1.PodPhase {
	if w.finished {
		for _, c := range s.ContainerStatuses {
			if c.State.Terminated == nil || c.State.Terminated.ExitCode != 0 {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	if !w.initialised {
		return corev1.PodPending
	}
	for _, c := range s.ContainerStatuses {
		if c.State.Waiting != nil && c.LastTerminationState.Terminated == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

// conditions are the kubelet's own. The caller holds the lock.
func (w *worker) conditions(s corev1.PodStatus, before []corev1.PodCondition) []corev1.PodCondition {
	containers := allReady(s, w)
	ready := containers
	for _, gate := range w.pod.Spec.ReadinessGates {
		if ready.Status == corev1.ConditionTrue && !conditionTrue(w.pod.Status.Conditions, gate.ConditionType) {
			ready = condition(corev1.ConditionFalse, "ReadinessGatesNotReady", "readiness gate "+string(gate.ConditionType)+" is not true")
		}
	}
	network := truth(len(s.PodIPs) > 0 && !w.finished)
	initialised := truth(w.initialised)
	out := []corev1.PodCondition{
		named(network, corev1.PodReadyToStartContainers), named(initialised, corev1.PodInitialized),
		named(containers, corev1.ContainersReady), named(ready, corev1.PodReady),
	}
	now := metav1.Now()
	for i := range out {
		out[i].LastTransitionTime, out[i].ObservedGeneration = now, w.pod.Generation
		for _, old := range before {
			if old.Type == out[i].Type && old.Status == out[i].Status {
				out[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	return out
}

// allReady is the condition that all containers are. The caller holds the lock.
func allReady(s corev1.PodStatus, w *worker) corev1.PodCondition {
	if w.finished {
		return condition(corev1.ConditionFalse, "PodCompleted", "")
	}
	for i, c := range s.InitContainerStatuses {
		if w.inits[i].sidecar() && !c.Ready {
			return condition(corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: "+c.Name)
		}
	}
	for _, c := range s.ContainerStatuses {
		if !c.Ready {
			return condition(corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: "+c.Name)
		}
	}
	return condition(corev1.ConditionTrue, "", "")
}

func condition(status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
	return corev1.PodCondition{Status: status, Reason: reason, Message: message}
}

func named(c corev1.PodCondition, t corev1.PodConditionType) corev1.PodCondition {
	c.Type = t
	return c
}

func truth(b bool) corev1.PodCondition { //nolint:revive // it turns a boolean into the API's word
	if b {
		return condition(corev1.ConditionTrue, "", "")
	}
	return condition(corev1.ConditionFalse, "", "")
}

func conditionTrue(all []corev1.PodCondition, t corev1.PodConditionType) bool {
	for _, c := range all {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ips are the pod's addresses.
func (w *worker) ips() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addresses
}
