package status

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/translate"
)

const ours, theirs = gwv1.GatewayController("gatehouse.dev/fake"), gwv1.GatewayController("acme.test/mesh")

// world is an API server with one writer.
type world struct {
	t      testing.TB
	server *fakeapi.Server
	client dynamic.Interface
	writer *Writer
	cache  map[translate.Key]any // what the informers know; nil is nothing
	wrote  atomic.Int32
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server, err := fakeapi.New()
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server)
	t.Cleanup(front.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: front.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, server: server, client: client, cache: map[translate.Key]any{}}
	w.writer = New(Config{
		Client: client, Resource: resourceOf,
		Current: func(key translate.Key) (any, bool) { obj, ok := w.cache[key]; return obj, ok },
		Wrote:   func(translate.Key) { w.wrote.Add(1) },
	})
	return w
}

func resourceOf(kind string) (schema.GroupVersionResource, bool) {
	r := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: strings.ToLower(kind) + "s"}
	switch kind {
	case translate.KindService:
		r.Group = ""
	case translate.KindGatewayClass:
		r.Resource = "gatewayclasses"
	case translate.KindBackendTLSPolicy:
		r.Resource = "backendtlspolicies"
	case translate.KindXBackend:
		return r, false
	}
	return r, true
}

func (w *world) resource(key translate.Key) dynamic.ResourceInterface {
	r, _ := resourceOf(key.Kind)
	if key.Namespace == "" {
		return w.client.Resource(r)
	}
	return w.client.Resource(r).Namespace(key.Namespace)
}

// create makes an object with its status, as somebody else.
func (w *world) create(key translate.Key, obj any) {
	w.t.Helper()
	u := w.unstructured(key, obj)
	made, err := w.resource(key).Create(w.t.Context(), u, metav1.CreateOptions{FieldManager: "user"})
	if err != nil {
		w.t.Fatal(err)
	}
	if status, ok := u.Object["status"]; ok {
		made.Object["status"] = status
		if _, err = w.resource(key).UpdateStatus(w.t.Context(), made, metav1.UpdateOptions{FieldManager: "acme"}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.server.Calls()
}

func (w *world) unstructured(key translate.Key, obj any) *unstructured.Unstructured {
	w.t.Helper()
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		w.t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: out}
	r, _ := resourceOf(key.Kind)
	u.SetGroupVersionKind(r.GroupVersion().WithKind(key.Kind))
	u.SetName(key.Name)
	u.SetNamespace(key.Namespace)
	return u
}

// get is the live object, typed into into (nil for no matter).
func (w *world) get(key translate.Key, into any) *unstructured.Unstructured {
	w.t.Helper()
	u, err := w.resource(key).Get(context.Background(), key.Name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if into != nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
			w.t.Fatal(err)
		}
	}
	return u
}

// patch is one from base to want, for the live object.
func (w *world) patch(key translate.Key, base, want any) translate.Patch {
	w.t.Helper()
	live := w.get(key, nil)
	return translate.Patch{Key: key, UID: string(live.GetUID()), ResourceVersion: live.GetResourceVersion(), Base: base, Status: want}
}

func (w *world) write(p ...translate.Patch) {
	w.t.Helper()
	w.server.Calls()
	if err := w.writer.Write(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// other changes an object's status as another controller does: it reads, changes
// and updates, until it is let.
func (w *world) other(key translate.Key, change func(status map[string]any)) {
	for {
		u, err := w.resource(key).Get(context.Background(), key.Name, metav1.GetOptions{})
		if err != nil {
			w.t.Error(err)
			return
		}
		status, _ := u.Object["status"].(map[string]any)
		if status == nil {
			status = map[string]any{}
		}
		change(status)
		u.Object["status"] = status
		if _, err = w.resource(key).UpdateStatus(context.Background(), u, metav1.UpdateOptions{FieldManager: "acme"}); err == nil {
			return
		}
	}
}

func condition(kind string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: "Because", ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)),
	}
}

func later(c metav1.Condition) metav1.Condition {
	c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Add(time.Hour))
	return c
}

func parent(name string, controller gwv1.GatewayController, conditions ...metav1.Condition) gwv1.RouteParentStatus {
	return gwv1.RouteParentStatus{ParentRef: gwv1.ParentReference{Name: gwv1.ObjectName(name)}, ControllerName: controller, Conditions: conditions}
}

func parents(p ...gwv1.RouteParentStatus) *gwv1.HTTPRouteStatus {
	return &gwv1.HTTPRouteStatus{RouteStatus: gwv1.RouteStatus{Parents: p}}
}

// route is the key of the one route in these tests.
func route() translate.Key {
	return translate.Key{Kind: translate.KindHTTPRoute, Namespace: "apps", Name: "r"}
}

func gateway() translate.Key {
	return translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "edge"}
}

// text is a value as canonical JSON.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}
