package controller

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// slowPass is how long a pass may take before it is written what is known without
// the cloud. A pass that is faster writes once.
const slowPass = 2 * time.Second

// meanwhile writes what is known of a gateway without the cloud, when its pass is not
// over after a while. What it returns ends that, and may be called more than once:
// afterwards nothing is being written.
func (c *Controller) meanwhile(ctx context.Context, key translate.Key, after time.Duration) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	written := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(written)
		if err := c.write(ctx, c.loop.Unseen(key, nil, time.Now()), c.written); err != nil {
			c.config.Log.Debug("the pass writes it at its end", "item", key.String(), "err", err)
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		if !timer.Stop() {
			<-written
		}
	})
}

// unseen tells that nothing can be done for a gateway, since its cloud cannot be
// looked at, and what is known without that.
func (c *Controller) unseen(ctx context.Context, g reconcile.Gateway, obj metav1.Object, why error, p *passed) {
	if ctx.Err() != nil {
		return // somebody else may be leading by now
	}
	p.patches = c.loop.Unseen(g.Key, why, time.Now())
	p.fail(c.write(ctx, p.patches, c.written))
	if svc, is := obj.(*corev1.Service); is && c.managed(svc) {
		return
	}
	about, doing, reason := c.reference(g.Key, obj), events.Applying, events.ApplyFailed
	if g.Result.Deleting {
		doing, reason = events.Deleting, events.DeletionBlocked
	}
	if lbmodel.CodeOf(why) == lbmodel.CodeUnavailable && g.Key.Kind == translate.KindGateway {
		c.events.Tell(about, reason, why.Error())
	} else {
		c.events.Failed(about, doing, why)
	}
}
