package ccm

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func leaseOf(holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gatehouse-system", Name: ManagerName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To(int32(15)), LeaseTransitions: ptr.To(int32(3))},
	}
}

// holding is a lease that this process leads by, in a store of its own.
func holding(t *testing.T) (*lease, *fake.Clientset) {
	t.Helper()
	store := fake.NewClientset(leaseOf("me_1"))
	l := &lease{client: store.CoordinationV1(), space: "gatehouse-system", name: ManagerName, gate: new(gate)}
	if err := l.taken(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, store
}

func stored(t *testing.T, store *fake.Clientset) coordinationv1.LeaseSpec {
	t.Helper()
	l, err := store.CoordinationV1().Leases("gatehouse-system").Get(t.Context(), ManagerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Spec
}

// TestRelease holds that the next leader need not wait, and that nothing but the
// holder is said to be over.
func TestRelease(t *testing.T) {
	l, store := holding(t)
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := stored(t, store)
	if ptr.Deref(now.HolderIdentity, "nobody asked") != "" || *now.LeaseDurationSeconds != 1 || time.Since(now.RenewTime.Time) > time.Minute {
		t.Errorf("lease %+v, want no holder, a second, and a time of now", now)
	}
	if *now.LeaseTransitions != 3 {
		t.Errorf("transitions %d, want 3: they count leaders", *now.LeaseTransitions)
	}
}

// TestReleaseAnothers holds that a lease that another process has by now stays as
// it is: cleared, it would be everybody's while that one acts.
func TestReleaseAnothers(t *testing.T) {
	l, store := holding(t)
	if _, err := store.CoordinationV1().Leases("gatehouse-system").Update(t.Context(), leaseOf("other_2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := *stored(t, store).HolderIdentity; got != "other_2" {
		t.Errorf("holder %q, want other_2", got)
	}
}

// TestReleaseAgainstRenewal holds that a renewal of our own that comes in between
// is no reason to keep the lease.
func TestReleaseAgainstRenewal(t *testing.T) {
	l, store := holding(t)
	conflicts := 2
	store.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, ManagerName, errors.New("renewed"))
	})
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := *stored(t, store).HolderIdentity; got != "" {
		t.Errorf("holder %q, want none", got)
	}
}

// TestReleaseByStandby holds that a process that never led gives nothing back.
func TestReleaseByStandby(t *testing.T) {
	store := fake.NewClientset(leaseOf("leader_1"))
	l := &lease{client: store.CoordinationV1(), space: "gatehouse-system", name: ManagerName, gate: new(gate)}
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := *stored(t, store).HolderIdentity; got != "leader_1" {
		t.Errorf("holder %q, want leader_1", got)
	}
}

// TestGate holds that after the release not even a renewal reaches the API server:
// the framework's next one would take the lease again.
func TestGate(t *testing.T) {
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer server.Close()
	l, _ := holding(t)
	client := http.Client{Transport: l.gate.wrap(http.DefaultTransport)}
	ask := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(r)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	if err := ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context()); err == nil || reached != 1 {
		t.Errorf("error %v after %d requests, want a refusal and 1", err, reached)
	}
}
