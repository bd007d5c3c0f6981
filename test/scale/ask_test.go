//go:build e2e

package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/test/cluster"
)

// answer is what came of a request; Pod is who answered, if it was one.
type answer struct {
	*http.Response
	Pod string
}

// ask asks a gateway for a host, on a connection that is kept.
func ask(ctx context.Context, address, host string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return answer{}, err
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{Response: resp}
	text, err := io.ReadAll(resp.Body)
	if err == nil && len(text) > 0 && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// until asks every millisecond, so that an answer is as late as it is, and leaves
// the machine to those who are measured.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("traffic does not follow within half a minute")
		}
	}
}

func (w *world) patch(t *testing.T, kind schema.GroupVersionResource, name, patch string) {
	t.Helper()
	if _, err := w.Dynamic().Resource(kind).Namespace(namespace).Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

const live = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: live, namespace: scale}
spec:
  replicas: 2
  selector: {matchLabels: {app: live}}
  template:
    metadata: {labels: {app: live}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: echo
        image: gatehouse.test/echo
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: Service
metadata: {name: live, namespace: scale}
spec:
  selector: {app: live}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: live, namespace: scale}
spec:
  parentRefs: [{name: gw-000}]
  hostnames: [live.example]
  rules: [{backendRefs: [{name: live, port: 80}]}]
`

// podToTraffic makes one of two pods ready again and again.
func podToTraffic(t *testing.T, f *figures, w *world, p *progress) {
	w.Apply(t, live)
	pods := w.livePods(t)
	one := pods[0]
	reached := func() bool {
		a, err := ask(t.Context(), p.address(0), "live.example")
		return err == nil && a.Pod == one.Name
	}
	until(t, reached)
	var samples []time.Duration
	for range *sampleCount {
		w.turn(t, one, "/unready")
		w.seen(t, one, corev1.ConditionFalse)
		until(t, func() bool { // no longer among those that are asked in turn
			for range 10 {
				if reached() {
					return false
				}
			}
			return true
		})
		ready := make(chan time.Time, 1)
		w.turn(t, one, "/ready")
		go func() { ready <- w.seen(t, one, corev1.ConditionTrue) }()
		until(t, reached)
		now := time.Now()
		samples = append(samples, max(0, now.Sub(<-ready)))
	}
	f.times("pod ready to traffic", samples)
}

func (w *world) livePods(t *testing.T) (pods []corev1.Pod) {
	t.Helper()
	cluster.Eventually(t, time.Minute, func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=live"})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			if !hasCondition(&pod, corev1.PodReady, corev1.ConditionTrue) {
				err = errors.Join(err, fmt.Errorf("pod %s is not ready", pod.Name))
			}
		}
		if pods = list.Items; len(pods) != 2 {
			err = fmt.Errorf("%d pods, want 2", len(pods))
		}
		return err
	})
	return pods
}

// turn makes a pod's own health something else.
func (w *world) turn(t *testing.T, pod corev1.Pod, path string) {
	t.Helper()
	resp, err := http.Post("http://"+pod.Status.PodIP+":8080"+path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// seen is when the API server told that a pod is ready, or is not.
func (w *world) seen(t *testing.T, pod corev1.Pod, want corev1.ConditionStatus) time.Time {
	watch, err := w.Client().CoreV1().Pods(namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	if err != nil {
		t.Error(err)
		return time.Now()
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if now, is := event.Object.(*corev1.Pod); is && hasCondition(now, corev1.PodReady, want) {
			return time.Now()
		}
	}
	t.Errorf("the watch of pod %s has ended", pod.Name)
	return time.Now()
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType, want corev1.ConditionStatus) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == want
		}
	}
	return false
}
