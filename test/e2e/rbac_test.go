//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

const (
	system  = "gatehouse-system"
	account = "gatehouse-controller-manager"
)

// conditional are rights that only some circumstance uses, which this test cannot
// bring about at will. Every other right must be used.
var conditional = map[string]string{
	"patch /events": "an event that is told again within ten minutes is counted up",
	"get gateway.networking.k8s.io/gatewayclasses": finalized,
	"get gatehouse.dev/gatewayparameters":          finalized,
	"get gatehouse.dev/gatewayplans":               "read again when somebody else has changed it between our look and its status",

	"get gateway.networking.k8s.io/listenersets":       rewritten,
	"get gateway.networking.k8s.io/httproutes":         rewritten,
	"get gateway.networking.k8s.io/grpcroutes":         rewritten,
	"get gateway.networking.k8s.io/tlsroutes":          rewritten,
	"get gateway.networking.k8s.io/tcproutes":          rewritten,
	"get gateway.networking.k8s.io/udproutes":          rewritten,
	"get gateway.networking.k8s.io/backendtlspolicies": rewritten,
	"get gateway.networking.x-k8s.io/xbackends":        rewritten,
	"get gatehouse.dev/meshbindings":                   rewritten,
}

const (
	rewritten = "read again when another controller has written its status between our look and ours"
	finalized = "read again when somebody else has changed it between our look and our finalizer"
)

// right is something that a rule grants, or a request that was made.
func right(verb, group, resource string) string { return verb + " " + group + "/" + resource }

// TestRBAC runs the manager with the ServiceAccount and the roles of deploy/, makes
// it do everything, and compares what it asked the API server for with what it may.
func TestRBAC(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1, Packages: map[string]string{sidecarImage: "gatehouse.dev/test/cluster/sidecar"}, APIServer: map[string]string{"runtime-config": "certificates.k8s.io/v1beta1=true", "feature-gates": "ClusterTrustBundle=true"}})
	c.InstallCRDs(t, cluster.Experimental)
	roles := deployed(t, "namespace.yaml", "rbac.yaml", "user-roles.yaml")
	if err := c.ApplyObjects(t.Context(), roles...); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, shop)
	meshThere(t, c)
	o := newOutside(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	who, err := c.AsServiceAccount(t.Context(), system, account)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WriteKubeconfig(kubeconfig, who); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(port int) *programs.Manager {
		r := newReplica(t, kubeconfig, port, o, "--gatehouse-config="+config, "--leader-elect-resource-namespace="+system,
			"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
		t.Cleanup(func() { _ = r.Process.Kill() })
		return r
	}
	audit, err := c.Audit()
	if err != nil {
		t.Fatal(err)
	}
	everything(t, c, o, start)
	used, refused := requests(t, audit, "system:serviceaccount:"+system+":"+account)
	for _, r := range refused {
		t.Errorf("refused: %s", r)
	}
	may := granted(t, roles)
	for _, r := range slices.Sorted(maps.Keys(used)) {
		if !may[r] && !strings.HasPrefix(r, "create authorization.k8s.io/selfsubject") {
			t.Errorf("used and not granted by deploy/rbac.yaml (but by the cluster's own roles): %s", r)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(may)) {
		if !used[r] && conditional[r] == "" {
			t.Errorf("granted and never used: %s", r)
		}
	}
	for r := range conditional {
		if !may[r] {
			t.Errorf("%s is explained and not granted", r)
		}
	}
	for r := range may { // whose status is patched is read again when others were quicker
		if verb, what, _ := strings.Cut(r, " "); verb == "patch" && strings.HasSuffix(what, "/status") && what != "/pods/status" && !may["get "+strings.TrimSuffix(what, "/status")] {
			t.Errorf("%s is granted without get, which a conflict needs", r)
		}
	}
}

// deployed are the objects of files of deploy/.
func deployed(t *testing.T, names ...string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := cluster.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, objects...)
	}
	return out
}

// granted are the rights of the manager's roles.
func granted(t *testing.T, objects []*unstructured.Unstructured) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, obj := range objects {
		var role rbacv1.ClusterRole // a Role is alike
		if !strings.HasSuffix(obj.GetKind(), "Role") || obj.GetName() != account {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					out[right(verb, rule.APIGroups[0], resource)] = true
				}
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("no roles were found")
	}
	return out
}

// requests are what a user has asked the API server for, by the audit log, and
// what was refused.
func requests(t *testing.T, audit *cluster.Audit, user string) (used map[string]bool, refused []string) {
	t.Helper()
	all, err := audit.Next()
	if err != nil {
		t.Fatal(err)
	}
	used = map[string]bool{}
	for _, r := range all {
		if r.User != user {
			continue
		}
		if r.Code == http.StatusForbidden && !strings.Contains(r.Message, "being terminated") {
			refused = append(refused, fmt.Sprintf("%s %s: %s", r.Verb, r.URI, r.Message))
		}
		if r.Resource == "" {
			continue // discovery and /healthz, which everybody may ask for
		}
		used[right(r.Verb, r.Group, r.Resource)] = true
		if r.Verb == "patch" && r.Code == http.StatusCreated { // server-side apply asks for both
			used[right("create", r.Group, r.Resource)] = true
		}
	}
	return used, slices.Compact(refused)
}

// everything makes the manager do all that it can do.
func everything(t *testing.T, c *cluster.Cluster, o *programs.Cloud, start func(port int) *programs.Manager) {
	t.Helper()
	r := start(10268)
	certificate(t, c, "front")
	for _, text := range []string{shared, edge, careful, retained, all, frontAPI} {
		c.Apply(t, text)
	}
	programmed(t, c, "front")
	for _, name := range []string{"retained", "approved"} {
		eventually(t, func(ctx context.Context) error {
			var g gwv1.Gateway
			err := read(ctx, c, gateways, namespace, name, &g)
			if err == nil && len(g.Status.Conditions) == 0 {
				err = fmt.Errorf("gateway %s has no conditions", name)
			}
			return err
		})
	}
	joins(t, c)
	eventually(t, func(context.Context) error { return statuses(t.Context(), c) })
	eventually(t, func(ctx context.Context) error { return readyGate(ctx, c) })
	approvedAndAuto(t, c)
	metricsWithToken(t, c, r)
	movesAway(t, c, "approved")

	// An object that goes by force while nobody watches; and an API server that does
	// not stream what there is, as those before 1.34 may.
	r.Signal(t, syscall.SIGTERM)
	force(t, c, "front")
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	r = start(10269)
	eventually(t, func(context.Context) error {
		if n := o.Now(t).Objects["Address"]; n > 2 {
			return fmt.Errorf("%d addresses, want those of a gateway and of a Service", n)
		}
		return nil
	})
	documents := strings.Split(strings.Join([]string{edge, careful, retained, all}, "---"), "---")
	for _, text := range slices.Backward(documents) { // a gateway keeps its parameters
		c.Delete(t, text)
	}
	time.Sleep(2 * time.Second) // events come after
	r.Signal(t, syscall.SIGTERM)
	if r.Err() != nil {
		t.Errorf("the manager ended with %v", r.Err())
	}
}

// movesAway gives a Gateway a class that is not ours, and wants what stood for it
// in the cluster to go.
func movesAway(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	of := labels.Set{"gateway.networking.k8s.io/gateway-name": name}.String()
	count := func(ctx context.Context) (int, error) {
		services, err := c.Client().CoreV1().Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: of})
		if err != nil {
			return 0, err
		}
		slices, err := c.Client().DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: of})
		return len(services.Items) + len(slices.Items), err
	}
	eventually(t, func(ctx context.Context) error {
		n, err := count(ctx)
		if err == nil && n < 2 {
			err = fmt.Errorf("%d objects stand for gateway %s, want a Service and an EndpointSlice", n, name)
		}
		return err
	})
	c.Apply(t, "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: elsewhere}\nspec: {controllerName: example.com/another}")
	patch := []byte(`{"spec":{"gatewayClassName":"elsewhere"}}`)
	if _, err := c.Dynamic().Resource(gateways).Namespace(namespace).Patch(t.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		n, err := count(ctx)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d objects still stand for gateway %s", n, name)
		}
		return err
	})
}

// force removes a Gateway without its finalizers' leave.
func force(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	of := c.Dynamic().Resource(gateways).Namespace(namespace)
	if _, err := of.Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := of.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// statuses says which object of a kind that has a status of ours has none.
func statuses(ctx context.Context, c *cluster.Cluster) error {
	var errs []error
	for _, s := range []struct{ group, version, resource, name, field string }{
		{gwv1.GroupName, "v1", "listenersets", "more", "conditions"},
		{gwv1.GroupName, "v1", "httproutes", "web", "parents"},
		{gwv1.GroupName, "v1", "grpcroutes", "rpc", "parents"},
		{gwv1.GroupName, "v1", "tlsroutes", "through", "parents"},
		{gwv1.GroupName, "v1", "tcproutes", "tcp", "parents"},
		{gwv1.GroupName, "v1", "udproutes", "udp", "parents"},
		{gwv1.GroupName, "v1", "backendtlspolicies", "web", "ancestors"},
		{"gateway.networking.x-k8s.io", "v1alpha1", "xbackends", "outside", "ancestors"},
		{"", "v1", "services", "balanced", "loadBalancer"},
	} {
		kind := schema.GroupVersionResource{Group: s.group, Version: s.version, Resource: s.resource}
		obj, err := c.Dynamic().Resource(kind).Namespace(namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if v, there, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", s.field); !there || fmt.Sprint(v) == "map[]" {
			errs = append(errs, fmt.Errorf("%s %s has no status.%s", s.resource, s.name, s.field))
		}
	}
	return errors.Join(errs...)
}

func readyGate(ctx context.Context, c *cluster.Cluster) error {
	list, err := c.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=gated"})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 || !isTrue(list.Items[0], corev1.PodReady) {
		return errors.New("the pod with a readiness gate is not ready")
	}
	return nil
}

// approvedAndAuto lets a plan wait for approval, and then makes it needless.
func approvedAndAuto(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	plans := c.Dynamic().Resource(schema.GroupVersionResource{Group: "gatehouse.dev", Version: "v1alpha1", Resource: "gatewayplans"}).Namespace(namespace)
	eventually(t, func(ctx context.Context) error {
		plan, err := plans.Get(ctx, "approved", metav1.GetOptions{})
		if err == nil && plan.Object["status"] == nil {
			err = errors.New("the plan has no status")
		}
		return err
	})
	c.Apply(t, strings.ReplaceAll(careful, "apply: Approve", "apply: Auto"))
	eventually(t, func(ctx context.Context) error {
		if _, err := plans.Get(ctx, "approved", metav1.GetOptions{}); err == nil {
			return errors.New("the plan is still there")
		}
		return nil
	})
}

// metricsWithToken reads /metrics as somebody who may, and as somebody who may not.
func metricsWithToken(t *testing.T, c *cluster.Cluster, r *programs.Manager) {
	t.Helper()
	c.Apply(t, scraper)
	who, err := c.AsServiceAccount(t.Context(), namespace, "scraper")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		text, err := r.Ask(ctx, "/metrics", who.BearerToken)
		if err == nil && !strings.Contains(text, "gatehouse_cloud_requests_total{") {
			err = errors.New("no metrics of ours")
		}
		return err
	})
	if _, err := r.Ask(t.Context(), "/metrics", ""); err == nil {
		t.Error("/metrics is open to everybody")
	}
}
