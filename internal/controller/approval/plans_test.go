package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/lbmodel"
)

// world is an API server with a Gateway's plan, and a Plans over it.
type world struct {
	t        *testing.T
	server   *fakeapi.Server
	plans    *Plans
	resource kube.Resource
	gateway  *gwv1.Gateway
	clock    time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: now, gateway: &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "edge", UID: "g1", Generation: 3}}}
	var err error
	if w.server, err = fakeapi.New(); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(web.Close)
	clients, err := kube.New(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.resource, _ = clients.Resource(kube.KindPlan)
	w.plans = New(clients)
	w.plans.now = func() time.Time { return w.clock }
	return w
}

// serve answers discovery, of our kinds only, and leaves the rest to the server.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/apis/gatehouse.dev/v1alpha1":
		rw.Header().Set("Content-Type", "application/json")
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{{Name: "gatewayplans"}}}
		if err := json.NewEncoder(rw).Encode(list); err != nil {
			w.t.Error(err)
		}
	case !strings.Contains(r.URL.Path, "/namespaces/"):
		http.NotFound(rw, r)
	default:
		w.server.ServeHTTP(rw, r)
	}
}

// plan is the object as it is, or nil.
func (w *world) plan() *v1alpha1.GatewayPlan {
	w.t.Helper()
	obj, err := w.resource.Get(w.t.Context(), types.NamespacedName{Namespace: "apps", Name: "edge"})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return obj.(*v1alpha1.GatewayPlan)
}

// sync runs Sync with the object as it is, and counts the writes.
func (w *world) sync(mode v1alpha1.ApplyMode, held lbmodel.Plan, edits ...func(*Pass)) int {
	w.t.Helper()
	p := Pass{Object: w.gateway, Existing: w.plan(), Mode: mode, Held: held}
	for _, edit := range edits {
		edit(&p)
	}
	w.server.Calls()
	if err := w.plans.Sync(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	return len(w.server.Writes())
}

// approve is what a person does.
func (w *world) approve(hash string) {
	w.t.Helper()
	body := map[string]any{"spec": map[string]any{"approve": hash}}
	if _, err := w.resource.Merge(w.t.Context(), types.NamespacedName{Namespace: "apps", Name: "edge"}, body); err != nil {
		w.t.Fatal(err)
	}
}

// says is a plan's conditions and counts in short.
func says(p *v1alpha1.GatewayPlan) string {
	if p == nil {
		return "none"
	}
	var out []string
	for _, kind := range []string{ConditionApproved, ConditionApplied} {
		c := meta.FindStatusCondition(p.Status.Conditions, kind)
		if c == nil {
			return "no condition " + kind
		}
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	if s := p.Status.Plan; s != nil {
		out = append(out, fmt.Sprintf("+%d ~%d -%d", s.Add, s.Change, s.Destroy))
	}
	return strings.Join(out, " ")
}

func (w *world) expect(when, want string) {
	w.t.Helper()
	if got := says(w.plan()); got != want {
		w.t.Errorf("%s the plan says %q, want %q", when, got, want)
	}
}

// held is what a mode keeps back of the plan of these tests.
func held(t *testing.T, mode v1alpha1.ApplyMode) lbmodel.Plan {
	p := rollout(t)
	return lbmodel.HeldBack(p, gate(mode)(p, now))
}

// TestLife is a plan from the first pass to the last.
func TestLife(t *testing.T) {
	w := newWorld(t)
	waiting := held(t, v1alpha1.ApplyApprove)
	if n := w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}); n != 0 {
		t.Errorf("%d writes for nothing", n)
	}
	w.sync(v1alpha1.ApplyApprove, waiting)
	w.expect("with something that waits", "Approved=False/ApprovalRequired Applied=False/Waiting +1 ~1 -1")
	first := w.plan()
	if owner := metav1.GetControllerOf(first); owner == nil || owner.UID != "g1" || *owner.BlockOwnerDeletion {
		t.Errorf("its owner is %+v: it must go with its Gateway, and not hold it up", owner)
	}
	if s := first.Status; s.ObservedGeneration != 3 || s.Plan.Hash != Hash(waiting) || !strings.Contains(s.Plan.Text, "Plan: 1 to add, 1 to change, 1 to destroy.") {
		t.Errorf("status %+v", s)
	}
	w.clock = w.clock.Add(time.Hour)
	if n := w.sync(v1alpha1.ApplyApprove, waiting); n != 0 {
		t.Errorf("%d writes of what is as it should be", n)
	}
	w.approve(strings.Repeat("0", 64))
	w.sync(v1alpha1.ApplyApprove, waiting)
	w.expect("with another hash", "Approved=False/PlanChanged Applied=False/Waiting +1 ~1 -1")

	w.approve(first.Status.Plan.Hash)
	if got := Of(w.gateway, w.plan()).Hash; got != Hash(waiting) {
		t.Errorf("the approval is of %q", got)
	}
	w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, func(p *Pass) { p.Applying = true })
	w.expect("while it runs", "Approved=True/Approved Applied=False/Applying +1 ~1 -1")
	w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, func(p *Pass) { p.Err = lbmodel.Errorf(lbmodel.CodePending, "CreateAddress", id("a"), "later") })
	w.expect("while the cloud converges", "Approved=True/Approved Applied=False/Applying")
	w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, func(p *Pass) { p.Err = errors.New("the cloud is full") })
	w.expect("when it failed", "Approved=True/Approved Applied=False/Failed")
	w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{})
	w.expect("when it is done", "Approved=True/Approved Applied=True/Applied")
	if n := w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, func(p *Pass) { p.Applying = true }); n != 0 {
		t.Errorf("%d writes before a pass without approval", n)
	}
	if got := w.plan().Spec.Approve; got != Hash(waiting) {
		t.Errorf("the spec says %q: only people write it", got)
	}
}

// TestModes: the object stays where people decide, and goes where nothing waits.
func TestModes(t *testing.T) {
	w := newWorld(t)
	w.sync(v1alpha1.ApplyPlanOnly, held(t, v1alpha1.ApplyPlanOnly))
	w.expect("under PlanOnly", "Approved=False/PlanOnly Applied=False/Waiting +1 ~1 -1")
	w.sync(v1alpha1.ApplyPlanOnly, lbmodel.Plan{})
	w.expect("under PlanOnly with nothing to do", "Approved=True/NothingWaits Applied=True/Applied")
	w.sync(v1alpha1.ApplyAuto, held(t, v1alpha1.ApplyAuto))
	w.expect("under Auto with a harm", "Approved=False/ApprovalRequired Applied=False/Waiting +0 ~0 -1")
	w.approve(w.plan().Status.Plan.Hash)
	w.sync(v1alpha1.ApplyAuto, lbmodel.Plan{}, func(p *Pass) { p.Err = errors.New("not yet") })
	w.expect("under Auto, half way: the approval still counts", "Approved=True/Approved Applied=False/Failed")
	w.sync(v1alpha1.ApplyAuto, lbmodel.Plan{})
	w.expect("under Auto, done", "none")
}

// TestOnlyWhatWaitsForApproval: what other policies keep back is not shown: nobody
// can approve it.
func TestOnlyWhatWaitsForApproval(t *testing.T) {
	w := newWorld(t)
	p := rollout(t)
	both := lbmodel.Compose(lbmodel.NoDelete, lbmodel.HoldStructure)(p, now)
	w.sync(v1alpha1.ApplyApprove, lbmodel.HeldBack(p, both))
	w.expect("with deletes retained", "Approved=False/ApprovalRequired Applied=False/Waiting +1 ~1 -0")
}

// TestAnotherGatewaysPlan: an approval is not inherited by name, and what somebody
// made beforehand is no plan of ours.
func TestAnotherGatewaysPlan(t *testing.T) {
	for name, uid := range map[string]types.UID{"an old Gateway's": "g0", "nobody's": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.gateway.UID = uid
			w.sync(v1alpha1.ApplyApprove, held(t, v1alpha1.ApplyApprove))
			w.approve(w.plan().Status.Plan.Hash)
			w.gateway.UID = "g1"
			if got := Of(w.gateway, w.plan()).Hash; got != "" {
				t.Errorf("the approval is of %q", got)
			}
			w.sync(v1alpha1.ApplyApprove, held(t, v1alpha1.ApplyApprove))
			w.expect("a new Gateway's", "Approved=False/ApprovalRequired Applied=False/Waiting +1 ~1 -1")
			if p := w.plan(); !metav1.IsControlledBy(p, w.gateway) || p.Spec.Approve != "" {
				t.Errorf("owner %v, approve %q", p.OwnerReferences, p.Spec.Approve)
			}
		})
	}
}

// TestStaleCache: whatever the cache misses, the object comes right, and what a
// person wrote meanwhile counts.
func TestStaleCache(t *testing.T) {
	waiting := held(t, v1alpha1.ApplyApprove)
	cases := []struct {
		name, why string
		prepare   func(*world) *v1alpha1.GatewayPlan // what the cache has
		want      string
	}{
		{"it has not seen our create", "", func(w *world) *v1alpha1.GatewayPlan {
			w.sync(v1alpha1.ApplyApprove, waiting)
			return nil
		}, "Approved=False/ApprovalRequired Applied=False/Waiting +1 ~1 -1"},
		{"it has not seen an approval", "", func(w *world) *v1alpha1.GatewayPlan {
			w.sync(v1alpha1.ApplyApprove, held(t, v1alpha1.ApplyAuto))
			old := w.plan()
			w.approve(Hash(waiting))
			return old
		}, "Approved=True/Approved Applied=False/Waiting +1 ~1 -1"},
		{"it has not seen a delete", "", func(w *world) *v1alpha1.GatewayPlan {
			w.sync(v1alpha1.ApplyApprove, held(t, v1alpha1.ApplyAuto))
			old := w.plan()
			if err := w.resource.Delete(t.Context(), types.NamespacedName{Namespace: "apps", Name: "edge"}, old.UID); err != nil {
				t.Fatal(err)
			}
			return old
		}, "Approved=False/ApprovalRequired Applied=False/Waiting +1 ~1 -1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			cached := c.prepare(w)
			w.sync(v1alpha1.ApplyApprove, waiting, func(p *Pass) { p.Existing = cached })
			w.expect("in the end", c.want)
		})
	}
}

// TestErrors name the Gateway and the way out, and an object that never keeps still
// is given up on.
func TestErrors(t *testing.T) {
	group := schema.GroupResource{Group: "gatehouse.dev", Resource: "gatewayplans"}
	terminating := apierrors.NewForbidden(group, "edge", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	cases := []struct {
		name, want string
		fault      func(fakeapi.Call) error
	}{
		{"the namespace goes", "set apply: Auto", func(fakeapi.Call) error { return terminating }},
		{"no right", "Gateway apps/edge", func(fakeapi.Call) error { return apierrors.NewForbidden(group, "edge", errors.New("rbac")) }},
		{"always a conflict", "read it again", func(c fakeapi.Call) error {
			if c.Method == http.MethodPut {
				return apierrors.NewConflict(group, "edge", errors.New("modified"))
			}
			return nil
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.server.Fault(c.fault)
			err := w.plans.Sync(t.Context(), Pass{Object: w.gateway, Mode: v1alpha1.ApplyApprove, Held: held(t, v1alpha1.ApplyApprove)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
	none := &Plans{resource: func() (kube.Resource, bool) { return kube.Resource{}, false }, now: time.Now}
	g := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "edge"}}
	if err := none.Sync(t.Context(), Pass{Object: g, Mode: v1alpha1.ApplyAuto, Held: held(t, v1alpha1.ApplyAuto)}); err == nil {
		t.Error("without the CRD nobody can approve, and nobody says so")
	}
	if err := none.Sync(t.Context(), Pass{Object: g}); err != nil {
		t.Errorf("without the CRD and with nothing to approve: %v", err)
	}
}
