//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

// classless is a Service that the cluster's own cloud controller manager serves.
const classless = `
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: shop}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
`

// node-1 is a machine by its name; node-2 is none.
const machines = `
apiVersion: config.gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
services: {parameters: {fake: {namespace: shop, name: edge}}}
providers: {fake: {machines: [{name: node-1, type: small, zone: a, region: local}]}}
`

// TestAllInOne runs the manager as the cluster's only cloud controller manager: the
// stock controllers use the fake cloud through cloudprovider.Interface.
func TestAllInOne(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	c.InstallCRDs(t, cluster.Standard)
	c.Apply(t, shop)
	c.Apply(t, edge)
	readyPods(t, c, "app=web", 2)
	uninitialized(t, c, "node-1")
	o := newOutside(t)
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte(machines), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newReplica(t, c.Kubeconfig(), 10268, o, "--cloud-provider=fake", "--gatehouse-config="+config, "--configure-cloud-routes=false")

	t.Run("a node is initialised", func(t *testing.T) {
		eventually(t, func(ctx context.Context) error {
			node, err := c.Client().CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
			if err == nil && (node.Spec.ProviderID != "fake://node-1" || node.Labels[corev1.LabelTopologyZone] != "a" || len(node.Spec.Taints) > 0) {
				err = fmt.Errorf("node-1 has provider ID %q, labels %v and taints %v", node.Spec.ProviderID, node.Labels, node.Spec.Taints)
			}
			return err
		})
	})
	t.Run("a Service without a class", func(t *testing.T) {
		plainService(t, c, o, "service.kubernetes.io/load-balancer-cleanup")
	})
	t.Run("a protected Service without a class", func(t *testing.T) {
		plainServiceStays(t, c, o)
	})
	if text, err := r.Ask(t.Context(), "/healthz?verbose", ""); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	r.Signal(t, syscall.SIGTERM)
	newReplica(t, c.Kubeconfig(), 10269, o, "--gatehouse-config="+config, "--gatehouse-service-default-provider=fake")
	t.Run("a Service without a class and without a service controller", func(t *testing.T) {
		plainService(t, c, o, "gatehouse.dev/cloud-resources")
	})
}

// uninitialized makes a node look like one that has just come.
func uninitialized(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	patch := `{"spec": {"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}]}}`
	if _, err := c.Client().CoreV1().Nodes().Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// plainService wants a Service to get a load balancer and to be rid of it again,
// kept by whom its finalizer tells.
func plainService(t *testing.T, c *cluster.Cluster, o *programs.Cloud, finalizer string) {
	c.Apply(t, classless)
	var address string
	eventually(t, func(ctx context.Context) error {
		svc, err := c.Client().CoreV1().Services(namespace).Get(ctx, "plain", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(svc.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("the Service has no address")
		}
		if want := []string{finalizer}; !slices.Equal(svc.Finalizers, want) {
			t.Fatalf("finalizers %v, want %v", svc.Finalizers, want)
		}
		address = svc.Status.LoadBalancer.Ingress[0].IP
		return nil
	})
	serves(t, "http://"+address)
	c.Delete(t, classless)
	if left := o.Now(t).Objects; len(left) > 0 {
		t.Errorf("the Service is gone, and the cloud still has %v", left)
	}
}

// plainServiceStays wants a Service to stay, and all that it has, until its parameters
// let it go, and to say so.
func plainServiceStays(t *testing.T, c *cluster.Cluster, o *programs.Cloud) {
	parameters, _, _ := strings.Cut(edge, "---")
	c.Apply(t, strings.Replace(parameters, "spec: {", "spec: {deletion: Protect, ", 1))
	c.Apply(t, classless)
	services := c.Client().CoreV1().Services(namespace)
	eventually(t, func(ctx context.Context) error {
		svc, err := services.Get(ctx, "plain", metav1.GetOptions{})
		if err == nil && len(svc.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("the Service has no address")
		}
		return err
	})
	had := len(o.Now(t).Objects)
	if err := services.Delete(t.Context(), "plain", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for reason, message := range map[string]string{
		"DeletionBlocked":        "GatewayParameters shop/edge say deletion: Protect; say Delete there to go on",
		"SyncLoadBalancerFailed": "failed to delete load balancer: delete: Pending: load balancer of Service shop/plain: it is not deleted: GatewayParameters shop/edge",
	} {
		eventually(t, func(ctx context.Context) error {
			list, err := c.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=plain,reason=" + reason})
			if err == nil && !slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return strings.Contains(e.Message, message) }) {
				err = fmt.Errorf("no event %s says %q: %v", reason, message, list.Items)
			}
			return err
		})
	}
	if left := len(o.Now(t).Objects); left != had {
		t.Errorf("the cloud has %d objects of a protected Service, and had %d", left, had)
	}
	c.Apply(t, strings.Replace(parameters, "spec: {", "spec: {deletion: Delete, ", 1))
	c.Delete(t, classless)
	if left := o.Now(t).Objects; len(left) > 0 {
		t.Errorf("the Service is gone, and the cloud still has %v", left)
	}
}

// TestDeploy runs the shipped manifests as they are: two pods, by their own
// ServiceAccount, as nobody and on a root folder that cannot be written.
func TestDeploy(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 2, Packages: map[string]string{account: "gatehouse.dev/cmd/gatehouse-controller-manager"}})
	c.InstallCRDs(t, cluster.Standard)
	if err := c.ApplyObjects(t.Context(), deployed(t, "namespace.yaml", "rbac.yaml", "user-roles.yaml", "manager.yaml")...); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		d, err := c.Client().AppsV1().Deployments(system).Get(ctx, account, metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas != 2 {
			err = fmt.Errorf("%d replicas are ready, want 2", d.Status.ReadyReplicas)
		}
		return err
	})
	var leader string
	eventually(t, func(ctx context.Context) (err error) {
		leader, err = leading(ctx, c)
		return err
	})
	if err := c.Client().CoreV1().Pods(system).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "status.phase=Running"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		now, err := leading(ctx, c)
		if err == nil && now == leader {
			err = errors.New("the lease is still held by a pod that was stopped")
		}
		return err
	})
	c.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}")
	c.Apply(t, edge)
	classSaysWhatItOffers(t, c)
}

func leading(ctx context.Context, c *cluster.Cluster) (string, error) {
	l, err := c.Client().CoordinationV1().Leases(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if holder := ptr.Deref(l.Spec.HolderIdentity, ""); holder != "" {
		return holder, nil
	}
	return "", errors.New("nobody leads")
}
