package controller

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
)

func class(name, controller, parameters string) *gwv1.GatewayClass {
	ns := gwv1.Namespace("ops")
	c := &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.ControllerName = gwv1.GatewayController(controller)
	if parameters != "" {
		c.Spec.ParametersRef = &gwv1.ParametersReference{Group: "gatehouse.dev", Kind: "GatewayParameters", Name: parameters, Namespace: &ns}
	}
	return c
}

func params(namespace, name string) *v1alpha1.GatewayParameters {
	return &v1alpha1.GatewayParameters{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func gateway(class, parameters string) *gwv1.Gateway {
	g := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "g", Generation: 1}}
	g.Spec.GatewayClassName = gwv1.ObjectName(class)
	if parameters != "" {
		g.Spec.Infrastructure = &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{Group: "gatehouse.dev", Kind: "GatewayParameters", Name: parameters}}
	}
	return g
}

// TestUses asks who is in use. Why this table: what a gateway was made with must not
// go before it, and what nobody uses must not be held.
func TestUses(t *testing.T) {
	const ours, theirs = "gatehouse.dev/fake", "example.org/other"
	options := translate.Options{
		Controllers:       map[string]string{ours: "fake"},
		ServiceParameters: map[string]types.NamespacedName{"fake": {Namespace: "ops", Name: "services"}},
	}
	tests := []struct {
		name string
		objs []any
		want map[string]bool // of what is ours to judge
	}{
		{"a class without gateways", []any{class("c", ours, "")}, map[string]bool{"c": false}},
		{"a class with one", []any{class("c", ours, ""), gateway("c", "")}, map[string]bool{"c": true}},
		{"a class of another controller", []any{class("c", theirs, "p"), gateway("c", ""), params("ops", "p")}, map[string]bool{}}, // theirs to let go
		{"parameters that nobody names", []any{params("ops", "p")}, map[string]bool{"p": false}},
		{"parameters of a class", []any{class("c", ours, "p"), params("ops", "p"), params("apps", "p")}, map[string]bool{"c": false, "p": true, "apps/p": false}},
		{"parameters of a gateway", []any{class("c", ours, ""), gateway("c", "p"), params("apps", "p")}, map[string]bool{"c": true, "apps/p": true}},
		{"parameters of Services", []any{params("ops", "services")}, map[string]bool{"services": true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse()
			h.note(translate.Change{Put: tt.objs})
			got := map[string]bool{}
			for _, u := range h.uses(options) {
				name := u.obj.GetName()
				if u.obj.GetNamespace() == "apps" {
					name = "apps/" + name
				}
				got[name] = u.by != ""
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("uses (-want +got):\n%s", d)
			}
		})
	}
}

// TestUsersAreNamed. Why this table: somebody who deletes what is in use reads this in
// an event, and must find all that it takes; that the manager's own configuration is
// among it no object says. An event that says something else each time is told anew.
func TestUsersAreNamed(t *testing.T) {
	const configuration = "the manager's configuration (services.parameters of provider fake)"
	options := translate.Options{
		Controllers:       map[string]string{"gatehouse.dev/fake": "fake"},
		ServiceParameters: map[string]types.NamespacedName{"fake": {Namespace: "ops", Name: "p"}},
	}
	named := func(name string) *gwv1.Gateway { g := gateway("edge", ""); g.Name = name; return g }
	edge := class("edge", "gatehouse.dev/fake", "p")
	tests := []struct {
		name string
		objs []any
		want string
	}{
		{"the configuration alone", nil, configuration},
		{"a class too", []any{edge}, configuration + ", GatewayClass edge"},
		{"a class and its Gateways", []any{edge, named("c"), named("a"), named("b")}, configuration + ", Gateway apps/a, Gateway apps/b, 2 more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse()
			h.note(translate.Change{Put: append(tt.objs, params("ops", "p"))})
			for range 5 { // maps have no order
				uses := h.uses(options)
				i := slices.IndexFunc(uses, func(u use) bool { return u.kind == translate.KindParameters })
				if i < 0 || uses[i].by != tt.want {
					t.Fatalf("uses are %+v, want parameters used by %q", uses, tt.want)
				}
			}
		})
	}
}

// TestHouseHasWork tells the house of changes. Why this table: its work is done for
// all classes at once, so what a status write brings must not start it again.
func TestHouseHasWork(t *testing.T) {
	status := gateway("c", "")
	status.Status.Conditions = []metav1.Condition{{Type: "Programmed"}}
	edited := gateway("d", "")
	edited.Generation = 2
	bound := gateway("c", "")
	bound.Finalizers = []string{translate.Finalizer}
	tests := []struct {
		name  string
		next  translate.Change
		want  bool
		bound []translate.Key
	}{
		{name: "a status", next: translate.Change{Put: []any{status}}},
		{name: "another class", next: translate.Change{Put: []any{edited}}, want: true},
		{name: "a finalizer", next: translate.Change{Put: []any{bound}}, bound: []translate.Key{{Kind: "Gateway", Namespace: "apps", Name: "g"}}},
		{name: "gone", next: translate.Change{Delete: []translate.Key{{Kind: "Gateway", Namespace: "apps", Name: "g"}}}, want: true},
		{name: "something else", next: translate.Change{Put: []any{&gwv1.HTTPRoute{}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse()
			h.note(translate.Change{Put: []any{gateway("c", "")}})
			if got := h.note(tt.next); got != tt.want {
				t.Errorf("there is work: %v, want %v", got, tt.want)
			}
			if got := slices.Collect(maps.Keys(h.finalized)); !slices.Equal(got, tt.bound) {
				t.Errorf("bound are %v, want %v", got, tt.bound)
			}
		})
	}
}
