package lbmodel

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shopSpec is a spec with fields as a provider's have.
type shopSpec struct {
	Network   string            `json:"network,omitzero"`
	Address   string            `json:"address,omitzero"`
	Priority  int               `json:"priority,omitzero"`
	Labels    map[string]string `json:"labels,omitempty"`
	Endpoints []string          `json:"endpoints,omitempty"`
	Forwards  []shopForward     `json:"forwards,omitempty"`
	On        []ID              `json:"on,omitempty"`
	Port      string            `json:"port,omitzero"`

	warning string
}

type shopForward struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
}

func (s shopSpec) Needs() []ID              { return s.On }
func (s shopSpec) Slot() string             { return s.Port }
func (s shopSpec) Impact(Verb, Spec) string { return s.warning }

func shopID(kind, name string) ID { return ID{Kind: kind, Location: "local", Name: name} }

func shopGraph(resources ...Resource) Graph {
	g := Graph{}
	for _, r := range resources {
		g[r.ID] = r
	}
	return g
}

var (
	shopLB       = shopID("LoadBalancer", "shop")
	shopListener = shopID("Listener", "shop/80")
)

// shopBefore and shopAfter are two versions of one shop.
func shopBefore() Graph {
	return shopGraph(
		NewResource(shopLB, shopSpec{Network: "blue", Address: "192.0.2.1"}),
		NewResource(shopListener, shopSpec{On: []ID{shopLB}, Port: "shop:80"}),
		NewResource(shopID("Rule", "shop/80/cart"), shopSpec{On: []ID{shopListener}, Priority: 10,
			Forwards: []shopForward{{"apps/cart:80", 90}, {"apps/cart-next:80", 10}}}),
		NewResource(shopID("Rule", "shop/80/old"), shopSpec{On: []ID{shopListener}, Priority: 20}),
		NewResource(shopID("Pool", "apps/cart:80"), shopSpec{Endpoints: []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"}}).With(Shared),
		NewResource(shopID("Firewall", "edge"), shopSpec{Labels: map[string]string{"gatehouse.dev/allow": "80"}}).With(Adopted),
		NewResource(shopID("Listener", "somebody/443"), shopSpec{Port: "shop:443"}).With(External),
	)
}

func shopAfter() Graph {
	tls := shopID("Listener", "shop/443")
	return shopGraph(
		NewResource(shopLB, shopSpec{Network: "blue", Address: KnownAfterApply, warning: "the address 192.0.2.1 changes: clients that remember it fail"}),
		NewResource(shopListener, shopSpec{On: []ID{shopLB}, Port: "shop:80"}),
		NewResource(tls, shopSpec{On: []ID{shopLB}, Port: "shop:443"}),
		NewResource(shopID("Rule", "shop/443/cart"), shopSpec{On: []ID{tls}, Priority: 10}),
		NewResource(shopID("Rule", "shop/80/cart"), shopSpec{On: []ID{shopListener}, Priority: 10,
			Forwards: []shopForward{{"apps/cart:80", 50}, {"apps/cart-next:80", 50}}}),
		NewResource(shopID("Pool", "apps/cart:80"), shopSpec{Endpoints: []string{"10.0.0.1:80", "10.0.0.3:80", "10.0.0.4:80"}}).With(Shared),
		NewResource(shopID("Firewall", "edge"), shopSpec{Labels: map[string]string{"gatehouse.dev/allow": "80,443"}}).With(Adopted),
	)
}

func mustDiff(t *testing.T, want, base, have Graph) Plan {
	t.Helper()
	plan, err := Diff(want, base, have)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestPrintPlan(t *testing.T) {
	drifted := shopBefore()
	delete(drifted, shopID("Rule", "shop/80/old"))
	cart := drifted[shopID("Pool", "apps/cart:80")].Spec.(shopSpec)
	cart.Endpoints = cart.Endpoints[:2]
	drifted[shopID("Pool", "apps/cart:80")] = NewResource(shopID("Pool", "apps/cart:80"), cart).With(Shared)
	change := mustDiff(t, shopAfter(), shopBefore(), shopBefore())
	tests := []struct {
		name, why string
		plan      Plan
		style     Style
	}{
		{"nothing", "the second plan says that all is well", mustDiff(t, shopBefore(), nil, shopBefore()), Plain},
		{"create", "everything of a new gateway, and what only the cloud can tell", mustDiff(t, shopBefore(), nil, nil), Plain},
		{"change", "an impact, an adopted and a shared object, a slot that somebody else holds", change, Plain},
		{"colour", "the same for a terminal", change, ANSI},
		{"drift", "what somebody else did stands in a section of its own", mustDiff(t, shopBefore(), shopBefore(), drifted), Plain},
		{"held", "what policies keep back is told with until when and why",
			Compose(HoldDisruptive, Linger(24*time.Hour))(change, policyNow), Plain},
		{"waiting", "nothing can be done now, but not all is well", NoDelete(mustDiff(t, nil, nil, shopBefore()), policyNow), Plain},
		{"alike", "what waits for one reason is told a few times and counted; other reasons are not hidden by it",
			NoDelete(mustDiff(t, boxes("x slot=1"), nil, boxes("a", "b", "c", "d", "e", "f", "g", "h", "z slot=1 External")), policyNow), Plain},
		{"hostile", "names and values cannot write to the terminal", mustDiff(t, hostileGraph(), nil, nil), ANSI},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Log(test.why)
			var text bytes.Buffer
			if err := PrintPlan(&text, test.plan, test.style); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, "plan/"+test.name+"/plan.txt", text.Bytes())
		})
	}
}

func TestPlanJSON(t *testing.T) {
	want := boxes("lb v=2 effect=it-restarts", "rule needs=lb,new", "new", "taken slot=443")
	have := boxes("lb v=1", "rule needs=lb,old", "old Shared", "x slot=443 External")
	all := mustDiff(t, want, boxes("lb v=1", "rule needs=lb,new", "new", "old Shared"), have)
	tests := []struct {
		name, why string
		plan      Plan
	}{
		{"nothing", "empty lists are written, so that readers need no special case", Plan{}},
		{"json", "every field once: verbs, holds, causes, edges, a wait without an end", all},
		{"json-held", "waits with and without an end", Compose(HoldDisruptive, Linger(time.Hour))(all, policyNow)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Log(test.why)
			doc, err := json.Marshal(test.plan, jsontext.WithIndent("  "))
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, "plan/"+test.name+"/plan.json", append(doc, '\n'))
		})
	}
}

// hostileGraph has text that would clear a screen, hide itself or end a line.
func hostileGraph() Graph {
	return shopGraph(NewResource(shopID("Rule", "a\x1b[2Jb\nPlan: 0 to add"), shopSpec{
		Network: "c\u202ed\u009b31m", warning: "one\ntwo\x07",
	}))
}

func TestPlanDocumentRoundTrips(t *testing.T) {
	plan := mustDiff(t, shopAfter(), shopBefore(), shopBefore())
	first, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var doc PlanDocument
	if err := json.Unmarshal(first, &doc, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan.Document(), doc); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	second, err := json.Marshal(doc)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("%v: a document changes by reading and writing it:\n%s\n%s", err, first, second)
	}
}

// Long values and many attributes are cut; resources are not.
func TestPlanTextIsBoundedButComplete(t *testing.T) {
	want := Graph{}
	for i := range 500 {
		spec := shopSpec{Network: strings.Repeat("n", 10_000)}
		for e := range 100 {
			spec.Endpoints = append(spec.Endpoints, fmt.Sprintf("10.0.%d.%d:80", i%250, e))
		}
		r := NewResource(shopID("Pool", fmt.Sprintf("p%03d", i)), spec)
		want[r.ID] = r
	}
	var text bytes.Buffer
	if err := PrintPlan(&text, mustDiff(t, want, nil, nil), Plain); err != nil {
		t.Fatal(err)
	}
	for id := range want {
		if !strings.Contains(text.String(), "  + "+id.String()+"\n") {
			t.Fatalf("%s is left out", id)
		}
	}
	if perResource := text.Len() / len(want); perResource > 2500 {
		t.Errorf("%d bytes a resource", perResource)
	}
	if !strings.HasSuffix(text.String(), "\n      … and 61 more\n\nPlan: 500 to add, 0 to change, 0 to destroy.\n") {
		t.Errorf("the end is %q", text.String()[text.Len()-200:])
	}
}

func TestPrintPlanReturnsTheWritersError(t *testing.T) {
	if err := PrintPlan(brokenWriter{}, Plan{}, Plain); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

var errBroken = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
