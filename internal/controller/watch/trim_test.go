package watch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/translate"
)

// TestTrimSecret looks for a key in everything that is kept of a Secret.
func TestTrimSecret(t *testing.T) {
	const key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
	in := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s", ResourceVersion: "7", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: key}},
		Data:       map[string][]byte{"tls.key": []byte(key), "tls.crt": []byte("no"), "ca.crt": []byte("roots"), "password": []byte(key)},
		StringData: map[string]string{"x": key},
	}
	trim := new(trimmer).trim
	out, err := trim(in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := trim(out)
	if err != nil || again != out {
		t.Errorf("trimmed twice it is another: %v, %v", again, err)
	}
	split, ok := public(out).(*translate.Secret)
	if !ok || split.Namespace != "a" || split.Name != "s" || split.CA != "roots" || split.Problem == "" {
		t.Fatalf("what is public is %+v", split)
	}
	if version(out) != "7" {
		t.Errorf("its version is %q, want 7: a resync would be taken for a change", version(out))
	}
	for _, text := range []string{fmt.Sprintf("%+v", out), fmt.Sprintf("%#v", *split), fmt.Sprintf("%+v", out.(*secret).ObjectMeta)} {
		if strings.Contains(text, key) {
			t.Errorf("the key is kept: %s", text)
		}
	}
}

// TestTrim drops what nobody reads. Why this table: pods and config maps are many,
// and a manager for thousands of them must stay small.
func TestTrim(t *testing.T) {
	managed := metav1.ObjectMeta{Name: "x", Labels: map[string]string{"app": "x"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}
	kept := metav1.ObjectMeta{Name: "x", Labels: map[string]string{"app": "x"}}
	gate := corev1.PodConditionType("service.gatehouse.dev/web")
	tests := []struct {
		name     string
		in, want any
	}{
		{"a pod keeps its place, readiness and gates", &corev1.Pod{
			ObjectMeta: managed,
			Spec: corev1.PodSpec{
				NodeName: "n", Containers: []corev1.Container{{Name: "big"}}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}},
			},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: "10.0.0.1", HostIP: "10.1.0.1",
				Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled}, {Type: corev1.PodReady}, {Type: corev1.ContainersReady}, {Type: gate}},
			},
		}, &corev1.Pod{
			ObjectMeta: kept,
			Spec:       corev1.PodSpec{NodeName: "n", ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: "10.0.0.1",
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady}, {Type: corev1.ContainersReady}, {Type: gate}},
			},
		}},
		{"a config map keeps CA certificates", &corev1.ConfigMap{ObjectMeta: managed, Data: map[string]string{"ca.crt": "pem", "game": "much"}},
			&corev1.ConfigMap{ObjectMeta: kept, Data: map[string]string{"ca.crt": "pem"}}},
		{"a node keeps its addresses", &corev1.Node{ObjectMeta: managed, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}, Addresses: []corev1.NodeAddress{{Address: "10.1.0.1"}}}},
			&corev1.Node{ObjectMeta: kept, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "10.1.0.1"}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := new(trimmer).trim(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("what is kept (-want +got):\n%s", d)
			}
		})
	}
}

// TestVersionProblem reads bundle versions. Why this table: a class must say when
// it is judged by types that nobody here knows.
func TestVersionProblem(t *testing.T) {
	tests := []struct {
		bundle string
		known  bool
	}{
		{"v1.7.0", true}, {"v1.0.0", true}, {"v1.7.0-rc.1", true}, {"v1.8.0", false}, {"v2.0.0", false}, {"", false}, {"main", false}, {"v1.x", false},
	}
	for _, tt := range tests {
		t.Run("bundle "+tt.bundle, func(t *testing.T) {
			if got := versionProblem(tt.bundle); (got == "") != tt.known {
				t.Errorf("problem is %q, known should be %v", got, tt.known)
			}
		})
	}
}
