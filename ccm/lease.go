package ccm

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// lease is the manager's own, which the framework takes and renews and never
// gives back: without this the next leader waits until it runs out.
type lease struct {
	client coordination.LeasesGetter // not behind the gate
	name   string
	space  string
	gate   *gate
	holder atomic.Pointer[string] // as who this process leads
}

// taken notes as who this process leads. It is called when the framework starts
// the controllers: it has the lease then, under a name that it tells nobody.
func (l *lease) taken(ctx context.Context) error {
	now, err := l.client.Leases(l.space).Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading lease %s/%s: %w", l.space, l.name, err)
	}
	l.holder.Store(now.Spec.HolderIdentity)
	return nil
}

// release gives the lease back if this process still has it. From then on the
// process says nothing more to the API server: the framework would take the lease
// again with its next renewal.
func (l *lease) release(ctx context.Context) error {
	holder := l.holder.Load()
	if holder == nil {
		return nil
	}
	l.gate.shut.Store(true)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := l.client.Leases(l.space).Get(ctx, l.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ptr.Deref(now.Spec.HolderIdentity, "") != *holder {
			return nil // another's already
		}
		_, err = l.client.Leases(l.space).Update(ctx, vacated(now), metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("giving lease %s/%s back: %w", l.space, l.name, err)
	}
	return nil
}

// vacated is a lease as client-go's own release leaves it: held by nobody, and
// over in a second for those who only look at its times.
func vacated(l *coordinationv1.Lease) *coordinationv1.Lease {
	l = l.DeepCopy()
	now := ptr.To(metav1.NewMicroTime(time.Now()))
	l.Spec.HolderIdentity = ptr.To("")
	l.Spec.LeaseDurationSeconds = ptr.To(int32(1))
	l.Spec.AcquireTime, l.Spec.RenewTime = now, now
	return l
}

// gate stands between the framework's clients and the API server.
type gate struct{ shut atomic.Bool }

// wrap is a transport.WrapperFunc.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if g.shut.Load() {
			return nil, fmt.Errorf("%s %s: this process has stopped leading and ends", r.Method, r.URL.Path)
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
