// Package meshtest is for tests of the meshes' dialects: a World made of YAML text,
// and the abilities of providers as they are. It never reads a cluster. Start with
// [Parse].
package meshtest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// World is a small cluster. It is a meshsync.World.
type World struct {
	t       testing.TB
	objects []*unstructured.Unstructured
}

var _ meshsync.World = (*World)(nil)

// Parse makes a World of YAML documents.
func Parse(t testing.TB, documents ...string) *World {
	t.Helper()
	w := &World{t: t}
	w.Apply(documents...)
	return w
}

// Apply adds objects, or puts them in the place of those of the same name.
func (w *World) Apply(documents ...string) {
	w.t.Helper()
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(strings.Join(documents, "\n---\n")), 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := d.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			slices.SortStableFunc(w.objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
			return
		case err != nil:
			w.t.Fatalf("%v in:\n%s", err, strings.Join(documents, "\n---\n"))
		case len(o.Object) > 0:
			w.put(o)
		}
	}
}

func (w *World) put(o *unstructured.Unstructured) {
	w.objects = slices.DeleteFunc(w.objects, func(old *unstructured.Unstructured) bool {
		return old.GroupVersionKind() == o.GroupVersionKind() && old.GetNamespace() == o.GetNamespace() && old.GetName() == o.GetName()
	})
	w.objects = append(w.objects, o)
}

// Namespace implements meshsync.World.
func (w *World) Namespace(name string) *corev1.Namespace {
	return read[corev1.Namespace](w, "Namespace", "", name)
}

// ConfigMap implements meshsync.World.
func (w *World) ConfigMap(namespace, name string) *corev1.ConfigMap {
	return read[corev1.ConfigMap](w, "ConfigMap", namespace, name)
}

// ConfigMaps implements meshsync.World.
func (w *World) ConfigMaps(namespace string) []*corev1.ConfigMap {
	var out []*corev1.ConfigMap
	for _, o := range w.Objects(schema.GroupKind{Kind: "ConfigMap"}, namespace) {
		out = append(out, w.ConfigMap(namespace, o.GetName()))
	}
	return out
}

// Pod is a pod that must be there.
func (w *World) Pod(namespace, name string) *corev1.Pod {
	return must(w, read[corev1.Pod](w, "Pod", namespace, name), name)
}

// Port is where the first port of a Service that must be there leads.
func (w *World) Port(namespace, service string) meshsync.Port {
	svc := must(w, read[corev1.Service](w, "Service", namespace, service), service)
	port := svc.Spec.Ports[0]
	target := port.TargetPort.IntVal
	if target == 0 {
		target = port.Port
	}
	return meshsync.Port{Service: svc, Port: port, Target: target}
}

// Objects implements meshsync.World.
func (w *World) Objects(kind schema.GroupKind, namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range w.objects {
		if o.GroupVersionKind().GroupKind() == kind && o.GetNamespace() == namespace {
			out = append(out, o)
		}
	}
	return out
}

// Accepts is what a dialect says that a pod accepts at a Service's first port, with
// its fix.
func (w *World) Accepts(d meshsync.Dialect, namespace, service, pod string) meshsync.Inbound {
	m, at, p := d.Mesh(w), w.Port(namespace, service), w.Pod(namespace, pod)
	in := d.Inbound(w, m, at, p)
	if f, is := d.(meshsync.Fixer); is && in.Fix == nil {
		in.Fix = f.Fix(w, m, at, p)
	}
	return in
}

// Client is a gateway with the certificate that a mesh would give it.
func (w *World) Client(d meshsync.Dialect) meshsync.Client {
	c := meshsync.Client{Name: "edge/front", Account: meshsync.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}}
	c.SPIFFEID, c.DNSNames = meshsync.NameOf(d, d.Mesh(w), c.Account)
	return c
}

// Allows is what a dialect says of a client that comes in at a Service's first port.
// Whatever objects it offers are then applied, and must let the client in.
func (w *World) Allows(d meshsync.Authorizer, e meshsync.Entry) meshsync.Allowance {
	w.t.Helper()
	dialect := d.(meshsync.Dialect)
	a := d.Allow(w, dialect.Mesh(w), e)
	after := &World{t: w.t, objects: slices.Clone(w.objects)}
	applied := 0
	for _, o := range a.Offers {
		if o.YAML != "" {
			after.Apply(o.YAML)
			applied++
		}
	}
	if applied == 0 {
		return a
	}
	if a.Need == meshsync.NotNeeded {
		w.t.Errorf("nothing is needed, and %d objects are offered", applied)
	}
	if then := d.Allow(after, dialect.Mesh(after), e); then.Need == meshsync.Needed || a.Need == meshsync.Needed && then.Need != meshsync.NotNeeded {
		w.t.Errorf("what is offered does not let the gateway in: %s: %s", then.Need, then.Why)
	}
	return a
}

// Entry is a client that comes in at the first port of a Service.
func (w *World) Entry(namespace, service, pod string, c meshsync.Client) meshsync.Entry {
	return meshsync.Entry{Client: c, With: []meshsync.Client{c}, Port: w.Port(namespace, service), Pod: w.Pod(namespace, pod)}
}

func read[T any](w *World, kind, namespace, name string) *T {
	for _, o := range w.Objects(schema.GroupKind{Kind: kind}, namespace) {
		if o.GetName() != name {
			continue
		}
		out := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
			w.t.Fatalf("%s %s: %v", kind, name, err)
		}
		return out
	}
	return nil
}

func must[T any](w *World, found *T, name string) *T {
	if found == nil {
		w.t.Fatalf("there is no %s of that kind", name)
	}
	return found
}

// GCP are abilities like those of Google's load balancers: client certificates and
// names, no say over ALPN or the version of TLS.
func GCP() lbmodel.Features {
	f := offering(
		lbmodel.FeatureHTTP2, lbmodel.FeatureGRPC, lbmodel.FeatureWebSocket,
		lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSIdentity, lbmodel.FeatureBackendTLSSNI,
		lbmodel.FeatureBackendTLSURISAN, lbmodel.FeatureBackendTLSDNSSAN, lbmodel.FeatureBackendTLS13,
	)
	f.Limits.SANs = 5
	return f
}

// ALB are abilities like those of AWS's: TLS that verifies nobody.
func ALB() lbmodel.Features {
	return offering(lbmodel.FeatureHTTP2, lbmodel.FeatureGRPC, lbmodel.FeatureWebSocket, lbmodel.FeatureBackendTLSUnverified)
}

func offering(features ...lbmodel.Feature) lbmodel.Features {
	f := lbmodel.Features{Has: map[lbmodel.Feature]lbmodel.Support{}}
	for _, feature := range features {
		f.Has[feature] = lbmodel.Yes
	}
	return f
}

// Outcome is a verdict in one line: path, then the reason or what is reached.
func Outcome(v meshsync.Verdict) string {
	words := []string{string(v.Path)}
	if v.Path == meshsync.Blocked {
		return strings.Join(append(words, string(v.Reason)), " ")
	}
	words = append(words, string(v.TLS), string(v.Protocol))
	for _, loss := range v.Losses {
		words = append(words, "-"+string(loss))
	}
	return strings.Join(words, " ")
}
