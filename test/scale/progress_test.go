//go:build e2e

package scale

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"gatehouse.dev/test/cluster"
)

// progress follows which gateways are programmed, at what address, and which
// routes are accepted, as a user's own watch would.
type progress struct {
	mu        sync.Mutex
	addresses map[string]string // of programmed gateways
	accepted  map[string]bool
}

func follow(t *testing.T, c *cluster.Cluster) *progress {
	t.Helper()
	p := &progress{addresses: map[string]string{}, accepted: map[string]bool{}}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.Dynamic(), 0, namespace, nil)
	for _, in := range []struct {
		informer cache.SharedIndexInformer
		take     func(*unstructured.Unstructured)
	}{
		{factory.ForResource(gateways).Informer(), p.gateway},
		{factory.ForResource(httpRoutes).Informer(), p.route},
	} {
		take := func(obj any) {
			p.mu.Lock()
			defer p.mu.Unlock()
			in.take(obj.(*unstructured.Unstructured))
		}
		if _, err := in.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: take, UpdateFunc: func(_, obj any) { take(obj) }}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
	return p
}

func (p *progress) gateway(o *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	delete(p.addresses, o.GetName())
	if !isTrue(conditions, "Programmed", o.GetGeneration()) {
		return
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "addresses")
	if len(list) > 0 {
		p.addresses[o.GetName()], _, _ = unstructured.NestedString(list[0].(map[string]any), "value")
	}
}

func (p *progress) route(o *unstructured.Unstructured) {
	parents, _, _ := unstructured.NestedSlice(o.Object, "status", "parents")
	ok := len(parents) > 0
	for _, each := range parents {
		conditions, _, _ := unstructured.NestedSlice(each.(map[string]any), "conditions")
		ok = ok && isTrue(conditions, "Accepted", o.GetGeneration()) && isTrue(conditions, "ResolvedRefs", o.GetGeneration())
	}
	p.accepted[o.GetName()] = ok
}

func isTrue(conditions []any, kind string, generation int64) bool {
	for _, each := range conditions {
		if c := each.(map[string]any); c["type"] == kind {
			return c["status"] == string(metav1.ConditionTrue) && c["observedGeneration"] == generation
		}
	}
	return false
}

func (p *progress) count() (programmed, accepted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ok := range p.accepted {
		if ok {
			accepted++
		}
	}
	return len(p.addresses), accepted
}

// await waits until so many gateways are programmed and routes accepted.
func (p *progress) await(t *testing.T, gateways, routes int) {
	t.Helper()
	cluster.Eventually(t, 10*time.Minute, func(context.Context) error {
		if programmed, accepted := p.count(); programmed < gateways || accepted < routes {
			return fmt.Errorf("%d of %d gateways are programmed, and %d of %d routes accepted", programmed, gateways, accepted, routes)
		}
		return nil
	})
}

// address is where gateway n is.
func (p *progress) address(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addresses[gatewayName(n)]
}
