//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/test/cluster"
)

// TestMesh has a gateway outside of the cluster take part in an Istio mesh: its CA
// checks tokens with the API server, its pods have a sidecar under STRICT, and it
// rotates its root while requests go on.
func TestMesh(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Packages: map[string]string{sidecarImage: "gatehouse.dev/test/cluster/sidecar"}})
	c.InstallCRDs(t, cluster.Standard)
	m := newManager(t, c)
	mesh := newMesh(t, c)
	m.meshes, m.dialects = mesh.config(), quickly()
	m.start(t)
	c.Apply(t, meshNamespaces)
	c.Apply(t, edge)
	// The mesh comes after the controller, which takes up its kinds.
	c.Apply(t, peerAuthentications)
	mesh.publish(t)
	c.Apply(t, strict)
	c.Apply(t, sidecarred)
	c.Apply(t, mesh.binding())
	readyPods(t, c, "app=api", 1)
	c.Apply(t, meshed)
	url := "http://" + programmed(t, c, "edge")
	t.Run("the backend sees who the gateway is", func(t *testing.T) { backendSeesWho(t, c, url) })
	t.Run("nobody else gets through", func(t *testing.T) { nobodyElse(t, c) })
	t.Run("statuses say so", func(t *testing.T) { meshStatuses(t, c, mesh) })
	t.Run("a root is rotated under requests", func(t *testing.T) { rotateUnderRequests(t, c, mesh, url) })
	t.Run("roots are kept", func(t *testing.T) { rootsAreKept(t, c) })
	t.Run("a restart issues nothing", func(t *testing.T) { restartIssuesNothing(t, m, mesh, url) })
	t.Run("who leaves has no account any more", func(t *testing.T) { leaverHasNoAccount(t, c) })
	m.stop(t)
}

var bindings = schema.GroupVersionResource{Group: v1alpha1.GroupName, Version: "v1alpha1", Resource: "meshbindings"}

// accounts are the ServiceAccounts of gateways.
func accounts(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	list, err := c.Client().CoreV1().ServiceAccounts(system).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=gatehouse"})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range list.Items {
		if s.Annotations["gatehouse.dev/gateway"] != "" {
			out = append(out, s.Name)
		}
	}
	return out, nil
}

func backendSeesWho(t *testing.T, c *cluster.Cluster, url string) {
	eventually(t, func(ctx context.Context) error {
		a, resp, err := get(ctx, url)
		if err != nil {
			return err
		}
		names, err := accounts(ctx, c)
		if err != nil {
			return err
		}
		if len(names) != 1 {
			return fmt.Errorf("accounts of gateways are %v, want one", names)
		}
		want := "spiffe://cluster.local/ns/" + system + "/sa/" + names[0]
		if client := a.Headers.Get("X-Forwarded-Client-Cert"); resp.StatusCode != http.StatusOK || !strings.Contains(client, want) {
			return fmt.Errorf("status %d, the backend is told of client %q, want %s", resp.StatusCode, client, want)
		}
		return nil
	})
}

// nobodyElse: the port is one that takes clear text from nobody.
func nobodyElse(t *testing.T, c *cluster.Cluster) {
	p := readyPods(t, c, "app=api", 1)[0]
	if _, resp, err := get(t.Context(), "http://"+p.Status.PodIP+":8080/"); err == nil && resp.StatusCode == http.StatusOK {
		t.Error("the sidecar takes a request in clear text")
	}
}

func meshStatuses(t *testing.T, c *cluster.Cluster, mesh *mesh) {
	mesh.wantRoots(t, c, v1alpha1.RootTrusted)
	eventually(t, func(ctx context.Context) error {
		var b v1alpha1.MeshBinding
		var g gwv1.Gateway
		if err := errors.Join(read(ctx, c, bindings, "", "istio", &b), read(ctx, c, gateways, namespace, "edge", &g)); err != nil {
			return err
		}
		for _, kind := range []string{"Accepted", "ResolvedRefs", "Programmed"} {
			if err := condition(b.Status.Conditions, kind, metav1.ConditionTrue, b.Generation); err != nil {
				return err
			}
		}
		if n := b.Status.Gateways; n.Selected != 1 || n.Joined != 1 || n.NextExpiry == nil || b.Status.Groups.Direct != 1 {
			return fmt.Errorf("status is %+v, want one gateway that joined, and one group that it reaches directly", b.Status)
		}
		return condition(g.Status.Conditions, "gatehouse.dev/MeshMember", metav1.ConditionTrue, g.Generation)
	})
}

func rotateUnderRequests(t *testing.T, c *cluster.Cluster, mesh *mesh, url string) {
	stop := load(t, url)
	mesh.do(t, mesh.ca.Add(second))
	mesh.publish(t) // A and B
	mesh.wantRoots(t, c, v1alpha1.RootTrusted, v1alpha1.RootTrusted)
	before := len(mesh.istiod.Calls())
	mesh.do(t, mesh.ca.SignBy(second.Name))
	mesh.equip(t, mesh.ca.Bundle())
	old := mesh.ca.Bundle()
	mesh.do(t, mesh.ca.Drop("a"))
	mesh.announce(t) // B, at the source; proxies learn of it later
	mesh.equip(t, old)
	eventually(t, func(context.Context) error {
		if n := len(mesh.istiod.Calls()); n != before+1 {
			return fmt.Errorf("%d certificates were issued for the new root, want 1", n-before)
		}
		return nil
	})
	mesh.wantRoots(t, c, v1alpha1.RootTrusted) // A has gone after its overlap
	mesh.equip(t, mesh.ca.Bundle())
	time.Sleep(time.Second) // of requests with nothing but B
	sent, failed := stop()
	t.Logf("rotation: %d requests, %d failed", sent, len(failed))
	if sent < 50 || len(failed) > 0 {
		t.Errorf("%d requests, and failed: %v", sent, failed)
	}
}

func restartIssuesNothing(t *testing.T, m *manager, mesh *mesh, url string) {
	m.quiet(t)
	issued, changed := len(mesh.istiod.Calls()), m.mutations()
	m.stop(t)
	m.start(t)
	eventually(t, func(context.Context) error { return m.running.Healthy() })
	m.quiet(t)
	serves(t, url)
	if n := len(mesh.istiod.Calls()); n != issued {
		t.Errorf("%d certificates were issued after a restart", n-issued)
	}
	if n := m.mutations(); n != changed {
		t.Errorf("%d calls changed the cloud after a restart", n-changed)
	}
}

func leaverHasNoAccount(t *testing.T, c *cluster.Cluster) {
	deleteGateway(t, c, "edge")
	eventually(t, func(ctx context.Context) error {
		names, err := accounts(ctx, c)
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("accounts of gateways are still there: %v", names)
		}
		return err
	})
	if _, err := c.Client().CoreV1().ServiceAccounts(system).Get(t.Context(), "bystander", metav1.GetOptions{}); apierrors.IsNotFound(err) {
		t.Error("an account that is nobody's gateway is gone too")
	}
}

// wantRoots waits until a binding's roots are those that the mesh publishes, in their
// states.
func (mesh *mesh) wantRoots(t *testing.T, c *cluster.Cluster, states ...v1alpha1.RootState) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var b v1alpha1.MeshBinding
		if err := read(ctx, c, bindings, "", "istio", &b); err != nil {
			return err
		}
		var got []v1alpha1.RootState
		for _, r := range b.Status.Roots {
			got = append(got, r.State)
		}
		if !slices.Equal(got, states) {
			return fmt.Errorf("roots are %+v, want states %v; conditions %+v", b.Status.Roots, states, b.Status.Conditions)
		}
		return nil
	})
}
