package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/approval"
	"gatehouse.dev/internal/controller/audit"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/controller/infrastructure"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// reconcileAt asks for a look at the cloud and a pass, whenever its value changes.
const reconcileAt = "gatehouse.dev/reconcile-at"

// workOn is what a worker does with an item.
func (c *Controller) workOn(ctx context.Context, it item) {
	if ctx.Err() != nil {
		return
	}
	began := time.Now()
	var p passed
	switch {
	case it == houseItem:
		p.errs = append(p.errs, c.keepHouse(ctx))
	case it == meshItem:
		p.errs = append(p.errs, c.keepMeshes(ctx))
	case it.Provider != "":
		p = c.depart(ctx, it)
	default:
		p = c.pass(ctx, it.Key)
	}
	if ctx.Err() != nil {
		return // whoever goes on, in this process or another, begins anew
	}
	p.errs = slices.DeleteFunc(p.errs, func(err error) bool { return err == nil })
	c.config.Metrics.Pass(it.Kind, time.Since(began), codeOf(errors.Join(p.errs...)))
	c.again(it, p)
	c.waiters.tell(it, p)
	c.gates.tell()
}

// again decides when an item is worked on next.
func (c *Controller) again(it item, p passed) {
	if len(p.errs) == 0 {
		c.work.succeeded(it)
	} else if delay := delayOf(p.errs, c.work.failed(it, codeOf(errors.Join(p.errs...)))); delay > 0 {
		c.work.AddAfter(it, delay)
	}
	now := time.Now()
	for _, w := range p.waits {
		if w.Until.After(now) {
			c.work.AddAfter(it, w.Until.Sub(now))
		}
	}
	for _, err := range p.errs {
		if lbmodel.CodeOf(err) != lbmodel.CodePending {
			c.config.Log.Warn("not everything is done", "item", it.String(), "code", codeOf(err).String(), "err", err)
		}
	}
}

// passed is what came of working on an item.
type passed struct {
	obj     any // that it was about
	errs    []error
	waits   []lbmodel.Wait
	patches []translate.Patch
	shown   *v1alpha1.GatewayPlan // the plan that people saw before
	wayOut  string                // how people approve what waits
	skip    string                // why nothing may be planned for it
	blocked string                // what keeps a person from being rid of it, and what can be done
	over    bool                  // what was to go is gone, or meant to stay
}

// fail takes note of an error. That nothing new can be made in a namespace that is
// going is none: its objects go by themselves.
func (p *passed) fail(err error) bool {
	if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		p.errs = append(p.errs, err)
	}
	return err != nil
}

// pass works on one Gateway or Service.
func (c *Controller) pass(ctx context.Context, key translate.Key) passed {
	p := passed{obj: c.loop.Index().Object(key)} // before what it comes to: its version then tells that it is old
	g, ours := c.loop.Gateway(key)
	obj := metaOf(p.obj)
	switch {
	case !ours || obj == nil:
		c.abandon(ctx, key, &p)
		return p
	case g.Planned() && !c.hold(ctx, g, obj, &p):
		return p
	}
	p.fail(c.join(ctx, g))
	end := c.meanwhile(ctx, key, slowPass)
	defer end()
	planned, err := c.loop.PlanOnly(ctx, []translate.Key{key}, nil, append(c.policies(g, obj), c.dialled(g)...)...)
	if p.fail(err) {
		end()
		c.unseen(ctx, g, obj, err, &p)
		return p
	}
	p.shown, p.wayOut = c.plan(g.Key), c.wayOut(g.Key)
	p.fail(c.show(ctx, g, planned, reconcile.Pass{}))
	c.foretell(g, obj, planned)
	done := c.apply(ctx, g, planned)
	end()
	p.take(done)
	c.unwanted(g, done)
	if complete(done) {
		c.memory.Done(obj.GetUID())
	}
	p.fail(c.show(ctx, g, planned, done))
	c.joined(g, planned, done)
	p.patches = c.loop.StatusesOf([]translate.Key{key}, planned, done, time.Now())
	if ctx.Err() != nil {
		return p // somebody else may be leading by now
	}
	if !g.Result.Deleting || len(p.errs) > 0 || g.Paused || g.Result.Parameters.Deletion == v1alpha1.DeletionProtect {
		p.fail(c.write(ctx, p.patches, c.written))
	}
	p.skip, p.blocked = g.Result.Skip, c.blocked(g, obj)
	c.inform(g, obj, planned, done, &p)
	if g.Result.Deleting {
		c.finish(ctx, g, obj, done, &p)
	} else if g.Planned() {
		p.fail(c.represent(ctx, g, p.obj))
	}
	return p
}

// written says whether a patch is a pass's to write: classes are the house's, and
// the status of a Service without a class is its manager's, who asks us for it.
func (c *Controller) written(p translate.Patch) bool {
	if p.Key.Kind == translate.KindService {
		svc, ok := c.loop.Index().Object(p.Key).(*corev1.Service)
		return ok && !c.managed(svc)
	}
	return p.Key.Kind != translate.KindGatewayClass
}

// managed says whether the service controller of the cluster's manager keeps a
// Service, with a finalizer of its own.
func (c *Controller) managed(svc *corev1.Service) bool { return c.loop.Index().Kept(svc) }

// hold makes sure that an object stays until what is made for it is gone again, and
// that the record knows what of it outlives the object. It says whether there is
// anything to go on with.
func (c *Controller) hold(ctx context.Context, g reconcile.Gateway, obj metav1.Object, p *passed) bool {
	c.look(g, obj)
	keep := keep{Owner: g.Result.Gateway.Owner, Provider: g.Result.Provider, Deletion: g.Result.Gateway.Deletion}
	if (keep.stays() || !g.Result.Deleting) && p.fail(c.retained.note(ctx, keep)) {
		return false
	}
	switch svc, is := obj.(*corev1.Service); {
	case is && c.managed(svc):
		return true
	case g.Result.Deleting:
		return slices.Contains(obj.GetFinalizers(), translate.Finalizer)
	}
	bound, err := c.bind(ctx, g.Key.Kind, obj)
	return !p.fail(err) && bound
}

// look makes the next plan look at the cloud when somebody asks for that.
func (c *Controller) look(g reconcile.Gateway, obj metav1.Object) {
	asked := obj.GetAnnotations()[reconcileAt]
	c.mu.Lock()
	before, known := c.asked[g.Key]
	c.asked[g.Key] = asked
	c.mu.Unlock()
	if known && before != asked {
		c.accounts[g.Result.Provider].Invalidate(g.Result.Gateway.Owner)
	}
}

// policies are what of a plan may run: what needs a person's word is kept back
// until it is given. Removing the object of a gateway that is run by itself is that
// word.
func (c *Controller) policies(g reconcile.Gateway, obj metav1.Object) []lbmodel.Policy {
	mode := g.Result.Parameters.Apply
	if mode == v1alpha1.ApplyAuto && g.Result.Deleting {
		return nil
	}
	return []lbmodel.Policy{c.memory.Policy(obj.GetUID(), mode, approval.Of(obj, c.plan(g.Key)))}
}

func (c *Controller) plan(key translate.Key) *v1alpha1.GatewayPlan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.approved[types.NamespacedName{Namespace: key.Namespace, Name: v1alpha1.PlanName(key.Kind, key.Name)}]
}

// wayOut is how people let go on what of a Gateway or Service waits for them.
func (c *Controller) wayOut(key translate.Key) string {
	obj := metaOf(c.loop.Index().Object(key))
	if obj == nil {
		return ""
	}
	return approval.WayOut(obj, c.plan(key))
}

// show makes the plan object of a Gateway or Service show what waits. done is empty
// before anything was applied.
func (c *Controller) show(ctx context.Context, g reconcile.Gateway, planned, done reconcile.Pass) error {
	obj := metaOf(c.loop.Index().Object(g.Key))
	if obj == nil || !g.Planned() || g.Result.Deleting && g.Result.Parameters.Apply == v1alpha1.ApplyAuto {
		return nil
	}
	show := approval.Pass{
		Object: obj, Existing: c.plan(g.Key), Mode: g.Result.Parameters.Apply,
		Running: c.memory.Running(obj.GetUID()), Applying: len(done.Groups) == 0,
	}
	for _, group := range planned.Groups {
		show.Held = group.Plan.Held
	}
	for _, group := range done.Groups {
		show.Err = group.Outcome.Err()
	}
	return c.plans.Sync(ctx, show)
}

// represent keeps the Service that stands for a Gateway in its cluster.
func (c *Controller) represent(ctx context.Context, g reconcile.Gateway, obj any) error {
	gateway, is := obj.(*gwv1.Gateway)
	if !is {
		return nil
	}
	err := c.services.Sync(ctx, gateway, g.Served, c.loop.Addresses(g))
	if errors.Is(err, infrastructure.ErrNameTaken) {
		c.events.Tell(c.reference(g.Key, gateway), events.NameTaken, err.Error())
		return lbmodel.Errorf(lbmodel.CodeConflict, "represent", lbmodel.ID{}, "the Service of %s: %w", g.Key, err)
	}
	if err != nil {
		return fmt.Errorf("the Service of %s: %w", g.Key, err)
	}
	return nil
}

// apply runs a pass, with every call on the record.
func (c *Controller) apply(ctx context.Context, g reconcile.Gateway, planned reconcile.Pass) reconcile.Pass {
	why := audit.Reason{Provider: g.Result.Provider, For: c.auditObject(g.Key)}
	if len(planned.Groups) > 0 {
		why.Plan = approval.Hash(planned.Groups[0].Plan.Plan)
	}
	return c.loop.Apply(c.config.Audit.Watch(ctx, why), planned, nil)
}

// take notes what failed, and when to look again.
func (p *passed) take(done reconcile.Pass) {
	for _, group := range done.Groups {
		for _, err := range group.Outcome.Failed {
			p.errs = append(p.errs, err)
		}
		p.waits = append(p.waits, group.Outcome.Held.Later...)
	}
}

// complete says whether every step of a pass was done.
func complete(done reconcile.Pass) bool {
	steps := 0
	for _, group := range done.Groups {
		steps += len(group.Plan.Steps)
	}
	return done.Settled() && changes(done) == steps
}

func metaOf(obj any) metav1.Object {
	meta, _ := obj.(metav1.Object)
	return meta
}
