//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/linkerdid"
	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

const linkerdNamespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {mesh-edge: "true"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: linkerd}
`

// injected is an application behind a Linkerd proxy, as injection leaves it: the roots
// stand in the pod, and hold as long as it lives.
const injected = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  minReadySeconds: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata:
      labels: {app: api, linkerd.io/control-plane-ns: linkerd}
      annotations: {linkerd.io/proxy-version: edge-26.8.1}
    spec:
      terminationGracePeriodSeconds: 6
      volumes: [{name: mesh, secret: {secretName: sidecar}}]
      containers:
      - name: echo
        image: gatehouse.test/echo
        env: [{name: HTTP_PORT, value: "8081"}, {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]
        readinessProbe: {httpGet: {path: /healthz, port: 8081}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 4}}}
      - name: linkerd-proxy
        image: gatehouse.test/sidecar
        ports: [{containerPort: 8080}]
        env:
        - {name: FILES, value: /mesh}
        - {name: LISTEN, value: "[::]:8080"}
        - {name: APP, value: "127.0.0.1:8081"}
        - {name: LINKERD2_PROXY_IDENTITY_LOCAL_NAME, value: default.shop.serviceaccount.identity.linkerd.cluster.local}
        - {name: LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS, value: %q}
        volumeMounts: [{name: mesh, mountPath: /mesh}]
        readinessProbe: {httpGet: {path: /ready, port: 4191}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 4}}}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec:
  selector: {app: api}
  ports: [{name: http, port: 80, targetPort: 8080, appProtocol: http}]
`

// linkerdWorld is a Linkerd whose identity service is in this process, and the manager
// as a process with the rights of deploy/.
type linkerdWorld struct {
	*testing.T
	*cluster.Cluster
	ca       *ca.CA
	identity *linkerdid.Server
	cloud    *programs.Cloud
	manager  *programs.Manager
	start    func(port int) *programs.Manager
}

// TestLinkerd has a gateway outside of the cluster take part in a Linkerd mesh whose
// trust anchor is changed as its documentation says: both are published, all pods are
// restarted, the new one signs, the old one goes, all pods are restarted again. A proxy
// knows the anchors of its injection only, so the gateway's certificate of the new one
// waits for the last old pod. Requests go on, and none fails.
func TestLinkerd(t *testing.T) {
	w := newLinkerd(t)
	audit, err := w.Audit()
	w.do(err)
	url := "http://" + programmed(t, w.Cluster, "edge")
	w.issued(1)
	w.knownBy(url)
	stop := load(t, url)
	w.do(w.ca.Add(second))
	w.publish()
	w.rootsAre(2)
	w.do(w.ca.SignBy(second.Name))
	both := w.ca.Bundle()
	old := w.podNames()
	w.do(w.ca.Drop("a"))
	w.publish() // of the new one alone, before any pod knows it
	w.issued(2)
	w.says("Joined", "") // by the old certificate: the new one waits
	w.knownBy(url)
	w.equip()
	w.inject(both)
	w.replaced(old)
	w.says("Joined", "")
	w.knownBy(url)
	old = w.podNames()
	w.inject(w.ca.Bundle())
	w.replaced(old)
	w.says("Joined", "")
	time.Sleep(time.Second) // of requests to pods that know nothing of the old anchor
	asked, failed := stop()
	t.Logf("anchors changed: %d requests, %d failed, %d certificates", asked, len(failed), len(w.identity.Calls()))
	if asked < 100 || len(failed) > 0 {
		t.Errorf("%d of %d requests failed: %v", len(failed), asked, failed[:min(3, len(failed))])
	}
	w.restartIssuesNothing(url)
	_, refused := requests(t, audit, "system:serviceaccount:"+system+":"+account)
	for _, r := range refused {
		t.Errorf("refused: %s", r)
	}
}

func newLinkerd(t *testing.T) *linkerdWorld {
	c := cluster.Start(t, cluster.Config{Packages: map[string]string{sidecarImage: "gatehouse.dev/test/cluster/sidecar"}})
	c.InstallCRDs(t, cluster.Standard)
	w := &linkerdWorld{T: t, Cluster: c}
	w.do(c.ApplyObjects(t.Context(), deployed(t, "namespace.yaml", "rbac.yaml")...))
	c.Apply(t, linkerdNamespaces)
	c.Apply(t, edge)
	var err error
	w.ca, err = ca.New(ca.Config{})
	w.do(err)
	review := (&mesh{cluster: c}).review
	w.identity, err = linkerdid.Start(linkerdid.Config{CA: w.ca, Tokens: review})
	w.do(err)
	t.Cleanup(func() { w.do(w.identity.Close()) })
	w.publish()
	w.equip()
	w.inject(w.ca.Bundle())
	c.Apply(t, `
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: linkerd}
spec:
  controllerName: linkerd.io/linkerd
  gateways: {namespaceSelector: {matchLabels: {mesh-edge: "true"}}}
  identity: {address: "`+w.identity.Addr()+`"}
`)
	readyPods(t, c, "app=api", 2)
	c.Apply(t, meshed)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	who, err := c.AsServiceAccount(t.Context(), system, account)
	w.do(err)
	w.do(c.WriteKubeconfig(kubeconfig, who))
	w.cloud = newOutside(t)
	w.start = func(port int) *programs.Manager {
		return newReplica(t, kubeconfig, port, w.cloud, "--leader-elect-resource-namespace="+system, programs.OpenMetrics)
	}
	w.manager = w.start(10268)
	return w
}

func (w *linkerdWorld) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// publish writes the anchors where Linkerd has them. The identity service's own proxy
// follows: it is restarted first.
func (w *linkerdWorld) publish() {
	w.Helper()
	w.ApplyTyped(w.T, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "linkerd", Name: "linkerd-identity-trust-roots"},
		Data:       map[string]string{"ca-bundle.crt": string(w.ca.Bundle())},
	})
	leaf, err := w.ca.Issue(ca.Request{DNSNames: []string{linkerdid.ServerName}, Life: time.Hour})
	w.do(err)
	w.identity.Proxy().Renew(leaf)
}

// equip gives the proxies a certificate of whoever signs now.
func (w *linkerdWorld) equip() {
	w.Helper()
	pair, err := w.ca.Issue(ca.Request{DNSNames: []string{"default.shop.serviceaccount.identity.linkerd.cluster.local"}, Life: time.Hour})
	w.do(err)
	(&mesh{cluster: w.Cluster}).show(w.T, "sidecar", pair, nil)
}

// inject makes the pods of the next generation know these anchors.
func (w *linkerdWorld) inject(anchors []byte) {
	w.Helper()
	w.Apply(w.T, fmt.Sprintf(injected, anchors))
}

func (w *linkerdWorld) podNames() []string {
	var out []string
	for _, p := range readyPods(w.T, w.Cluster, "app=api", 2) {
		out = append(out, p.Name)
	}
	return out
}

// replaced waits until all pods are others.
func (w *linkerdWorld) replaced(old []string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	for {
		list, err := w.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=api"})
		w.do(err)
		left := slices.ContainsFunc(list.Items, func(p corev1.Pod) bool { return slices.Contains(old, p.Name) })
		if !left && len(list.Items) == 2 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// issued waits until so many certificates were signed.
func (w *linkerdWorld) issued(n int) {
	w.Helper()
	eventually(w.T, func(context.Context) error {
		if got := len(w.identity.Calls()); got != n {
			return fmt.Errorf("%d certificates were signed, want %d", got, n)
		}
		return nil
	})
}

// knownBy wants the backend to be told who the gateway is.
func (w *linkerdWorld) knownBy(url string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		a, resp, err := get(ctx, url)
		if err != nil {
			return err
		}
		names, err := accounts(ctx, w.Cluster)
		if err != nil || len(names) != 1 {
			return errors.Join(err, fmt.Errorf("accounts of gateways are %v, want one", names))
		}
		want := names[0] + "." + system + ".serviceaccount.identity.linkerd.cluster.local"
		if client := a.Headers.Get("L5d-Client-Id"); resp.StatusCode != http.StatusOK || client != want {
			return fmt.Errorf("status %d, the backend is told of client %q, want %s", resp.StatusCode, client, want)
		}
		return nil
	})
}

func (w *linkerdWorld) rootsAre(n int) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		var b v1alpha1.MeshBinding
		err := read(ctx, w.Cluster, bindings, "", "linkerd", &b)
		if err == nil && len(b.Status.Roots) != n {
			err = fmt.Errorf("roots are %+v, want %d; conditions %+v", b.Status.Roots, n, b.Status.Conditions)
		}
		return err
	})
}

// says waits until the Gateway's membership is told so.
func (w *linkerdWorld) says(reason, text string) {
	w.Helper()
	i := &issuersWorld{T: w.T, Cluster: w.Cluster}
	i.says("edge", reason, text)
}

func (w *linkerdWorld) restartIssuesNothing(url string) {
	w.Helper()
	issued := len(w.identity.Calls())
	changed, _ := w.cloud.Calls(w.T)
	_ = w.manager.Process.Kill()
	next := w.start(10269)
	eventually(w.T, next.Leads)
	serves(w.T, url)
	w.says("Joined", "")
	time.Sleep(3 * time.Second) // a pass or two
	if n := len(w.identity.Calls()); n != issued {
		w.Errorf("%d certificates were issued after a restart", n-issued)
	}
	if n, _ := w.cloud.Calls(w.T); n != changed {
		w.Errorf("%d calls changed the cloud after a restart", n-changed)
	}
}
