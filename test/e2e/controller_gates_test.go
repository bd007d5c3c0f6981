//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/test/cluster"
)

// gatedPods are a Service and its pods, which are ready when load balancers send to them.
const gatedPods = `
apiVersion: v1
kind: Service
metadata: {name: gated, namespace: shop}
spec: {selector: {app: gated}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gated, namespace: shop}
spec:
  selector: {matchLabels: {app: gated}}
  template:
    metadata: {labels: {app: gated}}
    spec:
      readinessGates: [{conditionType: service.gatehouse.dev/gated}]
      containers:
      - {name: echo, image: gatehouse.test/echo, ports: [{name: http, containerPort: 8080}]}
`

const gated = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: gated, namespace: shop}
spec:
  parentRefs: [{name: front}]
  hostnames: [gated.shop.test]
  rules: [{backendRefs: [{name: gated, port: 80}]}]
---` + gatedPods

const frontAsked = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: shop, annotations: {gatehouse.dev/reconcile-at: now}}
spec:
  gatewayClassName: edge
  listeners: [{name: http, protocol: HTTP, port: 80}]
`

// gateOpensByHealth: a rollout must not go on to the next pod before the load
// balancer sends to this one. While the cloud refuses a new pod, it is not ready.
func gateOpensByHealth(t *testing.T, c *cluster.Cluster, m *manager) {
	c.Apply(t, gated)
	first := readyPods(t, c, "app=gated", 1)[0].Name
	all := everybody // endpoints that several gateways may share are no single one's
	m.denied.Store(&all)
	c.Apply(t, strings.Replace(gated, "  selector: {matchLabels", "  replicas: 2\n  selector: {matchLabels", 1))
	eventually(t, func(ctx context.Context) error {
		p, err := secondPod(ctx, c, first)
		if err == nil && !isTrue(p, corev1.ContainersReady) {
			err = errors.New("its containers are not ready")
		}
		return err
	})
	for range 30 {
		p, err := secondPod(t.Context(), c, first)
		if err != nil {
			t.Fatal(err)
		}
		if isTrue(p, corev1.PodReady) {
			t.Fatal("the pod is ready before the cloud has it")
		}
		time.Sleep(100 * time.Millisecond)
	}
	m.denied.Store(nil)
	c.Apply(t, frontAsked)
	readyPods(t, c, "app=gated", 2)
	c.Delete(t, gated)
}

func secondPod(ctx context.Context, c *cluster.Cluster, first string) (corev1.Pod, error) {
	list, err := c.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=gated"})
	if err != nil {
		return corev1.Pod{}, err
	}
	for _, p := range list.Items {
		if p.Name != first {
			return p, nil
		}
	}
	return corev1.Pod{}, errors.New("there is no second pod")
}
