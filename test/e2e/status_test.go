//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/controller/infrastructure"
	"gatehouse.dev/internal/controller/status"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/test/cluster"
)

const statusObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: apps}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: apps}
spec:
  gatewayClassName: offcluster
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec:
  parentRefs: [{name: edge}, {name: edge2}, {name: mesh}]
---
apiVersion: v1
kind: Service
metadata: {name: lb, namespace: apps}
spec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake, ports: [{port: 80}]}
`

// TestStatus is the status writer, and the Gateways' own Services, against a real
// API server.
func TestStatus(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	c.InstallCRDs(t, cluster.Standard)
	c.Apply(t, statusObjects)
	for _, part := range []struct {
		name, why string
		run       func(*writing)
	}{
		{"C69 third controller", "another controller writes to the same atomic list all the time", testThirdController},
		{"foreign conditions", "server-side apply must leave and not adopt them", testForeignConditions},
		{"no longer wanted", "a former controller of the Gateway set the same conditions", testNoLongerWanted},
		{"stale version", "the informer is behind", testStaleVersion},
		{"Service", "conditions and ingress of a built-in kind", testServiceStatus},
		{"infrastructure", "the Gateway's Service as the API server takes it", testInfrastructure},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Log(part.why)
			part.run(newWriting(t, c.Dynamic()))
		})
	}
}

// writing is one writer, which knows an object only if told so.
type writing struct {
	*testing.T
	client dynamic.Interface
	writer *status.Writer
	known  map[translate.Key]any
	wrote  atomic.Int32
}

func newWriting(t *testing.T, client dynamic.Interface) *writing {
	w := &writing{T: t, client: client, known: map[translate.Key]any{}}
	w.writer = status.New(status.Config{
		Client: client, Resource: resourceOf,
		Current: func(key translate.Key) (any, bool) { obj, ok := w.known[key]; return obj, ok },
		Wrote:   func(translate.Key) { w.wrote.Add(1) },
	})
	return w
}

func resourceOf(kind string) (schema.GroupVersionResource, bool) {
	switch kind {
	case translate.KindService:
		return corev1.SchemeGroupVersion.WithResource("services"), true
	case translate.KindEndpointSlice:
		return discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), true
	default:
		return schema.GroupVersionResource{Group: gwv1.GroupName, Version: "v1", Resource: strings.ToLower(kind) + "s"}, true
	}
}

func (w *writing) at(key translate.Key) dynamic.ResourceInterface {
	r, _ := resourceOf(key.Kind)
	return w.client.Resource(r).Namespace(key.Namespace)
}

func (w *writing) live(key translate.Key) *unstructured.Unstructured {
	w.Helper()
	u, err := w.at(key).Get(context.Background(), key.Name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return u
}

func (w *writing) typed(key translate.Key, into any) {
	w.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.live(key).Object, into); err != nil {
		w.Fatal(err)
	}
}

// write carries a change of an object's status over, and says how many writes
// that took.
func (w *writing) write(key translate.Key, base, want any) int {
	w.Helper()
	before := w.wrote.Load()
	u := w.live(key)
	p := translate.Patch{Key: key, UID: string(u.GetUID()), ResourceVersion: u.GetResourceVersion(), Base: base, Status: want}
	if err := w.writer.Write(w.Context(), []translate.Patch{p}); err != nil {
		w.Fatal(err)
	}
	return int(w.wrote.Load() - before)
}

// other changes a status as another controller does, until it is let, and gives
// what came of it.
func (w *writing) other(key translate.Key, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	for {
		u, err := w.at(key).Get(context.Background(), key.Name, metav1.GetOptions{})
		if err == nil {
			change(u)
			if u, err = w.at(key).UpdateStatus(context.Background(), u, metav1.UpdateOptions{FieldManager: "acme"}); err == nil {
				return u
			}
		}
		if !apierrors.IsConflict(err) {
			w.Error(err)
			return nil
		}
	}
}

func (w *writing) equal(what string, got, want any) {
	w.Helper()
	g, gotErr := json.Marshal(got)
	wanted, wantErr := json.Marshal(want)
	if gotErr != nil || wantErr != nil {
		w.Fatal(gotErr, wantErr)
	}
	if string(g) != string(wanted) {
		w.Errorf("%s:\n got %s\nwant %s", what, g, wanted)
	}
}

func cond(kind string, value metav1.ConditionStatus, generation int64) metav1.Condition {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).Local()
	return metav1.Condition{Type: kind, Status: value, Reason: "Because", ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(at)}
}

func ourParent(name string, conditions ...metav1.Condition) *gwv1.HTTPRouteStatus {
	ref := gwv1.ParentReference{Group: new(gwv1.Group(gwv1.GroupName)), Kind: new(gwv1.Kind("Gateway")), Name: gwv1.ObjectName(name)}
	return &gwv1.HTTPRouteStatus{RouteStatus: gwv1.RouteStatus{Parents: []gwv1.RouteParentStatus{
		{ParentRef: ref, ControllerName: "gatehouse.dev/fake", Conditions: conditions},
	}}}
}

func testThirdController(w *writing) {
	key := translate.Key{Kind: translate.KindHTTPRoute, Namespace: "apps", Name: "r"}
	uid := string(w.live(key).GetUID())
	stop := make(chan struct{})
	var foreign any // its entry as it last wrote it
	rounds := int64(0)
	var all, ours sync.WaitGroup
	all.Go(func() {
		for tick := time.NewTicker(5 * time.Millisecond); ; rounds++ {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				foreign = foreignEntry(w.other(key, func(u *unstructured.Unstructured) { setForeignEntry(u, rounds) }))
			}
		}
	})
	for _, name := range []string{"edge", "edge2"} {
		ours.Go(func() {
			base := &gwv1.HTTPRouteStatus{}
			for g := range int64(20) {
				next := ourParent(name, cond("Accepted", "True", g+1))
				p := translate.Patch{Key: key, UID: uid, Base: base, Status: next}
				for w.writer.Write(w.Context(), []translate.Patch{p}) != nil { // the next pass
				}
				base = next
			}
		})
	}
	ours.Wait()
	close(stop)
	all.Wait()
	w.Logf("%d writes of ours among %d of the other", w.wrote.Load(), rounds)
	u := w.live(key)
	w.equal("the other's entry", foreignEntry(u), foreign)
	var got gwv1.HTTPRoute
	w.typed(key, &got)
	w.equal("parents", len(got.Status.Parents), 3)
	for _, p := range got.Status.Parents {
		if p.ControllerName == "gatehouse.dev/fake" {
			w.equal(string(p.ParentRef.Name), p.Conditions[0].ObservedGeneration, 20)
		}
	}
	w.equal("writes of what is there", w.write(key, &gwv1.HTTPRouteStatus{}, ourParent("edge", cond("Accepted", "True", 20))), 0)
	w.write(key, ourParent("edge", cond("Accepted", "True", 20)), &gwv1.HTTPRouteStatus{})
	w.write(key, ourParent("edge2", cond("Accepted", "True", 20)), &gwv1.HTTPRouteStatus{})
	w.equal("the other's entry after our last one is gone", foreignEntry(w.live(key)), foreign)
	got = gwv1.HTTPRoute{}
	w.typed(key, &got)
	w.equal("parents that are left", len(got.Status.Parents), 1)
}

func foreignEntry(u *unstructured.Unstructured) any {
	if u == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m["controllerName"] == "acme.test/mesh" {
			return m
		}
	}
	return nil
}

func setForeignEntry(u *unstructured.Unstructured, round int64) {
	entry := map[string]any{
		"controllerName": "acme.test/mesh", "parentRef": map[string]any{"name": "mesh"},
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": "Hammered", "message": fmt.Sprint("round ", round), "lastTransitionTime": "2026-11-30T12:00:00Z",
		}},
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	for i, e := range list {
		if m, ok := e.(map[string]any); ok && m["controllerName"] == "acme.test/mesh" {
			list[i] = entry
			entry = nil
		}
	}
	if entry != nil {
		list = append(list, entry)
	}
	u.Object["status"] = map[string]any{"parents": list}
}

func gatewayStatus(generation int64, extra ...metav1.Condition) *gwv1.GatewayStatus {
	return &gwv1.GatewayStatus{
		Addresses:  []gwv1.GatewayStatusAddress{{Type: new(gwv1.IPAddressType), Value: "198.18.0.1"}},
		Conditions: append([]metav1.Condition{cond("Accepted", "True", generation)}, extra...),
		Listeners: []gwv1.ListenerStatus{{
			Name: "http", AttachedRoutes: 1, SupportedKinds: []gwv1.RouteGroupKind{{Group: new(gwv1.Group(gwv1.GroupName)), Kind: "HTTPRoute"}},
			Conditions: []metav1.Condition{cond("Accepted", "True", generation)},
		}},
	}
}

func edgeKey() translate.Key {
	return translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "edge"}
}

// seed is a foreign condition on the Gateway and on its listener.
func seed(w *writing, kind string) {
	c := map[string]any{"type": kind, "status": "True", "reason": "Seeded", "message": "", "lastTransitionTime": "2026-11-30T12:00:00Z"}
	w.other(edgeKey(), func(u *unstructured.Unstructured) {
		status, _, _ := unstructured.NestedMap(u.Object, "status")
		conditions, _ := status["conditions"].([]any)
		status["conditions"] = append(conditions, c)
		listeners, _ := status["listeners"].([]any)
		for _, l := range listeners {
			m, _ := l.(map[string]any)
			conditions, _ := m["conditions"].([]any)
			m["conditions"] = append(conditions, c)
		}
		u.Object["status"] = status
	})
}

func testForeignConditions(w *writing) {
	key := edgeKey()
	w.write(key, &gwv1.GatewayStatus{}, gatewayStatus(1))
	seed(w, "acme.test/Odd")
	var before, after gwv1.Gateway
	w.typed(key, &before)
	writes := w.write(key, &before.Status, withForeign(before.Status, gatewayStatus(2, cond("Programmed", "True", 2))))
	w.equal("writes", writes, 1)
	w.typed(key, &after)
	find := func(list []metav1.Condition) (out []metav1.Condition) {
		for _, c := range list {
			if c.Type == "acme.test/Odd" {
				out = append(out, c)
			}
		}
		return out
	}
	w.equal("the foreign condition", find(after.Status.Conditions), find(before.Status.Conditions))
	w.equal("the listener's", find(after.Status.Listeners[0].Conditions), find(before.Status.Listeners[0].Conditions))
	w.equal("foreign conditions", len(find(after.Status.Conditions))+len(find(after.Status.Listeners[0].Conditions)), 2)
	version := w.live(key).GetResourceVersion()
	w.equal("writes of what is there", w.write(key, &before.Status, withForeign(before.Status, gatewayStatus(2, cond("Programmed", "True", 2)))), 0)
	w.equal("version", w.live(key).GetResourceVersion(), version)
	for _, m := range w.live(key).GetManagedFields() {
		if m.Manager == status.Manager && strings.Contains(string(m.FieldsV1.GetRawBytes()), "acme.test/Odd") {
			w.Errorf("we own the foreign condition: %s", m.FieldsV1)
		}
	}
}

// withForeign is a status with what others have in the one that it was made from,
// as translation gives it.
func withForeign(base gwv1.GatewayStatus, want *gwv1.GatewayStatus) *gwv1.GatewayStatus {
	for _, c := range base.Conditions {
		if !translate.OwnCondition(c.Type) {
			want.Conditions = append(want.Conditions, c)
		}
	}
	for _, c := range base.Listeners[0].Conditions {
		if !translate.OwnCondition(c.Type) {
			want.Listeners[0].Conditions = append(want.Listeners[0].Conditions, c)
		}
	}
	return want
}

func testNoLongerWanted(w *writing) {
	key := edgeKey()
	seed(w, "OverlappingTLSConfig")
	var before, after gwv1.Gateway
	w.typed(key, &before)
	w.write(key, &before.Status, withForeign(before.Status, gatewayStatus(3)))
	w.typed(key, &after)
	for _, c := range append(after.Status.Conditions, after.Status.Listeners[0].Conditions...) {
		if c.Type == "OverlappingTLSConfig" || c.Type == "Programmed" {
			w.Errorf("%s is still there", c.Type)
		}
	}
}

func testStaleVersion(w *writing) {
	key := edgeKey()
	known := &gwv1.Gateway{}
	w.typed(key, known)
	w.known[key] = known
	seed(w, "acme.test/Later")
	w.equal("writes", w.write(key, &known.Status, withForeign(known.Status, gatewayStatus(4))), 1)
	var after gwv1.Gateway
	w.typed(key, &after)
	found := false
	for _, c := range after.Status.Conditions {
		found = found || c.Type == "acme.test/Later"
	}
	w.equal("what came in between is there", found, true)
	w.equal("an older status", w.write(key, &gwv1.GatewayStatus{}, gatewayStatus(3)), 0)
}

func testServiceStatus(w *writing) {
	key := translate.Key{Kind: translate.KindService, Namespace: "apps", Name: "lb"}
	want := &corev1.ServiceStatus{
		LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "198.18.0.9", IPMode: new(corev1.LoadBalancerIPModeVIP)}}},
		Conditions:   []metav1.Condition{cond("fake.gatehouse.dev/BackendTLS", "True", 1)},
	}
	var got corev1.Service
	w.equal("writes", w.write(key, &corev1.ServiceStatus{}, want), 1)
	w.typed(key, &got)
	w.equal("status", got.Status, want)
	w.equal("writes of what is there", w.write(key, &corev1.ServiceStatus{}, want), 0)
	w.write(key, want, &corev1.ServiceStatus{})
	got = corev1.Service{}
	w.typed(key, &got)
	w.equal("status when it has stopped", got.Status, &corev1.ServiceStatus{})
}

func testInfrastructure(w *writing) {
	g := &gwv1.Gateway{}
	w.typed(edgeKey(), g)
	wrote := 0
	services := infrastructure.New(infrastructure.Config{Client: w.client, Wrote: func(translate.Key) { wrote++ }})
	model := lbmodel.Gateway{
		Labels: map[string]string{"key2": "value2"}, Annotations: map[string]string{"key1": "value1"},
		Listeners: []lbmodel.Listener{{Port: 80, Protocol: lbmodel.ProtocolHTTP}, {Port: 53, Protocol: lbmodel.ProtocolUDP}},
	}
	ip := func(values ...string) (out []lbmodel.Address) {
		for _, v := range values {
			out = append(out, lbmodel.Address{Type: lbmodel.AddressIP, Value: v})
		}
		return out
	}
	host := []lbmodel.Address{{Type: lbmodel.AddressHostname, Value: "lb.acme.test"}}
	for _, step := range []struct {
		name, why       string
		addresses       []lbmodel.Address
		writes          int
		kind, ip, slice string
	}{
		{"no address yet", "it is findable at once", nil, 1, "ClusterIP", "None", ""},
		{"addresses", "a loopback address must not hinder the others", ip("198.18.0.1", "127.71.0.1", "fd00:198:18::1"), 2, "ClusterIP", "None", "198.18.0.1"},
		{"again", "nothing differs", ip("198.18.0.1", "127.71.0.1", "fd00:198:18::1"), 0, "ClusterIP", "None", "198.18.0.1"},
		{"a name", "the type changes", host, 3, "ExternalName", "", ""},
		{"an address again", "and back", ip("198.18.0.2"), 2, "ClusterIP", "None", "198.18.0.2"},
		{"again", "nothing differs", ip("198.18.0.2"), 0, "ClusterIP", "None", "198.18.0.2"},
	} {
		wrote = 0
		if err := services.Sync(w.Context(), g, model, step.addresses); err != nil {
			w.Fatalf("%s: %v", step.name, err)
		}
		w.equal(step.name+": writes ("+step.why+")", wrote, step.writes)
		var s corev1.Service
		w.typed(translate.Key{Kind: translate.KindService, Namespace: "apps", Name: infrastructure.Name("edge")}, &s)
		w.equal(step.name+": Service", []string{string(s.Spec.Type), s.Spec.ClusterIP, s.Labels["key2"], s.Labels[gwv1.GatewayNameLabelKey], s.Annotations["key1"]},
			[]string{step.kind, step.ip, "value2", "edge", "value1"})
		list, err := w.at(translate.Key{Kind: translate.KindEndpointSlice, Namespace: "apps"}).List(w.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + s.Name})
		if err != nil {
			w.Fatal(err)
		}
		w.equal(step.name+": address", firstAddress(list), step.slice)
	}
	model.Labels = nil
	if err := services.Sync(w.Context(), g, model, ip("198.18.0.2")); err != nil {
		w.Fatal(err)
	}
	w.equal("the label that is no longer asked for", w.live(translate.Key{Kind: translate.KindService, Namespace: "apps", Name: infrastructure.Name("edge")}).GetLabels()["key2"], "")
}

func firstAddress(list *unstructured.UnstructuredList) string {
	if len(list.Items) == 0 {
		return ""
	}
	endpoints, _, _ := unstructured.NestedSlice(list.Items[0].Object, "endpoints")
	first, _ := endpoints[0].(map[string]any)
	addresses, _, _ := unstructured.NestedStringSlice(first, "addresses")
	return addresses[0]
}
