package status

import (
	"fmt"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"gatehouse.dev/internal/translate"
)

// object is one version of an object, as far as its status needs it.
type object struct {
	uid, version string
	status       map[string]any // as JSON has it; never changed
	plain        bool           // a Service that asks for no load balancer
}

func objectOf(obj any) (object, error) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return object{}, fmt.Errorf("%T is no object of the API", obj)
	}
	out := object{uid: string(meta.GetUID()), version: meta.GetResourceVersion()}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out.status, _, _ = unstructured.NestedMap(u.Object, "status")
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "type")
		out.plain = u.GetKind() == translate.KindService && kind != string(corev1.ServiceTypeLoadBalancer)
		return out, nil
	}
	field := reflect.Indirect(reflect.ValueOf(obj)).FieldByName("Status")
	if !field.IsValid() || !field.CanAddr() {
		return object{}, fmt.Errorf("%T has no status", obj)
	}
	if svc, is := obj.(*corev1.Service); is {
		out.plain = svc.Spec.Type != corev1.ServiceTypeLoadBalancer
	}
	var err error
	out.status, err = statusOf(field.Addr().Interface())
	return out, err
}

// statusOf is a typed status as JSON has it; nil is an empty one.
func statusOf(typed any) (map[string]any, error) {
	if typed == nil {
		return map[string]any{}, nil
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("a status of type %T cannot be read: %w", typed, err)
	}
	for field, value := range out {
		if value == nil {
			delete(out, field) // a required list that is nil
		}
	}
	return out, nil
}

// most is how many objects are remembered until an informer has seen them too.
const most = 512

// recent are the versions that our own writes made, until others know them: so a
// pass that starts before the informer has told of the last one's writes merges
// into these, and not into what was before them.
type recent struct {
	mu   sync.Mutex
	seen map[translate.Key]object
	// mine are the last versions of ours, also those that others know by now, and
	// flying are writes without an answer yet: an informer may tell of one before that.
	mine   map[translate.Key]string
	flying map[translate.Key]int
}

// mostMine is how many versions of ours are remembered. Forgetting costs a pass that
// finds nothing to do.
const mostMine = 1 << 14

// begin notes that a write is on its way; whoever calls it calls end.
func (r *recent) begin(key translate.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flying == nil {
		r.flying = map[translate.Key]int{}
	}
	r.flying[key]++
}

func (r *recent) end(key translate.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flying[key]--; r.flying[key] <= 0 {
		delete(r.flying, key)
	}
}

func (r *recent) put(key translate.Key, o object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil || len(r.seen) >= most {
		r.seen = map[translate.Key]object{} // forgetting costs a conflict, and only perhaps
	}
	r.seen[key] = o
	if r.mine == nil || len(r.mine) >= mostMine {
		r.mine = map[translate.Key]string{}
	}
	r.mine[key] = o.version
}

func (r *recent) forget(key translate.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
	delete(r.mine, key)
}

// made says whether a version is one that our own writes made or are making, or an
// older one.
func (r *recent) made(key translate.Key, version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ours, ok := r.mine[key]
	order, err := resourceversion.CompareResourceVersion(ours, version)
	return r.flying[key] > 0 || ok && err == nil && order >= 0
}

func (r *recent) newest(key translate.Key, known object) object {
	r.mu.Lock()
	defer r.mu.Unlock()
	ours, ok := r.seen[key]
	if !ok {
		return known
	}
	order, err := resourceversion.CompareResourceVersion(ours.version, known.version)
	if err == nil && order > 0 && ours.uid == known.uid {
		return ours
	}
	delete(r.seen, key)
	return known
}
