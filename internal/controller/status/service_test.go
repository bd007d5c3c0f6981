package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/translate"
)

// TestServiceOfAnother: what we say of routes to a Service takes nothing of a load
// balancer that another controller made for it: that one must be able to take its
// addresses away.
func TestServiceOfAnother(t *testing.T) {
	w := newWorld(t)
	key := translate.Key{Kind: translate.KindService, Namespace: "apps", Name: "s"}
	theirs := corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}}
	w.create(key, &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}, Status: corev1.ServiceStatus{LoadBalancer: theirs}})
	base := &corev1.ServiceStatus{LoadBalancer: theirs}
	told := &corev1.ServiceStatus{LoadBalancer: theirs, Conditions: []metav1.Condition{condition("fake.gatehouse.dev/BackendTLS", "True", 1)}}
	w.write(w.patch(key, base, told))
	owned := func() (fields string) {
		for _, m := range w.get(key, nil).GetManagedFields() {
			if m.Manager == Manager {
				fields += string(m.FieldsV1.GetRawBytes())
			}
		}
		return fields
	}
	if fields := owned(); strings.Contains(fields, "loadBalancer") || !strings.Contains(fields, "BackendTLS") {
		t.Errorf("we own %s", fields)
	}
	var got corev1.Service
	w.get(key, &got)
	wantEqual(t, "status", text(t, got.Status), text(t, *told))
	ours := told.DeepCopy()
	ours.Conditions = append(ours.Conditions, condition("fake.gatehouse.dev/Accepted", "True", 1))
	ours.LoadBalancer.Ingress[0].IP = "198.18.0.9"
	w.write(w.patch(key, told, ours))
	if fields := owned(); !strings.Contains(fields, "loadBalancer") {
		t.Errorf("the load balancer is ours by now, and we own %s", fields)
	}
	w.write(w.patch(key, ours, told.DeepCopy()))
	got = corev1.Service{}
	w.get(key, &got)
	wantEqual(t, "conditions after it stopped", len(got.Status.Conditions), 1)
}
