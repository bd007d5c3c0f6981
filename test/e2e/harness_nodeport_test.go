//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/test/cluster"
)

// testNodePorts has one pod on one of two nodes: with the policy Cluster both
// nodes lead to it, with Local only its own does, and says so on the health check
// node port.
func testNodePorts(t *testing.T, c *cluster.Cluster) {
	objects := `
apiVersion: v1
kind: Pod
metadata: {name: single, namespace: shop, labels: {app: single}}
spec:
  nodeName: node-2
  terminationGracePeriodSeconds: 1
  containers: [{name: echo, image: gatehouse.test/echo, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: anywhere, namespace: shop}
spec:
  type: NodePort
  sessionAffinity: ClientIP
  selector: {app: single}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: udp, port: 81, targetPort: 9000, protocol: UDP}]
---
apiVersion: v1
kind: Service
metadata: {name: here, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: example.test/none
  externalTrafficPolicy: Local
  selector: {app: single}
  ports: [{name: http, port: 80, targetPort: 8080}]
`
	c.Apply(t, objects)
	pod(t, c, "single", isReady)
	anywhere, here := service(t, c, "anywhere"), service(t, c, "here")
	for n := 1; n <= 2; n++ {
		for _, a := range c.NodeAddresses(n) {
			eventually(t, func(ctx context.Context) error {
				if a.Is6() {
					return nil // the Services are of one family
				}
				if got, _, err := get(ctx, "http://"+at(a.String(), anywhere.Spec.Ports[0].NodePort)); err != nil || got.Pod != "single" {
					return errors.Join(fmt.Errorf("node %d, TCP: %+v", n, got), err)
				}
				if got, err := datagram(at(a.String(), anywhere.Spec.Ports[1].NodePort), "hello"); err != nil || got.Pod != "single" || got.Data != "hello" {
					return errors.Join(fmt.Errorf("node %d, UDP: %+v", n, got), err)
				}
				return local(ctx, here, a.String(), n == 2)
			})
		}
	}
	c.Delete(t, objects)
}

// local checks a node of a Service with the policy Local.
func local(ctx context.Context, s corev1.Service, address string, has bool) error {
	got, _, err := get(ctx, "http://"+at(address, s.Spec.Ports[0].NodePort))
	if has != (err == nil && got.Pod == "single") {
		return errors.Join(fmt.Errorf("local endpoint %v, but the node answers %+v", has, got), err)
	}
	_, resp, err := get(ctx, "http://"+at(address, s.Spec.HealthCheckNodePort)+"/healthz")
	if err != nil {
		return err
	}
	if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[has]; resp.StatusCode != want {
		return fmt.Errorf("health check node port answers %d, want %d", resp.StatusCode, want)
	}
	return nil
}

func at(address string, port int32) string {
	return net.JoinHostPort(address, strconv.Itoa(int(port)))
}

func service(t *testing.T, c *cluster.Cluster, name string) corev1.Service {
	t.Helper()
	s, err := c.Client().CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *s
}
