package istio

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/meshsync"
)

// oneWorld has one ConfigMap and one object.
type oneWorld struct {
	config *corev1.ConfigMap
	object *unstructured.Unstructured
}

func (oneWorld) Namespace(string) *corev1.Namespace           { return nil }
func (w oneWorld) ConfigMap(string, string) *corev1.ConfigMap { return w.config }

// ConfigMaps are a second revision with the same configuration.
func (w oneWorld) ConfigMaps(string) []*corev1.ConfigMap {
	if w.config == nil {
		return nil
	}
	other := w.config.DeepCopy()
	other.Name = "istio-other"
	return []*corev1.ConfigMap{other}
}
func (w oneWorld) Objects(k schema.GroupKind, _ string) []*unstructured.Unstructured {
	if w.object == nil || w.object.GroupVersionKind().GroupKind() != k {
		return nil
	}
	return []*unstructured.Unstructured{w.object}
}

func fuzzPort() meshsync.Port {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop"}}
	svc.Spec.Selector = map[string]string{"app": "shop"}
	svc.Spec.Ports = []corev1.ServicePort{{Port: 80, Name: "web"}}
	return meshsync.Port{Service: svc, Port: svc.Spec.Ports[0], Target: 8080}
}

func fuzzPod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop-1", Labels: map[string]string{"app": "shop"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: proxyName}}
	return pod
}

// consistent says what holds of every pod of a sidecar, whatever was read.
func consistent(t *testing.T, in meshsync.Inbound) {
	t.Helper()
	switch {
	case in.Membership != meshsync.Meshed:
		t.Errorf("a pod with a sidecar is %s", in.Membership)
	case len(in.Chains) > 0 && len(in.Names) == 0:
		t.Errorf("TLS with somebody of no name: %+v", in)
	case len(in.Chains) == 0 && in.Blocked == "":
		t.Errorf("no TLS, and no reason: %+v", in)
	case in.Blocked == meshsync.ReasonIdentityUnknown && (in.Plain || len(in.Chains) > 0):
		t.Errorf("what is not known is a permission: %+v", in)
	case in.Fix != nil && in.Fix.YAML != "":
		for _, doc := range splitDocuments(in.Fix.YAML) {
			var any map[string]any
			if err := yaml.Unmarshal([]byte(doc), &any); err != nil {
				t.Errorf("%v in the fix:\n%s", err, doc)
			}
		}
	}
}

// isStrict says that TLS of any client is ended.
func isStrict(in meshsync.Inbound) bool {
	return slices.ContainsFunc(in.Chains, func(c meshsync.Chain) bool { return c.Offer == nil })
}

func splitDocuments(text string) []string {
	var out []string
	doc := ""
	for _, line := range lines(text) {
		if line == "---" {
			out, doc = append(out, doc), ""
			continue
		}
		doc += line + "\n"
	}
	return append(out, doc)
}

// FuzzMeshConfig feeds any text as a mesh configuration: it never panics, and a
// trust domain that is none names nobody.
func FuzzMeshConfig(f *testing.F) {
	for _, seed := range []string{"", "{", "trustDomain: a.b", "trustDomainAliases: [a, '*']", "caCertificates: [{pem: x}]", "meshMTLS: {minProtocolVersion: TLSV1_3}", "a: &a [*a]", "rootNamespace: apps"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := oneWorld{config: &corev1.ConfigMap{Data: map[string]string{configKey: text}}}
		d := Dialect{}
		m := d.Mesh(w)
		for _, td := range m.TrustDomains {
			if !trustDomain.MatchString(td) {
				t.Errorf("%q is a trust domain", td)
			}
		}
		consistent(t, d.Inbound(w, m, fuzzPort(), fuzzPod()))
	})
}

// FuzzPolicy feeds any object as each kind that is read. Nothing panics, and a mode
// comes only from a word that Istio knows.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{
		`mtls: {mode: STRICT}`, `{selector: {matchLabels: {app: shop}}, portLevelMtls: {"8080": {mode: STRICT}}}`, `portLevelMtls: {x: 1}`,
		`selector: []`, `ingress: [{port: {number: 8080, protocol: HTTP}}]`, `listeners: [{name: a, port: 80, tls: {options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}}]`,
		`servers: [{hosts: [a/b], port: {number: 80}, tls: {mode: ISTIO_MUTUAL}}]`, `selector: 1`, `mtls: null`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var spec any
		if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
			return
		}
		for _, kind := range (Dialect{}).Reads() {
			o := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "metadata": map[string]any{"name": "x", "namespace": "apps"}}}
			o.SetGroupVersionKind(kind)
			w, d := oneWorld{object: o}, Dialect{}
			m := d.Mesh(w)
			in := d.Inbound(w, m, fuzzPort(), fuzzPod())
			consistent(t, in)
			if isStrict(in) && !strings.Contains(fmt.Sprint(spec), string(Strict)) {
				t.Errorf("STRICT out of %v", spec)
			}
			PadOf(m, o, "", meshsync.Account{})
			gatewayPod := fuzzPod()
			gatewayPod.Labels[gatewayNameLabel] = "x"
			d.Inbound(w, m, fuzzPort(), gatewayPod)
		}
	})
}
