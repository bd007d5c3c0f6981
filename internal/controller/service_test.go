package controller

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/internal/controller/infrastructure"
	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// TestServiceMovesOn: the service controller asks with what it has read, and has one
// worker. It is answered, whatever the Service has become meanwhile.
func TestServiceMovesOn(t *testing.T) {
	l := newLifeWorld(t, unclassed, v1alpha1.DeletionDelete)
	old := l.find(serviceKey).(*corev1.Service)
	ensure := func(ctx context.Context) error { _, err := l.EnsureService(ctx, old); return err }
	forget := func(svc *corev1.Service) func(context.Context) error {
		return func(ctx context.Context) error { return l.ForgetService(ctx, svc) }
	}
	l.spec(map[string]any{"ports": []map[string]any{{"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "more", "port": 9090, "protocol": "TCP"}}})
	l.take(l.look())
	if err := l.call(ensure); err != nil {
		t.Errorf("with one more port by now, the old version is answered with %v", err)
	}
	if err := l.call(forget(old)); lbmodel.CodeOf(err) != lbmodel.CodePending || !strings.Contains(err.Error(), "asks for one by now") {
		t.Errorf("while it asks for a load balancer, to forget it says %v", err)
	}
	l.is("and then", "held, kept")
	unbalanced(l)
	l.take(l.look())
	if err := l.call(ensure); lbmodel.CodeOf(err) != lbmodel.CodePending || !strings.Contains(err.Error(), "by now it asks for none") {
		t.Errorf("a ClusterIP by now, the old version is answered with %v", err)
	}
	l.settle()
	l.is("at the end", "free, empty")
	if err := l.call(forget(l.find(serviceKey).(*corev1.Service))); err != nil {
		t.Errorf("to forget what has nothing says %v", err)
	}
}

// TestServiceVanished: whoever lost the service controller's finalizer by force is gone
// at once, before anybody has seen it going. What it had goes, or stays, as it was said.
func TestServiceVanished(t *testing.T) {
	for i, want := range []string{"gone, empty", "gone, kept", "gone, kept"} {
		t.Run(string(policies[i]), func(t *testing.T) {
			l := newLifeWorld(t, unclassed, policies[i])
			old := l.find(serviceKey).(*corev1.Service)
			l.refinish([]string{})
			l.end()
			l.take(l.look())
			if err := l.call(func(ctx context.Context) error { return l.ForgetService(ctx, old) }); err != nil {
				t.Error(err)
			}
			l.is("at once", want)
		})
	}
}

// TestNotEnsured: the service controller must not say that a Service has its load
// balancer when nothing may be planned for it; nobody else tells its user.
func TestNotEnsured(t *testing.T) {
	l := newLifeWorld(t, unclassed, v1alpha1.DeletionDelete)
	l.rule("")
	svc := l.find(serviceKey).(*corev1.Service)
	err := l.call(func(ctx context.Context) error { _, err := l.EnsureService(ctx, svc); return err })
	if lbmodel.CodeOf(err) != lbmodel.CodeInvalid || !strings.Contains(err.Error(), "GatewayParameters ops/p, which Services of provider fake shall have, does not exist") {
		t.Errorf("the service controller hears %v", err)
	}
}

// TestForeignServiceIsGivenUp has a Service with our finalizer and no condition of ours.
// Why this table: who left before his first status must get rid of the finalizer, and
// what another manager of this project may be holding must not lose it.
func TestForeignServiceIsGivenUp(t *testing.T) {
	tests := []struct {
		name  string
		class string
		sign  string // whose condition it has
		going bool
		held  bool
	}{
		{name: "somebody's class", class: "example.org/lb"},
		{name: "somebody's class, and it goes", class: "example.org/lb", going: true},
		{name: "a class of another provider of ours", class: "gatehouse.dev/elsewhere", held: true},
		{name: "somebody's class, and another manager's word", class: "example.org/lb", sign: "elsewhere.gatehouse.dev/Accepted", held: true},
		{name: "no class: of whoever is the default", held: true},
		{name: "no class, and it goes", going: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newPassWorld(t)
			svc := balancer(corev1.ServiceTypeLoadBalancer, translate.Finalizer, "example.org/other")
			svc.Spec.LoadBalancerClass = nil
			if tt.class != "" {
				svc.Spec.LoadBalancerClass = ptr.To(tt.class)
			}
			w.create(translate.KindService, svc)
			l := &lifeWorld{passWorld: w}
			if tt.sign != "" {
				l.putStatus(map[string]any{"conditions": []metav1.Condition{{Type: tt.sign, Status: metav1.ConditionTrue, Reason: "Accepted"}}})
			}
			if tt.going {
				l.remove(translate.KindService, "apps", "s")
			}
			w.see(translate.KindService, "s")
			before := w.live(translate.KindService, "s")
			if p := w.pass(t.Context(), serviceKey); len(p.errs) > 0 || w.held() != tt.held {
				t.Errorf("errors %v, held %v, want %v", p.errs, w.held(), tt.held)
			}
			strays := w.strays(translate.Change{Put: []any{before}})
			if wanted := !tt.held || tt.going; (len(strays) == 1) != wanted {
				t.Errorf("%v are looked at, want this one: %v", strays, wanted)
			}
			if w.work.Len() > 0 && !tt.held {
				t.Error("it is looked at at once: another manager has had no time for its first status")
			}
		})
	}
}

// TestProviderChangesWhileDown: what asks for another provider by now has nothing left
// with the one that it had, though nobody saw the change.
func TestProviderChangesWhileDown(t *testing.T) {
	for _, kind := range []life{aGateway, classed} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLifeWorld(t, kind, v1alpha1.DeletionDelete)
			second, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
			if err != nil {
				t.Fatal(err)
			}
			edit := l.edit
			l.edit = func(c *Config) {
				edit(c)
				c.Providers = append(c.Providers, Provider{Name: "second", Account: providers.Config{Provider: cloud.NewProvider(second, nil)}})
			}
			if kind == aGateway {
				l.remove(translate.KindGatewayClass, "", "other")
				l.create(translate.KindGatewayClass, class("other", "gatehouse.dev/second", ""))
				l.spec(map[string]any{"gatewayClassName": "other"})
			} else {
				l.spec(map[string]any{"loadBalancerClass": "gatehouse.dev/second"})
			}
			l.restart()
			l.settle()
			if err := l.collect(t.Context()); err != nil {
				t.Error(err)
			}
			l.settle()
			l.is("with the first provider", "held, empty")
			if live, err := l.accounts["second"].Live(t.Context()); err != nil || len(live) != 1 {
				t.Errorf("with the second %v have something, %v; want one", live, err)
			}
		})
	}
}

// TestClassStatusComesBack: what somebody took from a class's status is the house's to
// write again.
func TestClassStatusComesBack(t *testing.T) {
	l := newLifeWorld(t, aGateway, v1alpha1.DeletionDelete)
	edge := func() *gwv1.GatewayClass { return l.live(translate.KindGatewayClass, "edge").(*gwv1.GatewayClass) }
	before := len(edge().Status.Conditions)
	gone := edge().DeepCopy()
	gone.Status, gone.ResourceVersion = gwv1.GatewayClassStatus{}, "999999"
	retold := l.loop.Index().Retold(translate.Change{Put: []any{gone}})
	if len(retold) != 1 || lookAt(retold[0]) != houseItem {
		t.Errorf("%v are looked at, want the house", retold)
	}
	r, _ := l.clients.Resource(translate.KindGatewayClass)
	if _, err := r.Merge(t.Context(), types.NamespacedName{Name: "edge"}, map[string]any{"status": nil}, "status"); err != nil {
		t.Fatal(err)
	}
	l.take(watch.Batch{Change: translate.Change{Put: []any{edge()}}})
	l.workOn(t.Context(), houseItem)
	if after := len(edge().Status.Conditions); before == 0 || after != before {
		t.Errorf("%d conditions before and %d after", before, after)
	}
}

// TestNameTakenHasACode: metrics and retries tell what a person can mend from our own
// mistakes.
func TestNameTakenHasACode(t *testing.T) {
	w := newPassWorld(t)
	other := balancer(corev1.ServiceTypeClusterIP)
	other.Name = infrastructure.Name("g")
	w.create(translate.KindService, other)
	w.edge(func(*gwv1.Gateway) {})
	p := w.pass(t.Context(), gatewayKey)
	if len(p.errs) != 1 || codeOf(p.errs[0]) != lbmodel.CodeConflict {
		t.Errorf("errors %v, want one Conflict", p.errs)
	}
}

// TestMisrepresented has the Service that stands for a Gateway changed. Why this table:
// in-cluster clients find the gateway by it, so what others do to it is undone soon; our
// own writes, and those to other Services, make no work.
func TestMisrepresented(t *testing.T) {
	w := newPassWorld(t)
	w.edge(func(*gwv1.Gateway) {})
	if p := w.pass(t.Context(), gatewayKey); len(p.errs) > 0 {
		t.Fatal(p.errs)
	}
	name := infrastructure.Name("g")
	w.see(translate.KindService, name)
	other := balancer(corev1.ServiceTypeClusterIP)
	w.create(translate.KindService, other)
	stands := w.live(translate.KindService, name).(*corev1.Service)
	edit := func(change func(*corev1.Service)) translate.Change {
		next := stands.DeepCopy()
		change(next)
		return translate.Change{Put: []any{next}}
	}
	tests := []struct {
		name   string
		change translate.Change
		want   int
	}{
		{"it is deleted", translate.Change{Delete: []translate.Key{{Kind: translate.KindService, Namespace: "apps", Name: name}}}, 1},
		{"another one is", translate.Change{Delete: []translate.Key{serviceKey}}, 0},
		{"its spec", edit(func(s *corev1.Service) { s.Spec.Ports = nil }), 1},
		{"its labels", edit(func(s *corev1.Service) { s.Labels = nil }), 1},
		{"a heartbeat", edit(func(s *corev1.Service) { s.ResourceVersion = "999999" }), 0},
		{"our own edit", edit(func(s *corev1.Service) {
			s.Spec.Ports, s.Annotations = nil, map[string]string{"gatehouse.dev/digest": "another"}
		}), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := misrepresented(w.loop.Index(), tt.change)
			if len(got) != tt.want || tt.want == 1 && got[0] != gatewayKey {
				t.Errorf("%v are looked at, want %d", got, tt.want)
			}
		})
	}
}

// TestPlanIsEmptied: a plan whose status somebody took away shows it again at once.
func TestPlanIsEmptied(t *testing.T) {
	full, empty := new(v1alpha1.GatewayPlan), new(v1alpha1.GatewayPlan)
	full.Status.Conditions = []metav1.Condition{{Type: "Approved"}}
	w := newPassWorld(t)
	w.edge(func(*gwv1.Gateway) {})
	name := types.NamespacedName{Namespace: "apps", Name: "g"}
	note := func(plan *v1alpha1.GatewayPlan) int {
		for w.work.Len() > 0 {
			it, _ := w.work.Get()
			w.work.Done(it)
		}
		w.note(watch.Batch{Plans: map[types.NamespacedName]*v1alpha1.GatewayPlan{name: plan}})
		return w.work.Len()
	}
	for i, want := range []int{1, 0, 1, 0} { // it is new; the same; emptied; still empty
		if got := note([]*v1alpha1.GatewayPlan{full, full, empty, empty}[i]); got != want {
			t.Errorf("news %d: %d are looked at, want %d", i, got, want)
		}
	}
}
