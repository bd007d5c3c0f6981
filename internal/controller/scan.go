package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// scanAgain is how long to wait after a scan that failed.
const scanAgain = 30 * time.Second

// scan looks for what changed in a provider's cloud, and for what nobody wants
// there, at the start and as often as the account says.
func (c *Controller) scan(ctx context.Context, provider string) {
	slow := ""
	for ctx.Err() == nil {
		found, err := c.accounts[provider].Drift(ctx)
		wait := time.Until(found.Next)
		if err == nil {
			err = c.collect(ctx)
		}
		if err != nil {
			c.config.Log.Warn("looking at the cloud failed", "provider", provider, "err", err)
			wait = max(wait, scanAgain)
		}
		if found.Slow != slow {
			slow = found.Slow
			c.config.Log.Info("looks at the cloud", "provider", provider, "slow", slow)
		}
		c.recheck(provider, found.Changed)
		select {
		case <-ctx.Done():
		case <-time.After(max(wait, time.Second)):
		}
	}
}

// recheck has every gateway of a provider looked at again, those first whose
// resources have changed: their statuses, too, may be others' work by now.
func (c *Controller) recheck(provider string, changed []lbmodel.Owner) {
	for _, owner := range changed {
		c.work.Add(item{Key: keyOf(owner)})
	}
	for _, g := range c.loop.Gateways() {
		if g.Result.Provider == provider {
			c.work.Add(item{Key: g.Key})
		}
	}
	c.work.Add(houseItem)
}

// collect removes what owners have whose objects are gone. It runs only when every
// object has been read and every gateway compiled; where Gateway API is not
// installed nobody can say which are gone. What the record retains stays.
func (c *Controller) collect(ctx context.Context) error {
	for _, kind := range []string{translate.KindGateway, translate.KindGatewayClass} {
		if _, served := c.clients.Resource(kind); !served {
			return nil
		}
	}
	strangers, err := c.loop.Strangers(ctx)
	if err != nil {
		return err
	}
	var errs []error
	live := map[lbmodel.Owner]bool{}
	for provider, owners := range strangers {
		for _, owner := range owners {
			live[owner] = true
			who := reconcile.Leaver{Provider: provider, Owner: owner}
			if there, err := c.exists(ctx, owner); err != nil || there || c.retained.has(owner) {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, c.loop.Drop(provider, owner))
			c.config.Log.Info("what is left of an object that is gone is removed", "owner", owner.String(), "uid", owner.UID)
			c.work.Add(itemOf(who))
		}
	}
	return errors.Join(append(errs, c.prune(ctx, live))...)
}

// exists asks the API server itself for an object that we have not seen: what we
// read may have been a moment old. One that was seen, and is not ours, stands for
// nothing.
func (c *Controller) exists(ctx context.Context, owner lbmodel.Owner) (bool, error) {
	if seen := metaOf(c.loop.Index().Object(keyOf(owner))); seen != nil && string(seen.GetUID()) == owner.UID {
		return false, nil
	}
	r, served := c.clients.Resource(owner.Kind)
	if !served {
		return false, nil
	}
	obj, err := r.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", owner, err)
	}
	return string(obj.GetUID()) == owner.UID, nil
}

// prune forgets in the record who owns nothing any more and has no object.
func (c *Controller) prune(ctx context.Context, live map[lbmodel.Owner]bool) error {
	for _, owner := range c.retained.of(c.accounts) {
		if live[owner] || c.loop.Index().Object(keyOf(owner)) != nil {
			continue
		}
		if err := c.retained.forget(ctx, owner); err != nil {
			return err
		}
	}
	return nil
}
