//go:build e2e

package soak

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// forgotten is after how long the cluster's own controllers are taken to have forgotten
// a Service: kube-controller-manager sometimes does, after an API server was away ("cache
// is out of date"), until something about the Service changes.
const (
	forgotten = 45 * time.Second
	lag       = 3 * time.Second // that its controllers may have
)

// follows waits until traffic has followed an edit. Services whose EndpointSlices are
// not those of their pods are touched, so that the cluster looks at them again; that is
// noted, and nothing else wakes whom it tests.
func (w *world) follows(ctx context.Context, arrived <-chan struct{}) error {
	for {
		select {
		case <-arrived:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(forgotten):
		}
		was := w.forgotten(ctx)
		time.Sleep(lag)
		for _, s := range w.forgotten(ctx) {
			if slices.Contains(was, s) { // or it was only late
				w.touch(ctx, s)
			}
		}
	}
}

// touch lets the cluster look at a Service again.
func (w *world) touch(ctx context.Context, s types.NamespacedName) {
	w.journal.note("Service touched", "%s: the cluster has forgotten its endpoints", s)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":%q}}}`, time.Now())
	_, _ = w.Client().CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}) // or the next time
}

// remembered touches the Services that the cluster has forgotten, and says which they
// are.
func (w *world) remembered(ctx context.Context) error {
	names := w.forgotten(ctx)
	if len(names) == 0 {
		return nil
	}
	for _, s := range names {
		w.touch(ctx, s)
	}
	return fmt.Errorf("the endpoints of Services %v are not their pods", names)
}

// forgotten are the Services whose endpoints are not their pods that serve.
func (w *world) forgotten(ctx context.Context) (out []types.NamespacedName) {
	for _, ns := range []string{namespace, elsewhere} {
		list, err := w.Client().CoreV1().Services(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		endpoints, err := w.endpointsOf(ctx, ns)
		if err != nil {
			continue
		}
		for _, s := range list.Items {
			if s.Spec.Selector == nil {
				continue
			}
			want := map[string]bool{}
			for _, pod := range w.ready(ctx, ns, labels.Set(s.Spec.Selector).Get("app")) {
				want[pod.Name] = true
			}
			if !maps.Equal(want, endpoints[s.Name]) {
				out = append(out, types.NamespacedName{Namespace: ns, Name: s.Name})
			}
		}
	}
	return out
}

// endpointsOf are the names of the pods that serve, as the cluster's own controllers
// have it, by Service.
func (w *world) endpointsOf(ctx context.Context, ns string) (map[string]map[string]bool, error) {
	list, err := w.Client().DiscoveryV1().EndpointSlices(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]bool{}
	for _, s := range list.Items {
		of := s.Labels[discoveryv1.LabelServiceName]
		if out[of] == nil {
			out[of] = map[string]bool{}
		}
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready && e.TargetRef != nil {
				out[of][e.TargetRef.Name] = true
			}
		}
	}
	return out, nil
}

// endpoints tells them to a person.
func (w *world) endpoints() string {
	var out strings.Builder
	all, err := w.endpointsOf(w.t.Context(), namespace)
	if err != nil {
		return err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "  %s: %s\n", name, strings.Join(slices.Sorted(maps.Keys(all[name])), " "))
	}
	return out.String()
}
