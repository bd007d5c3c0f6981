package controller

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/translate"
)

// lifeWorld is a passWorld in which one Gateway or Service lives and ends. What a
// process has to do is done when the test says so, and all of it: settle.
type lifeWorld struct {
	*passWorld
	kind     life
	versions map[translate.Key]string
	record   *fake.Clientset             // has the record of what is retained
	rules    *v1alpha1.GatewayParameters // nil when they are not there
	refused  error                       // why the load balancer is not deleted, as the service controller hears it
}

// life is whose load balancer it is.
type life string

// The lives.
const (
	aGateway  life = "Gateway"
	classed   life = "Service with a class"
	unclassed life = "Service without a class"
)

const cleanup = "service.kubernetes.io/load-balancer-cleanup"

var rulesKey = translate.Key{Kind: translate.KindParameters, Namespace: "ops", Name: "p"}

func newLifeWorld(t *testing.T, kind life, deletion v1alpha1.DeletionPolicy) *lifeWorld {
	t.Helper()
	l := &lifeWorld{passWorld: newPassWorld(t), kind: kind, record: fake.NewClientset()}
	l.edit = func(c *Config) {
		c.ServiceParameters = map[string]types.NamespacedName{"fake": {Namespace: "ops", Name: "p"}}
		if kind == unclassed {
			c.ServiceDefault, c.KeepsServices = "fake", false
		}
	}
	l.rules = rules(t, deletion)
	l.restart()
	if kind == aGateway {
		l.edge(func(g *gwv1.Gateway) {})
		l.put(translate.KindGatewayClass, "", "edge", map[string]any{"spec": map[string]any{"parametersRef": map[string]any{
			"group": "gatehouse.dev", "kind": "GatewayParameters", "namespace": "ops", "name": "p",
		}}})
		l.create(translate.KindGatewayClass, class("other", "example.org/other", ""))
	} else {
		svc := balancer(corev1.ServiceTypeLoadBalancer)
		if kind == unclassed {
			svc.Spec.LoadBalancerClass = nil
		}
		l.create(translate.KindService, svc)
	}
	l.settle()
	if got, want := l.now(), "held, kept"; got != want {
		t.Fatalf("%s under %s: it lives as %q, want %q", kind, deletion, got, want)
	}
	return l
}

func rules(t *testing.T, deletion v1alpha1.DeletionPolicy) *v1alpha1.GatewayParameters {
	t.Helper()
	p := params("ops", "p")
	if err := json.Unmarshal([]byte(`{"fake": {}}`), &p.Spec); err != nil {
		t.Fatal(err)
	}
	p.Spec.Deletion = deletion
	return p
}

// key is the object that lives.
func (l *lifeWorld) key() translate.Key {
	if l.kind == aGateway {
		return gatewayKey
	}
	return serviceKey
}

// rule changes what the parameters say; "" takes them away by force.
func (l *lifeWorld) rule(deletion v1alpha1.DeletionPolicy) {
	l.Helper()
	if deletion == "" {
		l.rules = nil
		l.take(watch.Batch{Change: translate.Change{Delete: []translate.Key{rulesKey}}})
	} else {
		l.rules = rules(l.T, deletion)
		l.take(watch.Batch{Change: translate.Change{Put: []any{l.rules}}})
	}
	l.settle()
}

// put changes an object behind the controller's back.
func (l *lifeWorld) put(kind, namespace, name string, body map[string]any) {
	l.Helper()
	r, _ := l.clients.Resource(kind)
	if _, err := r.Merge(l.Context(), types.NamespacedName{Namespace: namespace, Name: name}, body); err != nil {
		l.Fatal(err)
	}
}

// putStatus changes the Service's status.
func (l *lifeWorld) putStatus(status map[string]any) {
	l.Helper()
	r, _ := l.clients.Resource(translate.KindService)
	if _, err := r.Merge(l.Context(), types.NamespacedName{Namespace: "apps", Name: "s"}, map[string]any{"status": status}, "status"); err != nil {
		l.Fatal(err)
	}
}

func (l *lifeWorld) spec(fields map[string]any) {
	l.Helper()
	l.put(l.key().Kind, "apps", l.key().Name, map[string]any{"spec": fields})
}

// remove asks for an object's end.
func (l *lifeWorld) remove(kind, namespace, name string) {
	l.Helper()
	r, _ := l.clients.Resource(kind)
	if err := l.clients.Dynamic.Resource(r.GroupVersionResource()).Namespace(namespace).Delete(l.Context(), name, metav1.DeleteOptions{}); err != nil {
		l.Fatal(err)
	}
}

func (l *lifeWorld) end() { l.Helper(); l.remove(l.key().Kind, "apps", l.key().Name) }

// find is an object as the server has it, or nil.
func (l *lifeWorld) find(key translate.Key) kube.Object {
	l.Helper()
	r, _ := l.clients.Resource(key.Kind)
	obj, err := r.Get(l.Context(), types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if err != nil && !apierrors.IsNotFound(err) {
		l.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return obj
}

var lifeKeys = []translate.Key{
	{Kind: translate.KindGatewayClass, Name: "edge"}, {Kind: translate.KindGatewayClass, Name: "other"}, gatewayKey, serviceKey,
}

// look is what the server has that is news.
func (l *lifeWorld) look() (b watch.Batch) {
	l.Helper()
	for _, key := range lifeKeys {
		obj, version := l.find(key), ""
		if obj != nil {
			version = obj.GetResourceVersion()
		}
		switch {
		case l.versions[key] == version:
		case obj == nil:
			b.Delete = append(b.Delete, key)
		default:
			b.Put = append(b.Put, obj)
		}
		l.versions[key] = version
	}
	return b
}

// restart is another process, which has read everything and done nothing.
func (l *lifeWorld) restart() {
	l.Helper()
	l.passWorld.restart()
	l.versions = map[translate.Key]string{}
	l.retained = newRetained(l.record, "kube-system", "c")
	if err := l.retained.read(l.Context()); err != nil {
		l.Fatal(err)
	}
	now := time.Now()
	l.began.Store(&now)
	all := l.look()
	if l.rules != nil {
		all.Put = append(all.Put, l.rules)
	}
	all.First = true
	l.open(all)
}

// settle has everything done that can be done without waiting.
func (l *lifeWorld) settle() {
	l.Helper()
	for range 100 {
		b := l.look()
		news := len(b.Put)+len(b.Delete) > 0
		if news {
			l.take(b)
		}
		for l.step() {
			news = true
		}
		if l.keeper() || news {
			continue
		}
		return
	}
	l.Fatal("it never settles")
}

// step works on the next item.
func (l *lifeWorld) step() bool {
	if l.work.Len() == 0 {
		return false
	}
	it, _ := l.work.Get()
	defer l.work.Done(it)
	l.workOn(l.Context(), it)
	return true
}

// keeper does what the cluster's service controller does about the Service.
func (l *lifeWorld) keeper() (news bool) {
	l.Helper()
	if l.kind != unclassed {
		return false
	}
	obj := l.find(serviceKey)
	if obj == nil {
		return false
	}
	svc := obj.(*corev1.Service)
	has := slices.Contains(svc.Finalizers, cleanup)
	wants := svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil && svc.DeletionTimestamp == nil
	switch {
	case wants && !has:
		l.refinish(append(svc.Finalizers, cleanup))
		if err := l.call(func(ctx context.Context) error { _, err := l.EnsureService(ctx, svc); return err }); err != nil {
			l.Fatal(err)
		}
	case !wants && has:
		if l.refused = l.call(func(ctx context.Context) error { return l.ForgetService(ctx, svc) }); l.refused == nil {
			l.refinish(slices.DeleteFunc(slices.Clone(svc.Finalizers), func(f string) bool { return f == cleanup }))
		}
	}
	return wants != has && l.refused == nil
}

func (l *lifeWorld) refinish(finalizers []string) {
	l.Helper()
	l.put(translate.KindService, "apps", "s", map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
}

// call has the work done that a call waits for.
func (l *lifeWorld) call(do func(context.Context) error) error {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(time.Millisecond):
			l.step()
		}
	}
}

// now is how the object and what it has in the cloud stand.
func (l *lifeWorld) now() string {
	l.Helper()
	object, cloud := "free", "empty"
	obj := l.find(l.key())
	switch {
	case obj == nil:
		object = "gone"
	case slices.Contains(obj.GetFinalizers(), translate.Finalizer), slices.Contains(obj.GetFinalizers(), cleanup):
		object = "held"
	}
	live, err := l.accounts["fake"].Live(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	if len(live) > 0 {
		cloud = "kept"
	}
	return object + ", " + cloud
}

// heard says whether an event since the last look has one of some words.
func (l *lifeWorld) heard(words ...string) bool {
	found := false
	for {
		select {
		case e := <-l.told.Events:
			found = found || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(e, word) })
		default:
			return found
		}
	}
}
