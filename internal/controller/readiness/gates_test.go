package readiness

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

var shop = types.NamespacedName{Namespace: "apps", Name: "shop"}

// cluster is an API server's pods, and a Gates over it.
type cluster struct {
	*testing.T
	client *fake.Clientset
	gates  *Gates
	clock  time.Time
}

func newCluster(t *testing.T, pods ...*corev1.Pod) *cluster {
	c := &cluster{T: t, clock: now, client: fake.NewClientset()}
	for _, p := range pods {
		if err := c.client.Tracker().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	c.gates = New(c.client.CoreV1())
	c.gates.now = func() time.Time { return c.clock }
	return c
}

// sync runs Sync on the pods as they are, and counts the writes.
func (c *cluster) sync(uses ...Use) (poll map[translate.Key]bool, writes int) {
	c.Helper()
	list, err := c.client.CoreV1().Pods("").List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	c.client.ClearActions()
	poll, err = c.gates.Sync(c.Context(), pods, Services{shop: {UID: "s1", Uses: uses}})
	if err != nil {
		c.Fatal(err)
	}
	return poll, len(c.client.Actions())
}

func (c *cluster) status(name string) corev1.ConditionStatus {
	c.Helper()
	p, err := c.client.CoreV1().Pods("apps").Get(c.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return conditionOf(p, gate).Status
}

// TestSync: a pod from its first endpoint to being ready, with one write for each
// change and none beside; the conditions of others stay.
func TestSync(t *testing.T) {
	plain := pod(corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
	bare, leaving := pod(), pod()
	bare.Name, bare.Spec.ReadinessGates = "bare", nil
	leaving.Name, leaving.DeletionTimestamp, leaving.Finalizers = "leaving", &metav1.Time{Time: now}, []string{"other.test/x"}
	c := newCluster(t, plain, bare, leaving)

	at := func(health lbmodel.Health, looked time.Time) Use {
		return use("a", health, func(u *Use) { u.Health.At = looked })
	}
	if poll, writes := c.sync(at(good, now)); writes != 1 || !poll[translate.Key{Kind: "Gateway", Namespace: "edge", Name: "a"}] {
		t.Errorf("%d writes, poll %v; want one that it waits, and the gateway to be looked at", writes, poll)
	}
	c.clock = now.Add(time.Minute)
	if _, writes := c.sync(at(bad, c.clock)); writes != 0 || c.status("p") != corev1.ConditionFalse {
		t.Errorf("while it waits: %d writes, status %s", writes, c.status("p"))
	}
	if poll, writes := c.sync(at(good, c.clock)); writes != 1 || len(poll) != 0 || c.status("p") != corev1.ConditionTrue {
		t.Errorf("when it is healthy: %d writes, poll %v, status %s", writes, poll, c.status("p"))
	}
	if _, writes := c.sync(at(bad, c.clock)); writes != 0 || c.status("p") != corev1.ConditionTrue {
		t.Errorf("later: %d writes, status %s", writes, c.status("p"))
	}
	p, err := c.client.CoreV1().Pods("apps").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || conditionOf(p, corev1.ContainersReady).Status != corev1.ConditionTrue || len(p.Status.Conditions) != 2 {
		t.Errorf("conditions %+v, %v", p.Status.Conditions, err)
	}
}

// TestSyncErrors: a pod that is gone, or another one by now, is no error; one pod's
// trouble is not another's.
func TestSyncErrors(t *testing.T) {
	group := corev1.Resource("pods")
	invalid := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Field: "metadata.uid"}}}}}
	cases := []struct {
		name string
		err  error
		fine bool
		why  string
	}{
		{"gone", apierrors.NewNotFound(group, "p"), true, "nobody waits"},
		{"another pod", apierrors.NewConflict(group, "p", errors.New("uid")), true, "it waits for itself"},
		{"another pod, by validation", invalid, true, "it waits for itself"},
		{"no right", apierrors.NewForbidden(group, "p", errors.New("rbac")), false, "somebody must hear of it"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			first, second := pod(), pod()
			second.Name = "q"
			c := newCluster(t, first, second)
			c.client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				return a.(clienttesting.PatchAction).GetName() == "p", nil, test.err
			})
			_, err := c.gates.Sync(t.Context(), []*corev1.Pod{first, second}, Services{shop: {UID: "s1"}})
			if (err == nil) != test.fine || c.status("q") != corev1.ConditionTrue {
				t.Errorf("error %v, the other pod %s: %s", err, c.status("q"), test.why)
			}
		})
	}
}

// TestAdd reads a gateway as the loop has it.
func TestAdd(t *testing.T) {
	pool := func(name, service string) lbmodel.Pool {
		return lbmodel.Pool{Name: name, Source: lbmodel.Source{Kind: "Service", Namespace: "apps", Name: service}, Endpoints: []lbmodel.Endpoint{endpoint("10.0.0.1", "p")}}
	}
	backend := pool("x", "shop")
	backend.Source.Kind = translate.KindXBackend
	g := reconcile.Gateway{Key: translate.Key{Kind: "Gateway", Namespace: "edge", Name: "a"}}
	g.Result.Gateway = lbmodel.Gateway{Owner: lbmodel.Owner{Name: "a"}, Pools: []lbmodel.Pool{pool("one", "shop"), pool("refused", "shop"), pool("other", "else"), backend}}
	g.Served.Pools = []lbmodel.Pool{pool("one", "shop"), pool("other", "else"), backend}
	g.Served.Pools[0].Endpoints = nil
	cases := []struct {
		name, why string
		edit      func(*reconcile.Gateway)
		want      int
	}{
		{"serves", "a pool that is refused, another Service's and an XBackend's do not count", func(*reconcile.Gateway) {}, 1},
		{"is going", "a rollout does not wait for it", func(g *reconcile.Gateway) { g.Result.Deleting = true }, 0},
		{"is skipped", "nothing is planned for it", func(g *reconcile.Gateway) { g.Result.Skip = "why" }, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			services := Services{shop: {UID: "s1"}}
			it := g
			c.edit(&it)
			services.Add(it, func(p providers.PoolChange) providers.PoolHealth {
				return providers.PoolHealth{Observed: p.Owner.Name == "a", There: len(p.Pool.Endpoints) == 0}
			})
			uses := services[shop].Uses
			if len(uses) != c.want {
				t.Fatalf("%d uses, want %d: %s", len(uses), c.want, c.why)
			}
			if c.want > 0 && (len(uses[0].Wanted) != 1 || len(uses[0].Taken) != 0 || !uses[0].Health.Observed || !uses[0].Health.There) {
				t.Errorf("%+v", uses[0])
			}
		})
	}
}

func TestNamesOf(t *testing.T) {
	if got := NamesOf(pod()); len(got) != 1 || got[0] != shop {
		t.Errorf("%v, want the Service in the pod's own namespace", got)
	}
}
