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

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/lbmodel"
)

// Plans keeps the GatewayPlans. It is safe for use by several goroutines, one at a
// time for one object.
type Plans struct {
	resource func() (kube.Resource, bool)
	now      func() time.Time
}

// New makes a Plans over the clients of one cluster.
func New(clients *kube.Clients) *Plans {
	return &Plans{resource: func() (kube.Resource, bool) { return clients.Resource(kube.KindPlan) }, now: time.Now}
}

// Pass is what a pass has come to for one Gateway or Service.
type Pass struct {
	Object metav1.Object // a *gwv1.Gateway or a *corev1.Service
	// Existing is the object's plan as a cache has it, or nil. It is not changed.
	Existing *v1alpha1.GatewayPlan
	Mode     v1alpha1.ApplyMode
	// Held is what policies kept back (providers.Plan.Held); what waits for other
	// reasons than approval may be in it.
	Held lbmodel.Plan
	// Running is the approved plan that is carried out (Memory.Running), or nil.
	Running *v1alpha1.ApprovedPlan
	// Applying is set between planning and applying: a plan that was approved and is
	// shown is said to run. Of any other plan nothing is said then.
	Applying bool
	// Err is why what was let through is not done (lbmodel.Outcome.Err); nil when it
	// is, or when nothing was.
	Err error
}

// conflicts is how often a status is written anew over somebody else's write.
const conflicts = 5

// errAgain says that the object is not what was thought.
var errAgain = errors.New("read it again")

// Sync makes the object's plan show what waits for approval: it creates the plan
// when something does, writes its status when that differs, and deletes the plan
// where nothing needs it any more. One that is as it should be costs no call.
// [ErrNameTaken] says that a Service's cannot be shown.
func (p *Plans) Sync(ctx context.Context, pass Pass) error {
	waiting := waitingFor(pass.Mode, pass.Held)
	nothing := len(waiting.Steps) == 0 && (pass.Existing == nil || taken(pass.Object, pass.Existing))
	if nothing || pass.Applying && !pass.begins(waiting) {
		return nil
	}
	resource, served := p.resource()
	if !served {
		return fmt.Errorf("GatewayPlan of %s: the cluster does not serve gatewayplans.gatehouse.dev, so nobody can approve: install its CustomResourceDefinition%s",
			titleOf(pass.Object), autoToo(pass.Mode))
	}
	w := writer{resource: resource, pass: pass, waiting: waiting, now: metav1.NewTime(p.now()).Rfc3339Copy()}
	if err := w.bring(ctx); err != nil {
		return fmt.Errorf("GatewayPlan of %s: %w", titleOf(pass.Object), err)
	}
	return nil
}

// autoToo is the other way out, where there is one.
func autoToo(mode v1alpha1.ApplyMode) string {
	if mode == v1alpha1.ApplyApprove || mode == v1alpha1.ApplyPlanOnly {
		return ", or set apply: Auto in the parameters"
	}
	return ""
}

// Remove deletes an object's plan, as a cache has it, when the object is not ours to
// run any more. What is somebody else's stays.
func (p *Plans) Remove(ctx context.Context, obj metav1.Object, plan *v1alpha1.GatewayPlan) error {
	resource, served := p.resource()
	if !served || plan == nil || plan.DeletionTimestamp != nil || !mine(obj, plan) {
		return nil
	}
	if err := resource.Delete(ctx, NameOf(obj), plan.UID); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("GatewayPlan of %s: %w", titleOf(obj), err)
	}
	return nil
}

// begins says whether something that was approved starts to run which the plan does
// not tell of: it was only shown, or it keeps another one.
func (p Pass) begins(waiting lbmodel.Plan) bool {
	if p.Existing == nil || len(waiting.Steps) > 0 || !mine(p.Object, p.Existing) {
		return false
	}
	shown := p.Existing.Status.Plan
	return shown != nil && shown.Hash == p.Existing.Spec.Approve ||
		p.Running != nil && !equality.Semantic.DeepEqual(p.Running, p.Existing.Status.Running)
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
	obj, err := w.resource.Get(ctx, NameOf(w.pass.Object))
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
	case taken(w.pass.Object, plan):
		return w.refuse(plan)
	case !mine(w.pass.Object, plan):
		if err := w.resource.Delete(ctx, NameOf(w.pass.Object), plan.UID); err != nil && !apierrors.IsNotFound(err) {
			return again(err)
		}
		return w.write(ctx, nil)
	case w.over():
		err := w.resource.Delete(ctx, NameOf(w.pass.Object), plan.UID)
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

// refuse leaves a plan of somebody else alone.
func (w writer) refuse(plan *v1alpha1.GatewayPlan) error {
	if len(w.waiting.Steps) == 0 {
		return nil
	}
	return lbmodel.Errorf(lbmodel.CodeConflict, "", lbmodel.ID{}, "%w: it is that of Gateway %s/%s; rename one of the two", ErrNameTaken, plan.Namespace, plan.Name)
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

// create makes the plan. It goes with its object, and does not hold that up.
func (w writer) create(ctx context.Context) (*v1alpha1.GatewayPlan, error) {
	name := NameOf(w.pass.Object)
	obj, err := w.resource.Create(ctx, &v1alpha1.GatewayPlan{ObjectMeta: metav1.ObjectMeta{
		Namespace: name.Namespace, Name: name.Name, OwnerReferences: []metav1.OwnerReference{ownerOf(w.pass.Object)},
	}})
	switch {
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return nil, fmt.Errorf("its namespace is being deleted, so nobody can approve there; set apply: Auto in the parameters: %w", err)
	case err != nil:
		return nil, err
	}
	return obj.(*v1alpha1.GatewayPlan), nil
}
