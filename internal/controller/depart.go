package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// finish ends a pass over a deleted object. What keeps it from going is told.
func (c *Controller) finish(ctx context.Context, g reconcile.Gateway, obj metav1.Object, done reconcile.Pass, p *passed) {
	over, err := c.conclude(ctx, g, obj, done)
	p.over = over
	if _, cloud := errors.AsType[*lbmodel.Error](err); p.fail(err) && cloud && lbmodel.CodeOf(err) != lbmodel.CodePending {
		c.unseen(ctx, g, obj, err, p)
	}
}

// unwanted is for a pass that ends for an owner that wants nothing any more: what it
// has made meanwhile is not left to the next look at the cloud.
func (c *Controller) unwanted(g reconcile.Gateway, done reconcile.Pass) {
	now, there := c.loop.Gateway(g.Key)
	same := there && now.Result.Provider == g.Result.Provider && now.Result.Gateway.Owner == g.Result.Gateway.Owner
	if same || g.Result.Deleting || changes(done) == 0 || g.Result.Parameters.Deletion != v1alpha1.DeletionDelete {
		return
	}
	if err := c.evict(g.Result.Provider, g.Result.Gateway.Owner); err != nil {
		c.config.Log.Warn("what a pass made is not wanted any more", "item", g.Key.String(), "err", err)
	}
}

// conclude lets a deleted object go, when nothing is left of it or what is left is
// meant to stay. It says whether that is so: another's finalizer may hold the object.
func (c *Controller) conclude(ctx context.Context, g reconcile.Gateway, obj metav1.Object, done reconcile.Pass) (over bool, err error) {
	switch {
	case c.blocked(g, obj) != "":
		return false, nil
	case g.Result.Parameters.Deletion == v1alpha1.DeletionRetain:
		c.farewell(g, obj)
		return true, c.unbind(ctx, g.Key.Kind, obj)
	case !done.Settled():
		return false, nil // the errors and waits of the pass say when it goes on
	}
	// What the record has of it was of other days, and would keep what is to go.
	if err := c.retained.note(ctx, keep{Owner: g.Result.Gateway.Owner}); err != nil {
		return false, err
	}
	if err := c.absent(ctx, g.Result.Gateway.Owner); err != nil {
		return false, err
	}
	c.memory.Forget(obj.GetUID())
	c.farewell(g, obj)
	return true, c.unbind(ctx, g.Key.Kind, obj)
}

// absent verifies, with every provider, that an owner owns nothing; the error says
// that it does, or that nobody can tell.
func (c *Controller) absent(ctx context.Context, owner lbmodel.Owner) error {
	var errs []error
	for name, account := range c.accounts {
		gone, err := account.Gone(ctx, owner)
		if err == nil && !gone {
			err = errors.Join(c.evict(name, owner), lbmodel.Errorf(lbmodel.CodePending, "delete", lbmodel.ID{}, "%s still has resources with provider %s", owner, name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// evict has removed what an owner has with a provider, unless it wants it again by now.
func (c *Controller) evict(provider string, owner lbmodel.Owner) error {
	g, there := c.loop.Gateway(keyOf(owner))
	if there && g.Result.Gateway.Owner == owner && g.Result.Provider == provider && !g.Result.Deleting {
		return nil
	}
	who := reconcile.Leaver{Provider: provider, Owner: owner}
	err := c.loop.Drop(provider, owner)
	c.work.hurry(itemOf(who))
	return err
}

// depart removes what an owner has whose object is gone, or not ours any more.
func (c *Controller) depart(ctx context.Context, it item) (p passed) {
	who := reconcile.Leaver{Provider: it.Provider, Owner: c.owner(it)}
	if !slices.Contains(c.loop.Leaving(), who) {
		return p
	}
	if c.retained.has(who.Owner) {
		c.loop.Stay(who) // its parameters said so when they could last be read
		return p
	}
	planned, err := c.loop.PlanOnly(ctx, nil, []reconcile.Leaver{who})
	if p.fail(err) {
		return p
	}
	done := c.apply(ctx, reconcile.Gateway{Key: it.Key, Result: translate.Result{Provider: it.Provider}}, planned)
	p.take(done)
	if !done.Settled() || ctx.Err() != nil {
		return p
	}
	gone, err := c.accounts[it.Provider].Gone(ctx, who.Owner)
	if err == nil && !gone {
		err = lbmodel.Errorf(lbmodel.CodePending, "delete", lbmodel.ID{}, "%s still has resources with provider %s", who.Owner, who.Provider)
	}
	if !p.fail(err) {
		c.work.hurry(item{Key: it.Key}) // its object may be waiting for this
	}
	return p
}

// abandon ends what a Gateway or Service that is not ours, or is not there, had to
// do with us: status entries of what was attached to it, and our finalizer.
func (c *Controller) abandon(ctx context.Context, key translate.Key, p *passed) {
	planned, err := c.loop.PlanOnly(ctx, []translate.Key{key}, nil)
	if p.fail(err) {
		return
	}
	patches := c.loop.StatusesOf([]translate.Key{key}, planned, reconcile.Pass{}, time.Now())
	p.fail(c.write(ctx, patches, c.written))
	c.forget(key)
	if p.fail(c.unplan(ctx, key, p.obj)) {
		return
	}
	c.release(ctx, key, p)
}

// release takes our finalizer from what is not ours, when nothing of it is in any of
// our clouds. A Service that asks for nobody, and has nobody's conditions, is one that
// left before its first status. Whoever of us held it under another provider finds
// what is left of it by looking, as for one that was removed by force.
func (c *Controller) release(ctx context.Context, key translate.Key, p *passed) {
	obj := metaOf(p.obj)
	if obj == nil || !slices.Contains(obj.GetFinalizers(), translate.Finalizer) {
		return
	}
	if !c.lost(key) && !c.loop.Index().Unclaimed(key) {
		c.stuck(key, obj)
		return
	}
	owner := lbmodel.Owner{Cluster: c.config.Cluster, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: string(obj.GetUID())}
	stays := c.retained.has(owner)
	if !stays && p.fail(c.absent(ctx, owner)) {
		return
	}
	if gateway, is := p.obj.(*gwv1.Gateway); is {
		p.fail(c.services.Remove(ctx, gateway))
	}
	if !p.fail(c.unbind(ctx, key.Kind, obj)) && stays {
		c.events.Tell(c.reference(key, obj), events.DeletionBlocked, fmt.Sprintf(
			"it is not ours any more, and what it has in the cloud stays, as its GatewayParameters said: to be rid of that, make it ours again, or remove it there, and %s from ConfigMap %s/%s", owner.UID, c.config.Namespace, retainedName))
	}
}

// stuck tells of a Gateway that was deleted and cannot go, since nobody knows whose
// it is.
func (c *Controller) stuck(key translate.Key, obj metav1.Object) {
	b := c.loop.Index().Belonging(key)
	if key.Kind != translate.KindGateway || obj.GetDeletionTimestamp() == nil || b.ClassExists {
		return
	}
	c.events.Tell(c.reference(key, obj), events.DeletionBlocked, fmt.Sprintf(
		"its GatewayClass %s is not there, so nobody can say who made what it has in the cloud: add the class, or correct spec.gatewayClassName", b.Class))
}

// strays are objects of a change that have our finalizer and are not ours: whoever
// changed while it was being set would keep it for ever.
func (c *Controller) strays(change translate.Change) (out []translate.Key) {
	for _, obj := range change.Put {
		meta, key := metaOf(obj), translate.Key{}
		switch obj.(type) {
		case *corev1.Service:
			key.Kind = translate.KindService
		case *gwv1.Gateway:
			key.Kind = translate.KindGateway
		default:
			continue
		}
		key.Namespace, key.Name = meta.GetNamespace(), meta.GetName()
		if !slices.Contains(meta.GetFinalizers(), translate.Finalizer) {
			continue
		}
		b := c.loop.Index().Belonging(key)
		if c.lost(key) || c.loop.Index().Unclaimed(key) || !b.ClassExists && meta.GetDeletionTimestamp() != nil {
			out = append(out, key)
		}
	}
	return out
}

// strayed has an object looked at that has our finalizer and is not ours. A Service of
// somebody's class may be one that another manager of this project has just begun with:
// that one has the time to write its first status, which says so.
func (c *Controller) strayed(key translate.Key) {
	if c.loop.Index().Unclaimed(key) {
		c.work.AddAfter(item{Key: key}, retellAfter)
		return
	}
	c.work.Add(item{Key: key})
}

// unplan removes the plan of what nobody of us runs any more: of a Gateway that is
// another implementation's, and of a Service that asks for no load balancer. What a
// plan shows would never be done, and never be taken back.
func (c *Controller) unplan(ctx context.Context, key translate.Key, obj any) error {
	svc, is := obj.(*corev1.Service)
	meta := metaOf(obj)
	if meta == nil || is && svc.Spec.Type == corev1.ServiceTypeLoadBalancer || !is && !c.lost(key) {
		return nil
	}
	c.memory.Forget(meta.GetUID())
	return c.plans.Remove(ctx, meta, c.plan(key))
}

// lost says whether our finalizer means nothing on an object any more: a Gateway is now
// another implementation's, and a Service asks for no load balancer and has nobody's
// conditions. With a class of another manager of ours it is that one's.
func (c *Controller) lost(key translate.Key) bool {
	b := c.loop.Index().Belonging(key)
	return b.ClassExists && !b.Ours && !strings.HasPrefix(b.Controller, controllerPrefix)
}

// forget drops what is remembered of a Gateway or Service.
func (c *Controller) forget(key translate.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, key)
	c.left(key)
}
