package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// blind is a provider whose cloud can be hidden.
type blind struct {
	providers.Provider
	hidden atomic.Bool
}

// Observe implements providers.Provider.
func (b *blind) Observe(ctx context.Context, owner lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error) {
	if b.hidden.Load() {
		return nil, lbmodel.Errorf(lbmodel.CodeDenied, "Observe", lbmodel.ID{}, "not allowed to list")
	}
	return b.Provider.Observe(ctx, owner, named)
}

// passWorld is a controller over an API server and a cloud. Nothing runs by itself.
type passWorld struct {
	*testing.T
	*Controller
	server *fakeapi.Server
	cloud  *blind
	told   *record.FakeRecorder
	edit   func(*Config) // of every process; nil is none
}

func newPassWorld(t *testing.T) *passWorld {
	t.Helper()
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &passWorld{T: t, cloud: &blind{Provider: cloud.NewProvider(c, nil)}, told: record.NewFakeRecorder(100)}
	if w.server, err = fakeapi.New(); err != nil {
		t.Fatal(err)
	}
	w.restart()
	return w
}

// restart is another process over the same cluster and cloud. It has read nothing.
func (w *passWorld) restart() {
	web := httptest.NewServer(http.HandlerFunc(w.serve))
	w.Cleanup(web.Close)
	config := Config{
		REST: &rest.Config{Host: web.URL, QPS: -1}, Cluster: "c", Recorder: w.told, KeepsServices: true,
		Providers: []Provider{{Name: "fake", Account: providers.Config{Provider: w.cloud}}},
	}
	if w.edit != nil {
		w.edit(&config)
	}
	c, err := New(config)
	if err != nil {
		w.Fatal(err)
	}
	if err := c.clients.Discover(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.work.ShutDown)
	c.loop = reconcile.New(translate.New(translate.Snapshot{Cluster: "c", LiveEndpoints: true}, c.options), c.accounts)
	w.Controller = c
}

// serve answers discovery, and leaves the rest to the server.
func (w *passWorld) serve(rw http.ResponseWriter, r *http.Request) {
	served := map[string][]metav1.APIResource{
		"/api/v1": {{Name: "services", Kind: translate.KindService}},
		"/apis/gateway.networking.k8s.io/v1": {
			{Name: "gateways", Kind: translate.KindGateway}, {Name: "httproutes", Kind: translate.KindHTTPRoute}, {Name: "gatewayclasses", Kind: translate.KindGatewayClass},
		},
	}
	list, is := served[r.URL.Path]
	if !is && strings.Count(r.URL.Path, "/") < 4 {
		http.NotFound(rw, r) // a group that is not served
		return
	}
	if !is {
		w.server.ServeHTTP(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: list}); err != nil {
		w.Error(err)
	}
}

// create makes an object and has the controller see it.
func (w *passWorld) create(kind string, obj kube.Object) {
	w.Helper()
	r, _ := w.clients.Resource(kind)
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		w.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: body}
	u.SetGroupVersionKind(r.GroupVersionKind())
	if _, err := w.clients.Dynamic.Resource(r.GroupVersionResource()).Namespace(obj.GetNamespace()).Create(w.Context(), u, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.see(kind, obj.GetName())
}

// live is an object as the server has it.
func (w *passWorld) live(kind, name string) kube.Object {
	w.Helper()
	r, _ := w.clients.Resource(kind)
	namespace := "apps"
	if kind == translate.KindGatewayClass {
		namespace = ""
	}
	obj, err := r.Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		w.Fatal(err)
	}
	return obj
}

func (w *passWorld) see(kind, name string) {
	w.Helper()
	w.take(watch.Batch{Change: translate.Change{Put: []any{w.live(kind, name)}}})
}

// service changes the Service behind the controller's back.
func (w *passWorld) service(spec map[string]any) {
	w.Helper()
	r, _ := w.clients.Resource(translate.KindService)
	if _, err := r.Merge(w.Context(), types.NamespacedName{Namespace: "apps", Name: "s"}, map[string]any{"spec": spec}); err != nil {
		w.Fatal(err)
	}
}

func (w *passWorld) held() bool {
	return slices.Contains(w.live(translate.KindService, "s").GetFinalizers(), translate.Finalizer)
}

var serviceKey = translate.Key{Kind: translate.KindService, Namespace: "apps", Name: "s"}

func balancer(kind corev1.ServiceType, finalizers ...string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "s", Finalizers: finalizers}}
	s.Spec = corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}}}
	if kind == corev1.ServiceTypeLoadBalancer {
		s.Spec.LoadBalancerClass = ptr.To("gatehouse.dev/fake")
	}
	return s
}

// TestServiceLeavesBeforeItsStatus: a Service became a ClusterIP when it had our
// finalizer and no condition yet. It is let go when the cloud has shown that there is
// nothing of it, and not before.
func TestServiceLeavesBeforeItsStatus(t *testing.T) {
	w := newPassWorld(t)
	w.cloud.hidden.Store(true)
	w.create(translate.KindService, balancer(corev1.ServiceTypeClusterIP, translate.Finalizer))
	if w.work.Len() != 1 {
		t.Error("nobody looks at a Service that has our finalizer and asks for nobody")
	}
	if p := w.pass(t.Context(), serviceKey); len(p.errs) == 0 || !w.held() {
		t.Errorf("errors %v, held %v: let go though nobody could look", p.errs, w.held())
	}
	w.cloud.hidden.Store(false)
	if p := w.pass(t.Context(), serviceKey); len(p.errs) > 0 || w.held() {
		t.Errorf("errors %v, held %v: want it let go", p.errs, w.held())
	}
}

// TestServiceLeavesWithResources: the process ended before the status was written, and
// the next one finds a ClusterIP that has a load balancer.
func TestServiceLeavesWithResources(t *testing.T) {
	w := newPassWorld(t)
	w.create(translate.KindService, balancer(corev1.ServiceTypeLoadBalancer))
	if p := w.pass(t.Context(), serviceKey); len(p.errs) > 0 || !w.held() {
		t.Fatalf("errors %v, held %v", p.errs, w.held())
	}
	r, _ := w.clients.Resource(translate.KindService)
	if _, err := r.Merge(t.Context(), types.NamespacedName{Namespace: "apps", Name: "s"}, map[string]any{"status": map[string]any{"conditions": nil}}, "status"); err != nil {
		t.Fatal(err)
	}
	w.service(map[string]any{"type": "ClusterIP", "loadBalancerClass": nil})
	w.restart()
	w.see(translate.KindService, "s")
	if p := w.pass(t.Context(), serviceKey); lbmodel.CodeOf(p.errs[0]) != lbmodel.CodePending || !w.held() {
		t.Errorf("errors %v, held %v: want it to wait for its load balancer to go", p.errs, w.held())
	}
	for _, who := range w.loop.Leaving() {
		if p := w.depart(t.Context(), itemOf(who)); len(p.errs) > 0 {
			t.Error(p.errs)
		}
	}
	if p := w.pass(t.Context(), serviceKey); len(p.errs) > 0 || w.held() {
		t.Errorf("errors %v, held %v: want it let go", p.errs, w.held())
	}
	if live, err := w.accounts["fake"].Live(t.Context()); err != nil || len(live) > 0 {
		t.Errorf("%v have resources, %v", live, err)
	}
}

// TestServiceFlips: what a pass has read is old when it sets or takes the finalizer. A
// Service that asks for nobody by now gets none, and one that asks again keeps its own.
func TestServiceFlips(t *testing.T) {
	w := newPassWorld(t)
	w.create(translate.KindService, balancer(corev1.ServiceTypeLoadBalancer))
	old := w.live(translate.KindService, "s")
	w.service(map[string]any{"type": "ClusterIP", "loadBalancerClass": nil})
	if bound, err := w.bind(t.Context(), translate.KindService, old); bound || lbmodel.CodeOf(err) != lbmodel.CodePending || w.held() {
		t.Errorf("bound %v, %v", bound, err)
	}
	old = w.live(translate.KindService, "s")
	old.SetFinalizers([]string{translate.Finalizer})
	r, _ := w.clients.Resource(translate.KindService)
	if _, err := r.Merge(t.Context(), types.NamespacedName{Namespace: "apps", Name: "s"}, map[string]any{
		"metadata": map[string]any{"finalizers": []string{translate.Finalizer}},
		"spec":     map[string]any{"type": "LoadBalancer", "loadBalancerClass": "gatehouse.dev/fake"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.unbind(t.Context(), translate.KindService, old); lbmodel.CodeOf(err) != lbmodel.CodePending || !w.held() {
		t.Errorf("held %v, %v", w.held(), err)
	}
}

// TestUnwantedAtTheEnd: what a pass made for a Service that left meanwhile is removed
// soon, and not when somebody looks for strangers.
func TestUnwantedAtTheEnd(t *testing.T) {
	w := newPassWorld(t)
	w.create(translate.KindService, balancer(corev1.ServiceTypeLoadBalancer))
	g, _ := w.loop.Gateway(serviceKey)
	planned, err := w.loop.PlanOnly(t.Context(), []translate.Key{serviceKey}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.service(map[string]any{"type": "ClusterIP", "loadBalancerClass": nil})
	w.see(translate.KindService, "s")
	for _, who := range w.loop.Leaving() {
		w.depart(t.Context(), itemOf(who))
	}
	done := w.loop.Apply(t.Context(), planned, nil)
	w.unwanted(g, done)
	if changes(done) == 0 || len(w.loop.Leaving()) != 1 {
		t.Errorf("%d changes, and leaving are %v; want the Service", changes(done), w.loop.Leaving())
	}
}

var gatewayKey = translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "g"}

// edge makes a class and a Gateway of it.
func (w *passWorld) edge(edit func(*gwv1.Gateway)) {
	w.create(translate.KindGatewayClass, class("edge", "gatehouse.dev/fake", ""))
	g := gateway("edge", "")
	g.Spec.Listeners = []gwv1.Listener{{Name: "http", Port: 8080, Protocol: gwv1.HTTPProtocolType}}
	edit(g)
	w.create(translate.KindGateway, g)
}

func (w *passWorld) says(kind string) string {
	for _, c := range w.live(translate.KindGateway, "g").(*gwv1.Gateway).Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + "/" + c.Reason
		}
	}
	return ""
}

func (w *passWorld) message(kind string) string {
	for _, c := range w.live(translate.KindGateway, "g").(*gwv1.Gateway).Status.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// TestUnseenIsTold: whoever made a Gateway hears that it is accepted, and why it is not
// programmed, also when the cloud was never seen. It is written once.
func TestUnseenIsTold(t *testing.T) {
	w := newPassWorld(t)
	w.cloud.hidden.Store(true)
	w.edge(func(*gwv1.Gateway) {})
	w.pass(t.Context(), gatewayKey)
	for kind, want := range map[string]string{"Accepted": "True/Accepted", "ResolvedRefs": "True/ResolvedRefs", "Programmed": "False/Pending", "gatehouse.dev/InSync": "Unknown/Unseen"} {
		if got := w.says(kind); got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	if got := w.message("gatehouse.dev/InSync"); !strings.Contains(got, "nor, since this manager started, whether all that is wanted can be had") {
		t.Errorf("InSync says %q, and not that the provider has not been asked", got)
	}
	select {
	case e := <-w.told.Events:
		if !strings.Contains(e, "AccessDenied") || !strings.Contains(e, "not allowed to list") {
			t.Errorf("event %q", e)
		}
	default:
		t.Error("no event")
	}
	w.see(translate.KindGateway, "g")
	w.server.Calls()
	w.pass(t.Context(), gatewayKey)
	if writes := w.server.Writes(); len(writes) > 0 {
		t.Errorf("the same is written again: %v", writes)
	}
	w.cloud.hidden.Store(false)
	w.pass(t.Context(), gatewayKey)
	w.see(translate.KindGateway, "g")
	w.cloud.hidden.Store(true)
	w.accounts["fake"].Invalidate(w.owner(item{Key: gatewayKey, UID: string(w.live(translate.KindGateway, "g").GetUID())}))
	w.pass(t.Context(), gatewayKey)
	if got := w.message("gatehouse.dev/InSync"); !strings.Contains(got, "cannot be looked at") || strings.Contains(got, "since this manager started") {
		t.Errorf("InSync says %q after the provider was asked", got)
	}
}

// TestSlowPass: what translation knows does not wait for a cloud that hangs, and a pass
// that is over in time writes nothing of its own.
func TestSlowPass(t *testing.T) {
	w := newPassWorld(t)
	w.edge(func(*gwv1.Gateway) {})
	w.meanwhile(t.Context(), gatewayKey, time.Hour)()
	if got := w.says("Accepted"); got != "" {
		t.Errorf("Accepted is %q after a pass that was over at once", got)
	}
	end := w.meanwhile(t.Context(), gatewayKey, time.Nanosecond)
	defer end()
	for w.says("Accepted") == "" {
		if t.Context().Err() != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	if got := w.says("Accepted") + w.says("Programmed"); got != "True/Accepted" {
		t.Errorf("Accepted and Programmed are %q, want no word of the cloud", got)
	}
}

// TestDeletionWithoutItsClass: a Gateway whose class is not there cannot go, and says so.
func TestDeletionWithoutItsClass(t *testing.T) {
	w := newPassWorld(t)
	g := gateway("nowhere", "")
	g.Finalizers, g.DeletionTimestamp = []string{translate.Finalizer}, ptr.To(metav1.Now())
	w.take(watch.Batch{Change: translate.Change{Put: []any{g}}})
	if w.work.Len() == 0 {
		t.Error("nobody looks at it")
	}
	w.pass(t.Context(), gatewayKey)
	select {
	case e := <-w.told.Events:
		if !strings.Contains(e, "DeletionBlocked its GatewayClass nowhere is not there") {
			t.Errorf("event %q", e)
		}
	default:
		t.Error("no event")
	}
}

// TestNamespaceGoes: that nothing can be made in a namespace that is going is told to
// nobody, and still ends what was being made there.
func TestNamespaceGoes(t *testing.T) {
	going := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "g", errors.New("namespace apps is being terminated"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "g", errors.New("no right"))
	var p passed
	if !p.fail(fmt.Errorf("the Service of g: %w", going)) || len(p.errs) > 0 {
		t.Errorf("errors %v, want none", p.errs)
	}
	if !p.fail(denied) || len(p.errs) != 1 {
		t.Errorf("errors %v, want the right that is missing", p.errs)
	}
}
