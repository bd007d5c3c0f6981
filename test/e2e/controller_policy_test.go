//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/test/cluster"
)

// governed is a gateway with a class and parameters of its own name.
func governed(name, rule string) string {
	return strings.NewReplacer("NAME", name, "RULE", rule).Replace(`
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: NAME, namespace: shop}
spec: {RULE, fake: {addressPool: [198.18.0.0/16]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: NAME}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: NAME, namespace: shop}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: NAME, namespace: shop}
spec:
  gatewayClassName: NAME
  listeners: [{name: http, protocol: HTTP, port: 80}]
`)
}

func deleteGateway(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	if err := c.Dynamic().Resource(gateways).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// inSync waits for a reason of the condition.
func inSync(t *testing.T, c *cluster.Cluster, name, reason string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var g gwv1.Gateway
		if err := read(ctx, c, gateways, namespace, name, &g); err != nil {
			return err
		}
		for _, have := range g.Status.Conditions {
			if have.Type == "gatehouse.dev/InSync" && have.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("gateway %s is not %s: %v", name, reason, g.Status.Conditions)
	})
}

// protectedStays: a deletion that is forbidden waits, is told, and happens when it
// is allowed.
func protectedStays(t *testing.T, c *cluster.Cluster, m *manager) {
	c.Apply(t, governed("guarded", "deletion: Protect"))
	programmed(t, c, "guarded")
	deleteGateway(t, c, "guarded")
	inSync(t, c, "guarded", "Protected")
	if m.nothingOf("guarded") == nil {
		t.Error("a protected gateway has nothing in the cloud any more")
	}
	c.Apply(t, governed("guarded", "deletion: Delete")[:strings.Index(governed("guarded", "deletion: Delete"), "---")])
	eventually(t, func(ctx context.Context) error {
		return errors.Join(absent(ctx, c, gateways, "guarded"), m.nothingOf("guarded"))
	})
}

// retainedStays: what is retained outlives its object and a restart of the manager.
func retainedStays(t *testing.T, c *cluster.Cluster, m *manager) {
	c.Apply(t, governed("kept", "deletion: Retain"))
	programmed(t, c, "kept")
	deleteGateway(t, c, "kept")
	eventually(t, func(ctx context.Context) error { return absent(ctx, c, gateways, "kept") })
	m.stop(t)
	m.start(t)
	m.quiet(t)
	if m.nothingOf("kept") == nil {
		t.Error("what was to be retained is gone")
	}
}

// driftIsRepaired: a look that is asked for finds what others did.
func driftIsRepaired(t *testing.T, c *cluster.Cluster, m *manager) {
	lost := 0
	for _, o := range m.local.Cloud.Dump() {
		if o.Tags.Owner.Name == "front" && o.Kind == "Rule" {
			if err := m.local.Cloud.Delete(t.Context(), o.Handle); err != nil {
				t.Fatal(err)
			}
			lost++
		}
	}
	if lost == 0 {
		t.Fatal("the gateway front has no rules")
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"gatehouse.dev/reconcile-at":%q}}}`, time.Now().Format(time.RFC3339Nano))
	if _, err := c.Dynamic().Resource(gateways).Namespace(namespace).Patch(t.Context(), "front", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(context.Context) error {
		have := 0
		for _, o := range m.local.Cloud.Dump() {
			if o.Tags.Owner.Name == "front" && o.Kind == "Rule" {
				have++
			}
		}
		if have != lost {
			return fmt.Errorf("%d rules are there, want %d", have, lost)
		}
		return nil
	})
}
