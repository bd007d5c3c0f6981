package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/controller/readiness"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/providers"
)

// healthEvery is how often a cloud is asked for health while a pod waits for it.
const healthEvery = 2 * time.Second

// gate keeps the conditions of readiness gates until ctx ends. Without a pod that
// has one it does nothing.
func (c *Controller) gate(ctx context.Context) {
	for {
		var again <-chan time.Time
		poll, err := c.syncGates(ctx)
		if err != nil && ctx.Err() == nil {
			c.config.Log.Warn("readiness gates are not up to date", "err", err)
		}
		if err != nil || len(poll) > 0 {
			again = time.After(healthEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.gates.changed:
		case <-again:
			c.askHealth(poll)
		}
	}
}

// gates are the pods with a readiness gate of ours.
type gates struct {
	sync    *readiness.Gates
	changed chan struct{}
	pods    map[translate.Key]*corev1.Pod // guarded by Controller.mu
}

// note takes a change.
func (g *gates) note(c translate.Change) {
	for _, obj := range c.Put {
		pod, is := obj.(*corev1.Pod)
		if key, _ := translate.KeyOf(obj); is && len(readiness.NamesOf(pod)) > 0 {
			g.pods[key] = pod
		}
	}
	for _, key := range c.Delete {
		delete(g.pods, key)
	}
	g.tell()
}

// tell says that something may have changed for pods that wait.
func (g *gates) tell() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// syncGates brings all gates up to date, and returns the gateways whose health pods
// wait for.
func (c *Controller) syncGates(ctx context.Context) (map[translate.Key]bool, error) {
	c.mu.Lock()
	pods := slices.Collect(maps.Values(c.gates.pods))
	c.mu.Unlock()
	if len(pods) == 0 {
		return nil, nil
	}
	services, index := readiness.Services{}, c.loop.Index()
	for _, pod := range pods {
		for _, name := range readiness.NamesOf(pod) {
			key := translate.Key{Kind: translate.KindService, Namespace: name.Namespace, Name: name.Name}
			if svc, ok := index.Object(key).(*corev1.Service); ok {
				services[name] = &readiness.Service{UID: svc.UID}
			}
		}
	}
	for _, g := range c.loop.Gateways() {
		if account := c.accounts[g.Result.Provider]; account != nil {
			services.Add(g, func(p providers.PoolChange) providers.PoolHealth { return account.Health(p) })
		}
	}
	return c.gates.sync.Sync(ctx, pods, services)
}

// askHealth has the clouds of some gateways looked at.
func (c *Controller) askHealth(gateways map[translate.Key]bool) {
	for key := range gateways {
		if g, ok := c.loop.Gateway(key); ok && c.accounts[g.Result.Provider] != nil {
			c.accounts[g.Result.Provider].Invalidate(g.Result.Gateway.Owner)
			c.work.Add(item{Key: key})
		}
	}
}
