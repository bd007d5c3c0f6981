package ccm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"gatehouse.dev/lbmodel"
)

// works is an engine that begins a call to a cloud whenever it is told to, and
// ends like internal/controller's: nothing new is begun, and what is under way
// has its time.
type works struct {
	begin chan struct{} // a call is wanted
	slow  chan struct{} // closed when calls under way may end
	sick  error
	dies  error // it ends with this by itself

	mu           sync.Mutex
	begun, ended int
}

func newWorks() *works { return &works{begin: make(chan struct{}), slow: make(chan struct{})} }

func (w *works) Run(ctx context.Context) error {
	if w.dies != nil {
		return w.dies
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.begin:
			w.count(&w.begun)
			calls.Go(func() { <-w.slow; w.count(&w.ended) })
		}
	}
}

func (w *works) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

func (w *works) seen() (begun, ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun, w.ended
}

func (w *works) Healthy() error { return w.sick }

func (w *works) Paused() int { return 0 }

func (w *works) EnsureService(context.Context, *corev1.Service) (*corev1.LoadBalancerStatus, error) {
	return nil, w.sick
}

func (w *works) ForgetService(context.Context, *corev1.Service) error { return w.sick }

// led is an Extension that leads with w under a lease.
func led(ctx context.Context, t *testing.T, w *works, drain time.Duration) (*manager, *fake.Clientset) {
	t.Helper()
	store := fake.NewClientset(leaseOf("me_1"))
	m := &manager{Extension: New(), stop: make(chan struct{})}
	m.settings.drain = drain
	m.lease = &lease{client: store.CoordinationV1(), space: "gatehouse-system", name: ManagerName, gate: new(gate)}
	s, _ := m.decide(setting{completed: completed("gatehouse")})
	m.running = run(ctx, w, s.leading, func(context.Context) error { return nil })
	return m, store
}

// TestShutdown holds the order of an end: nothing new, what is under way is
// finished, and only then is the lease given back. The other way round two
// processes would act at a time.
func TestShutdown(t *testing.T) {
	w := newWorks()
	m, store := led(t.Context(), t, w, time.Minute)
	w.begin <- struct{}{}
	over := make(chan struct{})
	go func() { defer close(over); m.shutdown() }()
	<-w.stopped(m)
	select {
	case w.begin <- struct{}{}:
		t.Error("a call was begun after the order to stop")
	case <-time.After(50 * time.Millisecond):
	}
	if got := *stored(t, store).HolderIdentity; got != "me_1" {
		t.Errorf("holder %q while a call is under way, want me_1", got)
	}
	close(w.slow)
	<-over
	if begun, ended := w.seen(); begun != 1 || ended != 1 {
		t.Errorf("%d begun, %d ended, want 1 and 1", begun, ended)
	}
	if got := ptr.Deref(stored(t, store).HolderIdentity, "?"); got != "" {
		t.Errorf("holder %q after the drain, want none", got)
	}
}

// stopped is closed when the engine was told to end.
func (w *works) stopped(m *manager) <-chan struct{} {
	told := make(chan struct{})
	go func() {
		defer close(told)
		for !m.isStopping() {
			time.Sleep(time.Millisecond)
		}
	}()
	return told
}

func (m *manager) isStopping() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopping
}

// TestShutdownInVain holds that a lease is never given back over the head of a
// call that does not end: it runs out instead.
func TestShutdownInVain(t *testing.T) {
	w := newWorks()
	m, store := led(t.Context(), t, w, 30*time.Millisecond)
	w.begin <- struct{}{}
	err := m.Drain(t.Context())
	if err == nil || !strings.Contains(err.Error(), "still under way: --gatehouse-drain-timeout is over") {
		t.Errorf("error %v, want that calls are under way", err)
	}
	m.shutdown()
	if got := *stored(t, store).HolderIdentity; got != "me_1" {
		t.Errorf("holder %q, want me_1", got)
	}
	close(w.slow)
	<-m.running.done
}

// TestLostLease holds that the end of the framework's context begins nothing more,
// whatever is still wanted: another process acts already.
func TestLostLease(t *testing.T) {
	leading, lose := context.WithCancel(t.Context())
	w := newWorks()
	m, store := led(leading, t, w, time.Minute)
	w.begin <- struct{}{}
	lose()
	close(w.slow)
	<-m.running.done
	select {
	case w.begin <- struct{}{}:
		t.Error("a call was begun without the lease")
	case <-time.After(50 * time.Millisecond):
	}
	if begun, _ := w.seen(); begun != 1 {
		t.Errorf("%d calls begun, want 1", begun)
	}
	if got := *stored(t, store).HolderIdentity; got != "me_1" {
		t.Errorf("holder %q, want it untouched", got)
	}
}

// TestStartAfterStop holds that a standby that is told to stop does not begin when
// it comes to lead at the same moment.
func TestStartAfterStop(t *testing.T) {
	e := New()
	e.flags.addFlags(pflag.NewFlagSet("test", pflag.ContinueOnError), nil)
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, enabled, err := e.start(t.Context(), setting{completed: completed("gatehouse")})
	if c != nil || enabled || err != nil {
		t.Errorf("start: %v, %v, %v; want nothing", c, enabled, err)
	}
}

// TestHealth holds that a worker that is dead or stuck fails /healthz, so that the
// process is started again, and that an orderly end does not.
func TestHealth(t *testing.T) {
	t.Run("well", func(t *testing.T) {
		r := run(t.Context(), newWorks(), noted, closed)
		if err := r.HealthChecker().Check(nil); err != nil {
			t.Error(err)
		}
		if err := r.drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.Check(nil); err != nil {
			t.Errorf("after the drain: %v", err)
		}
	})
	t.Run("stuck", func(t *testing.T) {
		w := newWorks()
		w.sick = errors.New("Gateway apps/web has been worked on for 10m")
		r := run(t.Context(), w, noted, closed)
		if err := r.Check(nil); !errors.Is(err, w.sick) {
			t.Errorf("error %v, want %v", err, w.sick)
		}
		if err := r.drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("dead", func(t *testing.T) {
		w := newWorks()
		w.dies = errors.New("no more")
		r := run(t.Context(), w, noted, closed)
		<-r.done
		if err := r.Check(nil); !errors.Is(err, w.dies) || !strings.Contains(err.Error(), "ended by themselves") {
			t.Errorf("error %v, want that it died of %v", err, w.dies)
		}
	})
}

func noted(context.Context) {}

func closed(context.Context) error { return nil }

// TestLeaseThatCannotBeRead holds that leading goes on without knowing as who; the
// lease then runs out in its own time.
func TestLeaseThatCannotBeRead(t *testing.T) {
	l := &lease{client: fake.NewClientset().CoordinationV1(), space: "a", name: "b", gate: new(gate)}
	if err := l.taken(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want one that the lease is not there (%s)", err, schema.GroupResource{Resource: "leases"})
	}
	if err := l.release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBalancer holds the contract of cloudprovider.LoadBalancer that the stock
// service controller checks.
func TestBalancer(t *testing.T) {
	w := newWorks()
	b := balancer{func(context.Context) (services, error) { return w, nil }}
	t.Run("pending asks again soon", func(t *testing.T) {
		w.sick = lbmodel.Errorf(lbmodel.CodePending, "EnsureService", lbmodel.ID{}, "an address is being made")
		_, err := b.EnsureLoadBalancer(t.Context(), "c", &corev1.Service{}, nil)
		var retry interface{ RetryAfter() time.Duration }
		if !errors.As(err, &retry) || retry.RetryAfter() != again {
			t.Errorf("error %v, want a retry after %s", err, again)
		}
	})
	t.Run("other errors are as they are", func(t *testing.T) {
		w.sick = lbmodel.Errorf(lbmodel.CodeDenied, "EnsureService", lbmodel.ID{}, "not allowed")
		if err := b.UpdateLoadBalancer(t.Context(), "c", &corev1.Service{}, nil); !errors.Is(err, w.sick) {
			t.Errorf("error %v, want %v", err, w.sick)
		}
		if err := b.EnsureLoadBalancerDeleted(t.Context(), "c", &corev1.Service{}); !errors.Is(err, w.sick) {
			t.Errorf("error %v, want %v: the finalizer must stay", err, w.sick)
		}
	})
	t.Run("there from the finalizer on", func(t *testing.T) {
		svc := &corev1.Service{}
		if _, exists, err := b.GetLoadBalancer(t.Context(), "c", svc); exists || err != nil {
			t.Errorf("without: %v, %v", exists, err)
		}
		svc.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
		if _, exists, err := b.GetLoadBalancer(t.Context(), "c", svc); !exists || err != nil {
			t.Errorf("with: %v, %v", exists, err)
		}
	})
}
