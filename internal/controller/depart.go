package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// conclude lets a deleted object go, when nothing is left of it or what is left is
// meant to stay.
func (c *Controller) conclude(ctx context.Context, g reconcile.Gateway, obj metav1.Object, done reconcile.Pass) error {
	switch {
	case !g.Planned(), g.Paused, g.Result.Parameters.Deletion == v1alpha1.DeletionProtect:
		return nil
	case g.Result.Parameters.Deletion == v1alpha1.DeletionRetain:
		c.farewell(g, obj)
		return c.unbind(ctx, g.Key.Kind, obj)
	case !done.Settled():
		return nil // the errors and waits of the pass say when it goes on
	}
	if err := c.absent(ctx, g.Result.Gateway.Owner); err != nil {
		return err
	}
	if err := c.retained.note(ctx, keep{Owner: g.Result.Gateway.Owner}); err != nil {
		return err
	}
	c.memory.Forget(obj.GetUID())
	c.farewell(g, obj)
	return c.unbind(ctx, g.Key.Kind, obj)
}

// absent verifies, with every provider, that an owner owns nothing; the error says
// that it does, or that nobody can tell.
func (c *Controller) absent(ctx context.Context, owner lbmodel.Owner) error {
	var errs []error
	for name, account := range c.accounts {
		gone, err := account.Gone(ctx, owner)
		if err == nil && !gone {
			err = errors.Join(c.loop.Drop(name, owner), lbmodel.Errorf(lbmodel.CodePending, "delete", lbmodel.ID{}, "%s still has resources with provider %s", owner, name))
			c.work.Add(itemOf(reconcile.Leaver{Provider: name, Owner: owner}))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// depart removes what an owner has whose object is gone, or not ours any more.
func (c *Controller) depart(ctx context.Context, it item) (p passed) {
	who := reconcile.Leaver{Provider: it.Provider, Owner: c.owner(it)}
	if !slices.Contains(c.loop.Leaving(), who) {
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
	gateway, is := p.obj.(*gwv1.Gateway)
	if !is || !c.lost(key) || !slices.Contains(gateway.Finalizers, translate.Finalizer) {
		return
	}
	owner := lbmodel.Owner{Cluster: c.config.Cluster, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: string(gateway.UID)}
	if !c.retained.has(owner) && p.fail(c.absent(ctx, owner)) {
		return
	}
	p.fail(c.services.Remove(ctx, gateway))
	p.fail(c.unbind(ctx, key.Kind, gateway))
}

// lost says whether a Gateway is now another implementation's, so that our finalizer
// means nothing there. With a class of another manager of ours it is that one's.
func (c *Controller) lost(key translate.Key) bool {
	b := c.loop.Index().Belonging(key)
	return b.ClassExists && !b.Ours && !strings.HasPrefix(b.Controller, controllerPrefix)
}

// forget drops what is remembered of a Gateway or Service.
func (c *Controller) forget(key translate.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, key)
}
