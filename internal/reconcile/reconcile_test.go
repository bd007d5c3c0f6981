package reconcile_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/providers"
)

const base = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: local}
spec:
  controllerName: gatehouse.dev/fake
  parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: p, namespace: default}
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: p}
spec: {foreignEndpoints: Allow, APPLY, fake: {}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: a}
spec: {gatewayClassName: local, listeners: [{name: http, port: 8081, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: b}
spec: {gatewayClassName: local, listeners: [{name: http, port: 8082, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: a}, {name: b}]
  rules: [{backendRefs: [{name: s, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
`

// schemas are compiled once for all tests.
var schemas manifest.Schemas

// world is a loop over an in-memory cloud, and the files that it has read.
type world struct {
	t        *testing.T
	cloud    *cloud.Cloud
	account  *providers.Account
	loop     *reconcile.Loop
	snapshot translate.Snapshot
}

func newWorld(t *testing.T, text string) *world {
	t.Helper()
	return newWorldOf(t, text, func(p *cloud.Provider) providers.Config { return providers.Config{Provider: p} })
}

// newWorldOf is likewise, with an account of its own.
func newWorldOf(t *testing.T, text string, config func(*cloud.Provider) providers.Config) *world {
	t.Helper()
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := cloud.NewProvider(c, nil)
	settings := config(p)
	settings.Cluster, settings.Name = "c", "fake"
	account := providers.NewAccount(settings)
	w := &world{t: t, cloud: c, account: account}
	w.snapshot = w.read(text).Snapshot
	x := translate.New(w.snapshot, translate.Options{
		Controllers: map[string]string{"gatehouse.dev/fake": "fake"},
		Dialects:    map[string]meshsync.Dialect{istio.Controller: istio.Dialect{}},
		Offers: func(_ string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
			return p.Offers(settings)
		},
	})
	w.loop = reconcile.New(x, map[string]*providers.Account{"fake": account})
	return w
}

func (w *world) read(text string) *manifest.Loaded {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "all.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(text, "APPLY", "apply: Auto", 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	loaded, err := manifest.Load(w.t.Context(), manifest.Options{Paths: []string{path}, Cluster: "c", Schemas: &schemas})
	if err != nil {
		w.t.Fatal(err)
	}
	return loaded
}

// change reads other files and gives the difference.
func (w *world) change(text string, absent reconcile.Absence) reconcile.Difference {
	w.t.Helper()
	next := w.read(text).Snapshot
	d := reconcile.Compare(w.snapshot, next, absent)
	w.snapshot = next
	return d
}

func (w *world) pass(keys []translate.Key) reconcile.Pass {
	w.t.Helper()
	planned, err := w.loop.Plan(w.t.Context(), keys)
	if err != nil {
		w.t.Fatal(err)
	}
	done := w.loop.Apply(w.t.Context(), planned, nil)
	for _, g := range done.Groups {
		if err := g.Outcome.Err(); err != nil {
			w.t.Fatal(err)
		}
	}
	return done
}

func (w *world) all() []translate.Key { return w.loop.Index().Gateways() }

// endpoints are what the cloud would serve, by gateway.
func (w *world) endpoints() map[string][]string {
	out := map[string][]string{}
	for _, s := range w.cloud.Serving() {
		for _, p := range s.Gateway.Pools {
			for _, e := range p.Endpoints {
				out[s.Gateway.Owner.Name] = append(out[s.Gateway.Owner.Name], e.Address)
			}
		}
	}
	return out
}

func TestSecondPassIsEmpty(t *testing.T) {
	w := newWorld(t, base)
	if first := w.pass(w.all()); first.Empty() {
		t.Fatal("the first pass has nothing to do")
	}
	if second := w.pass(w.all()); !second.Empty() {
		t.Errorf("the second pass does %d steps", len(second.Plan().Steps))
	}
}

// TestFastPath: a change of endpoints alone plans nothing, reaches every gateway
// with one call for the shared set, and leaves nothing for the next full pass.
func TestFastPath(t *testing.T) {
	w := newWorld(t, base)
	w.pass(w.all())
	before := len(w.cloud.Log())
	d := w.change(strings.Replace(base, "10.0.0.1", "10.0.0.2", 1), reconcile.Removed)
	if !d.EndpointsOnly() || d.Empty() {
		t.Fatalf("the difference is not of endpoints alone: %+v", d)
	}
	keys, err := w.loop.Endpoints(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 {
		t.Errorf("the change concerns %v, want both gateways", keys)
	}
	want := map[string][]string{"a": {"10.0.0.2"}, "b": {"10.0.0.2"}}
	if diff := cmp.Diff(want, w.endpoints()); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	writes := 0
	for _, call := range w.cloud.Log()[before:] {
		if call.Write {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("%d writes, want one for the set that both gateways share", writes)
	}
	if next := w.pass(w.all()); !next.Empty() {
		t.Errorf("the next full pass finds %d steps to do", len(next.Plan().Steps))
	}
}

// TestAbsence: what is gone from complete files is removed; what is missing from
// incomplete ones stays, also through the readings after.
func TestAbsence(t *testing.T) {
	route := base[strings.Index(base, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute"):]
	without := strings.Replace(base, route[:strings.Index(route[4:], "---")+4], "", 1)
	cases := []struct {
		name, why string
		absent    reconcile.Absence
		deletes   int
		served    int
	}{
		{"removed", "the files are whole, so the route was taken out on purpose", reconcile.Removed, 1, 0},
		{"unproven", "something could not be read: it may have been the route", reconcile.Unproven, 0, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, base)
			w.pass(w.all())
			old := w.snapshot
			d := w.change(without, c.absent)
			if len(d.Delete) != c.deletes {
				t.Fatalf("%d deletes, want %d: %s", len(d.Delete), c.deletes, c.why)
			}
			w.loop.Change(d.Change)
			w.pass(w.all())
			if got := len(w.endpoints()); got != c.served {
				t.Errorf("%d gateways serve the route, want %d: %s", got, c.served, c.why)
			}
			held := reconcile.Overlay(old, w.snapshot)
			if len(held.HTTPRoutes) != 1 || len(held.Services) != 1 {
				t.Errorf("Overlay holds %d routes and %d services, want one of each", len(held.HTTPRoutes), len(held.Services))
			}
		})
	}
}

// TestStrangers: owners in the cloud without an object are found, dropped on
// demand, and leave nothing.
func TestStrangers(t *testing.T) {
	w := newWorld(t, base)
	w.pass(w.all())
	gateway := translate.Key{Kind: translate.KindGateway, Namespace: "default", Name: "b"}
	concerned := w.loop.Change(translate.Change{Delete: []translate.Key{gateway}})
	if !slices.Equal(concerned, []translate.Key{gateway}) {
		t.Errorf("the removal concerns %v", concerned)
	}
	strangers, err := w.loop.Strangers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(strangers["fake"]) != 1 || strangers["fake"][0].Name != "b" {
		t.Errorf("strangers are %v, want b", strangers)
	}
	w.pass(concerned)
	if got := w.endpoints(); len(got) != 1 {
		t.Errorf("after the pass %v are served, want a alone", got)
	}
	if next := w.pass(nil); len(next.Groups) > 0 {
		t.Errorf("what is gone is planned again: %+v", next.Groups[0].Plan.Owners)
	}
	if err := w.loop.Drop("nobody", lbmodel.Owner{}); lbmodel.CodeOf(err) != lbmodel.CodeInternal {
		t.Errorf("dropping with an unknown provider: %v", err)
	}
}

// TestApplyModes: gateways that are run in different ways stand in different
// plans; how a plan is to be run stands with it.
func TestApplyModes(t *testing.T) {
	own := `
---
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayParameters
metadata: {name: careful}
spec: {apply: PlanOnly, fake: {}}
`
	text := strings.Replace(base+own, "metadata: {name: b}\nspec: {gatewayClassName: local,",
		"metadata: {name: b}\nspec: {gatewayClassName: local, infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayParameters, name: careful}},", 1)
	w := newWorld(t, text)
	planned, err := w.loop.Plan(t.Context(), w.all())
	if err != nil {
		t.Fatal(err)
	}
	var modes []string
	for _, g := range planned.Groups {
		modes = append(modes, string(g.Apply))
	}
	if !slices.Equal(modes, []string{"Auto", "PlanOnly"}) {
		t.Errorf("groups are %v, want one of each mode", modes)
	}
	statuses := w.loop.Statuses(planned, reconcile.Pass{}, time.Unix(0, 0))
	if !strings.Contains(conditions(t, statuses, "b"), `"Drifted"`) {
		t.Errorf("a PlanOnly gateway does not say so: %s", conditions(t, statuses, "b"))
	}
}

// TestStatuses: after an apply the objects say where they are and that they work.
func TestStatuses(t *testing.T) {
	w := newWorld(t, base)
	planned, err := w.loop.Plan(t.Context(), w.all())
	if err != nil {
		t.Fatal(err)
	}
	done := w.loop.Apply(context.Background(), planned, nil)
	got := conditions(t, w.loop.Statuses(planned, done, time.Unix(0, 0)), "a")
	for _, want := range []string{`"127.71.0.`, `"Programmed","status":"True"`, `"gatehouse.dev/InSync","status":"True"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the Gateway's status lacks %s:\n%s", want, got)
		}
	}
}

func conditions(t *testing.T, patches []translate.Patch, gateway string) string {
	t.Helper()
	for _, p := range patches {
		if p.Key.Kind == translate.KindGateway && p.Key.Name == gateway {
			text, err := json.Marshal(p.Status)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	t.Fatalf("no status of Gateway %s", gateway)
	return ""
}
