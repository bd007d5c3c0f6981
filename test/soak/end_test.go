//go:build e2e

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/remote"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

// asIfNew gives a new cloud to a new manager, with the same objects, and compares
// what it makes, and what it writes to the objects, with what all the edits have led
// to. The old cloud is away meanwhile: there is one set of addresses.
func (w *world) asIfNew(t *testing.T) {
	old := w.cloud
	graph, statuses, balancers := graphOf(t, old), w.statuses(t), old.Now(t).Objects["Balancer"]
	if keys, certificates := keysOf(t, old), old.Now(t).Objects["Certificate"]; keys != certificates {
		t.Errorf("the cloud has %d keys and %d certificates", keys, certificates)
	}
	w.stop(t)
	old.Signal(t, syscall.SIGTERM)
	w.cloud = programs.StartCloud(t, pool)
	w.config.Cloud = w.cloud
	w.start()
	cluster.Eventually(t, time.Minute, func(context.Context) error {
		if s := w.cloud.Now(t); s.Objects["Balancer"] != balancers {
			return fmt.Errorf("the new cloud has %v, want %d balancers", s.Objects, balancers)
		}
		return nil
	})
	w.settle()
	fresh, freshStatuses := graphOf(t, w.cloud), w.statuses(t)
	for _, each := range differences(graph, fresh) {
		t.Error(each)
	}
	if diff := cmp.Diff(freshStatuses, statuses); diff != "" {
		t.Errorf("statuses (-made anew +after the edits):\n%s", diff)
	}
	t.Logf("%d resources and %d statuses compared", len(fresh), len(freshStatuses))
	w.stop(t)
	w.cloud.Signal(t, syscall.SIGTERM)
	old.Restart(w.t)
	w.cloud, w.config.Cloud = old, old
}

// stop ends all managers.
func (w *world) stop(t *testing.T) {
	t.Helper()
	for _, r := range w.managers {
		r.Signal(t, syscall.SIGTERM)
	}
	w.managers = nil
}

// graphOf is everything that a cloud holds of the cluster, such that it does not
// depend on history: the rules of a listener are numbered anew in their order.
func graphOf(t *testing.T, c *programs.Cloud) lbmodel.Graph {
	t.Helper()
	r, err := remote.Open(remote.Config{Address: c.Address})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := r.Provider.Observe(t.Context(), lbmodel.Owner{Cluster: clusterName}, nil)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	rules := map[cloud.Ref][]lbmodel.ID{}
	for id, each := range graph {
		if rule, is := each.Spec.(*cloud.Rule); is {
			rules[rule.Listener] = append(rules[rule.Listener], id)
		}
	}
	number := func(id lbmodel.ID) int32 { return graph[id].Spec.(*cloud.Rule).Number }
	for _, ids := range rules {
		slices.SortFunc(ids, func(a, b lbmodel.ID) int { return int(number(a) - number(b)) })
		for i, id := range ids {
			rule := *graph[id].Spec.(*cloud.Rule)
			rule.Number = int32(i + 1)
			r := graph[id]
			r.Spec, r.Digest = &rule, lbmodel.DigestOf(&rule)
			graph[id] = r
		}
	}
	return graph
}

func differences(have, want lbmodel.Graph) (out []string) {
	for id := range have {
		if _, there := want[id]; !there {
			out = append(out, fmt.Sprintf("%s of %s was not removed", id, have[id].Owner))
		}
	}
	for id, w := range want {
		h, there := have[id]
		switch {
		case !there:
			out = append(out, fmt.Sprintf("%s of %s is missing", id, w.Owner))
		case h.Digest != w.Digest || h.Hold != w.Hold || h.Owner != w.Owner:
			out = append(out, fmt.Sprintf("%s of %s differs: %v", id, w.Owner, lbmodel.Explain(h.Spec, w.Spec)))
		}
	}
	slices.Sort(out)
	return out
}

// statuses are those of all objects that we write to, without times and addresses,
// which are another's each time.
func (w *world) statuses(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, kind := range []schema.GroupVersionResource{classes, gateways, httpRoutes, services} {
		list, err := w.Dynamic().Resource(kind).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			status, _ := o.Object["status"].(map[string]any)
			strip(status)
			text, err := json.MarshalIndent(status, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			out[kind.Resource+" "+o.GetNamespace()+"/"+o.GetName()] = string(text)
		}
	}
	return out
}

// strip takes out of a status what differs from one making to the next.
func strip(of any) {
	switch v := of.(type) {
	case map[string]any:
		for _, field := range []string{"lastTransitionTime", "value", "ip"} {
			delete(v, field)
		}
		for _, each := range v {
			strip(each)
		}
	case []any:
		for _, each := range v {
			strip(each)
		}
	}
}

// nothingLeft deletes every object, in random order and waiting for none, and wants
// nothing of them to be left anywhere.
func (w *world) nothingLeft(t *testing.T, rng *rand.Rand) {
	for range replicas {
		w.start()
	}
	w.leader()
	all := w.objects(t)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, o := range all {
		err := w.Dynamic().Resource(o.kind).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // what belonged to another has gone with it
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, 2*time.Minute, func(context.Context) error {
		left := w.objects(t)
		if len(left) == 0 {
			return nil
		}
		o := left[0]
		return fmt.Errorf("%d objects are left, the first is %s %s/%s with finalizers %v", len(left), o.kind.Resource, o.GetNamespace(), o.GetName(), o.GetFinalizers())
	})
	cluster.Eventually(t, 30*time.Second, func(context.Context) error {
		s := w.cloud.Now(t)
		maps.DeleteFunc(s.Objects, func(_ string, n int) bool { return n == 0 })
		if len(s.Objects)+len(s.Bound) > 0 {
			return fmt.Errorf("the cloud still has %v, and serves at %v", s.Objects, s.Bound)
		}
		return nil
	})
	if keys := keysOf(t, w.cloud); keys > 0 {
		t.Errorf("%d keys of certificates are left with the cloud", keys)
	}
	record, err := w.Client().CoreV1().ConfigMaps("gatehouse-system").Get(t.Context(), "gatehouse-retained", metav1.GetOptions{})
	if err == nil && len(record.Data) > 0 {
		t.Errorf("the record of retained gateways still has %v", record.Data)
	}
}

// keysOf is how many keys a cloud keeps.
func keysOf(t *testing.T, c *programs.Cloud) int {
	t.Helper()
	keys, err := os.ReadDir(filepath.Join(c.State, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return len(keys)
}

// object is one that the soak, or what it tests, has made.
type object struct {
	unstructured.Unstructured
	kind schema.GroupVersionResource
}

func (w *world) objects(t *testing.T) (out []object) {
	t.Helper()
	in := func(ns string, kinds ...schema.GroupVersionResource) {
		for _, kind := range kinds {
			list, err := w.Dynamic().Resource(kind).Namespace(ns).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range list.Items {
				out = append(out, object{o, kind})
			}
		}
	}
	in("", classes)
	for _, ns := range []string{namespace, elsewhere} {
		in(ns, parameters, gateways, plans, httpRoutes, grants, services, secrets)
	}
	return out
}
