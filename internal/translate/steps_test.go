package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// world is a cluster that changes step by step: statuses are written back after
// each step, as a controller would.
type world struct {
	t testing.TB
	x *Index
}

func newWorld(t testing.TB, text string) *world {
	w := &world{t, indexOf(t, text)}
	results := translateAll(t, w.x)
	w.write(Status(w.x, results, appliedOutcomes(results), now()))
	return w
}

// change applies a change, translates what it concerns, and writes the patches.
func (w *world) change(c Change) (concerned []Key, patches []Patch) {
	w.t.Helper()
	w.x, concerned = w.x.With(c)
	results := map[Key]Result{}
	for _, key := range concerned {
		results[key] = w.x.Gateway(key)
	}
	patches = Status(w.x, results, appliedOutcomes(results), metav1.Unix(1900000000, 0))
	w.write(patches)
	return concerned, patches
}

func (w *world) write(patches []Patch) {
	w.x, _ = w.x.With(written(w.t, w.x, patches))
}

func (w *world) route(name string) *gwv1.HTTPRoute {
	w.t.Helper()
	r, ok := lookup[*gwv1.HTTPRoute](w.x, KindHTTPRoute, "apps", name)
	if !ok {
		w.t.Fatalf("no route %s", name)
	}
	return r
}

func condition(list []metav1.Condition, kind string) string {
	for _, c := range list {
		if c.Type == kind {
			return fmt.Sprintf("%s/%s", c.Status, c.Reason)
		}
	}
	return ""
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const twoGateways = `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Gateway
metadata: {name: edge2, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps, generation: 1}
spec:
  parentRefs: [{name: mesh, group: acme.test, kind: Mesh}, {name: edge}, {name: edge2}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
status:
  parents:
  - parentRef: {name: mesh, group: acme.test, kind: Mesh}
    controllerName: acme.test/mesh
    conditions: [{type: Accepted, status: "True", reason: Odd, message: "theirs", lastTransitionTime: "2020-01-01T00:00:00Z"}]
`

// TestC69ParentsRemoved: our entries follow the spec, the last one too; the
// other controller's entry keeps its bytes in every step; a pass over one
// gateway never drops a sibling's entry; a Gateway that is gone takes its
// entries along.
func TestC69ParentsRemoved(t *testing.T) {
	w := newWorld(t, twoGateways)
	foreign := text(t, w.route("r").Status.Parents[0])
	steps := []struct {
		name, why string
		change    func() Change
		concerned []string
		parents   []string
	}{
		{"touch one gateway", "a pass over edge alone keeps the entry for edge2", func() Change {
			g, _ := lookup[*gwv1.Gateway](w.x, KindGateway, "apps", "edge")
			g = g.DeepCopy()
			g.Generation, g.Spec.Listeners[0].Port = 2, 8080
			return Change{Put: []any{g}}
		}, []string{"edge"}, []string{"mesh", "edge", "edge2"}},
		{"remove edge2", "its entry goes", func() Change { return w.withParents("mesh", "edge") }, []string{"edge", "edge2"}, []string{"mesh", "edge"}},
		{"remove edge", "our last entry goes too", func() Change { return w.withParents("mesh") }, []string{"edge"}, []string{"mesh"}},
		{"name edge again", "", func() Change { return w.withParents("mesh", "edge") }, []string{"edge"}, []string{"mesh", "edge"}},
		{"delete the Gateway", "the route still names it, and nobody else would clean up", func() Change {
			return Change{Delete: []Key{{KindGateway, "apps", "edge"}}}
		}, []string{"edge"}, []string{"mesh"}},
	}
	for _, step := range steps {
		concerned, _ := w.change(step.change())
		var names, parents []string
		for _, key := range concerned {
			names = append(names, key.Name)
		}
		for _, p := range w.route("r").Status.Parents {
			parents = append(parents, string(p.ParentRef.Name))
		}
		if !slices.Equal(names, step.concerned) || !slices.Equal(parents, step.parents) {
			t.Errorf("%s (%s): concerns %v and leaves parents %v, want %v and %v", step.name, step.why, names, parents, step.concerned, step.parents)
		}
		if diff := cmp.Diff(foreign, text(t, w.route("r").Status.Parents[0])); diff != "" {
			t.Errorf("%s: the other controller's entry changed:\n%s", step.name, diff)
		}
	}
}

// withParents is the change that leaves route r these parents.
func (w *world) withParents(names ...string) Change {
	r := w.route("r").DeepCopy()
	r.Generation++
	r.Spec.ParentRefs = nil
	for _, name := range names {
		ref := gwv1.ParentReference{Name: gwv1.ObjectName(name)}
		if name == "mesh" {
			ref.Group, ref.Kind = ptrTo[gwv1.Group]("acme.test"), ptrTo[gwv1.Kind]("Mesh")
		}
		r.Spec.ParentRefs = append(r.Spec.ParentRefs, ref)
	}
	return Change{Put: []any{r}}
}

// TestC31GrantRevoked: a grant's removal revokes in the model and in status, its
// return heals, and neither needs a touch of the route or the Gateway.
func TestC31GrantRevoked(t *testing.T) {
	w := newWorld(t, `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec:
  gatewayClassName: offcluster
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: crt, namespace: vault}]}}]
---
kind: Gateway
metadata: {name: bystander, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Secret
metadata: {name: crt, namespace: vault}
---
kind: Service
metadata: {name: s, namespace: vault}
spec: {ports: [{port: 80}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps, generation: 1}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: s, namespace: vault, port: 80}]}]
`)
	grant := decode(t, `
kind: ReferenceGrant
metadata: {name: g, namespace: vault}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: apps}, {group: gateway.networking.k8s.io, kind: Gateway, namespace: apps}]
  to: [{group: "", kind: Service}, {group: "", kind: Secret, name: crt}]
`)
	steps := []struct {
		name, why string
		change    Change
		reason    string
		listeners int
	}{
		{"grant", "all works", Change{Put: grant}, "True/ResolvedRefs", 1},
		{"revoke", "no certificate is left, so the listener goes; the backend answers 500", Change{Delete: []Key{{KindReferenceGrant, "vault", "g"}}}, "False/RefNotPermitted", 0},
		{"grant again", "it heals", Change{Put: grant}, "True/ResolvedRefs", 1},
	}
	for _, step := range steps {
		concerned, _ := w.change(step.change)
		if len(concerned) != 1 || concerned[0].Name != "edge" {
			t.Errorf("%s concerns %v, want edge alone", step.name, concerned)
		}
		g, _ := lookup[*gwv1.Gateway](w.x, KindGateway, "apps", "edge")
		want(t, step.name+": listener", condition(g.Status.Listeners[0].Conditions, condResolvedRefs), step.reason)
		want(t, step.name+": route", condition(w.route("r").Status.Parents[0].Conditions, condResolvedRefs), step.reason)
		model := w.x.Gateway(Key{KindGateway, "apps", "edge"}).Gateway
		if len(model.Listeners) != step.listeners || len(model.Pools) != step.listeners {
			t.Errorf("%s (%s): %d listeners and %d pools in the model, want %d", step.name, step.why, len(model.Listeners), len(model.Pools), step.listeners)
		}
	}
}

// TestC35InAnyOrder: the policy may come before or long after its route and its
// CA, and a CA that goes takes the hop down rather than its protection.
func TestC35InAnyOrder(t *testing.T) {
	w := newWorld(t, strings.Replace(twoGateways, "{name: edge2}", "{name: edge3}", 1))
	ca := func(file string) []any {
		return decode(t, "kind: ConfigMap\nmetadata: {name: ca, namespace: apps}\ndata: {ca.crt: \"@"+file+"\"}")
	}
	policy := decode(t, `
kind: BackendTLSPolicy
metadata: {name: p, namespace: apps, generation: 1}
spec:
  targetRefs: [{group: "", kind: Service, name: a}]
  validation: {hostname: a.internal.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
`)
	steps := []struct {
		name, why string
		change    Change
		root      string // subject of the root that verifies; "" is a 500
	}{
		{"policy first", "no CA yet: refused, never plain text", Change{Put: policy}, ""},
		{"CA", "", Change{Put: ca("ca1")}, "CN=test ca1"},
		{"another CA", "the new root counts alone", Change{Put: ca("ca2")}, "CN=test ca2"},
		{"back", "", Change{Put: ca("ca1")}, "CN=test ca1"},
		{"CA deleted", "cached anchors must not be used", Change{Delete: []Key{{KindConfigMap, "apps", "ca"}}}, ""},
	}
	for _, step := range steps {
		w.change(step.change)
		model := w.x.Gateway(Key{KindGateway, "apps", "edge"}).Gateway
		backend, root := model.Listeners[0].Rules[0].Action.Forward.Backends[0], ""
		if len(model.Trust) > 0 {
			root = model.Trust[0].Roots[0].Subject
		}
		want(t, step.name+" ("+step.why+")", root, step.root)
		if (backend.Fixed != nil) != (step.root == "") {
			t.Errorf("%s: the backend is %+v", step.name, backend)
		}
	}
}

// TestListenerSetGoes: routes lose their entries for a ListenerSet that is
// deleted, and the Gateway's count follows.
func TestListenerSetGoes(t *testing.T) {
	w := newWorld(t, `
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1}
spec:
  gatewayClassName: offcluster
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: ListenerSet
metadata: {name: more, namespace: apps, generation: 1}
spec: {parentRef: {name: edge}, listeners: [{name: x, port: 81, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps, generation: 1}
spec:
  parentRefs: [{kind: ListenerSet, name: more}, {name: edge}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
`)
	if n := len(w.route("r").Status.Parents); n != 2 {
		t.Fatalf("%d parents at first, want 2", n)
	}
	w.change(Change{Delete: []Key{{KindListenerSet, "apps", "more"}}})
	parents := w.route("r").Status.Parents
	if len(parents) != 1 || parents[0].ParentRef.Name != "edge" {
		t.Errorf("parents are %s, want edge alone", text(t, parents))
	}
	g, _ := lookup[*gwv1.Gateway](w.x, KindGateway, "apps", "edge")
	if n := deref(g.Status.AttachedListenerSets, -1); n != 0 {
		t.Errorf("attachedListenerSets is %d, want 0", n)
	}
}
