package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// start waits for everything there is, and makes the loop of it.
func (c *Controller) start(ctx context.Context) error {
	first, err := c.source.Next(ctx)
	if err != nil {
		return err
	}
	if err := c.retained.read(ctx); err != nil {
		return err
	}
	c.learn(first.Facts)
	snapshot := reconcile.SnapshotOf(first.Put)
	snapshot.Cluster, snapshot.LiveEndpoints = c.config.Cluster, true
	c.loop = reconcile.New(translate.New(snapshot, c.options), c.accounts)
	c.note(first)
	for _, key := range c.loop.Index().Gateways() {
		c.work.Add(item{Key: key})
	}
	for _, key := range c.house.bound() {
		if !c.loop.Index().Belonging(key).Ours {
			c.work.Add(item{Key: key})
		}
	}
	c.work.Add(houseItem)
	close(c.started)
	c.config.Log.Info("the cluster has been read", "gateways", len(c.loop.Gateways()), "objects", len(first.Put))
	return nil
}

func (c *Controller) learn(f watch.Facts) {
	c.options.VersionProblem, c.options.NoTrustBundles = f.VersionProblem, f.NoTrustBundles
}

// follow takes what changes, batch after batch.
func (c *Controller) follow(ctx context.Context) error {
	facts := watch.Facts{VersionProblem: c.options.VersionProblem, NoTrustBundles: c.options.NoTrustBundles}
	for {
		batch, err := c.source.Next(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		c.taking.Store(&now)
		if batch.Facts != facts {
			facts = batch.Facts
			c.learn(facts)
			for _, key := range c.loop.Reconsider(c.options) {
				c.work.Add(item{Key: key})
			}
			c.work.Add(houseItem)
		}
		c.take(batch)
		c.taking.Store(nil)
	}
}

// take puts a batch through the loop and hands out what it leads to.
func (c *Controller) take(b watch.Batch) {
	if c.note(b) {
		c.work.hurry(houseItem)
	}
	followed := c.loop.Follow(b.Change)
	for _, t := range followed.Targets {
		for _, id := range t.IDs {
			c.aim(t, id, b.Since)
		}
	}
	for _, key := range followed.Keys {
		c.work.hurry(item{Key: key})
	}
	for _, who := range followed.Leaving {
		c.work.hurry(itemOf(who))
	}
}

// note keeps what of a batch is not the loop's business, and says whether the house
// has work with it. Gateways with a plan that somebody has changed are looked at.
func (c *Controller) note(b watch.Batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gates.note(b.Change)
	for name, plan := range b.Plans {
		old := c.approved[name]
		if plan == nil {
			delete(c.approved, name)
		} else {
			c.approved[name] = plan
		}
		if !b.First && (plan == nil || old == nil || old.Generation != plan.Generation) {
			c.work.hurry(item{Key: gatewayKey(name)})
		}
	}
	return c.house.note(b.Change)
}

func gatewayKey(name types.NamespacedName) translate.Key {
	return translate.Key{Kind: translate.KindGateway, Namespace: name.Namespace, Name: name.Name}
}

func itemOf(who reconcile.Leaver) item {
	return item{Key: keyOf(who.Owner), Provider: who.Provider, UID: who.Owner.UID}
}

func keyOf(o lbmodel.Owner) translate.Key {
	return translate.Key{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (c *Controller) owner(it item) lbmodel.Owner {
	return lbmodel.Owner{Cluster: c.config.Cluster, Kind: it.Kind, Namespace: it.Namespace, Name: it.Name, UID: it.UID}
}
