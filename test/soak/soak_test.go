//go:build e2e

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/test/cluster"
)

// TestSoak lets everything happen for -duration. The choice of edits is the same
// for the same -seed; which of them meets which restart is not.
func TestSoak(t *testing.T) {
	by := *seed
	if by == 0 {
		by = rand.Uint64()
	}
	t.Logf("run again with -seed=%d", by)
	w := newWorld(t)
	for range replicas {
		w.start()
	}
	all := w.build(t)
	w.settle()
	w.happen(all, by)
	w.calm()
	for _, each := range all {
		w.await(each.target)
	}
	t.Run("nothing grows", func(t *testing.T) { w.nothingGrows(t) })
	t.Run("it is as if made anew", func(t *testing.T) { w.asIfNew(t) })
	t.Run("nothing is left", func(t *testing.T) { w.nothingLeft(t, rand.New(rand.NewPCG(by, 0))) })
}

// happen lets everything happen at once, and tells what came of it.
func (w *world) happen(all []edited, by uint64) {
	stream := uint64(0)
	rng := func() *rand.Rand {
		stream++
		return rand.New(rand.NewPCG(by, stream))
	}
	w.journal.began = time.Now()
	ctx, cancel := context.WithTimeout(w.t.Context(), *duration)
	defer cancel()
	asked, stopAsking := context.WithCancel(w.t.Context())
	defer stopAsking()
	var clients, editors sync.WaitGroup
	for _, each := range all {
		clients.Go(func() { each.load(asked) })
		if each.editor != nil {
			r := rng()
			editors.Go(func() { w.work(ctx, each.target, each.editor, r) })
		}
	}
	pods, brief := rng(), rng()
	editors.Go(func() { w.churn(ctx, pods) })
	editors.Go(func() { w.come(ctx, brief) })
	clients.Go(func() { w.approve(asked) })
	w.trouble(ctx, rng())
	editors.Wait()
	stopAsking()
	clients.Wait()
	w.journal.print()
}

// calm waits until pods are as many as they should be and Services have them all, nothing
// is left of what came and went, and the cloud is not changed any more.
func (w *world) calm() {
	w.t.Helper()
	cluster.Eventually(w.t, 2*time.Minute, func(ctx context.Context) error {
		list, err := w.Client().AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if err := whole(list.Items); err != nil {
			return err
		}
		pods, err := w.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("pod %s has not ended yet", pods.Items[i].Name)
			}
		}
		return errors.Join(w.briefLeft(ctx), w.remembered(ctx))
	})
	w.settle()
}

// briefLeft is the first Service of what came and went that is still there: the
// cluster's garbage collector removes those of Gateways in its own time.
func (w *world) briefLeft(ctx context.Context) error {
	list, err := w.Client().CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if name := list.Items[i].Name; strings.HasPrefix(name, brief) {
			return fmt.Errorf("service %s is still there", name)
		}
	}
	return nil
}

// How much more an old leader may have than a new one: what the moment brings, and
// nothing that grows.
const (
	moreGoroutines = 40
	moreFiles      = 20
)

// nothingGrows compares the leader with one that has just begun.
func (w *world) nothingGrows(t *testing.T) {
	old := w.leader()
	goroutines, files := w.has(t, old.Port)
	for _, r := range w.managers {
		r.Signal(t, syscall.SIGTERM)
	}
	w.managers = nil
	changes, _ := w.cloud.Calls(t)
	r := w.start()
	w.leader()
	w.settle()
	fresh, freshFiles := w.has(t, r.Port)
	t.Logf("goroutines %.0f, of a new leader %.0f; open files %.0f, of a new leader %.0f", goroutines, fresh, files, freshFiles)
	if goroutines > fresh+moreGoroutines || files > freshFiles+moreFiles {
		t.Error("the old leader has more than a new one: something was not given back")
	}
	if now, _ := w.cloud.Calls(t); now != changes {
		t.Errorf("a new leader changes the cloud %d times, although everything was followed", now-changes)
	}
}

func (w *world) has(t *testing.T, port int) (goroutines, files float64) {
	t.Helper()
	for _, r := range w.managers {
		if r.Port != port {
			continue
		}
		var err error
		if goroutines, err = r.Metric(t.Context(), "go_goroutines"); err != nil {
			t.Fatal(err)
		}
		if files, err = r.Metric(t.Context(), "process_open_fds"); err != nil {
			t.Fatal(err)
		}
	}
	return goroutines, files
}
