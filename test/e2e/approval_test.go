//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/test/cluster"
)

var planKind = schema.GroupVersionResource{Group: "gatehouse.dev", Version: "v1alpha1", Resource: "gatewayplans"}

// shown waits for a plan other than the last, and gives its hash.
func shown(t *testing.T, c *cluster.Cluster, name, last string) string {
	t.Helper()
	var plan v1alpha1.GatewayPlan
	eventually(t, func(ctx context.Context) error {
		plan = v1alpha1.GatewayPlan{}
		if err := read(ctx, c, planKind, namespace, name, &plan); err != nil {
			return err
		}
		if plan.Status.Plan == nil || plan.Status.Plan.Hash == last {
			return fmt.Errorf("plan %s shows nothing new", name)
		}
		return nil
	})
	return plan.Status.Plan.Hash
}

func approve(t *testing.T, c *cluster.Cluster, name, hash string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"approve":%q}}`, hash)
	if _, err := c.Dynamic().Resource(planKind).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// asks wants the condition InSync to say what to run.
func asks(conditions []metav1.Condition, kind, command string) error {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil || c.Reason != "ApprovalRequired" || !strings.HasSuffix(c.Message, "gatehouse approve "+command) {
		return fmt.Errorf("%s is %+v, want ApprovalRequired and the command", kind, c)
	}
	return nil
}

// structureWaits: nothing is made or removed before somebody approves, and then it
// is.
func structureWaits(t *testing.T, c *cluster.Cluster, m *manager) {
	c.Apply(t, governed("asking", "apply: Approve"))
	hash := shown(t, c, "asking", "")
	eventually(t, func(ctx context.Context) error {
		var g gwv1.Gateway
		if err := read(ctx, c, gateways, namespace, "asking", &g); err != nil {
			return err
		}
		return asks(g.Status.Conditions, "gatehouse.dev/InSync", "shop/asking")
	})
	if m.nothingOf("asking") != nil {
		t.Error("something was made that nobody has approved")
	}
	approve(t, c, "asking", hash)
	programmed(t, c, "asking")
	deleteGateway(t, c, "asking")
	again := shown(t, c, "asking", hash)
	if m.nothingOf("asking") == nil {
		t.Error("a deletion was carried out that nobody has approved")
	}
	approve(t, c, "asking", again)
	eventually(t, func(ctx context.Context) error {
		return errors.Join(absent(ctx, c, gateways, "asking"), m.nothingOf("asking"))
	})
}

// restGoesOn: what is left of an approved plan is not asked about by a new process.
func restGoesOn(t *testing.T, c *cluster.Cluster, m *manager) {
	m.refused.Store(&refusal{call: "CreateListener", owner: "halfway"})
	defer m.refused.Store(nil)
	c.Apply(t, governed("halfway", "apply: Approve"))
	hash := shown(t, c, "halfway", "")
	approve(t, c, "halfway", hash)
	eventually(t, func(ctx context.Context) error {
		var plan v1alpha1.GatewayPlan
		if err := read(ctx, c, planKind, namespace, "halfway", &plan); err != nil {
			return err
		}
		running, applied := plan.Status.Running, meta.FindStatusCondition(plan.Status.Conditions, "Applied")
		if running == nil || running.Hash != hash || len(running.Steps) < 2 || applied == nil || applied.Reason != "Failed" {
			return fmt.Errorf("the status is %+v, want an approved plan that failed half way", plan.Status)
		}
		return nil
	})
	if m.nothingOf("halfway") == nil {
		t.Fatal("nothing was made: the plan is not half way")
	}
	m.stop(t)
	m.refused.Store(nil)
	m.start(t)
	programmed(t, c, "halfway")
	eventually(t, func(ctx context.Context) error {
		var plan v1alpha1.GatewayPlan
		if err := read(ctx, c, planKind, namespace, "halfway", &plan); err != nil {
			return err
		}
		applied := meta.FindStatusCondition(plan.Status.Conditions, "Applied")
		if plan.Status.Running != nil || applied == nil || applied.Reason != "Applied" || plan.Spec.Approve != hash {
			return fmt.Errorf("the status is %+v, want it applied by the one approval", plan.Status)
		}
		return nil
	})
	deleteGateway(t, c, "halfway")
	approve(t, c, "halfway", shown(t, c, "halfway", hash))
	eventually(t, func(ctx context.Context) error {
		return errors.Join(absent(ctx, c, gateways, "halfway"), m.nothingOf("halfway"))
	})
}

// serviceAsks waits until a Service says what to run.
func serviceAsks(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		s, err := c.Client().CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return asks(s.Status.Conditions, "fake.gatehouse.dev/InSync", "service/shop/"+name)
	})
}

// servedWhenApproved: a Service under Approve has nothing until somebody approves,
// and keeps it until somebody approves that too.
func servedWhenApproved(t *testing.T, c *cluster.Cluster, m *manager) {
	c.Apply(t, strings.Replace(serviceParameters, "spec: {", "spec: {apply: Approve, ", 1))
	m.quiet(t) // parameters and Services come by different watches
	c.Apply(t, balancer("asking", classOurs))
	hash := shown(t, c, "asking.service", "")
	serviceAsks(t, c, "asking")
	if err := m.nothingOf("asking"); err != nil {
		t.Errorf("before somebody approves: %v", err)
	}
	approve(t, c, "asking.service", hash)
	serves(t, "http://"+balanced(t, c, "asking", classOurs, 1)[0])
	if err := c.Client().CoreV1().Services(namespace).Delete(t.Context(), "asking", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := shown(t, c, "asking.service", hash)
	if m.nothingOf("asking") == nil {
		t.Error("a deletion was carried out that nobody has approved")
	}
	approve(t, c, "asking.service", again)
	eventually(t, func(ctx context.Context) error {
		_, err := c.Client().CoreV1().Services(namespace).Get(ctx, "asking", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Service is still there"), err)
		}
		return m.nothingOf("asking")
	})
	c.Apply(t, serviceParameters)
}

// closedWhenApproved: under Auto a port is closed when somebody agrees, and nothing
// else waits.
func closedWhenApproved(t *testing.T, c *cluster.Cluster, m *manager) {
	host := balanced(t, c, "closing", classOurs, 1)[0]
	patch := []byte(`[{"op":"remove","path":"/spec/ports/1"}]`)
	if _, err := c.Client().CoreV1().Services(namespace).Patch(t.Context(), "closing", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	hash := shown(t, c, "closing.service", "")
	serviceAsks(t, c, "closing")
	if len(m.targets("closing")) != 2 {
		t.Error("the port was closed before anybody agreed")
	}
	serves(t, "http://"+host)
	approve(t, c, "closing.service", hash)
	eventually(t, func(ctx context.Context) error {
		if n := len(m.targets("closing")); n != 1 {
			return fmt.Errorf("%d ports are served, want 1", n)
		}
		return absent(ctx, c, planKind, "closing.service")
	})
	vanishes(t, c, m, "closing")
}

// managedWaits: the service controller of a cloud-controller-manager hears that its
// Service waits for approval, and how to give it.
func managedWaits(t *testing.T, c *cluster.Cluster, m *manager) {
	m.stop(t)
	m.unclassed, m.services = "fake", types.NamespacedName{Namespace: namespace, Name: "services"}
	c.Apply(t, strings.Replace(serviceParameters, "spec: {", "spec: {apply: Approve, ", 1))
	m.start(t)
	c.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: careful, namespace: shop, finalizers: [service.kubernetes.io/load-balancer-cleanup]}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
`)
	services := c.Client().CoreV1().Services(namespace)
	waits := func(err error) error {
		if err == nil || !strings.HasSuffix(err.Error(), "gatehouse approve service/shop/careful") {
			return errors.Join(errors.New("the service controller does not hear of the way out"), err)
		}
		return nil
	}
	ensure := func(ctx context.Context) (*corev1.LoadBalancerStatus, error) {
		svc, err := services.Get(ctx, "careful", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return m.running.EnsureService(ctx, svc)
	}
	eventually(t, func(ctx context.Context) error { _, err := ensure(ctx); return waits(err) })
	hash := shown(t, c, "careful.service", "")
	approve(t, c, "careful.service", hash)
	eventually(t, func(ctx context.Context) error { _, err := ensure(ctx); return err })
	if err := services.Delete(t.Context(), "careful", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	svc, err := services.Get(t.Context(), "careful", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return waits(m.running.ForgetService(ctx, svc)) })
	if m.nothingOf("careful") == nil {
		t.Error("a deletion was carried out that nobody has approved")
	}
	approve(t, c, "careful.service", shown(t, c, "careful.service", hash))
	eventually(t, func(ctx context.Context) error { return m.running.ForgetService(ctx, svc) })
	if err := m.nothingOf("careful"); err != nil {
		t.Error(err)
	}
	if _, err := services.Patch(t.Context(), "careful", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
