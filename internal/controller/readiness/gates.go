package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/translate"
)

// Gates writes the conditions of our readiness gates. It is safe for use by several
// goroutines.
type Gates struct {
	client typedcorev1.PodsGetter
	now    func() time.Time
}

// New makes a Gates.
func New(client typedcorev1.PodsGetter) *Gates { return &Gates{client: client, now: time.Now} }

// Sync brings the conditions of some pods' gates up to date, by what is known of the
// Services that they name. Pods without our gates, and conditions that are as they
// should be, cost no call. It returns the gateways whose clouds are to be looked at
// again soon, since a pod waits for what they say; the error is of the pods that
// could not be written, and those are to be synced again.
func (g *Gates) Sync(ctx context.Context, pods []*corev1.Pod, services Services) (map[translate.Key]bool, error) {
	poll := map[translate.Key]bool{}
	var errs []error
	for _, pod := range pods {
		changed, waits := g.decide(pod, services)
		for _, key := range waits {
			poll[key] = true
		}
		if len(changed) > 0 {
			errs = append(errs, g.write(ctx, pod, changed))
		}
	}
	return poll, errors.Join(errs...)
}

// decide is what of a pod's conditions must change, and whose health it waits for.
func (g *Gates) decide(pod *corev1.Pod, services Services) (changed []corev1.PodCondition, poll []translate.Key) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil, nil
	}
	for _, name := range NamesOf(pod) {
		d, ok := Decide(pod, name.Name, services[name], g.now())
		if !ok {
			continue
		}
		poll = append(poll, d.Poll...)
		if was := conditionOf(pod, d.Condition.Type); !says(was, d.Condition) {
			changed = append(changed, d.Condition)
		}
	}
	return changed, poll
}

// says whether two conditions tell the same.
func says(a, b corev1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// write patches only the conditions that change, of this very pod: one that was made
// again under its name has to wait for itself.
func (g *Gates) write(ctx context.Context, pod *corev1.Pod, changed []corev1.PodCondition) error {
	type status struct {
		Conditions []corev1.PodCondition `json:"conditions"`
	}
	type metadata struct {
		UID types.UID `json:"uid"`
	}
	patch, err := json.Marshal(struct {
		Metadata metadata `json:"metadata"`
		Status   status   `json:"status"`
	}{metadata{pod.UID}, status{changed}})
	if err != nil {
		return fmt.Errorf("readiness gates of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	_, err = g.client.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: kube.FieldManager}, "status")
	if err == nil || gone(err) {
		return nil
	}
	return fmt.Errorf("readiness gates of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// gone says whether a patch failed because the pod is not there any more, or
// another one is.
func gone(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Field == "metadata.uid" {
				return true
			}
		}
	}
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
