//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/certs"
)

func post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// testSecretVolume starts a pod before its Secret exists, and changes the Secret
// afterwards: the program serves what the files say.
func testSecretVolume(t *testing.T, c *cluster.Cluster) {
	secure := `
apiVersion: v1
kind: Pod
metadata: {name: secure, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: tls, secret: {secretName: secure, items: [{key: tls.crt, path: chain.pem}, {key: tls.key, path: deep/key.pem, mode: 0400}]}}]
  containers:
  - name: echo
    image: gatehouse.test/echo
    ports: [{containerPort: 8443}]
    env: [{name: TLS_CERT, value: /tls/chain.pem}, {name: TLS_DIR, value: /tls/deep}, {name: TLS_KEY, value: $(TLS_DIR)/key.pem}]
    volumeMounts: [{name: tls, mountPath: /tls}]
`
	c.Apply(t, secure)
	eventually(t, func(ctx context.Context) error {
		list, err := c.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=secure,reason=FailedMount"})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("no event tells that the Secret is not there")
		}
		return err
	})
	for _, name := range []string{"first.test", "second.test"} {
		authority, err := certs.NewAuthority("test")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := authority.Server(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		o := &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "secure", Namespace: namespace},
			Type:       corev1.SecretTypeTLS,
			Data:       map[string][]byte{corev1.TLSCertKey: pair.Cert, corev1.TLSPrivateKeyKey: pair.Key},
		}
		c.ApplyTyped(t, o)
		p := pod(t, c, "secure", isReady)
		eventually(t, func(ctx context.Context) error {
			_, resp, err := get(ctx, "https://"+p.Status.PodIP+":8443/")
			if err != nil {
				return err
			}
			if got := resp.TLS.PeerCertificates[0].DNSNames[0]; got != name {
				return fmt.Errorf("served %s, want %s", got, name)
			}
			return nil
		})
	}
	c.Delete(t, secure)
}

func testInit(t *testing.T, c *cluster.Cluster) {
	pods := `
apiVersion: v1
kind: Pod
metadata: {name: helped, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: beside, image: gatehouse.test/echo, restartPolicy: Always, env: [{name: HTTP_PORT, value: "7001"}, {name: TCP_PORT, value: "7002"}, {name: UDP_PORT, value: "7002"}],
     startupProbe: {tcpSocket: {port: 7001}, periodSeconds: 1}}
  containers:
  - {name: echo, image: gatehouse.test/echo, ports: [{containerPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: unhelped, namespace: shop}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  initContainers: [{name: before, image: gatehouse.test/echo, env: [{name: LINGER, value: nonsense}]}]
  containers: [{name: echo, image: gatehouse.test/echo}]
`
	c.Apply(t, pods)
	p := pod(t, c, "helped", isReady)
	for _, port := range []string{"7001", "8080"} {
		if a, _, err := get(t.Context(), "http://"+p.Status.PodIP+":"+port+"/"); err != nil || a.Pod != "helped" {
			t.Errorf("port %s of a pod with a sidecar: %+v, %v", port, a, err)
		}
	}
	p = pod(t, c, "unhelped", func(p corev1.Pod) error {
		if p.Status.Phase != corev1.PodFailed {
			return errors.New("an init container failed for good, and the pod has not")
		}
		return nil
	})
	if p.Status.ContainerStatuses[0].State.Waiting == nil {
		t.Errorf("the main container ran although the init container failed: %+v", p.Status.ContainerStatuses[0].State)
	}
	c.Delete(t, pods)
}

func testCrash(t *testing.T, c *cluster.Cluster) {
	crashing := `
apiVersion: v1
kind: Pod
metadata: {name: crashing, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: echo, image: gatehouse.test/echo, env: [{name: LINGER, value: nonsense}]}]
`
	c.Apply(t, crashing)
	p := pod(t, c, "crashing", func(p corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount < 2 {
			return errors.New("has not been restarted twice")
		}
		return nil
	})
	if last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 1 || last.Reason != "Error" {
		t.Errorf("last state = %+v, want exit code 1", last)
	}
	if text := readAll(t, logs(t, c, "crashing", corev1.PodLogOptions{Previous: true})); !strings.Contains(text, "nonsense") {
		t.Errorf("log of the previous run = %q", text)
	}
	c.Delete(t, crashing)
}

func testNoImage(t *testing.T, c *cluster.Cluster) {
	strange := `
apiVersion: v1
kind: Pod
metadata: {name: strange, namespace: shop}
spec:
  containers: [{name: main, image: example.test/unknown}]
`
	c.Apply(t, strange)
	pod(t, c, "strange", func(p corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Waiting != nil && s.State.Waiting.Reason == "ErrImagePull" && p.Status.Phase == corev1.PodPending {
				return nil
			}
		}
		return errors.New("want Pending with ErrImagePull")
	})
	c.Delete(t, strange)
}

func testGate(t *testing.T, c *cluster.Cluster) {
	gated := `
apiVersion: v1
kind: Pod
metadata: {name: gated, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  readinessGates: [{conditionType: example.test/reached}]
  containers: [{name: echo, image: gatehouse.test/echo, ports: [{containerPort: 8080}]}]
`
	c.Apply(t, gated)
	p := pod(t, c, "gated", func(p corev1.Pod) error {
		if !isTrue(p, corev1.ContainersReady) {
			return errors.New("containers are not ready")
		}
		return nil
	})
	if isTrue(p, corev1.PodReady) {
		t.Error("the pod is ready although its gate is not true")
	}
	patch := `{"status":{"conditions":[{"type":"example.test/reached","status":"True"}]}}`
	if _, err := c.Client().CoreV1().Pods(namespace).Patch(t.Context(), "gated", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	p = pod(t, c, "gated", isReady)
	if !isTrue(p, "example.test/reached") {
		t.Error("the kubelet took away another's condition")
	}
	c.Delete(t, gated)
}
