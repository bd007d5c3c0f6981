//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/fake/remote"
	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/certs"
	"gatehouse.dev/test/cluster/programs"
)

// secure is a Gateway with a certificate, so that a failover that issues or uploads
// anything anew shows.
const secure = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: shop}
spec:
  gatewayClassName: edge
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: front}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: front}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`

// numbered is a Route of its own path.
func numbered(n int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web-%[1]d, namespace: shop}
spec:
  parentRefs: [{name: front}]
  rules:
  - matches: [{path: {type: Exact, value: /n/%[1]d}}]
    filters: [{type: RequestRedirect, requestRedirect: {statusCode: 301, path: {type: ReplaceFullPath, replaceFullPath: /to/%[1]d}}}]
`, n)
}

// follows says whether traffic follows the Route of a number.
func follows(ctx context.Context, url string, n int) error {
	_, resp, err := get(ctx, fmt.Sprintf("%s/n/%d", url, n))
	if resp != nil && strings.HasSuffix(resp.Request.URL.Path, fmt.Sprintf("/to/%d", n)) {
		return nil
	}
	return errors.Join(fmt.Errorf("route %d is not followed", n), err)
}

// TestManager runs two replicas of the manager as processes against a real API
// server, over a cloud that is a process too and outlives both.
func TestManager(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	c.InstallCRDs(t, cluster.Standard)
	c.Apply(t, shop)
	c.Apply(t, edge)
	certificate(t, c, "front")
	readyPods(t, c, "app=web", 2)
	o := newOutside(t)
	a := newReplica(t, c.Kubeconfig(), 10268, o, programs.OpenMetrics)
	eventually(t, a.Leads)
	b := newReplica(t, c.Kubeconfig(), 10269, o, programs.OpenMetrics)
	c.Apply(t, secure)
	address := programmed(t, c, "front")
	url := "http://" + address
	serves(t, url)
	serves(t, "https://"+address)

	t.Run("one acts", func(t *testing.T) {
		if err := b.Leads(t.Context()); err == nil || calls(t, b) || !calls(t, a) {
			t.Errorf("the second leads (%v) or has called the cloud; want the first to do it all", err)
		}
	})
	t.Run("the log is JSON", func(t *testing.T) {
		lines, err := a.Lines()
		if err != nil || len(lines) == 0 || lines[0]["msg"] == nil {
			t.Errorf("%d lines, %v; want objects with msg", len(lines), err)
		}
	})
	t.Run("health names each controller", func(t *testing.T) {
		text, err := a.Ask(t.Context(), "/healthz?verbose", "")
		if err != nil || !strings.Contains(text, "offcluster-gateway-controller ok") || !strings.Contains(text, "leaderElection ok") {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("kill -9 under load", func(t *testing.T) { killed(t, c, o, a, b, url) })
	a = newReplica(t, c.Kubeconfig(), 10270, o, programs.OpenMetrics)
	t.Run("failover without change changes nothing", func(t *testing.T) { unchanged(t, o, b, a) })
	b = newReplica(t, c.Kubeconfig(), 10271, o, programs.OpenMetrics)
	t.Run("SIGTERM hands over at once", func(t *testing.T) { handedOver(t, c, a, b, url) })
	t.Run("the second SIGTERM ends at once", func(t *testing.T) { twice(t, c, o, b) })
	last := newReplica(t, c.Kubeconfig(), 10272, o, programs.OpenMetrics)
	eventually(t, last.Leads)
	t.Run("a lost lease ends it", func(t *testing.T) { loses(t, c, o, last) })
}

// killed kills the leader amid edits, and wants traffic not to notice and the next
// leader to finish them.
func killed(t *testing.T, c *cluster.Cluster, o *programs.Cloud, leader, next *programs.Manager, url string) {
	before := o.Now(t)
	stop := load(t, url)
	const routes = 20
	for n := range routes {
		if n == routes/2 {
			leader.Signal(t, syscall.SIGKILL)
		}
		c.Apply(t, numbered(n))
	}
	began := time.Now()
	eventually(t, next.Leads)
	t.Logf("the next leads %s after the kill", time.Since(began))
	for n := range routes {
		eventually(t, func(ctx context.Context) error { return follows(ctx, url, n) })
	}
	asked, failed := stop()
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed, the first: %v", len(failed), asked, failed[0])
	}
	after := o.Now(t)
	before.Objects["Rule"] += 2 * routes // at each of the two listeners
	if diff := cmp.Diff(before.Objects, after.Objects); diff != "" {
		t.Errorf("objects by kind, of which none may be missing or be there twice (-want +got):\n%s", diff)
	}
	for name, n := range after.Calls {
		if strings.Contains(name, "Certificate") && strings.HasPrefix(name, "Create") && n != before.Calls[name] {
			t.Errorf("%s was called %d times more: the certificate was there", name, n-before.Calls[name])
		}
	}
}

// unchanged kills the leader while nothing is to be done.
func unchanged(t *testing.T, o *programs.Cloud, leader, next *programs.Manager) {
	settle(t, o)
	before := o.Changes(t)
	leader.Signal(t, syscall.SIGKILL)
	eventually(t, next.Leads)
	eventually(t, func(context.Context) error {
		if !calls(t, next) {
			return fmt.Errorf("the next leader has not looked at the cloud yet")
		}
		return nil
	})
	settle(t, o)
	if diff := cmp.Diff(before, o.Changes(t)); diff != "" {
		t.Errorf("the failover changed the cloud (-before +after):\n%s", diff)
	}
}

// settle waits until the cloud has not been changed for a while.
func settle(t *testing.T, o *programs.Cloud) {
	t.Helper()
	const still = 2 * time.Second
	last, since := o.Changes(t), time.Now()
	for deadline := time.Now().Add(30 * time.Second); time.Since(since) < still; time.Sleep(100 * time.Millisecond) {
		if now := o.Changes(t); !cmp.Equal(now, last) {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatal("changes of the cloud do not end")
		}
	}
}

// handedOver stops the leader with a change under way, and measures when the next
// one brings the change after it.
func handedOver(t *testing.T, c *cluster.Cluster, leader, next *programs.Manager, url string) {
	if err := next.Leads(t.Context()); err == nil {
		t.Fatal("both lead")
	}
	stop, held := load(t, url), holder(t, c)
	c.Apply(t, numbered(100))
	began := time.Now()
	leader.Signal(t, syscall.SIGTERM)
	ended := time.Since(began)
	if leader.Err() != nil {
		t.Errorf("the leader ended with %v, want nothing wrong", leader.Err())
	}
	if now := holder(t, c); now == held {
		t.Errorf("the lease is still held by %s, which has ended", now)
	}
	c.Apply(t, numbered(101))
	for _, n := range []int{100, 101} {
		eventually(t, func(ctx context.Context) error { return follows(ctx, url, n) })
	}
	acted := time.Since(began)
	t.Logf("it ended after %s, and the next one acted after %s", ended, acted)
	if acted > 5*time.Second { // the lease is of 8 s, the retry period of 0.5 s
		t.Errorf("the next leader acted after %s: the lease was not given back", acted)
	}
	if asked, failed := stop(); len(failed) > 0 {
		t.Errorf("%d of %d requests failed, the first: %v", len(failed), asked, failed[0])
	}
	eventually(t, next.Leads)
}

// holder is whose the lease is.
func holder(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	l, err := c.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), "gatehouse-controller-manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ptr.Deref(l.Spec.HolderIdentity, "")
}

// twice wants the first signal to wait for a call that is under way, and the second
// one not to.
func twice(t *testing.T, c *cluster.Cluster, o *programs.Cloud, leader *programs.Manager) {
	if err := o.Admin.Spoil(t.Context(), remote.Fault{Call: "Create", Kind: remote.Hang}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.Admin.Spoil(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	c.Apply(t, strings.ReplaceAll(storefront, "front", "another"))
	eventually(t, func(ctx context.Context) error { // the finalizer comes right before the first call
		var g gwv1.Gateway
		if err := read(ctx, c, gateways, namespace, "another", &g); err != nil {
			return err
		}
		if len(g.Finalizers) == 0 {
			return errors.New("nobody works on the gateway yet")
		}
		return nil
	})
	time.Sleep(time.Second)
	if err := leader.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-leader.Ended():
		t.Error("it ended with a call under way")
	case <-time.After(2 * time.Second):
	}
	began := time.Now()
	leader.Signal(t, syscall.SIGTERM)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it ended %s after the second signal, want at once", took)
	}
}

// loses takes the API server away, and wants the leader to end when it can no longer
// be sure that it leads, without another change.
func loses(t *testing.T, c *cluster.Cluster, o *programs.Cloud, leader *programs.Manager) {
	settle(t, o)
	before := o.Changes(t)
	c.KillAPIServer()
	began := time.Now()
	select {
	case <-leader.Ended():
	case <-time.After(20 * time.Second):
		t.Fatal("it still runs")
	}
	t.Logf("it ended %s after the API server: %v", time.Since(began), leader.Err())
	if leader.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit status 1", leader.Err())
	}
	if diff := cmp.Diff(before, o.Changes(t)); diff != "" {
		t.Errorf("it changed the cloud (-before +after):\n%s", diff)
	}
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// certificate makes a Secret with a certificate of nobody's authority.
func certificate(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	ca, err := certs.NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Server(nil, name+".example")
	if err != nil {
		t.Fatal(err)
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: pair.Cert, corev1.TLSPrivateKeyKey: pair.Key},
	}
	if _, err := c.Client().CoreV1().Secrets(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
