package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/api/v1alpha1"
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
	c.recall(ctx)
	c.open(first)
	return nil
}

// open begins with all that there is.
func (c *Controller) open(first watch.Batch) {
	c.learn(first.Facts)
	snapshot := reconcile.SnapshotOf(first.Put)
	snapshot.Cluster, snapshot.LiveEndpoints = c.config.Cluster, true
	c.loop = reconcile.New(translate.New(snapshot, c.options), c.accounts)
	c.loop.Approve = c.wayOut
	c.want()
	c.outside()
	if c.config.Meshes != nil {
		c.config.Meshes.members.Over(c.loop)
		c.config.Meshes.members.WatchAll()
	}
	c.note(first)
	for _, key := range c.loop.Index().Gateways() {
		c.work.Add(item{Key: key})
	}
	for _, key := range c.house.bound() {
		if !c.loop.Index().Belonging(key).Ours {
			c.strayed(key)
		}
	}
	c.work.Add(houseItem)
	c.work.Add(meshItem)
	close(c.started)
	c.config.Log.Info("the cluster has been read", "gateways", len(c.loop.Gateways()), "objects", len(first.Put))
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
			c.want()
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
	c.retellServices(b.Change)
	c.retell(b.Change)
	c.recordGone(b.Change)
	followed := c.loop.Follow(b.Change)
	c.redial(followed.Targets)
	if meshNews(b.Change) {
		c.want()
	}
	fetched, news := c.outside() // before anybody plans with a place of which nothing is said
	if news || meshNews(b.Change) {
		c.seeMeshes()
	}
	c.handOut(followed, b.Since)
	c.handOut(fetched, time.Now())
	for _, key := range c.strays(b.Change) {
		c.strayed(key)
	}
}

// handOut gives to workers what a change led to.
func (c *Controller) handOut(followed reconcile.Followed, since time.Time) {
	for _, t := range followed.Targets {
		for _, id := range t.IDs {
			c.aim(t, id, since)
		}
	}
	for _, key := range followed.Keys {
		c.work.hurry(item{Key: key})
	}
	for _, who := range followed.Leaving {
		c.work.hurry(itemOf(who))
	}
}

// retellAfter is how long a word of ours that somebody else removed stays away: who
// removes it again and again shall not have us write as often.
const retellAfter = 15 * time.Second

// retell has those gateways and classes looked at whose statuses somebody else wrote to,
// and those whose Service in the cluster somebody else changed.
func (c *Controller) retell(change translate.Change) {
	for _, key := range misrepresented(c.loop.Index(), change) {
		if _, ours := c.loop.Gateway(key); ours {
			c.work.AddAfter(item{Key: key}, retellAfter)
		}
	}
	change.Put = slices.DeleteFunc(slices.Clone(change.Put), func(obj any) bool {
		key, known := translate.KeyOf(obj)
		meta := metaOf(obj)
		return !known || meta == nil || c.writer.Made(key, meta.GetResourceVersion())
	})
	for _, key := range c.loop.Index().Retold(change) {
		c.work.AddAfter(lookAt(key), retellAfter)
	}
}

// lookAt is the item whose work writes an object's status.
func lookAt(key translate.Key) item {
	if key.Kind == translate.KindGatewayClass {
		return houseItem
	}
	return item{Key: key}
}

// seeMeshes is for a change of what meshes publish.
func (c *Controller) seeMeshes() {
	if c.config.Meshes != nil {
		c.config.Meshes.members.See()
	}
	c.meshSoon()
}

// note keeps what of a batch is not the loop's business, and says whether the house
// has work with it. What has a plan that somebody has changed is looked at.
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
		if !b.First && (plan == nil || old == nil || old.Generation != plan.Generation || emptied(old, plan)) {
			for _, key := range c.planned(name) {
				c.work.hurry(item{Key: key})
			}
		}
	}
	return c.house.note(b.Change)
}

// emptied says whether somebody took the status of a plan away.
func emptied(old, plan *v1alpha1.GatewayPlan) bool {
	return len(old.Status.Conditions) > 0 && len(plan.Status.Conditions) == 0
}

// planned are those whose plan may have a name: the Gateway of that name and, when
// it is one of ours, the Service whose plan is called so.
func (c *Controller) planned(plan types.NamespacedName) []translate.Key {
	out := []translate.Key{{Kind: translate.KindGateway, Namespace: plan.Namespace, Name: plan.Name}}
	if name, is := strings.CutSuffix(plan.Name, v1alpha1.ServicePlanSuffix); is {
		key := translate.Key{Kind: translate.KindService, Namespace: plan.Namespace, Name: name}
		if _, ours := c.loop.Gateway(key); ours {
			out = append(out, key)
		}
	}
	return out
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
