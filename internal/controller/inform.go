package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/approval"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// inform tells people of what changed in a pass. Services of the cluster's own
// service controller hear it from that.
func (c *Controller) inform(g reconcile.Gateway, obj metav1.Object, planned, done reconcile.Pass, p *passed) {
	about, doing := c.reference(g.Key, obj), events.Applying
	if svc, is := obj.(*corev1.Service); is && c.managed(svc) {
		if p.blocked != "" {
			c.events.Tell(about, events.DeletionBlocked, p.blocked)
		}
		return
	}
	c.informMember(g, obj, p.patches)
	if g.Result.Deleting {
		doing = events.Deleting
	}
	for _, err := range p.errs {
		c.events.Failed(about, doing, err)
	}
	switch {
	case g.Paused:
		c.events.Tell(about, events.PausedByUser, "nothing is changed and nothing is deleted while the annotation "+reconcile.PausedAnnotation+" is there")
	case p.blocked != "":
		c.events.Tell(about, events.DeletionBlocked, p.blocked)
	default:
		c.told(about, g, planned, done, p.shown)
	}
}

// foretell tells, before it is done, that a Service's load balancer is changed.
func (c *Controller) foretell(g reconcile.Gateway, obj metav1.Object, planned reconcile.Pass) {
	svc, is := obj.(*corev1.Service)
	switch {
	case !is || c.managed(svc) || planned.Empty():
	case g.Result.Deleting:
		c.events.Tell(c.reference(g.Key, obj), events.DeletingLoadBalancer, "Deleting load balancer")
	case !flows(planned):
		c.events.Tell(c.reference(g.Key, obj), events.EnsuringLoadBalancer, "Ensuring load balancer")
	}
}

// told tells what was done, and what waits for a person.
func (c *Controller) told(about *corev1.ObjectReference, g reconcile.Gateway, planned, done reconcile.Pass, shown *v1alpha1.GatewayPlan) {
	drift, waits, reported := tally(planned)
	if waits > 0 {
		if stale(shown, planned) {
			c.events.Tell(about, events.PlanStale, "the plan that waited in GatewayPlan "+v1alpha1.PlanName(g.Key.Kind, g.Key.Name)+" no longer fits; another one takes its place")
		}
		c.events.Tell(about, events.PlanReady, count(waits, "change waits", "changes wait")+" for approval: "+c.wayOut(g.Key))
	}
	if reported > 0 {
		c.events.Tell(about, events.DriftDetected, count(reported, "resource was", "resources were")+" changed by others in the cloud; parameters say drift: Report, so nothing is set right")
	}
	made := changes(done)
	switch {
	case made == 0 || !done.Settled() || g.Result.Deleting:
	case g.Key.Kind == translate.KindService && flows(planned):
		c.events.Tell(about, events.UpdatedLoadBalancer, "Updated load balancer with new targets")
	case g.Key.Kind == translate.KindService:
		c.events.Tell(about, events.EnsuredLoadBalancer, "Ensured load balancer")
	case drift > 0:
		c.events.Tell(about, events.DriftCorrected, count(drift, "change that others made is", "changes that others made are")+" undone")
	default:
		c.events.Tell(about, events.Applied, count(made, "change is made", "changes are made"))
	}
	if g.Key.Kind == translate.KindService && untargeted(g.Served) {
		c.events.Tell(about, events.UnavailableLoadBalancer, "There is nothing that the load balancer could send to")
	}
}

// tally counts what of a plan others caused, what waits for approval, and what is
// only reported.
func tally(planned reconcile.Pass) (drift, waits, reported int) {
	for _, group := range planned.Groups {
		for _, s := range group.Plan.Steps {
			if s.Cause == lbmodel.Drift {
				drift++
			}
		}
		for _, w := range group.Plan.Later {
			if w.Reason == lbmodel.WaitApproval {
				waits++
			}
		}
		for _, w := range group.Plan.Held.Later {
			if w.Reason == lbmodel.WaitReported {
				reported++
			}
		}
	}
	return drift, waits, reported
}

// stale says whether the plan that people see is another one than what waits now.
func stale(shown *v1alpha1.GatewayPlan, planned reconcile.Pass) bool {
	if shown == nil || shown.Status.Plan == nil {
		return false
	}
	return slices.ContainsFunc(planned.Groups, func(g reconcile.Group) bool { return approval.Hash(g.Plan.Held) != shown.Status.Plan.Hash })
}

// flows says whether a plan only changes where traffic goes to.
func flows(planned reconcile.Pass) bool {
	return !slices.ContainsFunc(planned.Plan().Steps, func(s lbmodel.Step) bool { return !s.Flows() })
}

// untargeted says whether no pool of a gateway has an endpoint.
func untargeted(g lbmodel.Gateway) bool {
	return !slices.ContainsFunc(g.Pools, func(p lbmodel.Pool) bool { return len(p.Endpoints) > 0 })
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// changes are how many steps a pass has done.
func changes(done reconcile.Pass) (n int) {
	for _, group := range done.Groups {
		for _, s := range group.Plan.Steps {
			if slices.Contains(group.Outcome.Done, s.ID) {
				n++
			}
		}
	}
	return n
}

// farewell tells what becomes of a deleted object's resources. Where a service
// controller says that the load balancer is deleted, it does not know that it stays.
func (c *Controller) farewell(g reconcile.Gateway, obj metav1.Object) {
	stays := g.Result.Parameters.Deletion == v1alpha1.DeletionRetain
	svc, is := obj.(*corev1.Service)
	managed := is && c.managed(svc)
	if managed && !stays {
		return
	}
	about, reason, message := c.reference(g.Key, obj), events.Deleted, "its cloud resources are gone"
	if g.Key.Kind == translate.KindService {
		reason, message = events.DeletedLoadBalancer, "Deleted load balancer"
	}
	if stays {
		message = "its cloud resources stay: " + c.rulesOf(g, obj) + " say deletion: Retain"
	}
	c.events.Tell(about, reason, message)
	if !managed { // else the object may stay, and be found like this again
		c.events.Forget(about)
	}
}

func (c *Controller) reference(key translate.Key, obj metav1.Object) *corev1.ObjectReference {
	r, _ := c.clients.Resource(key.Kind)
	return &corev1.ObjectReference{
		Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: obj.GetUID(),
		APIVersion: r.GroupVersionKind().GroupVersion().String(), ResourceVersion: obj.GetResourceVersion(),
	}
}
