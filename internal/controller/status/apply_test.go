package status

import (
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
)

func listener(name string, attached int32, conditions ...metav1.Condition) gwv1.ListenerStatus {
	return gwv1.ListenerStatus{Name: gwv1.SectionName(name), AttachedRoutes: attached, SupportedKinds: []gwv1.RouteGroupKind{{Kind: "HTTPRoute"}}, Conditions: conditions}
}

// TestGatewayKeepsForeignConditions: conditions that are not ours stay, on the
// Gateway and on its listeners, with their managers; ours are ours alone.
func TestGatewayKeepsForeignConditions(t *testing.T) {
	w := newWorld(t)
	base := gwv1.GatewayStatus{
		Conditions: []metav1.Condition{condition("Accepted", "Unknown", 0), condition("acme.test/Odd", "True", 1)},
		Listeners:  []gwv1.ListenerStatus{listener("http", 0, condition("acme.test/Odd", "False", 1))},
	}
	w.create(gateway(), &gwv1.Gateway{Status: base})
	want := gwv1.GatewayStatus{
		Addresses:  []gwv1.GatewayStatusAddress{{Type: new(gwv1.IPAddressType), Value: "198.18.0.1"}},
		Conditions: []metav1.Condition{condition("Accepted", "True", 1), base.Conditions[1], condition("Programmed", "True", 1)},
		Listeners:  []gwv1.ListenerStatus{listener("http", 3, base.Listeners[0].Conditions[0], condition("Accepted", "True", 1))},
	}
	w.write(w.patch(gateway(), &base, &want))
	wantEqual(t, "calls", methods(w.server.Calls()), "GET PATCH")
	var got gwv1.Gateway
	u := w.get(gateway(), &got)
	wantEqual(t, "status", text(t, got.Status), text(t, want))
	for _, m := range u.GetManagedFields() {
		owned := string(m.FieldsV1.GetRawBytes())
		if m.Manager == Manager && strings.Contains(owned, "acme.test/Odd") {
			t.Errorf("we own another's condition: %s", owned)
		}
	}
	w.write(w.patch(gateway(), &base, &want))
	wantEqual(t, "writes the second time", len(w.server.Writes()), 0)
}

// TestNoLongerWanted: a condition, a listener, an address that we no longer want
// goes, be it ours alone or one that another manager set too: the Gateway's former
// controller.
func TestNoLongerWanted(t *testing.T) {
	cases := []struct {
		name, why, calls string
		former           bool
	}{
		{"ours alone", "an apply that leaves it out is enough", "GET PATCH", false},
		{"a former controller's", "an apply does not take away what another manager owns too", "GET PATCH PATCH", true},
	}
	had := gwv1.GatewayStatus{
		Addresses:            []gwv1.GatewayStatusAddress{{Value: "198.18.0.1"}},
		AttachedListenerSets: new(int32),
		Conditions:           []metav1.Condition{condition("Accepted", "True", 1), condition("InsecureFrontendValidationMode", "True", 1)},
		Listeners:            []gwv1.ListenerStatus{listener("http", 1, condition("Accepted", "True", 1), condition("OverlappingTLSConfig", "True", 1)), listener("old", 1, condition("Accepted", "True", 1))},
	}
	want := gwv1.GatewayStatus{
		Conditions: []metav1.Condition{condition("Accepted", "True", 2)},
		Listeners:  []gwv1.ListenerStatus{listener("http", 1, condition("Accepted", "True", 2))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.former {
				w.create(gateway(), &gwv1.Gateway{Status: had})
			} else {
				w.create(gateway(), &gwv1.Gateway{})
				w.write(w.patch(gateway(), &gwv1.GatewayStatus{}, &had))
			}
			p := w.patch(gateway(), &had, &want)
			w.write(p)
			wantEqual(t, c.why, methods(w.server.Calls()), c.calls)
			var got gwv1.Gateway
			w.get(gateway(), &got)
			wantEqual(t, "status", text(t, got.Status), text(t, want))
		})
	}
}

// TestOlderGatewayStatus: a whole status from before an edit is dropped, with what
// it says about listeners and addresses.
func TestOlderGatewayStatus(t *testing.T) {
	w := newWorld(t)
	now := gwv1.GatewayStatus{Conditions: []metav1.Condition{condition("Accepted", "True", 5)}, Listeners: []gwv1.ListenerStatus{listener("http", 4, condition("Accepted", "True", 5))}}
	w.create(gateway(), &gwv1.Gateway{Status: now})
	old := gwv1.GatewayStatus{Conditions: []metav1.Condition{condition("Accepted", "False", 4)}, Listeners: []gwv1.ListenerStatus{listener("http", 0, condition("Accepted", "False", 4))}}
	w.write(w.patch(gateway(), &gwv1.GatewayStatus{}, &old))
	wantEqual(t, "writes", len(w.server.Writes()), 0)
}

// TestApplyMeetsNewerVersion: an object that somebody changed since the informer's
// version is read again, and the foreign change stays.
func TestApplyMeetsNewerVersion(t *testing.T) {
	w := newWorld(t)
	w.create(gateway(), &gwv1.Gateway{})
	known := &gwv1.Gateway{}
	w.get(gateway(), known)
	w.cache[gateway()] = known
	p := w.patch(gateway(), &known.Status, &gwv1.GatewayStatus{Conditions: []metav1.Condition{condition("Accepted", "True", 1)}})
	w.other(gateway(), func(status map[string]any) {
		status["conditions"] = []any{map[string]any{"type": "acme.test/Odd", "status": "True"}}
	})
	w.write(p)
	wantEqual(t, "calls", methods(w.server.Calls()), "PATCH GET PATCH")
	var got gwv1.Gateway
	w.get(gateway(), &got)
	wantEqual(t, "conditions", len(got.Status.Conditions), 2)
}

// TestClassFeatures: features are a map by name; those that are no longer offered
// go.
func TestClassFeatures(t *testing.T) {
	w := newWorld(t)
	key := translate.Key{Kind: translate.KindGatewayClass, Name: "offcluster"}
	w.create(key, &gwv1.GatewayClass{})
	one := gwv1.GatewayClassStatus{SupportedFeatures: []gwv1.SupportedFeature{{Name: "Gateway"}, {Name: "HTTPRoute"}}}
	two := gwv1.GatewayClassStatus{SupportedFeatures: []gwv1.SupportedFeature{{Name: "Gateway"}, {Name: "TLSRoute"}}}
	w.write(w.patch(key, &gwv1.GatewayClassStatus{}, &one))
	w.write(w.patch(key, &one, &two))
	var got gwv1.GatewayClass
	w.get(key, &got)
	wantEqual(t, "features", text(t, got.Status.SupportedFeatures), text(t, two.SupportedFeatures))
}

// TestService: the load balancer's ingress is ours, conditions have their authors.
func TestService(t *testing.T) {
	w := newWorld(t)
	key := translate.Key{Kind: translate.KindService, Namespace: "apps", Name: "s"}
	other := condition("acme.test/Odd", "True", 1)
	w.create(key, &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}, Status: corev1.ServiceStatus{Conditions: []metav1.Condition{other}}})
	base := &corev1.ServiceStatus{Conditions: []metav1.Condition{other}}
	want := &corev1.ServiceStatus{
		LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "198.18.0.9", IPMode: new(corev1.LoadBalancerIPModeProxy)}}},
		Conditions:   []metav1.Condition{other, condition("fake.gatehouse.dev/BackendTLS", "True", 1)},
	}
	w.write(w.patch(key, base, want))
	var got corev1.Service
	w.get(key, &got)
	wantEqual(t, "status", text(t, got.Status), text(t, *want))
	w.write(w.patch(key, want, base))
	got = corev1.Service{}
	w.get(key, &got)
	wantEqual(t, "status after it stopped", text(t, got.Status), text(t, *base))
}

// TestServiceAsksForNoneByNow: a pass that was made for a load balancer ends when the
// Service asks for none. Its addresses would be refused; its conditions are stale too.
func TestServiceAsksForNoneByNow(t *testing.T) {
	w := newWorld(t)
	key := translate.Key{Kind: translate.KindService, Namespace: "apps", Name: "s"}
	w.create(key, &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}})
	w.server.Calls()
	want := &corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "198.18.0.9"}}}}
	w.write(w.patch(key, &corev1.ServiceStatus{}, want))
	wantEqual(t, "writes", len(w.server.Writes()), 0)
}

// TestMade: a writer knows the versions that it made, so that its own words are no news
// to it, and those of others are.
func TestMade(t *testing.T) {
	w := newWorld(t)
	key := translate.Key{Kind: translate.KindService, Namespace: "apps", Name: "s"}
	w.create(key, &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}})
	ours := &corev1.ServiceStatus{Conditions: []metav1.Condition{condition("fake.gatehouse.dev/Accepted", "True", 1)}}
	w.write(w.patch(key, &corev1.ServiceStatus{}, ours))
	if version := w.get(key, nil).GetResourceVersion(); !w.writer.Made(key, version) {
		t.Errorf("version %s is ours", version)
	}
	other := New(Config{Client: w.client, Resource: resourceOf})
	if err := other.Write(t.Context(), []translate.Patch{w.patch(key, ours, &corev1.ServiceStatus{})}); err != nil {
		t.Fatal(err)
	}
	if version := w.get(key, nil).GetResourceVersion(); w.writer.Made(key, version) {
		t.Errorf("version %s is another's", version)
	}
}

// TestHammer: another controller writes its own entries of one route as fast as it
// can while two passes write ours: its entry is its last own word, and ours are
// right.
func TestHammer(t *testing.T) {
	w := newWorld(t)
	w.create(route(), &gwv1.HTTPRoute{})
	p := w.patch(route(), parents(), parents())
	var all sync.WaitGroup
	stop, rounds := make(chan struct{}), 0
	all.Go(func() {
		for ; ; rounds++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				w.other(route(), func(status map[string]any) { setForeign(status, int64(rounds)) })
			}
		}
	})
	var ourselves sync.WaitGroup
	for _, name := range []string{"edge", "edge2"} {
		ourselves.Go(func() {
			base := parents()
			for generation := range int64(15) {
				next := parents(parent(name, ours, condition("Accepted", "True", generation+1)))
				q := p
				q.Base, q.Status = base, next
				for w.writer.Write(t.Context(), []translate.Patch{q}) != nil { // the next pass
				}
				base = next
			}
		})
	}
	ourselves.Wait()
	close(stop)
	all.Wait()
	var got gwv1.HTTPRoute
	w.get(route(), &got)
	if len(got.Status.Parents) != 3 {
		t.Fatalf("%d parents: %s", len(got.Status.Parents), text(t, got.Status))
	}
	for _, entry := range got.Status.Parents {
		last := int64(15)
		if entry.ControllerName == theirs {
			last = int64(rounds - 1)
		}
		wantEqual(t, string(entry.ParentRef.Name), entry.Conditions[0].ObservedGeneration, last)
	}
}

func setForeign(status map[string]any, round int64) {
	list, _ := status["parents"].([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m["controllerName"] == string(theirs) {
			m["conditions"].([]any)[0].(map[string]any)["observedGeneration"] = round
			return
		}
	}
	status["parents"] = append(list, map[string]any{
		"controllerName": string(theirs), "parentRef": map[string]any{"name": "mesh"},
		"conditions": []any{map[string]any{"type": "Accepted", "status": "True", "observedGeneration": round}},
	})
}
