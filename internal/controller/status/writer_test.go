package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/translate"
)

// TestC69ThirdController: our entries follow the spec, also the last one, while
// another controller's entry stays as it is to the byte, and so does a condition
// that somebody put into one of ours.
func TestC69ThirdController(t *testing.T) {
	w := newWorld(t)
	foreign := parent("mesh", theirs, condition("Accepted", "True", 1), condition("acme.test/Odd", "False", 7))
	edge, edge2 := parent("edge", ours, condition("Accepted", "True", 1), condition("acme.test/Note", "True", 1)), parent("edge2", ours, condition("Accepted", "True", 1))
	w.create(route(), &gwv1.HTTPRoute{Status: *parents(edge, foreign, edge2)})
	before := text(t, foreignParent(w))
	steps := []struct {
		name       string
		base, want []gwv1.RouteParentStatus
	}{
		{"edge2 leaves the spec", []gwv1.RouteParentStatus{edge, foreign, edge2}, []gwv1.RouteParentStatus{edge, foreign}},
		{"edge leaves the spec", []gwv1.RouteParentStatus{edge, foreign}, []gwv1.RouteParentStatus{foreign}},
		{"edge comes back", []gwv1.RouteParentStatus{foreign}, []gwv1.RouteParentStatus{foreign, edge}},
		{"its condition changes", []gwv1.RouteParentStatus{foreign, edge}, []gwv1.RouteParentStatus{foreign, parent("edge", ours, condition("Accepted", "False", 2), edge.Conditions[1])}},
	}
	for _, s := range steps {
		w.write(w.patch(route(), parents(s.base...), parents(s.want...)))
		var got gwv1.HTTPRoute
		w.get(route(), &got)
		wantEqual(t, s.name, text(t, got.Status.Parents), text(t, s.want))
		wantEqual(t, s.name+": the other controller's entry", text(t, foreignParent(w)), before)
		wantEqual(t, s.name+": writes", len(w.server.Writes()), 1)
	}
}

func foreignParent(w *world) any {
	status, _ := w.get(route(), nil).Object["status"].(map[string]any)
	for _, e := range entriesOf(status["parents"]) {
		if e["controllerName"] == string(theirs) {
			return e
		}
	}
	return nil
}

// TestForeignEntryOfAnotherSchema: fields that our Go types do not have are not
// ours to lose.
func TestForeignEntryOfAnotherSchema(t *testing.T) {
	shape, _ := kindOf(translate.KindHTTPRoute)
	live := map[string]any{"parents": []any{
		map[string]any{"controllerName": "acme.test/mesh", "parentRef": map[string]any{"name": "m"}, "future": "field"},
	}}
	want, err := statusOf(parents(parent("edge", ours, condition("Accepted", "True", 1))))
	if err != nil {
		t.Fatal(err)
	}
	merged := shape.merge(map[string]any{}, want, live)
	operations := shape.operations(live, merged)
	if len(operations) != 1 || operations[0].Path != "/status/parents/-" {
		t.Errorf("the only operation should add our entry: %v", operations)
	}
}

// TestEqualIsNotWritten: what is there already costs no write, whoever wrote it.
func TestEqualIsNotWritten(t *testing.T) {
	w := newWorld(t)
	base, want := parents(), parents(parent("edge", ours, condition("Accepted", "True", 1)))
	w.create(route(), &gwv1.HTTPRoute{})
	p := w.patch(route(), base, want)
	w.write(p)
	wantEqual(t, "writes the first time", len(w.server.Writes()), 1)
	w.write(p)
	wantEqual(t, "writes the second time", len(w.server.Writes()), 0)
	again := parents(parent("edge", ours, later(condition("Accepted", "True", 1))))
	p.Status = again
	w.write(p)
	wantEqual(t, "writes when only the time of the transition differs", len(w.server.Writes()), 0)
	wantEqual(t, "writes counted", int(w.wrote.Load()), 1)
}

// TestKnownVersionNeedsNoRead: with an informer's object at hand a write is one
// call, and a repeated one none, even before the informer has seen the first.
func TestKnownVersionNeedsNoRead(t *testing.T) {
	w := newWorld(t)
	w.create(route(), &gwv1.HTTPRoute{})
	known := &gwv1.HTTPRoute{}
	w.get(route(), known)
	w.cache[route()] = known
	p := w.patch(route(), &known.Status, parents(parent("edge", ours, condition("Accepted", "True", 1))))
	w.write(p)
	wantEqual(t, "calls", methods(w.server.Calls()), "PATCH")
	w.write(p)
	wantEqual(t, "calls before the informer knows", methods(w.server.Calls()), "")
	next := w.patch(route(), &known.Status, parents(parent("edge2", ours, condition("Accepted", "True", 1))))
	w.write(next)
	wantEqual(t, "calls of another gateway's pass that started from the old version", methods(w.server.Calls()), "PATCH")
	var got gwv1.HTTPRoute
	w.get(route(), &got)
	wantEqual(t, "parents", len(got.Status.Parents), 2)
}

func methods(calls []fakeapi.Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Method)
	}
	return strings.Join(out, " ")
}

// TestPassesOfTwoGateways: a pass carries over only what it changed; what another
// pass has written since then about another gateway stays.
func TestPassesOfTwoGateways(t *testing.T) {
	w := newWorld(t)
	good1, good2 := parent("edge", ours, condition("Accepted", "True", 1)), parent("edge2", ours, condition("Accepted", "True", 1))
	bad1, bad2 := parent("edge", ours, later(condition("Accepted", "False", 1))), parent("edge2", ours, later(condition("Accepted", "False", 1)))
	w.create(route(), &gwv1.HTTPRoute{Status: *parents(good1, good2)})
	one := w.patch(route(), parents(good1, good2), parents(bad1, good2))
	two := w.patch(route(), parents(good1, good2), parents(good1, bad2))
	w.write(one)
	w.write(two)
	var got gwv1.HTTPRoute
	w.get(route(), &got)
	wantEqual(t, "parents", text(t, got.Status.Parents), text(t, []gwv1.RouteParentStatus{bad1, bad2}))
}

// TestOlderNeverOverNewer: a status of an older generation is dropped.
func TestOlderNeverOverNewer(t *testing.T) {
	cases := []struct {
		name, why string
		want      *gwv1.HTTPRouteStatus
	}{
		{"older condition", "another pass has seen a later spec", parents(parent("edge", ours, condition("Accepted", "False", 2)))},
		{"older removal", "the later spec has the parent again", parents()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(route(), &gwv1.HTTPRoute{Status: *parents(parent("edge", ours, condition("Accepted", "True", 3)))})
			w.write(w.patch(route(), parents(parent("edge", ours, condition("Accepted", "True", 1))), c.want))
			wantEqual(t, c.why+": writes", len(w.server.Writes()), 0)
		})
	}
}

// TestNothingToWriteTo: objects that are gone, are others now, or are of a kind
// that is not installed need nothing.
func TestNothingToWriteTo(t *testing.T) {
	cases := []struct {
		name, why string
		patch     func(translate.Patch) translate.Patch
	}{
		{"gone", "its deletion takes its status along", func(p translate.Patch) translate.Patch { p.Key.Name = "gone"; return p }},
		{"made anew", "the status is about an object that is no more", func(p translate.Patch) translate.Patch { p.UID = "old"; return p }},
		{"not installed", "the CRD is not there", func(p translate.Patch) translate.Patch { p.Key.Kind = translate.KindXBackend; return p }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(route(), &gwv1.HTTPRoute{})
			w.write(c.patch(w.patch(route(), parents(), parents(parent("edge", ours, condition("Accepted", "True", 1))))))
			wantEqual(t, c.why+": writes", len(w.server.Writes()), 0)
		})
	}
}

// TestConflict: a conflict means to read and merge again, a bounded number of
// times; another error ends it at once, and holds up no other object.
func TestConflict(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "httproutes"}, "r", errors.New("modified"))
	cases := []struct {
		name, why string
		err       error
		times     int
		writes    int // tried
		conflict  bool
		ok        bool
	}{
		{"a few", "others write too", conflict, 3, 4, false, true},
		{"all the time", "somebody hammers the object: the next pass tries again", conflict, 1000, tries, true, false},
		{"refused", "we may not", apierrors.NewForbidden(schema.GroupResource{}, "r", errors.New("no")), 1000, 1, false, false},
		{"invalid", "the version is not why", apierrors.NewInvalid(schema.GroupKind{}, "r", nil), 1000, 1, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(route(), &gwv1.HTTPRoute{})
			w.create(gateway(), &gwv1.Gateway{})
			p := []translate.Patch{
				w.patch(route(), parents(), parents(parent("edge", ours, condition("Accepted", "True", 1)))),
				w.patch(gateway(), &gwv1.GatewayStatus{}, &gwv1.GatewayStatus{Conditions: []metav1.Condition{condition("Accepted", "True", 1)}}),
			}
			tried := 0
			w.server.Fault(func(call fakeapi.Call) error {
				if call.Method != http.MethodPatch || !strings.Contains(call.Path, "httproutes") {
					return nil
				}
				if tried++; tried > c.times {
					return nil
				}
				if c.conflict || c.ok {
					w.other(route(), func(status map[string]any) {
						status["parents"] = []any{map[string]any{"controllerName": fmt.Sprint("acme.test/", tried)}}
					})
				}
				return c.err
			})
			err := w.writer.Write(t.Context(), p)
			if (err == nil) != c.ok || apierrors.IsConflict(err) != c.conflict {
				t.Errorf("%s: error %v", c.why, err)
			}
			wantEqual(t, "tries", tried, c.writes)
			var g gwv1.Gateway
			w.get(gateway(), &g)
			wantEqual(t, "the other object's conditions", len(g.Status.Conditions), 1)
		})
	}
}

// TestStopsWhenTold: a cancelled context ends the tries.
func TestStopsWhenTold(t *testing.T) {
	w := newWorld(t)
	w.create(route(), &gwv1.HTTPRoute{})
	p := w.patch(route(), parents(), parents(parent("edge", ours, condition("Accepted", "True", 1))))
	ctx, cancel := context.WithCancel(t.Context())
	w.server.Fault(func(call fakeapi.Call) error {
		if call.Write() {
			cancel()
			return apierrors.NewConflict(schema.GroupResource{}, "r", errors.New("modified"))
		}
		return nil
	})
	if err := w.writer.Write(ctx, []translate.Patch{p}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestFull: an atomic list holds no more than the API allows, whatever others put
// into it since.
func TestFull(t *testing.T) {
	w := newWorld(t)
	var full []gwv1.RouteParentStatus
	for i := range 32 {
		full = append(full, parent(fmt.Sprintf("m%d", i), theirs, condition("Accepted", "True", 1)))
	}
	w.create(route(), &gwv1.HTTPRoute{Status: *parents(full...)})
	w.write(w.patch(route(), parents(full[:31]...), parents(append(full[:31:31], parent("edge", ours, condition("Accepted", "True", 1)))...)))
	wantEqual(t, "writes", len(w.server.Writes()), 0)
}

// TestUnknownKind: a kind that the table lacks is an error and no panic.
func TestUnknownKind(t *testing.T) {
	w := newWorld(t)
	err := w.writer.Write(t.Context(), []translate.Patch{{Key: translate.Key{Kind: "Pod", Name: "p"}, Status: &corev1.PodStatus{}}})
	if err == nil || !strings.Contains(err.Error(), "Pod") {
		t.Errorf("error %v", err)
	}
	wantEqual(t, "calls", len(w.server.Calls()), 0)
}
