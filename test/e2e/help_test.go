//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/test/cluster"
)

// eventually asks until the answer is nil, and fails the test with the last one
// after half a minute.
func eventually(t *testing.T, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// readyPods waits for just so many pods of a label, all ready.
func readyPods(t *testing.T, c *cluster.Cluster, selector string, n int) []corev1.Pod {
	t.Helper()
	var list *corev1.PodList
	eventually(t, func(ctx context.Context) (err error) {
		list, err = c.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		if len(list.Items) != n {
			return fmt.Errorf("%d pods, want %d", len(list.Items), n)
		}
		for _, p := range list.Items {
			if !isTrue(p, corev1.PodReady) {
				text, err := json.Marshal(p.Status)
				return errors.Join(fmt.Errorf("pod %s is not ready: %s", p.Name, text), err)
			}
		}
		return nil
	})
	return list.Items
}

// pod waits until a pod is as the check wants it.
func pod(t *testing.T, c *cluster.Cluster, name string, check func(corev1.Pod) error) corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, func(ctx context.Context) (err error) {
		if p, err = c.Client().CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := check(*p); err != nil {
			text, marshal := json.Marshal(p.Status)
			return errors.Join(fmt.Errorf("pod %s: %w: %s", name, err, text), marshal)
		}
		return nil
	})
	return *p
}

func isReady(p corev1.Pod) error {
	if !isTrue(p, corev1.PodReady) {
		return errors.New("is not ready")
	}
	return nil
}

func isTrue(p corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// answer is what the tests read of the echo's.
type answer struct {
	Pod, Namespace, Node, Remote, Protocol, Data string
	Headers                                      http.Header
}

// get asks an echo over HTTP, or HTTPS without a look at the certificate, on a
// connection of its own.
func get(ctx context.Context, url string) (answer, *http.Response, error) {
	var a answer
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return a, nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		return a, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return a, resp, nil
	}
	return a, resp, json.Unmarshal(text, &a)
}

// datagram asks an echo over UDP.
func datagram(at, text string) (answer, error) {
	var a answer
	c, err := net.Dial("udp", at)
	if err != nil {
		return a, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return a, err
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return a, err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(buf[:n], &a)
}
