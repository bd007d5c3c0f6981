package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// Config says which nodes there are and what they may run.
type Config struct {
	Client   kubernetes.Interface // with all rights
	Nodes    []Node
	Images   map[string]string // image to the path of a static program
	Dir      string            // volumes, root folders and logs live here
	Pods     []netip.Prefix    // what AddBridge was given
	Server   netip.AddrPort    // the API server, as pods reach it
	Port     int               // where each node serves logs
	Serving  tls.Certificate   // for the nodes' addresses
	ClientCA []byte            // PEM; signs who may read logs
	Log      *slog.Logger
}

// Node is one node to register.
type Node struct {
	Name       string
	Addresses  []netip.Addr // this machine's already; IPv4 first
	Labels     map[string]string
	ProviderID string
}

// Kubelet runs the pods of its nodes until it is stopped.
type Kubelet struct {
	config   Config
	secrets  corelisters.SecretLister
	configs  corelisters.ConfigMapLister
	nodes    corelisters.NodeLister
	recorder record.EventRecorder
	pool     *pool

	ctx    context.Context //nolint:containedctx // the life of the whole, which its callbacks have no argument for
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu      sync.Mutex
	workers map[types.UID]*worker
	bound   map[types.UID]string // the node of each pod, from the binding on
}

// Start registers the nodes and runs pods until Stop. The context bounds the
// start only. An error is of the API server or of a port that is taken.
func Start(ctx context.Context, config Config) (*Kubelet, error) {
	k := &Kubelet{config: config, pool: newPool(config.Pods), workers: map[types.UID]*worker{}, bound: map[types.UID]string{}}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, n := range config.Nodes {
		if err := k.register(ctx, n); err != nil {
			k.Stop()
			return nil, err
		}
		if err := k.serve(n); err != nil {
			k.Stop()
			return nil, err
		}
	}
	k.record()
	if err := k.watch(ctx); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

// Stop kills all pods and returns when nothing of them runs. The API's objects
// stay as they are, as after a power cut.
func (k *Kubelet) Stop() {
	k.cancel()
	k.wait.Wait()
}

// record begins to send events.
func (k *Kubelet) record() {
	b := record.NewBroadcaster(record.WithContext(k.ctx))
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: k.config.Client.CoreV1().Events("")})
	k.recorder = b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"})
	k.wait.Go(func() {
		<-k.ctx.Done()
		b.Shutdown()
	})
}

// watch begins to follow pods and what they use.
func (k *Kubelet) watch(ctx context.Context) error {
	// The resync repeats a binding that failed.
	f := informers.NewSharedInformerFactory(k.config.Client, 5*time.Second)
	k.secrets = f.Core().V1().Secrets().Lister()
	k.configs = f.Core().V1().ConfigMaps().Lister()
	k.nodes = f.Core().V1().Nodes().Lister()
	for _, i := range []cache.SharedIndexInformer{f.Core().V1().Secrets().Informer(), f.Core().V1().ConfigMaps().Informer(), f.Core().V1().Nodes().Informer()} {
		i.HasSynced() // registered with the factory by now
	}
	f.Start(k.ctx.Done())
	if err := synced(ctx, f); err != nil {
		return err
	}
	_, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.seen(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { k.seen(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			k.gone(o.(*corev1.Pod))
		},
	})
	if err != nil {
		return err
	}
	f.Start(k.ctx.Done())
	k.wait.Go(func() {
		<-k.ctx.Done()
		f.Shutdown()
	})
	return synced(ctx, f)
}

func synced(ctx context.Context, f informers.SharedInformerFactory) error {
	for kind, ok := range f.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("kubelet: list %s: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// seen takes the newest state of a pod.
func (k *Kubelet) seen(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		if err := k.bind(pod); err != nil {
			k.config.Log.Warn("bind", "pod", pod.Namespace+"/"+pod.Name, "error", err)
		}
		return
	}
	node, ok := k.node(pod.Spec.NodeName)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return
	}
	w, ok := k.workers[pod.UID]
	if !ok {
		w = newWorker(k, node, pod)
		k.workers[pod.UID], k.bound[pod.UID] = w, node.Name
		k.wait.Go(func() { w.run(k.ctx) })
	}
	w.update(pod)
}

// gone ends a pod whose object is no more.
func (k *Kubelet) gone(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.bound, pod.UID)
	if w, ok := k.workers[pod.UID]; ok {
		w.kill()
		delete(k.workers, pod.UID)
	}
}

// find is the worker of a pod by name; of two with one name, any that runs.
func (k *Kubelet) find(namespace, name string) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		if w.namespace == namespace && w.name == name {
			return w
		}
	}
	return nil
}

func (k *Kubelet) node(name string) (Node, bool) {
	for _, n := range k.config.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}
