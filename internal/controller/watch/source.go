package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/translate"
)

// Config is what a Source is made of.
type Config struct {
	Clients *kube.Clients
	Shared  informers.SharedInformerFactory // of Services and Nodes; nil is our own
	Log     *slog.Logger
}

// Source follows the objects of one cluster.
type Source struct {
	config  Config
	pending *pending
	shared  map[string]sharedInformer // by kind

	definitions *definitions
	trimmer     trimmer
	group       sync.WaitGroup

	mu      sync.Mutex
	running map[string]*follower // by kind
	waiting []string             // what is not synced yet, for Healthy
}

type sharedInformer struct {
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
}

// follower is one kind being watched.
type follower struct {
	resource kube.Resource
	stop     context.CancelFunc
	ended    chan struct{}
	store    cache.Store
	synced   func() bool
}

// New makes a source, and registers with the shared informers.
func New(config Config) (*Source, error) {
	s := &Source{config: config, pending: newPending(), shared: map[string]sharedInformer{}, running: map[string]*follower{}}
	s.definitions = newDefinitions(config.Clients.Metadata)
	if config.Shared == nil {
		return s, nil
	}
	for kind, informer := range map[string]cache.SharedIndexInformer{
		translate.KindService: config.Shared.Core().V1().Services().Informer(),
		translate.KindNode:    config.Shared.Core().V1().Nodes().Informer(),
	} {
		handler, err := informer.AddEventHandler(s.handler(kind))
		if err != nil {
			return nil, fmt.Errorf("registering with the informer of %s: %w", kind, err)
		}
		s.shared[kind] = sharedInformer{informer, handler}
	}
	return s, nil
}

// Next waits for what comes next. The first batch comes when everything that is
// installed has been read. The error is the context's.
func (s *Source) Next(ctx context.Context) (Batch, error) { return s.pending.next(ctx) }

// Nudge has Next return soon, be it with an empty batch: whoever takes batches has
// something of his own to bring.
func (s *Source) Nudge() { s.pending.nudge() }

// Run follows the cluster until ctx ends, and returns when nothing runs any more.
func (s *Source) Run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer s.group.Wait()
	defer stop()
	s.group.Go(func() { s.definitions.run(ctx) })
	s.discover(ctx)
	for kind, shared := range s.shared {
		defer s.unregister(kind, shared)
	}
}

func (s *Source) unregister(kind string, shared sharedInformer) {
	if err := shared.informer.RemoveEventHandler(shared.handler); err != nil {
		s.config.Log.Warn("events of a shared informer go on", "kind", kind, "err", err)
	}
}

// Waiting are the kinds whose objects have not all been read yet.
func (s *Source) Waiting() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// handler notes the events of one kind.
func (s *Source) handler(kind string) cache.ResourceEventHandler {
	note := func(obj any) {
		if meta, ok := obj.(metav1.Object); ok {
			s.pending.note(keyOf(kind, meta), public(obj))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: note,
		UpdateFunc: func(old, obj any) {
			if version(old) != version(obj) { // a resync tells nothing
				note(obj)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if meta, ok := obj.(metav1.Object); ok {
				s.pending.note(keyOf(kind, meta), nil)
			}
		},
	}
}

func keyOf(kind string, meta metav1.Object) translate.Key {
	return translate.Key{Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName()}
}

func version(obj any) string {
	if meta, ok := obj.(metav1.Object); ok {
		return meta.GetResourceVersion()
	}
	return ""
}

// start follows one kind.
func (s *Source) start(ctx context.Context, r kube.Resource) *follower {
	ctx, stop := context.WithCancel(ctx)
	f := &follower{resource: r, stop: stop, ended: make(chan struct{})}
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: r.ListWatch(), ObjectType: r.Kind.New(), Handler: s.handler(r.Kind.Name), Transform: s.trimmer.trim,
	})
	f.store, f.synced = store, informer.HasSynced
	s.group.Go(func() {
		defer close(f.ended)
		informer.RunWithContext(ctx)
	})
	s.config.Log.Info("watching", "kind", r.Kind.Name, "version", r.Version)
	return f
}

// end stops following a kind, and tells that its objects are gone.
func (s *Source) end(f *follower) {
	f.stop()
	<-f.ended
	for _, obj := range f.store.List() {
		if meta, ok := obj.(metav1.Object); ok {
			s.pending.note(keyOf(f.resource.Kind.Name, meta), nil)
		}
	}
	s.config.Log.Info("no longer watching", "kind", f.resource.Kind.Name, "version", f.resource.Version)
}

// syncEvery is how often it is asked whether everything has been read.
const syncEvery = 20 * time.Millisecond

// sync waits until everything that is installed has been read.
func (s *Source) sync(ctx context.Context) {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for s.unsynced() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	s.pending.learn(s.facts())
	s.pending.complete()
}

func (s *Source) unsynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = nil
	for kind, f := range s.running {
		if !f.synced() {
			s.waiting = append(s.waiting, kind)
		}
	}
	for kind, shared := range s.shared {
		if !shared.handler.HasSynced() {
			s.waiting = append(s.waiting, kind)
		}
	}
	if !s.definitions.synced() {
		s.waiting = append(s.waiting, "CustomResourceDefinition")
	}
	return len(s.waiting) > 0
}
