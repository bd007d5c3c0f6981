package kubelet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// worker is one pod's life: network, volumes, init containers, containers, and
// the end.
type worker struct {
	kubelet         *Kubelet
	node            Node
	uid             types.UID
	namespace, name string
	dir             string
	begun           metav1.Time

	inits, mains []*container // a sidecar is an init container that goes on
	tokens       map[string]token

	touched chan struct{} // something of the status changed; holds one
	ending  chan struct{} // closed when the pod is being deleted
	killed  chan struct{} // closed when its object is gone

	mu                    sync.Mutex
	pod                   *corev1.Pod // as last seen
	sandbox               *sandbox    // nil before there is a network, and after
	addresses             []string    // of the sandbox; they stay in the status
	initialised, finished bool
}

func newWorker(k *Kubelet, n Node, pod *corev1.Pod) *worker {
	w := &worker{
		kubelet: k, node: n, uid: pod.UID, namespace: pod.Namespace, name: pod.Name, pod: pod,
		dir: filepath.Join(k.config.Dir, "pods", string(pod.UID)), begun: metav1.Now(), tokens: map[string]token{},
		touched: make(chan struct{}, 1), ending: make(chan struct{}), killed: make(chan struct{}),
	}
	for i := range pod.Spec.InitContainers {
		w.inits = append(w.inits, newContainer(w, &pod.Spec.InitContainers[i]))
	}
	for i := range pod.Spec.Containers {
		w.mains = append(w.mains, newContainer(w, &pod.Spec.Containers[i]))
	}
	return w
}

// update takes a newer state of the object. It never runs beside itself.
func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	w.pod = pod
	w.mu.Unlock()
	if pod.DeletionTimestamp != nil {
		closeOnce(w.ending)
	}
	w.touch()
}

// kill ends the pod without grace: nobody will ask about it any more.
func (w *worker) kill() {
	closeOnce(w.killed)
	closeOnce(w.ending)
}

// closeOnce closes a channel that only one goroutine at a time closes.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// latest is the object as last seen.
func (w *worker) latest() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod
}

// touch asks for a new look at the status.
func (w *worker) touch() {
	select {
	case w.touched <- struct{}{}:
	default:
	}
}

func (w *worker) event(kind, reason, message string) {
	w.kubelet.recorder.Event(w.latest(), kind, reason, message)
}

// run is the whole life. It returns when nothing of the pod runs and its object
// is gone, or when the context ends.
func (w *worker) run(ctx context.Context) {
	// life ends when the pod is to end; reports go on until it has.
	life, end := context.WithCancel(ctx)
	reports, enough := context.WithCancel(ctx)
	var around sync.WaitGroup
	around.Go(func() { w.report(reports) })
	around.Go(func() {
		select {
		case <-w.ending:
		case <-life.Done():
		}
		end()
	})
	if pod := w.latest(); pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		w.live(ctx, life)
	}
	select { // a pod that is done waits for its deletion
	case <-w.ending:
	case <-ctx.Done():
	}
	end()
	enough()
	around.Wait()
	w.remove(ctx)
	if err := os.RemoveAll(w.dir); err != nil {
		w.kubelet.config.Log.Warn("folder of a pod stays", "error", err)
	}
}

// live runs the containers, from the network to the last exit.
func (w *worker) live(ctx, life context.Context) {
	var sidecars sync.WaitGroup
	aside, leave := context.WithCancel(ctx)
	if w.connect(life) && w.volumes(life) && w.initialise(ctx, life, aside, &sidecars) {
		var mains sync.WaitGroup
		refresh, stop := context.WithCancel(ctx)
		mains.Go(func() { w.refresh(refresh) })
		var all sync.WaitGroup
		for _, c := range w.mains {
			all.Go(func() { c.run(life, w.policy()) })
		}
		all.Wait()
		stop()
		mains.Wait()
	}
	leave()
	sidecars.Wait()
	w.mu.Lock()
	w.finished = true
	s := w.sandbox
	w.sandbox = nil
	w.mu.Unlock()
	if s != nil {
		s.close()
	}
	w.touch()
}

func (w *worker) policy() corev1.RestartPolicy { return w.latest().Spec.RestartPolicy }

// connect makes the pod's network, again and again if need be. False means that
// the pod ended first.
func (w *worker) connect(life context.Context) bool {
	return w.insist(life, "FailedCreatePodSandBox", func() error {
		s, err := w.kubelet.sandbox(w.node, w.latest().Spec.HostNetwork)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.sandbox = s
		for _, a := range s.addresses {
			w.addresses = append(w.addresses, a.String())
		}
		w.mu.Unlock()
		w.touch()
		return nil
	})
}

// volumes materialises all volumes; what they need may come later.
func (w *worker) volumes(life context.Context) bool {
	return w.insist(life, "FailedMount", func() error { return w.materialise(life) })
}

// insist repeats a step until it succeeds, and says once why it does not yet.
func (w *worker) insist(life context.Context, reason string, step func() error) bool {
	said := ""
	for {
		err := step()
		if err == nil {
			return true
		}
		if life.Err() == nil && err.Error() != said {
			said = err.Error()
			w.event(corev1.EventTypeWarning, reason, said)
		}
		if !sleep(life, 200*time.Millisecond) {
			return false
		}
	}
}

// refresh keeps volumes as what they come from.
func (w *worker) refresh(ctx context.Context) {
	for sleep(ctx, 500*time.Millisecond) {
		if err := w.materialise(ctx); err != nil && ctx.Err() == nil {
			w.kubelet.config.Log.Info("volumes stay as they are", "pod", w.namespace+"/"+w.name, "error", err)
		}
	}
}

// initialise runs the init containers one after the other. False means that the
// pod ended first, or that one failed for good.
func (w *worker) initialise(ctx, life, aside context.Context, sidecars *sync.WaitGroup) bool {
	for _, c := range w.inits {
		if c.sidecar() {
			sidecars.Go(func() { c.run(aside, corev1.RestartPolicyAlways) })
			if !c.waitStarted(life) {
				return false
			}
			continue
		}
		policy := w.policy()
		if policy == corev1.RestartPolicyAlways {
			policy = corev1.RestartPolicyOnFailure
		}
		c.run(life, policy)
		if !c.succeeded() {
			return false
		}
	}
	w.mu.Lock()
	w.initialised = true
	w.mu.Unlock()
	w.touch()
	return life.Err() == nil && ctx.Err() == nil
}

// remove deletes the object of a pod that has ended, as only a kubelet may.
func (w *worker) remove(ctx context.Context) {
	zero := int64(0)
	for ctx.Err() == nil {
		err := w.kubelet.config.Client.CoreV1().Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
			GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &w.uid},
		})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		if !errors.Is(err, context.Canceled) {
			w.kubelet.config.Log.Warn("delete the object of an ended pod", "pod", w.namespace+"/"+w.name, "error", err)
		}
		sleep(ctx, 200*time.Millisecond)
	}
}

// container finds one by name.
func (w *worker) container(name string) *container {
	for _, c := range slices.Concat(w.inits, w.mains) {
		if c.spec.Name == name {
			return c
		}
	}
	return nil
}

// sleep waits, and tells whether the context still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
