package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// meshWorld is a controller over an API server that has one MeshBinding.
type meshWorld struct {
	*testing.T
	*Controller
	server  *fakeapi.Server
	told    *record.FakeRecorder
	figures MeshFigures
	rotated []string
}

func newMeshWorld(t *testing.T, objects ...any) *meshWorld {
	t.Helper()
	w := &meshWorld{T: t, told: record.NewFakeRecorder(100)}
	var err error
	if w.server, err = fakeapi.New(); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(web.Close)
	clients, err := kube.New(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.Controller = &Controller{
		clients: clients, events: events.New(w.told), membership: newMembership(),
		config: Config{Metrics: Metrics{
			Meshes: func(f MeshFigures) { w.figures = f }, Rotated: func(binding string) { w.rotated = append(w.rotated, binding) },
		}.withDefaults()},
	}
	w.began.Store(&began)
	w.work = newQueue("test", w.workOn)
	t.Cleanup(w.work.ShutDown)
	w.writer = w.newWriter()
	for i, obj := range objects {
		if b, is := obj.(*v1alpha1.MeshBinding); is {
			resource, _ := clients.Resource(translate.KindMeshBinding)
			made, err := resource.Create(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			objects[i] = made
		}
	}
	w.server.Calls()
	w.loop = reconcile.New(translate.New(reconcile.SnapshotOf(objects), translate.Options{Dialects: member.Dialects()}), nil)
	return w
}

// serve answers discovery, and leaves the rest to the server.
func (w *meshWorld) serve(rw http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/apis/gatehouse.dev/v1alpha1":
		rw.Header().Set("Content-Type", "application/json")
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{{Name: "meshbindings", Kind: "MeshBinding"}}}
		if err := json.NewEncoder(rw).Encode(list); err != nil {
			w.Error(err)
		}
	case strings.HasPrefix(r.URL.Path, "/apis/gatehouse.dev/v1alpha1/meshbindings"):
		w.server.ServeHTTP(rw, r)
	default:
		http.NotFound(rw, r)
	}
}

// heard are the events since the last look.
func (w *meshWorld) heard() (out []string) {
	for {
		select {
		case e := <-w.told.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func binding() *v1alpha1.MeshBinding {
	b := &v1alpha1.MeshBinding{ObjectMeta: metav1.ObjectMeta{Name: "istio"}}
	b.Spec.ControllerName = "istio.io/istio"
	return b
}

// TestKeepMeshes writes a binding's status when it changes, and not again.
func TestKeepMeshes(t *testing.T) {
	w := newMeshWorld(t, binding())
	for i, writes := range []int{1, 0} {
		if err := w.keepMeshes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.server.Writes(); len(got) != writes {
			t.Errorf("look %d writes %+v, want %d", i, got, writes)
		}
	}
	if heard := w.heard(); len(heard) != 1 || !strings.Contains(heard[0], "TrustStale") {
		t.Errorf("told is %q, want that the roots cannot be read", heard)
	}
	if s := w.figures.Sources; len(s) != 1 || s[0].Binding != "istio" || s[0].Stale.IsZero() {
		t.Errorf("figures of sources are %+v, want one that is stale", s)
	}
}

// TestInformBinding tells of a root that left, once.
func TestInformBinding(t *testing.T) {
	w := newMeshWorld(t, binding())
	a, b := v1alpha1.RootStatus{SHA256: strings.Repeat("a", 64)}, v1alpha1.RootStatus{SHA256: strings.Repeat("b", 64)}
	key := translate.Key{Kind: translate.KindMeshBinding, Name: "istio"}
	w.informBinding(translate.Patch{Key: key, Base: &v1alpha1.MeshBindingStatus{Roots: []v1alpha1.RootStatus{a}}, Status: &v1alpha1.MeshBindingStatus{Roots: []v1alpha1.RootStatus{a, b}}})
	if heard := w.heard(); len(heard) != 0 || len(w.rotated) != 0 {
		t.Errorf("a root that comes: told %q, counted %v", heard, w.rotated)
	}
	w.informBinding(translate.Patch{Key: key, Base: &v1alpha1.MeshBindingStatus{Roots: []v1alpha1.RootStatus{a, b}}, Status: &v1alpha1.MeshBindingStatus{Roots: []v1alpha1.RootStatus{b}}})
	if heard := w.heard(); len(heard) != 1 || !strings.Contains(heard[0], "RootRemoved root aaaaaaaaaaaaaaaa,") || !slices.Equal(w.rotated, []string{"istio"}) {
		t.Errorf("a root that goes: told %q, counted %v", heard, w.rotated)
	}
}

// TestInformMember tells what changes, and nothing that stays. Why this table: a
// status is written for many reasons.
func TestInformMember(t *testing.T) {
	w := newMeshWorld(t)
	status := func(value metav1.ConditionStatus, reason string) *gwv1.GatewayStatus {
		return &gwv1.GatewayStatus{Conditions: []metav1.Condition{{Type: meshMember, Status: value, Reason: reason, Message: "m"}}}
	}
	no := &gwv1.GatewayStatus{}
	tests := []struct {
		name    string
		was, is *gwv1.GatewayStatus
		want    string // "" for nothing
	}{
		{"it joins", no, status("True", "Joined"), "MeshJoined"},
		{"it stays", status("True", "Joined"), status("True", "Joined"), ""},
		{"it waits", no, status("False", "IdentityPending"), ""},
		{"it is refused", status("False", "IdentityPending"), status("False", "IdentityRefused"), "IdentityRefused"},
		{"it is still refused", status("False", "IdentityRefused"), status("False", "IdentityRefused"), ""},
		{"it leaves", status("True", "Joined"), no, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := reconcile.Gateway{Key: translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "g"}}
			obj := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "g", UID: types.UID(tt.name)}}
			w.informMember(g, obj, []translate.Patch{{Key: g.Key, Base: tt.was, Status: tt.is}})
			heard := w.heard()
			if tt.want == "" && len(heard) > 0 || tt.want != "" && (len(heard) != 1 || !strings.Contains(heard[0], " "+tt.want+" ")) {
				t.Errorf("told %q, want %q", heard, tt.want)
			}
		})
	}
}

// TestExpiring warns of a certificate whose renewal must have failed, and looks again
// when the next one may.
func TestExpiring(t *testing.T) {
	gateway := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "g", UID: "u"}}
	w := newMeshWorld(t, gateway)
	key := translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "g"}
	leaf := func(age, left time.Duration) map[translate.Key]translate.Outcome {
		return map[translate.Key]translate.Outcome{key: {Leaves: map[string]lbmodel.Leaf{"MeshBinding/istio": {NotBefore: time.Now().Add(-age), NotAfter: time.Now().Add(left)}}}}
	}
	of := []reconcile.Gateway{{Key: key}}
	w.expiring(of, leaf(17*time.Hour, 7*time.Hour))
	if heard := w.heard(); len(heard) != 0 {
		t.Errorf("a certificate that is being renewed: told %q", heard)
	}
	w.expiring(of, leaf(21*time.Hour, 3*time.Hour))
	if heard := w.heard(); len(heard) != 1 || !strings.Contains(heard[0], "CertificateExpiring") {
		t.Errorf("a certificate that ends: told %q", heard)
	}
	w.expiring(of, leaf(5*time.Second, time.Second+20*time.Millisecond))
	if it, over := w.work.Get(); over || it != meshItem {
		t.Errorf("the next look is at %v", it)
	}
}

// TestAccountsOf: an account is made for what a mesh issues, and for nothing else.
func TestAccountsOf(t *testing.T) {
	mesh := translate.Membership{Account: meshsync.Account{Name: "gatehouse-1"}, Identity: "MeshBinding/istio"}
	issued := lbmodel.Identity{Name: "MeshBinding/istio", Issuer: "MeshBinding/istio"}
	given := lbmodel.Identity{Name: "apps/client", Issuer: lbmodel.IssuerSecret}
	secret := mesh
	secret.Identity = given.Name
	tests := []struct {
		name   string
		member []translate.Membership
		ids    []lbmodel.Identity
		want   int
	}{
		{"no member", nil, []lbmodel.Identity{given}, 0},
		{"a member", []translate.Membership{mesh}, []lbmodel.Identity{given, issued}, 1},
		{"of two meshes, with one account", []translate.Membership{mesh, mesh}, []lbmodel.Identity{issued}, 1},
		{"one without a backend to show it to", []translate.Membership{mesh}, nil, 0},
		{"one with a Secret", []translate.Membership{secret}, []lbmodel.Identity{given}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := reconcile.Gateway{Result: translate.Result{Meshes: tt.member, Gateway: lbmodel.Gateway{Identities: tt.ids}}}
			if got := accountsOf(g); len(got) != tt.want {
				t.Errorf("accounts %v, want %d", got, tt.want)
			}
		})
	}
}

// TestReady: a restart is not told as everybody's leaving.
func TestReady(t *testing.T) {
	key := translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "g"}
	m := newMembership()
	in := []reconcile.Gateway{{Key: key, Result: translate.Result{Meshes: []translate.Membership{{}}}}}
	if m.ready(in) {
		t.Error("ready before the first pass of a member")
	}
	if !m.ready([]reconcile.Gateway{{Key: key}}) {
		t.Error("not ready, for one that is no member")
	}
	in[0].Result.Skip = "its class is wrong"
	if !m.ready(in) {
		t.Error("not ready, for one that is never planned")
	}
	in[0].Result.Skip = ""
	m.seen[key] = true
	if !m.ready(in) {
		t.Error("not ready after the pass")
	}
}

// TestMeshNews: what is published concerns bindings, a rollout does not.
func TestMeshNews(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change translate.Change
		want   bool
	}{
		{"roots", translate.Change{Put: []any{&corev1.ConfigMap{}}}, true},
		{"a binding", translate.Change{Put: []any{binding()}}, true},
		{"a binding that goes", translate.Change{Delete: []translate.Key{{Kind: translate.KindMeshBinding, Name: "istio"}}}, true},
		{"pods", translate.Change{Put: []any{&corev1.Pod{}}, Delete: []translate.Key{{Kind: translate.KindPod}}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := meshNews(tt.change); got != tt.want {
				t.Errorf("news: %v, want %v", got, tt.want)
			}
		})
	}
}
