//go:build e2e

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/test/cluster/programs"
)

// churn ends pods and scales Deployments until ctx ends. It leaves an app alone
// that has less than two pods that serve.
func (w *world) churn(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		ns, name := namespace, string("ab"[rng.IntN(2)])
		if rng.IntN(4) == 0 {
			ns, name = elsewhere, "c"
		}
		pods := w.ready(ctx, ns, name)
		switch {
		case len(pods) < 2:
		case rng.IntN(4) == 0:
			replicas := 2 + rng.IntN(3)
			w.journal.note("pods scaled", "of %s to %d", name, replicas)
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
			_ = stubborn(ctx, func(ctx context.Context) error { // or this is over
				_, err := w.Client().AppsV1().Deployments(ns).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
				return err
			})
		default:
			pod := pods[rng.IntN(len(pods))]
			w.journal.note("pod ended", "%s", pod.Name)
			_ = stubborn(ctx, func(ctx context.Context) error {
				return w.Client().CoreV1().Pods(ns).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
			})
		}
		wait(ctx, rng, 3*time.Second, 7*time.Second)
	}
}

// ready are the pods of an app that serve and are not told to end. While the API
// server is away there are none.
func (w *world) ready(ctx context.Context, ns, app string) (out []corev1.Pod) {
	list, err := w.Client().CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil
	}
	for _, pod := range list.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				out = append(out, pod)
			}
		}
	}
	return out
}

// whole says which Deployment does not have all its pods.
func whole(list []appsv1.Deployment) error {
	var errs []error
	for _, d := range list {
		if d.Status.ReadyReplicas != *d.Spec.Replicas {
			errs = append(errs, fmt.Errorf("deployment %s has %d pods ready, want %d", d.Name, d.Status.ReadyReplicas, *d.Spec.Replicas))
		}
	}
	return errors.Join(errs...)
}

func wait(ctx context.Context, rng *rand.Rand, least, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(least + time.Duration(rng.Int64N(int64(most-least)))):
	}
}

// brief is what the names of those begin with that live for moments only.
const brief = "brief-"

// come makes gateways and Services that live for moments only.
func (w *world) come(ctx context.Context, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		kind, name := gateways, fmt.Sprintf("%s%d", brief, n)
		text := gateway(name, listener("http", 80, "")) + "---" + plain(name, name, "a").String()
		if rng.IntN(3) == 0 {
			kind, text = services, service(namespace, name, "a", outside, 80)
		}
		w.journal.note("came and went", "%s %s", kind.Resource, name)
		if err := w.comeAndGo(context.WithoutCancel(ctx), kind, name, text, rng.IntN(3) > 0); err != nil {
			w.t.Errorf("%s %s: %v", kind.Resource, name, err)
		}
		wait(ctx, rng, 0, 4*time.Second)
	}
}

// comeAndGo makes something that serves, waits until it does unless it is too brief
// for that, and removes it again.
func (w *world) comeAndGo(ctx context.Context, kind schema.GroupVersionResource, name, text string, serves bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*followed)
	defer cancel()
	if err := w.put(ctx, text); err != nil {
		return err
	}
	if serves {
		err := stubborn(ctx, func(ctx context.Context) error {
			at, err := w.addressOf(ctx, kind, name)
			if err != nil {
				return err
			}
			one := &target{name: name, host: name + ".example", url: "http://" + at, is: state{status: http.StatusOK, mark: "0"}}
			if kind == services {
				one.is.mark = ""
			}
			return one.check(one.client())
		})
		if err != nil {
			return fmt.Errorf("it does not serve: %w", err)
		}
	}
	return errors.Join(w.remove(ctx, kind, namespace, name), w.remove(ctx, httpRoutes, namespace, name))
}

// approve agrees to every plan that waits: that a listener goes needs a person's
// word, and here somebody gives it at once.
func (w *world) approve(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(200 * time.Millisecond)
		list, err := w.Dynamic().Resource(plans).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // the API server is away
		}
		for _, o := range list.Items {
			hash, _, _ := unstructured.NestedString(o.Object, "status", "plan", "hash")
			given, _, _ := unstructured.NestedString(o.Object, "spec", "approve")
			if hash == "" || hash == given {
				continue
			}
			patch := fmt.Appendf(nil, `{"spec":{"approve":%q}}`, hash)
			if _, err := w.Dynamic().Resource(plans).Namespace(namespace).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
				w.journal.note("plan approved", "of %s", o.GetName())
			}
		}
	}
}

// trouble lets API servers and managers end until ctx does. It runs in the test's
// own goroutine, as it may end the test.
func (w *world) trouble(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		wait(ctx, rng, 5*time.Second, 12*time.Second)
		if ctx.Err() != nil {
			break
		}
		switch rng.IntN(5) {
		case 0:
			w.journal.note("API server restarted", "")
			w.must(w.RestartAPIServer(w.t.Context()))
		case 1:
			away := time.Duration(rng.Int64N(int64(3 * time.Second)))
			w.journal.note("API server killed", "for %s", away.Round(time.Millisecond))
			w.KillAPIServer()
			time.Sleep(away)
			w.must(w.RestartAPIServer(w.t.Context()))
		case 2:
			w.end(w.leader(), syscall.SIGKILL)
		case 3:
			w.end(w.leader(), syscall.SIGTERM)
		case 4:
			w.end(w.managers[rng.IntN(len(w.managers))], syscall.SIGKILL)
		}
		w.replace()
	}
}

func (w *world) end(r *programs.Manager, s syscall.Signal) {
	w.t.Helper()
	who := "one that stands by"
	if r.Leads(w.t.Context()) == nil {
		who = "the leader"
	}
	w.journal.note("manager "+s.String(), "%s, on port %d", who, r.Port)
	r.Signal(w.t, s)
}

// replicas are how many managers run.
const replicas = 2

// replace starts managers in place of those that have ended, as a Deployment would;
// some end by themselves, since without an API server nobody can go on leading.
func (w *world) replace() {
	var alive []*programs.Manager
	for _, r := range w.managers {
		select {
		case <-r.Ended():
		default:
			alive = append(alive, r)
		}
	}
	w.managers = alive
	for len(w.managers) < replicas {
		r := w.start()
		w.journal.note("manager started", "on port %d", r.Port)
	}
}
