package conformance

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/test/cluster"
)

// The class whose gateways run inside the cluster.
const (
	inClusterController = "gatehouse.test/in-cluster"
	inClusterImage      = "gatehouse.test/in-cluster"
	alikeImage          = "gatehouse.test/echo-basic"
)

// TestRouteIsAlikeInsideAndOutside: one HTTPRoute, written once and for nobody in
// particular, names two Gateways. One is of a class whose gateway is a pod at a
// pod's address; the other's is outside the cluster. The two are driven by two
// managers that know nothing of each other and share the route's status. Every
// request of a table is answered by both with the same bytes, and still is after
// the route was edited again and again (GEP-3792, goal: nobody has to know
// whether a Gateway is off the cluster).
//
// Both data planes are ours, so what is compared is all that lies between the
// route and them: two watches, two translations, two address plans, endpoints
// reached from inside and from outside, and a status written by two.
func TestRouteIsAlikeInsideAndOutside(t *testing.T) {
	c := begin(t, map[string]string{inClusterImage: "gatehouse.dev/test/conformance/incluster", alikeImage: echoPackage})
	k := clientOf(t, c)
	c.Apply(t, alikeBackends)
	c.Apply(t, inClusterPod)
	pod := awaitPod(t, c, "in-cluster", "gateway")
	c.Apply(t, fmt.Sprintf(inClusterClass, pod))
	c.Apply(t, alikeGateways)
	c.Apply(t, alikeRoute)
	for _, name := range []string{"a", "b"} {
		awaitPod(t, c, "alike", name)
	}
	inside, outside := awaitGateway(t, k, "inside"), awaitGateway(t, k, "outside")
	if inside != pod {
		t.Errorf("the gateway inside has address %s, and its pod %s", inside, pod)
	}
	client := cluster.Server.Addr() // one client address for both, wherever they see it from
	awaitRoute(t, k)
	compare(t, client, inside, outside)
	editRoute(t, k)
	awaitRoute(t, k)
	compare(t, client, inside, outside)
	atRest(t, k)
}

// atRest checks that the two managers leave each other's work alone: soon nobody
// writes anything that both know.
func atRest(t *testing.T, k client.Client) {
	t.Helper()
	before := versions(t, k)
	poll(t, "rest", func(context.Context) error {
		time.Sleep(3 * time.Second)
		now := versions(t, k)
		if diff := cmp.Diff(before, now); diff != "" {
			before = now
			return fmt.Errorf("still written, with nobody asking for anything (-before +now):\n%s", diff)
		}
		return nil
	})
}

// versions are those of all objects that a manager writes to.
func versions(t *testing.T, k client.Client) map[string]string {
	t.Helper()
	out, gateway := map[string]string{}, schema.GroupVersion(gwv1.GroupVersion)
	for _, kind := range []schema.GroupVersionKind{
		gateway.WithKind("GatewayClass"), gateway.WithKind("Gateway"), gateway.WithKind("HTTPRoute"),
		v1alpha1.GroupVersion.WithKind("GatewayParameters"), corev1.SchemeGroupVersion.WithKind("Service"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := k.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out[kind.Kind+" "+o.Namespace+"/"+o.Name] = o.ResourceVersion
		}
	}
	return out
}

// compare sends every request to both.
func compare(t *testing.T, client, inside, outside netip.Addr) {
	t.Helper()
	for _, r := range alikeRequests {
		in, out := exchange(t, client, inside, r), exchange(t, client, outside, r)
		if in != out {
			t.Errorf("%s (%s): the answers differ\ninside:\n%s\noutside:\n%s", r.name, r.why, in, out)
		}
		if got := statusOf(in); got != r.status {
			t.Errorf("%s (%s): status %d, want %d\n%s", r.name, r.why, got, r.status, in)
		}
	}
}

// clientOf is a client that knows Gateway API.
func clientOf(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	log.SetLogger(logr.Discard()) // else the client complains that nobody chose one
	k, err := client.New(c.REST(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := gwv1.Install(k.Scheme()); err != nil {
		t.Fatal(err)
	}
	return k
}

// poll waits for a condition; the last error says what was missing.
func poll(t *testing.T, what string, done func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = done(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// awaitGateway waits until a gateway of namespace alike is programmed and has the
// one address.
func awaitGateway(t *testing.T, k client.Client, name string) (addr netip.Addr) {
	t.Helper()
	poll(t, "Gateway "+name, func(ctx context.Context) error {
		g := &gwv1.Gateway{}
		if err := k.Get(ctx, types.NamespacedName{Namespace: "alike", Name: name}, g); err != nil {
			return err
		}
		c := meta.FindStatusCondition(g.Status.Conditions, "Programmed")
		if c == nil || c.Status != "True" || len(g.Status.Addresses) != 1 {
			return fmt.Errorf("addresses %v, condition %+v", g.Status.Addresses, c)
		}
		var err error
		addr, err = netip.ParseAddr(g.Status.Addresses[0].Value)
		return err
	})
	return addr
}

// awaitRoute waits until both managers have said of the route's latest version
// that they serve it.
func awaitRoute(t *testing.T, k client.Client) {
	t.Helper()
	poll(t, "HTTPRoute shop", func(ctx context.Context) error {
		r := &gwv1.HTTPRoute{}
		if err := k.Get(ctx, types.NamespacedName{Namespace: "alike", Name: "shop"}, r); err != nil {
			return err
		}
		by := map[gwv1.GatewayController]gwv1.ObjectName{}
		for _, p := range r.Status.Parents {
			accepted := meta.FindStatusCondition(p.Conditions, "Accepted")
			if accepted == nil || accepted.Status != "True" || accepted.ObservedGeneration != r.Generation {
				return fmt.Errorf("generation %d, parent %s: %+v", r.Generation, p.ParentRef.Name, accepted)
			}
			by[p.ControllerName] = p.ParentRef.Name
		}
		if len(r.Status.Parents) != 2 || by[inClusterController] != "inside" || by[controllerName] != "outside" {
			return fmt.Errorf("parents %v, want one of each manager", by)
		}
		return nil
	})
}

// editRoute changes the route faster than anybody follows: each edit makes both
// managers write to the one list of parents.
func editRoute(t *testing.T, k client.Client) {
	t.Helper()
	for i := range 20 {
		r := &gwv1.HTTPRoute{}
		if err := k.Get(t.Context(), types.NamespacedName{Namespace: "alike", Name: "shop"}, r); err != nil {
			t.Fatal(err)
		}
		changed := r.DeepCopy()
		changed.Spec.Hostnames = []gwv1.Hostname{"shop.test", gwv1.Hostname(fmt.Sprintf("edit-%d.test", i))}
		if err := k.Patch(t.Context(), changed, client.MergeFrom(r)); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitPod waits until the one pod with label app=name is ready, and is its address.
func awaitPod(t *testing.T, c *cluster.Cluster, namespace, name string) (addr netip.Addr) {
	t.Helper()
	poll(t, "pod "+name, func(ctx context.Context) error {
		pods, err := c.Client().CoreV1().Pods(namespace).List(ctx, appIs(name))
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 || !ready(pods.Items[0]) {
			return fmt.Errorf("%d pods, none of them ready", len(pods.Items))
		}
		addr, err = netip.ParseAddr(pods.Items[0].Status.PodIP)
		return err
	})
	return addr
}
