package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/lbmodel"
)

// Plans keeps the GatewayPlans. It is safe for use by several goroutines, one at a
// time for one Gateway.
type Plans struct {
	resource func() (kube.Resource, bool)
	now      func() time.Time
}

// New makes a Plans over the clients of one cluster.
func New(clients *kube.Clients) *Plans {
	return &Plans{resource: func() (kube.Resource, bool) { return clients.Resource(kube.KindPlan) }, now: time.Now}
}

// Pass is what a pass has come to for one gateway.
type Pass struct {
	Gateway *gwv1.Gateway
	// Existing is the Gateway's plan as a cache has it, or nil. It is not changed.
	Existing *v1alpha1.GatewayPlan
	Mode     v1alpha1.ApplyMode
	// Held is what policies kept back (providers.Plan.Held); what waits for other
	// reasons than approval may be in it.
	Held lbmodel.Plan
	// Applying is set between planning and applying: a plan that was approved and is
	// shown is said to run. Of any other plan nothing is said then.
	Applying bool
	// Err is why what was let through is not done (lbmodel.Outcome.Err); nil when it
	// is, or when nothing was.
	Err error
}

// Approved is the hash that counts for a gateway: that of a plan which is not this
// very Gateway's, but one's of the same name that is gone, is nobody's approval.
func Approved(gateway *gwv1.Gateway, plan *v1alpha1.GatewayPlan) string {
	if plan == nil || !mine(gateway, plan) {
		return ""
	}
	return plan.Spec.Approve
}

// mine says whether a plan is this very Gateway's. One that we did not make is
// replaced: only its creation may write what it hangs on, since the right to update
// it is the right to approve.
func mine(gateway *gwv1.Gateway, plan *v1alpha1.GatewayPlan) bool {
	return metav1.IsControlledBy(plan, gateway)
}

// conflicts is how often a status is written anew over somebody else's write.
const conflicts = 5

// errAgain says that the object is not what was thought.
var errAgain = errors.New("read it again")

// Sync makes the Gateway's plan show what waits for approval: it creates the object
// when something does, writes its status when that differs, and deletes the object
// where nothing needs it any more. An object that is as it should be costs no call.
func (p *Plans) Sync(ctx context.Context, pass Pass) error {
	waiting := waitingFor(pass.Mode, pass.Held)
	nothing := pass.Existing == nil && len(waiting.Steps) == 0
	if nothing || pass.Applying && !pass.begins(waiting) {
		return nil
	}
	resource, served := p.resource()
	if !served {
		return fmt.Errorf("GatewayPlan of Gateway %s/%s: the cluster does not serve gatewayplans.gatehouse.dev; install its CustomResourceDefinition, "+
			"or set apply: Auto in the Gateway's parameters", pass.Gateway.Namespace, pass.Gateway.Name)
	}
	w := writer{resource: resource, pass: pass, waiting: waiting, now: metav1.NewTime(p.now()).Rfc3339Copy()}
	if err := w.bring(ctx); err != nil {
		return fmt.Errorf("GatewayPlan of Gateway %s/%s: %w", pass.Gateway.Namespace, pass.Gateway.Name, err)
	}
	return nil
}

// begins says whether the plan that is shown was approved, and nothing waits any
// more.
func (p Pass) begins(waiting lbmodel.Plan) bool {
	if p.Existing == nil || len(waiting.Steps) > 0 {
		return false
	}
	shown := p.Existing.Status.Plan
	return shown != nil && shown.Hash == Approved(p.Gateway, p.Existing)
}

// waitingFor are the steps that wait for approval or, under PlanOnly, are only told.
func waitingFor(mode v1alpha1.ApplyMode, held lbmodel.Plan) lbmodel.Plan {
	reason := lbmodel.WaitApproval
	if mode == v1alpha1.ApplyPlanOnly {
		reason = lbmodel.WaitReported
	}
	waits := map[lbmodel.ID]bool{}
	for _, w := range held.Later {
		waits[w.ID] = waits[w.ID] || w.Reason == reason
	}
	return lbmodel.Plan{Steps: slices.DeleteFunc(slices.Clone(held.Steps), func(s lbmodel.Step) bool { return !waits[s.ID] })}
}

// writer brings one object up to date.
type writer struct {
	resource kube.Resource
	pass     Pass
	waiting  lbmodel.Plan
	now      metav1.Time
}

func (w writer) name() types.NamespacedName {
	return types.NamespacedName{Namespace: w.pass.Gateway.Namespace, Name: w.pass.Gateway.Name}
}

// bring writes until the object is what it was thought to be.
func (w writer) bring(ctx context.Context) error {
	plan := w.pass.Existing
	for try := 1; ; try++ {
		err := w.write(ctx, plan)
		if !errors.Is(err, errAgain) || try == conflicts {
			return err
		}
		if plan, err = w.read(ctx); err != nil {
			return err
		}
	}
}

func (w writer) read(ctx context.Context) (*v1alpha1.GatewayPlan, error) {
	obj, err := w.resource.Get(ctx, w.name())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return obj.(*v1alpha1.GatewayPlan), nil
}

// write does what is left to do to an object as it is thought to be.
func (w writer) write(ctx context.Context, plan *v1alpha1.GatewayPlan) error {
	switch {
	case plan == nil && len(w.waiting.Steps) == 0:
		return nil
	case plan == nil:
		created, err := w.create(ctx)
		if err != nil {
			return again(err)
		}
		plan = created
	case plan.DeletionTimestamp != nil:
		return nil // when it is gone the next pass makes it anew
	case !mine(w.pass.Gateway, plan):
		if err := w.resource.Delete(ctx, w.name(), plan.UID); err != nil && !apierrors.IsNotFound(err) {
			return again(err)
		}
		return w.write(ctx, nil)
	case w.over():
		err := w.resource.Delete(ctx, w.name(), plan.UID)
		return again(ignoreNotFound(err))
	}
	next := plan.DeepCopy()
	next.Status = w.status(plan)
	if equality.Semantic.DeepEqual(plan.Status, next.Status) {
		return nil
	}
	_, err := w.resource.Update(ctx, next, "status")
	return again(err)
}

// over says whether nobody needs the object any more.
func (w writer) over() bool {
	auto := w.pass.Mode != v1alpha1.ApplyApprove && w.pass.Mode != v1alpha1.ApplyPlanOnly
	return auto && len(w.waiting.Steps) == 0 && w.pass.Err == nil && !w.pass.Applying
}

// again turns the errors of an object that is not what was thought into errAgain.
func again(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// create makes the object. It goes with its Gateway, and does not hold that up.
func (w writer) create(ctx context.Context) (*v1alpha1.GatewayPlan, error) {
	g := w.pass.Gateway
	yes, no := true, false
	obj, err := w.resource.Create(ctx, &v1alpha1.GatewayPlan{ObjectMeta: metav1.ObjectMeta{
		Namespace: g.Namespace, Name: g.Name,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: gwv1.GroupVersion.String(), Kind: "Gateway", Name: g.Name, UID: g.UID, Controller: &yes, BlockOwnerDeletion: &no,
		}},
	}})
	switch {
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return nil, fmt.Errorf("its namespace is being deleted, so nobody can approve there; set apply: Auto in the Gateway's parameters: %w", err)
	case err != nil:
		return nil, err
	}
	return obj.(*v1alpha1.GatewayPlan), nil
}
