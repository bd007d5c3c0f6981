package reconcile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// again is another process over the same cloud: it has read text and knows nothing
// of what was before.
func (w *world) again(text string) *world {
	w.t.Helper()
	loaded := w.read(text)
	p := cloud.NewProvider(w.cloud, nil)
	account := providers.NewAccount(providers.Config{Provider: p, Cluster: "c", Name: "fake"})
	next := &world{t: w.t, cloud: w.cloud, snapshot: loaded.Snapshot}
	next.loop = reconcile.New(translate.New(loaded.Snapshot, translate.Options{
		Controllers: map[string]string{"gatehouse.dev/fake": "fake"},
		Offers: func(_ string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
			return p.Offers(settings)
		},
	}), map[string]*providers.Account{"fake": account})
	next.loop.Doubt(reconcile.Doubt{Incomplete: loaded.Incomplete, Bad: loaded.Bad, Remains: loaded.Remains})
	return next
}

func (w *world) serving() string {
	text, err := json.Marshal(w.cloud.Serving())
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// TestDoubt. Why this table: a document that is broken when a new process reads it
// has no last good version but what the cloud has. An apply used to remove its
// rules, or to make them answer 500.
func TestDoubt(t *testing.T) {
	tests := []struct {
		name, old, new, bad string
		quiet               bool // nothing would be planned anyway
	}{
		{"a route", "rules: [{backendRefs", "rulez: [{backendRefs", "HTTPRoute/default/r", false},
		{"a misspelt kind", "kind: HTTPRoute", "kind: HTTPRout", "HTTPRoute/default/r", false},
		{"a Service", "targetPort: 8080", "targetPort: [8080]", "Service/default/s", false},
		{"an EndpointSlice", "ports: [{port: 8080}]\nendpoints:", "ports: [{port: eighty}]\nendpoints:", "EndpointSlice/default/s", true},
		{"the parameters", "fake: {}", "fakes: {}", "GatewayParameters/default/p", true},
		{"text that is no YAML", "spec: {ports:", "spec: {{ports:", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, base)
			w.pass(w.all())
			before := w.serving()
			next := w.again(strings.Replace(base, tt.old, tt.new, 1))
			done := next.pass(next.all())
			if tt.bad == "" {
				for _, s := range done.Plan().Steps {
					if s.Verb == lbmodel.Delete {
						t.Errorf("%s is deleted", s.ID)
					}
				}
				return
			}
			if diff := cmp.Diff(before, next.serving()); diff != "" {
				t.Errorf("what is served changed (-want +got):\n%s", diff)
			}
			if text := waits(done); !tt.quiet && !strings.Contains(text, tt.bad) {
				t.Errorf("no wait names %s: %s", tt.bad, text)
			}
			if healed := w.again(base); !healed.pass(healed.all()).Settled() || healed.serving() != before {
				t.Error("with the document repaired it is not as before")
			}
		})
	}
}

func waits(pass reconcile.Pass) string {
	var out strings.Builder
	for _, w := range pass.Plan().Later {
		out.WriteString(w.String() + "\n")
	}
	return out.String()
}

// TestDoubtAtFirst: a broken document costs itself, and not what is not there yet.
func TestDoubtAtFirst(t *testing.T) {
	w := newWorld(t, base) // and nothing of it is applied
	next := w.again(base + `
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: bad}
spec: {parentRefs: [{name: a}], rulez: []}
`)
	next.pass(next.all())
	if got := next.endpoints(); len(got["a"]) != 1 || len(got["b"]) != 1 {
		t.Errorf("%v is served, want both gateways", got)
	}
}

// TestDoubtOfMesh: without a MeshBinding that cannot be read, what is new would speak
// plain text to pods of the mesh.
func TestDoubtOfMesh(t *testing.T) {
	w := newWorld(t, base) // and nothing of it is applied
	next := w.again(base + `
---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: istio}
spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}, trustBundels: []}
`)
	next.pass(next.all())
	if got := next.endpoints(); len(got) != 0 {
		t.Errorf("%v is served without the binding", got)
	}
}

// TestStranded: a Gateway whose class is not there is neither changed nor given up;
// one whose class is another controller's is.
func TestStranded(t *testing.T) {
	w := newWorld(t, base)
	w.pass(w.all())
	before := w.serving()
	b := translate.Key{Kind: translate.KindGateway, Namespace: "default", Name: "b"}
	typo := strings.Replace(base, "metadata: {name: b}\nspec: {gatewayClassName: local,", "metadata: {name: b}\nspec: {gatewayClassName: locla,", 1)
	keys := w.loop.Change(w.change(typo, reconcile.Removed).Change)
	if done := w.pass(keys); !done.Empty() || w.serving() != before {
		t.Errorf("something was done for a class that is not there: %v", done.Plan().Steps)
	}
	g, ok := w.loop.Gateway(b)
	if !ok || !strings.Contains(g.Result.Skip, "locla is not there") || len(g.Findings) == 0 {
		t.Errorf("the gateway does not say why it is left alone: %+v", g.Findings)
	}
	fresh := w.again(typo)
	if strangers, err := fresh.loop.Strangers(t.Context()); err != nil || len(strangers["fake"]) != 0 {
		t.Errorf("a new process counts %v as nobody's, %v", strangers, err)
	}
	gone := newWorld(t, base)
	gone.pass(gone.all())
	gone.loop.Change(gone.change(typo, reconcile.Removed).Change)
	at := strings.Index(typo, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: b}")
	gone.pass(gone.loop.Change(gone.change(typo[:at]+typo[at+4+strings.Index(typo[at+4:], "---"):], reconcile.Removed).Change))
	if got := gone.endpoints(); len(got) != 1 {
		t.Errorf("a Gateway that is removed while its class is missing leaves %v", got)
	}
	foreign := typo + "\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: locla}\nspec: {controllerName: example.com/other}\n"
	keys = w.loop.Change(w.change(foreign, reconcile.Removed).Change)
	w.pass(keys)
	if _, still := w.loop.Gateway(b); still || len(w.endpoints()) != 1 {
		t.Errorf("what is another controller's is kept: %v", w.endpoints())
	}
}

// TestRetainedAndProtected: removing the object of such a gateway touches nothing.
func TestRetainedAndProtected(t *testing.T) {
	for _, deletion := range []string{"Retain", "Protect"} {
		t.Run(deletion, func(t *testing.T) {
			text := strings.Replace(base, "foreignEndpoints: Allow", "foreignEndpoints: Allow, deletion: "+deletion, 1)
			w := newWorld(t, text)
			w.pass(w.all())
			before := w.serving()
			at := strings.Index(text, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: b}")
			end := at + 4 + strings.Index(text[at+4:], "---")
			w.pass(w.loop.Change(w.change(text[:at]+text[end:], reconcile.Removed).Change))
			w.pass(w.all())
			if w.serving() != before {
				t.Error("what should stay was touched")
			}
		})
	}
}

// TestOneAddressForTwo: who gets nothing because another holds what it asks for is
// told so, and is not in sync.
func TestOneAddressForTwo(t *testing.T) {
	text := strings.ReplaceAll(base, "spec: {gatewayClassName: local,", "spec: {gatewayClassName: local, addresses: [{value: 127.71.0.9}],")
	w := newWorld(t, text)
	planned, err := w.loop.Plan(t.Context(), w.all())
	if err != nil {
		t.Fatal(err)
	}
	done := w.loop.Apply(t.Context(), planned, nil)
	if done.Settled() {
		t.Errorf("the pass counts as done: %v", done.Groups[0].Outcome.Held.Later)
	}
	statuses := w.loop.Statuses(planned, done, time.Unix(0, 0))
	synced := 0
	for _, name := range []string{"a", "b"} {
		if strings.Contains(conditions(t, statuses, name), `"gatehouse.dev/InSync","status":"True"`) {
			synced++
		}
	}
	if synced != 1 {
		t.Errorf("%d gateways are in sync, want the one that has the address", synced)
	}
}
