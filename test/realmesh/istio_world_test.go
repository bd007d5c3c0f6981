//go:build e2e

package realmesh

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/remote"
	"gatehouse.dev/internal/controller"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/providers"
	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

const (
	workloadImage = "gatehouse.test/workload"
	system        = "gatehouse-system"
	pods          = 2
)

// class is what gateways here are of, in namespaces that may join.
const class = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {mesh-edge: "true"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: gatehouse-system}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: edge, namespace: shop}
spec: {fake: {addressPool: [198.18.0.0/16]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: edge, namespace: shop}
`

const shop = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec:
  selector: {app: api}
  ports: [{name: http, port: 80, targetPort: 8080, appProtocol: http}]
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
metadata: {name: api, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: api, port: 80}]}]
`

// members are pods that get their certificates from istiod, each with the token of
// its own ServiceAccount. A root that istiod dropped they keep for a while, as proxies
// do that learn of it when they renew.
const members = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {app: api}}
  template:
    metadata:
      labels: {app: api, security.istio.io/tlsMode: istio}
      annotations: {sidecar.istio.io/status: '{"revision":"default"}'}
    spec:
      terminationGracePeriodSeconds: 1
      volumes:
      - name: mesh
        projected:
          sources:
          - serviceAccountToken: {audience: istio-ca, path: token, expirationSeconds: 3600}
          - configMap: {name: istio-ca-root-cert}
      containers:
      - name: istio-proxy
        image: gatehouse.test/workload
        args:
        - -istiod=198.19.0.1:15012
        - -token=/mesh/token
        - -roots=/mesh/root-cert.pem
        - -listen=:8080
        - -stats=:15021
        - -keep=15s
        - -clients=%s
        ports: [{containerPort: 8080}]
        volumeMounts: [{name: mesh, mountPath: /mesh}]
        readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}, periodSeconds: 1}
`

// binding asks for certificates of a life.
const binding = `
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: istio}
spec:
  controllerName: istio.io/istio
  gateways: {namespaceSelector: {matchLabels: {mesh-edge: "true"}}}
  identity: {address: "198.19.0.1:15012", duration: %s}
`

// world is a cluster with a real istiod, and a gateway outside.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	istiod  *istiod
	cloud   *programs.Cloud
	account string // the gateway's SPIFFE ID
	skew    atomic.Int64
	issued  atomic.Int64 // certificates for the gateway, by the controller in this process
}

func newWorld(t *testing.T, install installation) *world {
	t.Helper()
	c := cluster.Start(t, cluster.Config{Packages: map[string]string{workloadImage: workloadPackage}})
	c.InstallCRDs(t, cluster.Standard)
	account := meshsync.AccountOf(lbmodel.Owner{Kind: "Gateway", Namespace: "shop", Name: "edge"}, "edge", system)
	w := &world{T: t, cluster: c, account: "spiffe://" + install.domain + "/ns/" + account.Namespace + "/sa/" + account.Name}
	w.istiod = startIstiod(t, c, install)
	c.Apply(t, class)
	c.Apply(t, shop)
	c.Apply(t, fmt.Sprintf(install.objects(members), pods, w.account))
	eventually(t, func(ctx context.Context) error {
		if got := w.stats(ctx); len(got) != pods {
			return fmt.Errorf("%d pods are ready, want %d", len(got), pods)
		}
		return nil
	})
	w.cloud = programs.StartCloud(t, "198.18.0.0/16")
	return w
}

// stats is where the ready pods tell what they saw.
func (w *world) stats(ctx context.Context) (out []string) {
	list, err := w.cluster.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{LabelSelector: "app=api"})
	if err != nil {
		w.Log(err)
		return nil
	}
	for _, p := range list.Items {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				out = append(out, p.Status.PodIP+":15021")
			}
		}
	}
	return out
}

// manager starts the manager as a process, and waits until it leads.
func (w *world) manager(port int) *programs.Manager {
	w.Helper()
	m := programs.StartManager(w.T, programs.ManagerConfig{
		Kubeconfig: w.cluster.Kubeconfig(), Cluster: "real", Port: port, Cloud: w.cloud, Flags: append(programs.Quick(), programs.OpenMetrics, "--leader-elect-resource-namespace="+system),
	})
	eventually(w.T, m.Leads)
	return m
}

func issuances(tb testing.TB, m *programs.Manager) int {
	tb.Helper()
	n, err := m.Metric(tb.Context(), "gatehouse_mesh_issuances_total")
	if err != nil {
		tb.Fatal(err)
	}
	return int(n)
}

// anew ends the manager, which has had one certificate issued, and starts it at another
// port: nothing may be issued or changed.
func (w *world) anew(name string, m *programs.Manager, port int) *programs.Manager {
	w.Helper()
	issued, before := issuances(w, m), w.settle()
	m.Signal(w.T, stopSignal)
	m = w.manager(port)
	w.url()
	changed, again := less(w.settle(), before), issuances(w, m)
	if issued != 1 || again != 0 || len(changed) > 0 {
		w.Errorf("a restart of the manager took %d certificates after %d, and changed the cloud by %s; want 0 after 1, and none", again, issued, told(changed))
	}
	figures.add(name, "the manager starts anew", 0, 0, w.unverified(), 0, told(changed), again)
	return m
}

// url waits until the gateway serves, and until all of the mesh is well.
func (w *world) url() string {
	w.Helper()
	var g gwv1.Gateway
	eventually(w.T, func(ctx context.Context) error {
		if err := w.read(ctx, schema.GroupVersionResource{Group: gwv1.GroupName, Version: "v1", Resource: "gateways"}, "shop", "edge", &g); err != nil {
			return err
		}
		for _, kind := range []string{"Programmed", "gatehouse.dev/MeshMember"} {
			if !holds(g.Status.Conditions, kind) {
				return fmt.Errorf("not %s: %+v", kind, g.Status.Conditions)
			}
		}
		return get(ctx, clientOnce(), "http://"+g.Status.Addresses[0].Value+"/")
	})
	return "http://" + g.Status.Addresses[0].Value + "/"
}

func holds(all []metav1.Condition, kind string) bool {
	for _, c := range all {
		if c.Type == kind {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

func (w *world) read(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, into any) error {
	o, err := w.cluster.Dynamic().Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)
}

// wantRoots waits until all of the binding's gateways trust as many roots, and no
// others.
func (w *world) wantRoots(binding string, n int) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		var b v1alpha1.MeshBinding
		if err := w.read(ctx, v1alpha1.GroupVersion.WithResource("meshbindings"), "", binding, &b); err != nil {
			return err
		}
		trusted := 0
		for _, r := range b.Status.Roots {
			if r.State == v1alpha1.RootTrusted {
				trusted++
			}
		}
		if trusted != n || len(b.Status.Roots) != n {
			return fmt.Errorf("roots are %+v, want %d that are trusted; conditions %+v", b.Status.Roots, n, b.Status.Conditions)
		}
		return nil
	})
}

// controller runs the controller in this process until the function that it returns
// is called, with an Istio in which certificates live for seconds: the real one's
// would make a rotation last for days.
func (w *world) controller() (stop func()) {
	w.Helper()
	log := slog.New(slog.NewTextHandler(w.Output(), nil))
	now := func() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) }
	meshes := controller.NewMeshes(controller.MeshConfig{
		Client: w.cluster.Client(), Cluster: "real", Namespace: system, Clock: now,
		Issued: func(_ string, code lbmodel.Code) {
			if code == lbmodel.CodeOf(nil) {
				w.issued.Add(1)
			}
		},
	})
	cloud, err := remote.Open(remote.Config{Address: w.cloud.Address, Keyring: meshes.Keyring(controller.Keyring(w.cluster.Client()))})
	if err != nil {
		w.Fatal(err)
	}
	dialects := maps.Clone(member.Dialects())
	dialects[istio.Controller] = hasty{}
	con, err := controller.New(controller.Config{
		Meshes: meshes, Dialects: dialects, REST: w.cluster.REST(), Cluster: "real", Recorder: record.NewFakeRecorder(1 << 16), Log: log,
		Providers: []controller.Provider{{
			Name:    "fake",
			Account: providers.Config{Provider: cloud.Provider, Patience: cloud.Patience(), Clock: providers.Clock{Now: now, After: time.After}},
		}},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan error, 1)
	go func() { ended <- con.Run(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
		ended <- nil // for another call
	}
	w.Cleanup(stop)
	return stop
}

// hasty is an Istio in which all takes seconds.
type hasty struct{ istio.Dialect }

// Mesh implements meshsync.Dialect.
func (h hasty) Mesh(world meshsync.World) meshsync.Mesh {
	m := h.Dialect.Mesh(world)
	m.LeafLife, m.Propagation = 3*time.Second, 3*time.Second
	return m
}

// settle waits until the cloud has not been changed for a while.
func (w *world) settle() map[string]int {
	w.Helper()
	const still = 3 * time.Second
	last, since := w.cloud.Changes(w.T), time.Now()
	for deadline := time.Now().Add(time.Minute); time.Since(since) < still; time.Sleep(100 * time.Millisecond) {
		if now := w.cloud.Changes(w.T); !maps.Equal(now, last) {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			w.Fatal("changes of the cloud do not end")
		}
	}
	return last
}

// unverified counts TLS with backends that no root was found for.
func (w *world) unverified() (n int) {
	for _, h := range w.cloud.Now(w.T).Counters.Handshakes {
		if h.Root == "" {
			n += int(h.Count)
		}
	}
	return n
}
