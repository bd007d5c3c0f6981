package controller

import (
	"context"
	"errors"
	"time"

	"gatehouse.dev/internal/controller/audit"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
)

// aim hands a resource whose endpoints have changed to the endpoints' own workers.
func (c *Controller) aim(t reconcile.Targets, id lbmodel.ID, since time.Time) {
	to := target{gateway: t.Gateway, provider: t.Provider, id: id}
	c.mu.Lock()
	if _, waiting := c.since[to]; !waiting {
		c.since[to] = since
	}
	c.mu.Unlock()
	c.targets.Add(to)
}

// bring makes one resource's endpoints what is wanted by now. What fails is told by
// the gateway's own pass.
func (c *Controller) bring(ctx context.Context, to target) {
	g, there := c.loop.Gateway(to.gateway)
	if !there || g.Paused || g.Result.Deleting {
		c.targets.succeeded(to)
		c.seen(to)
		return
	}
	audited := c.config.Audit.Watch(ctx, audit.Reason{Provider: to.provider, For: c.auditObject(to.gateway)})
	outcome, err := c.accounts[to.provider].Bring(audited, to.id)
	if err = errors.Join(err, outcome.Err()); err == nil {
		c.targets.succeeded(to)
		if since, known := c.seen(to); known {
			c.config.Metrics.Endpoints(time.Since(since))
		}
		c.gates.tell()
		return
	}
	if ctx.Err() != nil {
		return
	}
	c.config.Log.Warn("endpoints are not there yet", "gateway", to.gateway.String(), "resource", to.id.String(), "err", err)
	c.work.Add(item{Key: to.gateway})
	if delay := delayOf([]error{err}, c.targets.failed(to, codeOf(err))); delay > 0 {
		c.targets.AddAfter(to, delay)
	}
}

// seen is when the change of a target was, and forgets it: it is dealt with.
func (c *Controller) seen(to target) (since time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, known = c.since[to]
	delete(c.since, to)
	return since, known
}
