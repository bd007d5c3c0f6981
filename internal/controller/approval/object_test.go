package approval

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

func quiz() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "quiz", UID: "s1"}}
}

// named is the plan by a name, or nil.
func (w *world) named(name string) *v1alpha1.GatewayPlan {
	w.t.Helper()
	obj, err := w.resource.Get(w.t.Context(), types.NamespacedName{Namespace: "apps", Name: name})
	if err != nil {
		return nil
	}
	return obj.(*v1alpha1.GatewayPlan)
}

// of runs Sync for an object under Approve, with the plan as it is.
func (w *world) of(obj metav1.Object, held lbmodel.Plan) error {
	return w.plans.Sync(w.t.Context(), Pass{Object: obj, Existing: w.named(NameOf(obj).Name), Mode: v1alpha1.ApplyApprove, Held: held})
}

// TestServiceAndGatewayOfOneName have a plan each, and an approval of one is none of
// the other.
func TestServiceAndGatewayOfOneName(t *testing.T) {
	w := newWorld(t)
	svc := quiz()
	svc.Name = w.gateway.Name
	waiting := held(t, v1alpha1.ApplyApprove)
	for _, obj := range []metav1.Object{w.gateway, svc} {
		if err := w.of(obj, waiting); err != nil {
			t.Fatal(err)
		}
	}
	plan := w.named("edge.service")
	if plan == nil {
		t.Fatal("the Service has no plan")
	}
	if owner := metav1.GetControllerOf(plan); owner == nil || owner.Kind != "Service" || owner.APIVersion != "v1" || owner.UID != "s1" || *owner.BlockOwnerDeletion {
		t.Errorf("its owner is %+v", owner)
	}
	if says(plan) != says(w.plan()) || !strings.Contains(plan.Status.Conditions[0].Message, "gatehouse approve service/apps/edge") {
		t.Errorf("it says %s: %s", says(plan), plan.Status.Conditions[0].Message)
	}
	w.approve(Hash(waiting))
	if got := Of(svc, w.plan()); got.Hash != "" {
		t.Errorf("the Gateway's approval counts for the Service: %v", got)
	}
}

// TestGatewayCalledAsAServicesPlan: the Gateway has the name, whoever comes first,
// and the Service says what to do.
func TestGatewayCalledAsAServicesPlan(t *testing.T) {
	waiting := held(t, v1alpha1.ApplyApprove)
	for name, early := range map[string]metav1.Object{"the Gateway is first": nil, "the Service is first": quiz()} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.gateway.Name = "quiz.service"
			if early != nil {
				if err := w.of(early, waiting); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.of(w.gateway, waiting); err != nil {
				t.Fatal(err)
			}
			if err := w.of(quiz(), waiting); !errors.Is(err, ErrNameTaken) || lbmodel.CodeOf(err) != lbmodel.CodeConflict || !strings.Contains(err.Error(), "Gateway apps/quiz.service; rename") {
				t.Errorf("the Service says %v", err)
			}
			if err := w.of(quiz(), lbmodel.Plan{}); err != nil {
				t.Errorf("with nothing to approve the Service says %v", err)
			}
			plan := w.named("quiz.service")
			if !metav1.IsControlledBy(plan, w.gateway) {
				t.Errorf("the plan is not the Gateway's: %v", plan.OwnerReferences)
			}
			if got := WayOut(quiz(), plan); !strings.Contains(got, "rename one of the two") {
				t.Errorf("the way out is %q", got)
			}
		})
	}
}

// TestWayOut: why: it is copied into a shell as it stands.
func TestWayOut(t *testing.T) {
	gateway := func(namespace string) metav1.Object {
		return &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edge"}}
	}
	cases := []struct {
		name string
		obj  metav1.Object
		want string
	}{
		{"a Gateway", gateway("apps"), "read GatewayPlan edge, and approve it with: gatehouse approve apps/edge"},
		{"a namespace called as a kind", gateway("service"), "read GatewayPlan edge, and approve it with: gatehouse approve gateway/service/edge"},
		{"a Service", quiz(), "read GatewayPlan quiz.service, and approve it with: gatehouse approve service/apps/quiz"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := WayOut(c.obj, nil); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestRemove: what is not this very object's stays.
func TestRemove(t *testing.T) {
	w := newWorld(t)
	if err := w.of(quiz(), held(t, v1alpha1.ApplyApprove)); err != nil {
		t.Fatal(err)
	}
	other := quiz()
	other.UID = "s2"
	for _, obj := range []metav1.Object{other, quiz()} {
		if w.named("quiz.service") == nil {
			t.Fatal("somebody else's plan was removed")
		}
		if err := w.plans.Remove(t.Context(), obj, w.named("quiz.service")); err != nil {
			t.Fatal(err)
		}
	}
	if w.named("quiz.service") != nil {
		t.Error("the plan is still there")
	}
}

// TestRunningIsKept from before the first step until after the last, also of a plan
// that was approved long ago and is not shown.
func TestRunningIsKept(t *testing.T) {
	w := newWorld(t)
	waiting := held(t, v1alpha1.ApplyApprove)
	w.sync(v1alpha1.ApplyApprove, waiting)
	w.approve(Hash(waiting))
	running := &v1alpha1.ApprovedPlan{Hash: Hash(waiting), Total: 1, Steps: []string{strings.Repeat("a", 64)}}
	begin := func(p *Pass) { p.Applying, p.Running = true, running }
	for _, when := range []string{"the plan is shown", "it is not, and drifted back"} {
		if n := w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, begin); n != 1 {
			t.Errorf("%s: %d writes before the first step, want 1", when, n)
		}
		if got := Of(w.gateway, w.plan()); got.Running == nil || got.Running.Steps[0] != running.Steps[0] || got.Hash != running.Hash {
			t.Errorf("%s: a new process would read %+v", when, got)
		}
		if n := w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, begin, func(p *Pass) { p.Existing = w.plan() }); n != 0 {
			t.Errorf("%s: %d writes of what is kept already", when, n)
		}
		w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, func(p *Pass) { p.Running, p.Err = running, errors.New("half way") })
		w.expect("half way", "Approved=True/Approved Applied=False/Failed")
		if w.plan().Status.Running == nil {
			t.Errorf("%s: half way nothing is kept", when)
		}
		w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{})
		w.expect("done", "Approved=True/Approved Applied=True/Applied")
		if got := w.plan().Status.Running; got != nil {
			t.Errorf("%s: done, and %+v is kept", when, got)
		}
	}
	big := &v1alpha1.ApprovedPlan{Hash: Hash(waiting), Total: keptSteps + 1}
	w.sync(v1alpha1.ApplyApprove, lbmodel.Plan{}, func(p *Pass) { p.Applying, p.Running = true, big })
	if got := w.plan().Status.Conditions[0].Message; !strings.Contains(got, "has 1025 steps, and no more than 1024 are kept") {
		t.Errorf("a plan that is too large to keep says %q", got)
	}
	w.sync(v1alpha1.ApplyApprove, held(t, v1alpha1.ApplyAuto), func(p *Pass) { p.Running = big })
	w.expect("after a restart", "Approved=False/PlanChanged Applied=False/Waiting +0 ~0 -1")
	if got := w.plan().Status.Conditions[0].Message; !strings.Contains(got, "asks again") {
		t.Errorf("after a restart it says %q", got)
	}
}
