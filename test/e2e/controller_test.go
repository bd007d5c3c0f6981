//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/test/cluster"
)

const edge = `
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

const storefront = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: front, namespace: shop}
spec:
  gatewayClassName: edge
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: front}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`

const redirect = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: front}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /old}}]
    filters: [{type: RequestRedirect, requestRedirect: {statusCode: 301, path: {type: ReplaceFullPath, replaceFullPath: /new}}}]
  - backendRefs: [{name: web, port: 80}]
`

var (
	gateways      = schema.GroupVersionResource{Group: gwv1.GroupName, Version: "v1", Resource: "gateways"}
	httpRoutes    = schema.GroupVersionResource{Group: gwv1.GroupName, Version: "v1", Resource: "httproutes"}
	classKind     = schema.GroupVersionResource{Group: gwv1.GroupName, Version: "v1", Resource: "gatewayclasses"}
	parameterKind = schema.GroupVersionResource{Group: "gatehouse.dev", Version: "v1alpha1", Resource: "gatewayparameters"}
)

// TestController runs the controller in this process, with the fake cloud and its
// data plane, against a real API server. The tests build on each other: one cluster
// is enough.
func TestController(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	m := newManager(t, c)
	m.start(t)

	// The controller is there before Gateway API is, and picks it up.
	c.InstallCRDs(t, cluster.Standard)
	c.Apply(t, shop)
	c.Apply(t, edge)
	t.Run("a class says what it offers", func(t *testing.T) { classSaysWhatItOffers(t, c) })
	readyPods(t, c, "app=web", 2)
	c.Apply(t, storefront)
	url := "http://" + programmed(t, c, "front")
	serves(t, url)
	t.Run("an edit is followed", func(t *testing.T) { editIsFollowed(t, c, url) })
	t.Run("endpoints are followed", func(t *testing.T) { endpointsAreFollowed(t, c, url) })
	t.Run("a restart changes nothing", func(t *testing.T) { restartChangesNothing(t, m) })
	t.Run("a denied gateway holds up nobody", func(t *testing.T) { deniedHoldsUpNobody(t, c, m) })
	t.Run("a readiness gate opens by real health", func(t *testing.T) { gateOpensByHealth(t, c, m) })
	t.Run("a pause stops everything", func(t *testing.T) { pauseStopsEverything(t, c, url) })
	t.Run("drift is repaired", func(t *testing.T) { driftIsRepaired(t, c, m) })
	t.Run("what is protected stays", func(t *testing.T) { protectedStays(t, c, m) })
	t.Run("what is retained stays", func(t *testing.T) { retainedStays(t, c, m) })
	t.Run("structure waits for approval", func(t *testing.T) { structureWaits(t, c, m) })
	t.Run("the rest of an approved plan goes on after a restart", func(t *testing.T) { restGoesOn(t, c, m) })
	t.Run("what was removed by force is collected", func(t *testing.T) { forceIsCollected(t, c, m) })
	t.Run("nothing is left in any order", func(t *testing.T) { nothingIsLeft(t, c, m) })
	t.Run("a Service without a class is served when asked for", func(t *testing.T) { serviceIsServed(t, c, m) })
	t.Run("a Service without a class waits for approval", func(t *testing.T) { managedWaits(t, c, m) })
	m.stop(t)
}

// serviceIsServed asks for a load balancer as the service controller of a
// cloud-controller-manager does.
func serviceIsServed(t *testing.T, c *cluster.Cluster, m *manager) {
	m.stop(t)
	m.unclassed = "fake"
	m.start(t)
	c.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: public, namespace: shop}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
`)
	services := c.Client().CoreV1().Services(namespace)
	svc, err := services.Get(t.Context(), "public", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := m.running.EnsureService(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Ingress) != 1 || status.Ingress[0].IP == "" {
		t.Fatalf("ingress is %v, want one address", status.Ingress)
	}
	if err := services.Delete(t.Context(), "public", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.running.ForgetService(t.Context(), svc); err != nil {
		t.Error(err)
	}
	if err := m.nothingOf("public"); err != nil {
		t.Error(err)
	}
}

func classSaysWhatItOffers(t *testing.T, c *cluster.Cluster) {
	eventually(t, func(ctx context.Context) error {
		var class gwv1.GatewayClass
		if err := read(ctx, c, classKind, "", "edge", &class); err != nil {
			return err
		}
		for _, kind := range []string{"Accepted", "SupportedVersion"} {
			if err := condition(class.Status.Conditions, kind, metav1.ConditionTrue, class.Generation); err != nil {
				return err
			}
		}
		names := make([]string, 0, len(class.Status.SupportedFeatures))
		for _, f := range class.Status.SupportedFeatures {
			names = append(names, string(f.Name))
		}
		if !slices.Contains(names, "HTTPRoute") || !slices.IsSorted(names) {
			return fmt.Errorf("supportedFeatures are %v, want HTTPRoute among them, sorted", names)
		}
		return nil
	})
}

// programmed waits until a gateway is, and gives its address.
func programmed(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	var g gwv1.Gateway
	eventually(t, func(ctx context.Context) error {
		if err := read(ctx, c, gateways, namespace, name, &g); err != nil {
			return err
		}
		if err := condition(g.Status.Conditions, "Programmed", metav1.ConditionTrue, g.Generation); err != nil {
			return fmt.Errorf("gateway %s: %w", name, err)
		}
		if len(g.Status.Addresses) == 0 {
			return fmt.Errorf("gateway %s is programmed and has no address", name)
		}
		return nil
	})
	return g.Status.Addresses[0].Value
}

func serves(t *testing.T, url string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		a, resp, err := get(ctx, url)
		if err == nil && (resp.StatusCode != http.StatusOK || a.Namespace != namespace) {
			err = fmt.Errorf("status %d from %q", resp.StatusCode, a.Pod)
		}
		return err
	})
}

func editIsFollowed(t *testing.T, c *cluster.Cluster, url string) {
	c.Apply(t, redirect)
	began := time.Now()
	eventually(t, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/old", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusMovedPermanently {
			return fmt.Errorf("status %d, want 301", resp.StatusCode)
		}
		return nil
	})
	t.Logf("from the edit to traffic following it: %s", time.Since(began))
	serves(t, url)
}

func endpointsAreFollowed(t *testing.T, c *cluster.Cluster, url string) {
	scale := []byte(`{"spec":{"replicas":3}}`)
	_, err := c.Client().AppsV1().Deployments(namespace).Patch(t.Context(), "web", "application/merge-patch+json", scale, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	readyPods(t, c, "app=web", 3)
	eventually(t, func(ctx context.Context) error {
		seen := map[string]bool{}
		for range 30 {
			a, _, err := get(ctx, url)
			if err != nil {
				return err
			}
			seen[a.Pod] = true
		}
		if len(seen) != 3 {
			return fmt.Errorf("requests reach %d pods, want 3", len(seen))
		}
		return nil
	})
}

func restartChangesNothing(t *testing.T, m *manager) {
	m.quiet(t)
	before, writes := m.mutations(), m.writes.Load()
	m.stop(t)
	m.start(t)
	m.quiet(t)
	if after := m.mutations(); after != before {
		t.Errorf("%d mutations of the cloud, want none", after-before)
	}
	if after := m.writes.Load(); after != writes {
		t.Errorf("%d writes of statuses, want none", after-writes)
	}
}

func deniedHoldsUpNobody(t *testing.T, c *cluster.Cluster, m *manager) {
	m.denied.Store(new("denied"))
	defer m.denied.Store(nil)
	front := func(name string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s, namespace: shop}\nspec: {gatewayClassName: edge, listeners: [{name: http, protocol: HTTP, port: 80}]}\n", name)
	}
	c.Apply(t, front("denied"))
	eventually(t, func(ctx context.Context) error {
		var g gwv1.Gateway
		if err := read(ctx, c, gateways, namespace, "denied", &g); err != nil {
			return err
		}
		return condition(g.Status.Conditions, "Programmed", metav1.ConditionFalse, g.Generation)
	})
	began := time.Now()
	c.Apply(t, front("second"))
	programmed(t, c, "second")
	t.Logf("beside a denied gateway another is programmed within %s", time.Since(began))
	began = time.Now()
	deleteGateway(t, c, "second")
	defer func() { t.Logf("and gone within %s", time.Since(began)) }()
	eventually(t, func(ctx context.Context) error { return absent(ctx, c, gateways, "second") })
}

func pauseStopsEverything(t *testing.T, c *cluster.Cluster, url string) {
	annotate := func(value string) {
		patch := []byte(`{"metadata":{"annotations":{"gatehouse.dev/paused":` + value + `}}}`)
		if _, err := c.Dynamic().Resource(gateways).Namespace(namespace).Patch(t.Context(), "front", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	synced := func(status metav1.ConditionStatus) {
		eventually(t, func(ctx context.Context) error {
			var g gwv1.Gateway
			if err := read(ctx, c, gateways, namespace, "front", &g); err != nil {
				return err
			}
			return condition(g.Status.Conditions, "gatehouse.dev/InSync", status, g.Generation)
		})
	}
	annotate(`"yes"`)
	synced(metav1.ConditionFalse)
	serves(t, url)
	annotate(`null`)
	synced(metav1.ConditionTrue)
}

// forceIsCollected takes the finalizer away while nobody watches.
func forceIsCollected(t *testing.T, c *cluster.Cluster, m *manager) {
	m.stop(t)
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := c.Dynamic().Resource(gateways).Namespace(namespace).Patch(t.Context(), "denied", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Dynamic().Resource(gateways).Namespace(namespace).Delete(t.Context(), "denied", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	eventually(t, func(context.Context) error { return m.nothingOf("denied") })
}

func nothingIsLeft(t *testing.T, c *cluster.Cluster, m *manager) {
	// The class and its parameters first: they must wait for the gateway.
	classes, parameters := c.Dynamic().Resource(classKind), c.Dynamic().Resource(parameterKind).Namespace(namespace)
	if err := errors.Join(classes.Delete(t.Context(), "edge", metav1.DeleteOptions{}), parameters.Delete(t.Context(), "edge", metav1.DeleteOptions{})); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if _, err := classes.Get(t.Context(), "edge", metav1.GetOptions{}); err != nil {
		t.Errorf("the class went while a gateway used it: %v", err)
	}
	if _, err := parameters.Get(t.Context(), "edge", metav1.GetOptions{}); err != nil {
		t.Errorf("the parameters went while a gateway used them: %v", err)
	}
	deleteGateway(t, c, "front")
	if err := c.Dynamic().Resource(httpRoutes).Namespace(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionResource{gateways, httpRoutes} {
		eventually(t, func(ctx context.Context) error {
			list, err := c.Dynamic().Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err == nil && len(list.Items) > 0 {
				err = fmt.Errorf("%d %s are left, the first with finalizers %v", len(list.Items), kind.Resource, list.Items[0].GetFinalizers())
			}
			return err
		})
	}
	eventually(t, func(ctx context.Context) error {
		return errors.Join(gone(ctx, classes, "edge"), gone(ctx, parameters, "edge"))
	})
	eventually(t, func(context.Context) error {
		for _, o := range m.local.Cloud.Dump() {
			if o.Tags.Owner.Name != "kept" && o.Tags.Owner.Name != "" {
				return fmt.Errorf("%s %s of %s is left in the cloud", o.Kind, o.Name, o.Tags.Owner)
			}
		}
		return nil
	})
}

func gone(ctx context.Context, kind dynamic.ResourceInterface, name string) error {
	_, err := kind.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s is still there", name), err)
}

// read reads an object into one of its Go type.
func read(ctx context.Context, c *cluster.Cluster, kind schema.GroupVersionResource, ns, name string, into any) error {
	obj, err := c.Dynamic().Resource(kind).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into)
}

func absent(ctx context.Context, c *cluster.Cluster, kind schema.GroupVersionResource, name string) error {
	list, err := c.Dynamic().Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err == nil && len(list.Items) > 0 {
		err = fmt.Errorf("%s %s is still there, with finalizers %v", kind.Resource, name, list.Items[0].GetFinalizers())
	}
	return err
}

func condition(all []metav1.Condition, kind string, want metav1.ConditionStatus, generation int64) error {
	for _, c := range all {
		if c.Type == kind {
			if c.Status != want || c.ObservedGeneration != generation {
				return fmt.Errorf("condition %s is %s at generation %d (%s: %s), want %s at %d", kind, c.Status, c.ObservedGeneration, c.Reason, c.Message, want, generation)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no condition %s among %d", kind, len(all))
}
