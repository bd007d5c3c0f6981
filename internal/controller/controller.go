package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/approval"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/controller/infrastructure"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/controller/readiness"
	"gatehouse.dev/internal/controller/status"
	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/providers"
)

// Controller drives all gateways of one cluster.
type Controller struct {
	config   Config
	options  translate.Options
	clients  *kube.Clients
	source   *watch.Source
	accounts map[string]*providers.Account
	writer   *status.Writer
	plans    *approval.Plans
	memory   approval.Memory
	services *infrastructure.Services
	events   *events.Events
	retained *retained
	work     *queue[item]
	targets  *queue[target]
	waiters  waiters

	started chan struct{}   // closed when there is a loop
	loop    *reconcile.Loop // nil before started
	began   atomic.Pointer[time.Time]
	taking  atomic.Pointer[time.Time] // since when one batch is being taken

	mu         sync.Mutex
	membership membership
	gates      gates
	approved   map[types.NamespacedName]*v1alpha1.GatewayPlan
	house      house
	asked      map[translate.Key]string // values of the annotation that asks for a pass
	since      map[target]time.Time     // when a target's change was seen
}

// item is what a worker works on: a Gateway or a Service, an owner that leaves
// (Provider is set), or the house itself.
type item struct {
	translate.Key
	Provider string
	UID      string
}

// target is one resource that holds endpoints of a gateway.
type target struct {
	gateway  translate.Key
	provider string
	id       lbmodel.ID
}

// New makes a controller. It makes no call and waits for nothing: where informers
// are shared it registers with them, so that starting them serves it too.
func New(config Config) (*Controller, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	clients, err := kube.New(config.REST, meshKinds(config.Dialects)...)
	if err != nil {
		return nil, err
	}
	source, err := watch.New(watch.Config{Clients: clients, Shared: config.Shared, Log: config.Log})
	if err != nil {
		return nil, err
	}
	c := &Controller{
		config: config, options: config.options(), clients: clients, source: source, accounts: config.accounts(),
		plans: approval.New(clients), events: events.New(config.Recorder), retained: newRetained(clients.Core, config.Namespace, config.Cluster),
		started: make(chan struct{}), approved: map[types.NamespacedName]*v1alpha1.GatewayPlan{},
		asked: map[translate.Key]string{}, since: map[target]time.Time{}, house: newHouse(), membership: newMembership(),
		waiters: waiters{all: map[item][]chan passed{}},
	}
	c.writer = c.newWriter()
	c.services = infrastructure.New(infrastructure.Config{Client: clients.Dynamic, Current: c.current})
	c.gates = gates{sync: readiness.New(clients.Core.CoreV1()), changed: make(chan struct{}, 1), pods: map[translate.Key]*corev1.Pod{}}
	c.work = newQueue("gateways", c.workOn)
	c.targets = newQueue("endpoints", c.bring)
	return c, nil
}

// meshKinds are the kinds that dialects read, and those by which meshes refuse gateways
// (translate.Options.Refusals), without the one that is read anyway.
func meshKinds(dialects map[string]meshsync.Dialect) []kube.Kind {
	return kube.Untyped(slices.DeleteFunc(member.Reads(dialects), func(k schema.GroupVersionKind) bool {
		return k.Group == gwv1.GroupName && k.Kind == translate.KindGateway
	}))
}

// targetWorkers bring endpoints at a time.
const targetWorkers = 16

// Run drives the gateways until ctx ends. It returns when what was being changed in
// a cloud at that moment has a known outcome. A Controller runs once.
func (c *Controller) Run(ctx context.Context) error {
	now := time.Now()
	c.began.Store(&now)
	var all sync.WaitGroup
	all.Go(func() { c.source.Run(ctx) })
	err := c.start(ctx)
	if err == nil {
		all.Go(func() { c.work.run(ctx, c.config.Workers) })
		all.Go(func() { c.targets.run(ctx, targetWorkers) })
		all.Go(func() { c.gate(ctx) })
		all.Go(func() { c.readRoots(ctx) })
		all.Go(func() { c.probe(ctx) })
		for name := range maps.Keys(c.accounts) {
			all.Go(func() { c.scan(ctx, name) })
		}
		err = c.follow(ctx)
	}
	c.work.ShutDown()
	c.targets.ShutDown()
	all.Wait()
	if ctx.Err() != nil {
		return nil // it was told to stop
	}
	return err
}

// patience is how long a start, or the taking of one batch, may take before the
// controller counts as stuck.
const patience = 3 * time.Minute

// longest is more than a pass can take: its calls have deadlines, and its retries are
// bounded.
const longest = 30 * time.Minute

// Healthy says why the controller does not do its work; nil is that it does. One
// that does not run yet, since another leads, is well.
func (c *Controller) Healthy() error {
	began := c.began.Load()
	if began == nil {
		return nil
	}
	select {
	case <-c.started:
	default:
		if time.Since(*began) > patience {
			return fmt.Errorf("the cluster has not been read within %s: still waiting for %s", patience, strings.Join(c.source.Waiting(), ", "))
		}
	}
	if at := c.taking.Load(); at != nil && time.Since(*at) > patience {
		return fmt.Errorf("a change of the cluster is being translated since %s", time.Since(*at).Round(time.Second))
	}
	if it, stuck := c.work.stuck(longest); stuck {
		return fmt.Errorf("%s has been worked on for more than %s", it.Key, longest)
	}
	if at, stuck := c.targets.stuck(longest); stuck {
		return fmt.Errorf("the endpoints of %s have been worked on for more than %s", at.gateway, longest)
	}
	return nil
}
