package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// waiters wait for what comes of an item.
type waiters struct {
	mu  sync.Mutex
	all map[item][]chan passed
}

func (w *waiters) wait(it item) <-chan passed {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := make(chan passed, 1)
	w.all[it] = append(w.all[it], ch)
	return ch
}

func (w *waiters) tell(it item, p passed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.all[it] {
		ch <- p
	}
	delete(w.all, it)
}

// attend has an item worked on, and waits for what comes of it.
func (c *Controller) attend(ctx context.Context, it item) (passed, error) {
	done := c.waiters.wait(it)
	c.work.hurry(it)
	select {
	case p := <-done:
		return p, nil
	case <-ctx.Done():
		return passed{}, ctx.Err()
	}
}

// unseen is how long to wait for our own watch to bring what the caller knows.
const unseen = 20 * time.Millisecond

// EnsureService brings a Service's load balancer about and returns its status, as
// cloudprovider.LoadBalancer asks. It waits for a whole pass over this version of
// the Service; the error is what failed in it, or still waits.
func (c *Controller) EnsureService(ctx context.Context, svc *corev1.Service) (*corev1.LoadBalancerStatus, error) {
	key := translate.Key{Kind: translate.KindService, Namespace: svc.Namespace, Name: svc.Name}
	for {
		if err := c.awaitStart(ctx); err != nil {
			return nil, err
		}
		p, err := c.attend(ctx, item{Key: key})
		if err != nil {
			return nil, fmt.Errorf("load balancer of Service %s/%s: %w", svc.Namespace, svc.Name, err)
		}
		now, _ := p.obj.(*corev1.Service)
		if now != nil && now.UID == svc.UID && reflect.DeepEqual(now.Spec, svc.Spec) {
			return ensured(key, now, p)
		}
		if err := sleep(ctx, unseen); err != nil {
			return nil, err
		}
	}
}

func ensured(key translate.Key, svc *corev1.Service, p passed) (*corev1.LoadBalancerStatus, error) {
	if err := errors.Join(p.errs...); err != nil {
		return nil, fmt.Errorf("load balancer of Service %s/%s: %w", key.Namespace, key.Name, err)
	}
	if err := p.waiting(key, "ensure"); err != nil {
		return nil, err
	}
	for _, patch := range p.patches {
		if status, ok := patch.Status.(*corev1.ServiceStatus); ok && patch.Key == key {
			return &status.LoadBalancer, nil
		}
	}
	return &svc.Status.LoadBalancer, nil
}

// waiting is the first thing that holds up a Service's load balancer, and what a
// person can do about it; nil for none.
func (p passed) waiting(key translate.Key, op string) error {
	for _, w := range p.waits {
		if !w.Unmet() {
			continue
		}
		text := w.String()
		if w.Reason == lbmodel.WaitApproval && p.wayOut != "" {
			text = strings.TrimSuffix(text, ".") + "; " + p.wayOut
		}
		return lbmodel.Errorf(lbmodel.CodePending, op, w.ID, "load balancer of Service %s/%s: %s", key.Namespace, key.Name, text)
	}
	return nil
}

// ForgetService removes a Service's load balancer and returns when it is verified to
// be gone. The error may be that the removal waits, for approval for one.
func (c *Controller) ForgetService(ctx context.Context, svc *corev1.Service) error {
	if err := c.awaitStart(ctx); err != nil {
		return err
	}
	key := translate.Key{Kind: translate.KindService, Namespace: svc.Namespace, Name: svc.Name}
	owner := lbmodel.Owner{Cluster: c.config.Cluster, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: string(svc.UID)}
	for {
		g, there := c.loop.Gateway(key)
		mine := there && g.Result.Gateway.Owner == owner
		switch {
		case mine && !g.Result.Deleting: // our own watch has not seen yet that it goes
			if err := sleep(ctx, unseen); err != nil {
				return fmt.Errorf("load balancer of Service %s/%s: it still asks for one: %w", svc.Namespace, svc.Name, err)
			}
			continue
		case mine:
			p, err := c.attend(ctx, item{Key: key})
			if err = errors.Join(append(p.errs, err)...); err != nil {
				return fmt.Errorf("load balancer of Service %s/%s: %w", svc.Namespace, svc.Name, err)
			}
			if err := p.waiting(key, "delete"); err != nil {
				return err
			}
		}
		return c.gone(ctx, owner)
	}
}

// gone removes whatever any provider has of an owner, and verifies it.
func (c *Controller) gone(ctx context.Context, owner lbmodel.Owner) error {
	for provider, account := range c.accounts {
		live, err := account.Live(ctx)
		if err != nil {
			return err
		}
		for _, o := range live {
			if o != owner {
				continue
			}
			if err := c.loop.Drop(provider, owner); err != nil {
				return err
			}
			it := item{Key: keyOf(owner), Provider: provider, UID: owner.UID}
			p, err := c.attend(ctx, it)
			if err = errors.Join(append(p.errs, err)...); err != nil {
				return fmt.Errorf("load balancer of %s: %w", owner, err)
			}
		}
	}
	return nil
}

func (c *Controller) awaitStart(ctx context.Context) error {
	select {
	case <-c.started:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the cluster has not been read yet: %w", ctx.Err())
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
