package controller

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// probe dials what MeshBindings want to be dialled, from when the cluster has been
// read until ctx ends.
func (c *Controller) probe(ctx context.Context) {
	if c.config.Meshes == nil {
		return
	}
	c.config.Meshes.members.Probes.Run(ctx, c.sighted)
}

// dialled says what of a gateway is to be dialled from now on, and gives the policies
// that follow from it.
func (c *Controller) dialled(g reconcile.Gateway) []lbmodel.Policy {
	if c.config.Meshes == nil || g.Key.Kind != translate.KindGateway {
		return nil
	}
	c.config.Meshes.members.Watch(g)
	return []lbmodel.Policy{c.config.Meshes.members.Gate(g)}
}

// redial is dialled for gateways whose endpoints alone have changed: nobody plans for
// those.
func (c *Controller) redial(targets []reconcile.Targets) {
	for _, t := range targets {
		if g, there := c.loop.Gateway(t.Gateway); there {
			c.dialled(g)
		}
	}
}

// sighted takes what was seen on the wire, and has those gateways looked at to which
// it is news.
func (c *Controller) sighted(askers []string) {
	change := c.config.Meshes.members.Seen()
	if len(change.Put)+len(change.Delete) > 0 {
		for _, obj := range change.Put {
			if now, is := obj.(*translate.Sight); is {
				c.informSight(now)
			}
		}
		c.handOut(c.loop.Follow(change), time.Now())
		c.meshSoon()
	}
	for _, g := range c.loop.Gateways() {
		if slices.Contains(askers, g.Key.String()) {
			c.work.hurry(item{Key: g.Key})
		}
	}
}

// informSight tells gateways of hops that were seen to fail and were not before.
func (c *Controller) informSight(now *translate.Sight) {
	old, _ := c.loop.Index().Object(translate.Key{Kind: translate.KindSight, Name: now.Binding}).(*translate.Sight)
	var before []translate.PoolSight
	if old != nil {
		before = old.Pools
	}
	fails := map[translate.Key][]string{}
	for _, p := range now.Pools {
		known := slices.ContainsFunc(before, func(was translate.PoolSight) bool {
			return was.Gateway == p.Gateway && was.Pool == p.Pool && was.Fails
		})
		if p.Fails && !known {
			backend, _, _ := strings.Cut(p.Pool, "+")
			fails[p.Gateway] = append(fails[p.Gateway], backend+": "+p.Text)
		}
	}
	for key, all := range fails {
		if obj := metaOf(c.loop.Index().Object(key)); obj != nil {
			text := all[0]
			if more := len(all) - 1; more > 0 {
				text += fmt.Sprintf(" (and %d more)", more)
			}
			c.events.Tell(c.reference(key, obj), events.ProbeFailed, text)
		}
	}
}

// tellServices writes on Services how members of meshes reach them.
func (c *Controller) tellServices(ctx context.Context, results map[translate.Key]translate.Result) error {
	return c.writer.Write(ctx, translate.ServiceTLS(c.loop.Index(), results, metav1.NewTime(time.Now())))
}

// retellServices has what is said on Services about members of meshes written again
// after a while, when somebody else changed it.
func (c *Controller) retellServices(change translate.Change) {
	for _, obj := range change.Put {
		svc, is := obj.(*corev1.Service)
		if !is {
			continue
		}
		key, _ := translate.KeyOf(svc)
		old, known := c.loop.Index().Object(key).(*corev1.Service)
		if known && !reflect.DeepEqual(translate.BackendTLSOf(old), translate.BackendTLSOf(svc)) && !c.writer.Made(key, svc.ResourceVersion) {
			c.work.AddAfter(meshItem, retellAfter)
			return
		}
	}
}
