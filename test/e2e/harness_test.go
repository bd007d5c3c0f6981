//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gatehouse.dev/test/cluster"
)

const namespace = "shop"

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: echo
        image: gatehouse.test/echo
        ports: [{name: http, containerPort: 8080}, {name: udp, containerPort: 9000, protocol: UDP}]
        env:
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: LINGER, value: 1s}
        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  ipFamilyPolicy: PreferDualStack
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
`

// TestHarness proves the ground that all other end-to-end tests stand on. Its
// parts share a cluster and each leaves it as it was.
func TestHarness(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	c.Apply(t, shop)
	readyPods(t, c, "app=web", 2)
	for _, part := range []struct {
		name, why string
		run       func(*testing.T, *cluster.Cluster)
	}{
		{"endpoints", "a gateway's targets are the pods' addresses", testEndpoints},
		{"logs", "the suite reads mirrored requests from logs", testLogs},
		{"secret volume", "certificates change under a running program", testSecretVolume},
		{"grace", "draining is tested against pods that end slowly", testGrace},
		{"readiness", "an unready pod leaves the endpoints and comes back", testReadiness},
		{"init containers", "what comes before and beside the main program", testInit},
		{"crash", "a program that ends is started again, and its last words stay", testCrash},
		{"no image", "a wrong image is a status, not a hang", testNoImage},
		{"readiness gate", "pods wait for the load balancer", testGate},
		{"node ports", "targets may be nodes", testNodePorts},
		{"users", "RBAC is on, and tokens of ServiceAccounts are real", testUsers},
		{"API server", "controllers meet restarts of it", testRestart},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Log(part.why)
			part.run(t, c)
		})
	}
}

func testEndpoints(t *testing.T, c *cluster.Cluster) {
	pods := readyPods(t, c, "app=web", 2)
	if pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Errorf("both pods are on %s: want one a node", pods[0].Spec.NodeName)
	}
	var want []string
	for _, p := range pods {
		for _, ip := range p.Status.PodIPs {
			want = append(want, ip.IP)
			a, _, err := get(t.Context(), "http://"+net.JoinHostPort(ip.IP, "8080")+"/x")
			if err != nil || a.Pod != p.Name || a.Namespace != namespace || a.Node != p.Spec.NodeName {
				t.Errorf("answer of %s at %s = %+v, %v", p.Name, ip.IP, a, err)
			}
		}
	}
	slices.Sort(want)
	eventually(t, func(ctx context.Context) error {
		var got []string
		for _, e := range endpoints(t, ctx, c) {
			if *e.Conditions.Ready {
				got = append(got, e.Addresses...)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("ready endpoints are %v, want %v", got, want)
		}
		return nil
	})
}

// endpoints are those of the Service web, of all its slices.
func endpoints(t *testing.T, ctx context.Context, c *cluster.Cluster) []discoveryv1.Endpoint {
	t.Helper()
	list, err := c.Client().DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
	if err != nil {
		t.Fatal(err)
	}
	var out []discoveryv1.Endpoint
	for _, s := range list.Items {
		out = append(out, s.Endpoints...)
	}
	return out
}

func testLogs(t *testing.T, c *cluster.Cluster) {
	p := readyPods(t, c, "app=web", 2)[0]
	begin := metav1.Now().Rfc3339Copy()
	follow := logs(t, c, p.Name, corev1.PodLogOptions{Follow: true, SinceTime: &begin})
	lines := bufio.NewScanner(follow)
	for _, path := range []string{"/one", "/two"} {
		if _, _, err := get(t.Context(), "http://"+p.Status.PodIP+":8080"+path); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() && !strings.Contains(lines.Text(), path) {
		}
		if !strings.Contains(lines.Text(), path) {
			t.Fatalf("the log ended without %s: %v", path, lines.Err())
		}
	}
	follow.Close()
	last := readAll(t, logs(t, c, p.Name, corev1.PodLogOptions{TailLines: new(int64(1)), Timestamps: true}))
	stamp, text, _ := strings.Cut(last, " ")
	if at, err := time.Parse(time.RFC3339Nano, stamp); err != nil || at.Before(begin.Time) {
		t.Errorf("time of the last line = %q, %v", stamp, err)
	}
	if strings.Count(text, "\n") != 1 {
		t.Errorf("the last line is %q", text)
	}
	future := metav1.NewTime(time.Now().Add(time.Hour))
	if got := readAll(t, logs(t, c, p.Name, corev1.PodLogOptions{SinceTime: &future})); got != "" {
		t.Errorf("the log of the future = %q", got)
	}
}

func logs(t *testing.T, c *cluster.Cluster, name string, o corev1.PodLogOptions) io.ReadCloser {
	t.Helper()
	r, err := c.Client().CoreV1().Pods(namespace).GetLogs(name, &o).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testGrace deletes a pod that lingers, and looks at it meanwhile.
func testGrace(t *testing.T, c *cluster.Cluster) {
	p := readyPods(t, c, "app=web", 2)[0]
	if err := c.Client().CoreV1().Pods(namespace).Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	eventually(t, func(ctx context.Context) error {
		for _, e := range endpoints(t, ctx, c) {
			if e.TargetRef.Name == p.Name && *e.Conditions.Terminating {
				if *e.Conditions.Ready || !*e.Conditions.Serving {
					return fmt.Errorf("a pod that terminates and serves is %+v", e.Conditions)
				}
				return nil
			}
		}
		return fmt.Errorf("no terminating endpoint of %s", p.Name)
	})
	if a, _, err := get(t.Context(), "http://"+p.Status.PodIP+":8080/"); err != nil || a.Pod != p.Name {
		t.Errorf("a lingering pod answers %+v, %v", a, err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := c.Client().CoreV1().Pods(namespace).Get(ctx, p.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("%s is still there", p.Name), err)
	})
	if d := time.Since(begin); d < 900*time.Millisecond || d > 4*time.Second {
		t.Errorf("gone after %v, want its linger of 1s: not at once, and not by the end of its grace", d)
	}
	readyPods(t, c, "app=web", 2)
}

func testReadiness(t *testing.T, c *cluster.Cluster) {
	p := readyPods(t, c, "app=web", 2)[0]
	for _, state := range []struct {
		path  string
		ready bool
	}{{"/unready", false}, {"/ready", true}} {
		if err := post(t.Context(), "http://"+p.Status.PodIP+":8080"+state.path); err != nil {
			t.Fatal(err)
		}
		eventually(t, func(ctx context.Context) error {
			for _, e := range endpoints(t, ctx, c) {
				if e.TargetRef.Name == p.Name && *e.Conditions.Ready != state.ready {
					return fmt.Errorf("ready = %v after %s", *e.Conditions.Ready, state.path)
				}
			}
			return nil
		})
	}
}

func testUsers(t *testing.T, c *cluster.Cluster) {
	nobody, err := c.As("nobody")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(nobody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("nobody lists pods: %v, want forbidden", err)
	}
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default, namespace: shop}]
`)
	account, err := c.AsServiceAccount(t.Context(), namespace, "default")
	if err != nil {
		t.Fatal(err)
	}
	if client, err = kubernetes.NewForConfig(account); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
}

// testRestart also shows that what ran goes on to run.
func testRestart(t *testing.T, c *cluster.Cluster) {
	before := readyPods(t, c, "app=web", 2)
	c.KillAPIServer()
	if _, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the API server answers although it was killed")
	}
	if _, _, err := get(t.Context(), "http://"+before[0].Status.PodIP+":8080/"); err != nil {
		t.Errorf("a pod without an API server: %v", err)
	}
	begin := time.Now()
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("restart after a crash: %v", time.Since(begin))
	after := readyPods(t, c, "app=web", 2)
	for i := range before {
		if before[i].UID != after[i].UID || after[i].Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("pod %s did not live on", before[i].Name)
		}
	}
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Delete(t, "{apiVersion: v1, kind: Pod, metadata: {name: "+after[0].Name+", namespace: shop}}")
	readyPods(t, c, "app=web", 2)
}
