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
	"k8s.io/apimachinery/pkg/util/resourceversion"

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

// unseen is how often to look whether our own watch has brought what the caller knows,
// and the others for how long: whoever asks holds up others meanwhile.
const (
	unseen        = 20 * time.Millisecond
	unseenVanish  = 2 * time.Second
	unseenLongest = 10 * time.Second
)

// EnsureService brings a Service's load balancer about and returns its status, as
// cloudprovider.LoadBalancer asks. It waits for a whole pass over this version of
// the Service, or a later one; the error is what failed in it, or still waits.
func (c *Controller) EnsureService(ctx context.Context, svc *corev1.Service) (*corev1.LoadBalancerStatus, error) {
	key, now, p, err := c.attendService(ctx, svc)
	switch {
	case err != nil:
		return nil, err
	case now == nil || !c.wanted(now):
		return nil, lbmodel.Errorf(lbmodel.CodePending, "ensure", lbmodel.ID{}, "load balancer of Service %s/%s: by now it asks for none", svc.Namespace, svc.Name)
	}
	return ensured(key, now, p)
}

// attendService has a Service worked on, and waits for what comes of this version of
// it or a later one. now is nil when there is no such Service any more.
func (c *Controller) attendService(ctx context.Context, svc *corev1.Service) (key translate.Key, now *corev1.Service, p passed, err error) {
	key = translate.Key{Kind: translate.KindService, Namespace: svc.Namespace, Name: svc.Name}
	if err := c.awaitStart(ctx); err != nil {
		return key, nil, p, err
	}
	if err := c.awaitSight(ctx, key, svc); err != nil {
		return key, nil, p, fmt.Errorf("load balancer of Service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	for {
		if p, err = c.attend(ctx, item{Key: key}); err != nil {
			return key, nil, p, fmt.Errorf("load balancer of Service %s/%s: %w", svc.Namespace, svc.Name, err)
		}
		now, _ = p.obj.(*corev1.Service)
		switch {
		case now == nil || now.UID != svc.UID:
			return key, nil, p, nil
		case !older(now, svc):
			return key, now, p, nil
		} // that pass had begun before
	}
}

// awaitEnd waits a moment for our own watch to see that a Service asks for no load
// balancer, and says whether it is there: whoever has seen one vanish cannot tell the
// version of that.
func (c *Controller) awaitEnd(ctx context.Context, svc *corev1.Service) (there bool, err error) {
	if err := c.awaitStart(ctx); err != nil {
		return false, err
	}
	key := translate.Key{Kind: translate.KindService, Namespace: svc.Namespace, Name: svc.Name}
	for end := time.Now().Add(unseenVanish); ; {
		now, _ := c.loop.Index().Object(key).(*corev1.Service)
		there = now != nil && now.UID == svc.UID
		if !there || !c.wanted(now) || time.Now().After(end) {
			return there, nil
		}
		if err := sleep(ctx, unseen); err != nil {
			return there, err
		}
	}
}

// awaitSight waits until our own watch has seen a version of a Service, or a later one.
func (c *Controller) awaitSight(ctx context.Context, key translate.Key, svc *corev1.Service) error {
	for end := time.Now().Add(unseenLongest); ; {
		now, _ := c.loop.Index().Object(key).(*corev1.Service)
		switch {
		case now != nil && (now.UID != svc.UID || !older(now, svc)):
			return nil
		case now == nil && svc.DeletionTimestamp != nil:
			return nil // it is gone
		case time.Now().After(end):
			return lbmodel.Errorf(lbmodel.CodePending, "watch", lbmodel.ID{}, "this version of it has not been seen yet")
		}
		if err := sleep(ctx, unseen); err != nil {
			return err
		}
	}
}

// older says whether a version of an object was there before another one. Versions
// that cannot be compared are told apart by what is asked for.
func older(a, b *corev1.Service) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	if err != nil {
		return !reflect.DeepEqual(a.Spec, b.Spec)
	}
	return order < 0
}

// wanted says whether a Service asks for a load balancer of the kind that a service
// controller asks us for.
func (c *Controller) wanted(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil && svc.DeletionTimestamp == nil && c.managed(svc)
}

func ensured(key translate.Key, svc *corev1.Service, p passed) (*corev1.LoadBalancerStatus, error) {
	if err := errors.Join(p.errs...); err != nil {
		return nil, fmt.Errorf("load balancer of Service %s/%s: %w", key.Namespace, key.Name, err)
	}
	if p.skip != "" {
		return nil, lbmodel.Errorf(lbmodel.CodeInvalid, "ensure", lbmodel.ID{}, "load balancer of Service %s/%s: %s", key.Namespace, key.Name, p.skip)
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

// ForgetService ends a Service's load balancer as its parameters say, and returns when
// that is verified: nothing is left of it, or what is left is to stay (Retain). A
// Service that has a class of ours by now is ours to keep, and nothing ends. The error
// may be that it waits: for approval, or since its parameters say Protect.
func (c *Controller) ForgetService(ctx context.Context, svc *corev1.Service) error {
	owner := lbmodel.Owner{Cluster: c.config.Cluster, Kind: translate.KindService, Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID)}
	if there, err := c.awaitEnd(ctx, svc); err != nil {
		return err
	} else if !there {
		return c.gone(ctx, owner)
	}
	key, now, p, err := c.attendService(ctx, svc)
	if err != nil {
		return err
	}
	if now == nil || !c.loop.Index().Claimed(now) {
		return c.gone(ctx, owner)
	}
	wait := func(why string) error {
		return lbmodel.Errorf(lbmodel.CodePending, "delete", lbmodel.ID{}, "load balancer of Service %s/%s: %s", svc.Namespace, svc.Name, why)
	}
	failed := errors.Join(p.errs...)
	switch {
	case c.wanted(now):
		return wait("it asks for one by now")
	case failed != nil:
		return fmt.Errorf("load balancer of Service %s/%s: %w", svc.Namespace, svc.Name, failed)
	case p.over || !c.managed(now):
		return nil
	case p.blocked != "":
		return wait(p.blocked)
	}
	if err := p.waiting(key, "delete"); err != nil {
		return err
	}
	return wait("it is not gone yet")
}

// gone removes whatever any provider has of an owner whose Service is not there, or not
// our business, and verifies it. What the record retains stays.
func (c *Controller) gone(ctx context.Context, owner lbmodel.Owner) error {
	if c.retained.has(owner) {
		return nil
	}
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
