//go:build e2e

package realmesh

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

const spireShop = `
apiVersion: v1
kind: Namespace
metadata: {name: spire}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: spire-server, namespace: spire}
data:
  server.conf: '{"server": {"trust_domain": "example.org"}}'
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{name: http, port: 80, targetPort: 8080, appProtocol: http}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: edge
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: cart, port: 80}]}]
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: spire}
spec:
  controllerName: spiffe.io/spiffe
  gateways: {namespaceSelector: {matchLabels: {mesh-edge: "true"}}}
  trustBundles: [{kind: WorkloadAPI, name: example.org, url: "%[1]s"}]
  identity: {issuer: WorkloadAPI, socket: "%[1]s"}
`

// outsidePod is a pod that no kubelet here runs: its program is a process beside the
// cluster, where the agent can tell who it is.
const outsidePod = `
apiVersion: v1
kind: Pod
metadata: {name: cart-%[1]d, namespace: shop, labels: {app: cart}, annotations: {spiffe.io/spiffe-id: "spiffe://example.org/apps/cart"}}
spec: {nodeName: outside, containers: [{name: cart, image: gatehouse.test/workload, ports: [{containerPort: 8080}]}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-%[1]d, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: ["%[2]s"], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: cart-%[1]d}}]
`

// TestSPIREMember has the manager make a gateway a member: the agent knows its process,
// tells it of the roots, and gives it the gateway's certificate, which it renews as soon
// as the agent does, through a whole rotation.
func TestSPIREMember(t *testing.T) {
	c := cluster.Start(t, cluster.Config{})
	c.InstallCRDs(t, cluster.Standard)
	w := &world{T: t, cluster: c, cloud: programs.StartCloud(t, "198.18.0.0/16")}
	s := startSPIRE(t)
	account := meshsync.AccountOf(lbmodel.Owner{Kind: "Gateway", Namespace: "shop", Name: "edge"}, "edge", system)
	w.account = "spiffe://" + domain + "/ns/" + account.Namespace + "/sa/" + account.Name
	s.register(w.account, filepath.Join(os.TempDir(), "gatehouse-e2e", "gatehouse-controller-manager"))
	backends, stats := s.carts(buildWorkload(t), w.account)
	c.Apply(t, class)
	c.Apply(t, fmt.Sprintf(spireShop, s.agent()))
	for n, b := range backends {
		w.outside(n, b)
	}
	m := w.manager(10270)
	url := w.url()
	m = w.anew("SPIRE, the manager", m, 10271)
	r := run{
		tb: t, name: "SPIRE, the manager", url: url, stats: stats, unverified: w.unverified,
		changes: func() map[string]int { return w.cloud.Changes(t) },
		issued:  func() int { return issuances(t, m) },
	}
	first, second, prepared := s.authorities().Active.ID, "", time.Time{}
	r.under([]phase{
		{name: "nothing changes", do: func() {}},
		{name: "prepare B", want: map[string]int{"UpdateTrust": 1}, do: func() {
			s.local("prepare", "")
			prepared, second = time.Now(), s.authorities().Prepared.ID
			w.wantRoots("spire", 2)
		}},
		{name: "activate B", do: func() { s.local("activate", second) }},
		// Every pod is given the time to learn of a new root.
		{name: "B is everywhere", do: func() { time.Sleep(time.Until(prepared.Add(trustedAfter))) }},
		{name: "taint A: the agent renews", want: map[string]int{"UpdateCertificate": 1}, do: func() {
			s.local("taint", first)
			eventually(t, func(ctx context.Context) error { return allOf(ctx, second, stats) })
		}},
		// That it was dropped is written down; it goes when all certificates that it
		// could have signed have ended.
		{name: "revoke A", want: map[string]int{"UpdateTrust": 1}, do: func() {
			s.local("revoke", first)
			w.wantDropped("spire")
		}},
	})
	w.anew("SPIRE, the manager", m, 10272)
}

// trustedAfter is how long a root of SPIFFE's must be published before a gateway shows
// certificates of it.
const trustedAfter = 5*time.Minute + 2*time.Second

// allOf says who does not use an authority yet.
func allOf(ctx context.Context, authority string, stats []string) error {
	for _, at := range stats {
		saw, err := ask(ctx, at)
		if err != nil {
			return err
		}
		if saw.Own[authority] == 0 || saw.Authorities[authority] == 0 {
			return fmt.Errorf("%s has certificates of %v and clients of %v, want %s", at, saw.Own, saw.Authorities, authority)
		}
	}
	return nil
}

// wantDropped waits until a root of a binding is on its way out.
func (w *world) wantDropped(binding string) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		var b v1alpha1.MeshBinding
		if err := w.read(ctx, v1alpha1.GroupVersion.WithResource("meshbindings"), "", binding, &b); err != nil {
			return err
		}
		for _, r := range b.Status.Roots {
			if r.State == v1alpha1.RootRemoving {
				return nil
			}
		}
		return fmt.Errorf("roots are %+v, want one that goes", b.Status.Roots)
	})
}

// outside has the cluster know a workload that runs beside it.
func (w *world) outside(n int, at netip.AddrPort) {
	w.Helper()
	w.cluster.Apply(w, fmt.Sprintf(outsidePod, n, at.Addr()))
	pods := w.cluster.Client().CoreV1().Pods("shop")
	p, err := pods.Get(w.Context(), fmt.Sprint("cart-", n), metav1.GetOptions{})
	if err == nil {
		p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, at.Addr().String(), []corev1.PodIP{{IP: at.Addr().String()}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		_, err = pods.UpdateStatus(w.Context(), p, metav1.UpdateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
}
