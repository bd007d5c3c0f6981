package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/internal/controller/fakeapi"
	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/keypair"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// wireWorld is a controller with one gateway, whose own certificate a Secret has, and
// one Service of a pod behind a real proxy.
type wireWorld struct {
	*passWorld
	ca     *ca.CA
	pod    *inbound.Pod
	passed atomic.Int64 // time, besides the real
	dials  atomic.Int64
}

const (
	cartName = "spiffe://cluster.local/ns/apps/sa/cart"
	edgeName = "spiffe://cluster.local/ns/apps/sa/edge"
)

func newWireWorld(t *testing.T, mode v1alpha1.ProbeMode) *wireWorld {
	t.Helper()
	w := &wireWorld{}
	var err error
	if w.ca, err = ca.New(ca.Config{}); err != nil {
		t.Fatal(err)
	}
	pair, err := w.ca.Issue(ca.Request{URIs: []string{edgeName}})
	if err != nil {
		t.Fatal(err)
	}
	secret := secretOf(t, pair)
	keys := func(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) { return keypair.For(pair, id) }
	meshes := NewMeshes(MeshConfig{
		Client: fake.NewClientset(), Cluster: "c", Namespace: "gatehouse-system",
		Clock:   func() time.Time { return time.Now().Add(time.Duration(w.passed.Load())) },
		Dialled: func(string) string { w.dials.Add(1); return w.pod.Addr() },
	})
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	w.passWorld = &passWorld{T: t, cloud: &blind{Provider: cloud.NewProvider(c, meshes.Keyring(keys))}, told: record.NewFakeRecorder(100)}
	w.edit = func(c *Config) { c.Meshes = meshes }
	if w.server, err = fakeapi.New(); err != nil {
		t.Fatal(err)
	}
	w.restart()
	began := time.Now()
	w.began.Store(&began)
	meshes.members.Over(w.loop)
	w.pod, err = inbound.Start(inbound.Config{Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, Leaf: w.leaf(cartName), Roots: w.ca.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.pod.Close() })
	w.take(watch.Batch{Change: translate.Change{Put: []any{secret, w.bundle(), strictMesh(), meshedPod(), probed(mode)}}})
	w.edge(func(g *gwv1.Gateway) {
		g.Spec.TLS = &gwv1.GatewayTLSConfig{Backend: &gwv1.GatewayBackendTLS{ClientCertificateRef: &gwv1.SecretObjectReference{Name: "edge"}}}
	})
	w.create(translate.KindService, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "cart", Generation: 1},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}},
	})
	w.take(watch.Batch{Change: translate.Change{Put: []any{slice()}}})
	w.create(translate.KindHTTPRoute, &gwv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "cart", Generation: 1},
		Spec: gwv1.HTTPRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: "g"}}},
			Rules: []gwv1.HTTPRouteRule{{BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: gwv1.BackendRef{
				BackendObjectReference: gwv1.BackendObjectReference{Name: "cart", Port: ptr.To(gwv1.PortNumber(80))},
			}}}}},
		},
	})
	return w
}

func (w *wireWorld) leaf(name string) tls.Certificate {
	w.Helper()
	out, err := w.ca.Issue(ca.Request{URIs: []string{name}})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func secretOf(t *testing.T, pair tls.Certificate) *translate.Secret {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	var chain []byte
	for _, der := range pair.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return keypair.Take(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "edge"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": chain, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})},
	}).Public
}

// bundle is what istiod publishes.
func (w *wireWorld) bundle() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "istio-ca-root-cert"}, Data: map[string]string{"root-cert.pem": string(w.ca.Bundle())}}
}

func strictMesh() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication",
		"metadata": map[string]any{"name": "default", "namespace": "istio-system"}, "spec": map[string]any{"mtls": map[string]any{"mode": "STRICT"}},
	}}
}

func meshedPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "cart-0", UID: "u", Annotations: map[string]string{"sidecar.istio.io/status": "{}"}},
		Spec:       corev1.PodSpec{ServiceAccountName: "cart", Containers: []corev1.Container{{Name: "app"}, {Name: "istio-proxy"}}},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
	}
}

func slice() *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "apps", Name: "cart", Labels: map[string]string{discoveryv1.LabelServiceName: "cart"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "apps", Name: "cart-0"},
		}},
	}
}

func probed(mode v1alpha1.ProbeMode) *v1alpha1.MeshBinding {
	b := binding()
	b.Spec.MinimumTLS, b.Spec.Probe.Mode = v1alpha1.TLSClientAndServer, mode
	return b
}

// look passes, dials what is due, and passes again, as Run does it.
func (w *wireWorld) look() {
	w.Helper()
	for range 2 {
		if p := w.pass(w.Context(), gatewayKey); len(p.errs) > 0 {
			w.Fatal(p.errs)
		}
		w.see(translate.KindGateway, "g")
		w.see(translate.KindHTTPRoute, "cart")
		askers, _ := w.config.Meshes.members.Probes.Work(w.Context())
		w.sighted(askers)
	}
	if p := w.pass(w.Context(), gatewayKey); len(p.errs) > 0 {
		w.Fatal(p.errs)
	}
	w.see(translate.KindGateway, "g")
	w.see(translate.KindHTTPRoute, "cart")
	w.keep()
}

// keep writes what members have in common. There are no MeshBindings at the server.
func (w *wireWorld) keep() {
	w.Helper()
	if err := w.keepMeshes(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.see(translate.KindService, "cart")
}

// onService is the condition on the Service; "" is none.
func (w *wireWorld) onService() string {
	w.Helper()
	for _, c := range w.live(translate.KindService, "cart").(*corev1.Service).Status.Conditions {
		if c.Type == "fake.gatehouse.dev/BackendTLS" {
			return string(c.Status) + "/" + c.Reason + ": " + c.Message
		}
	}
	return ""
}

func (w *wireWorld) onRoute() string {
	w.Helper()
	for _, p := range w.live(translate.KindHTTPRoute, "cart").(*gwv1.HTTPRoute).Status.Parents {
		for _, c := range p.Conditions {
			if c.Type == "gatehouse.dev/BackendTLS" {
				return string(c.Status) + "/" + c.Reason + ": " + c.Message
			}
		}
	}
	return ""
}

func (w *wireWorld) pools() int {
	w.Helper()
	g, _ := w.loop.Gateway(gatewayKey)
	n := 0
	for id := range w.accounts["fake"].Observed(g.Result.Gateway.Owner) {
		if id.Kind == cloud.KindPool {
			n++
		}
	}
	return n
}

func (w *wireWorld) heard(reason string) (n int) {
	for {
		select {
		case e := <-w.told.Events:
			if strings.Contains(e, " "+reason+" ") {
				n++
			}
		default:
			return n
		}
	}
}

// TestGateOnTheWire: nothing is made before a pod was seen to take it; what fails is
// told on the Gateway, the route and the Service, and everything comes by itself when
// it is mended.
func TestGateOnTheWire(t *testing.T) {
	w := newWireWorld(t, v1alpha1.ProbeGate)
	w.pod.Renew(w.leaf("spiffe://cluster.local/ns/apps/sa/other"))
	if p := w.pass(t.Context(), gatewayKey); len(p.errs) > 0 || w.pools() > 0 || w.dials.Load() > 0 {
		t.Errorf("errors %v, %d pools, %d dials before anything was seen", p.errs, w.pools(), w.dials.Load())
	}
	if got := w.message("gatehouse.dev/InSync"); !strings.Contains(got, "are being dialled") {
		t.Errorf("InSync says %q, want that pods are being dialled", got)
	}
	w.look()
	if w.pools() > 0 || w.says("gatehouse.dev/InSync") != "False/ProbeFailed" {
		t.Errorf("%d pools, InSync is %s", w.pools(), w.says("gatehouse.dev/InSync"))
	}
	const says = "the probe says: wrong SAN: the certificate names spiffe://cluster.local/ns/apps/sa/other, and not " + cartName
	for where, got := range map[string]string{"the route": w.onRoute(), "the Service": w.onService()} {
		if !strings.HasPrefix(got, "False/ProbeFailed: ") || !strings.HasSuffix(got, says) {
			t.Errorf("%s says %q, want %q", where, got, says)
		}
	}
	if n := w.heard("ProbeFailed"); n != 1 {
		t.Errorf("%d events, want one", n)
	}
	w.pod.Renew(w.leaf(cartName))
	w.passed.Store(int64(time.Minute))
	w.look()
	if w.pools() != 1 || w.says("gatehouse.dev/InSync") != "True/InSync" || !strings.HasPrefix(w.onRoute(), "True/") {
		t.Errorf("mended: %d pools, InSync is %s, the route says %q", w.pools(), w.says("gatehouse.dev/InSync"), w.onRoute())
	}
	if got := w.onService(); got != "True/ProtectedWithLosses: port 80, ServiceAccount cart: Direct ClientAndServer without AppHealth as "+cartName {
		t.Errorf("the Service says %q", got)
	}
	if n := w.heard("ProbeFailed"); n != 0 {
		t.Errorf("%d events of what is well", n)
	}
}

// TestDialsOnlyWhatChanged: passes over what is as it was dial nobody, an answer counts
// for its time, and what is gone is forgotten.
func TestDialsOnlyWhatChanged(t *testing.T) {
	w := newWireWorld(t, v1alpha1.ProbeReport)
	w.look()
	w.dials.Store(0)
	w.server.Calls()
	for range 5 {
		w.look()
	}
	if n := w.dials.Load(); n > 0 {
		t.Errorf("%d dials of what did not change", n)
	}
	if writes := w.server.Writes(); len(writes) > 0 {
		t.Errorf("the same was written again: %+v", writes)
	}
	w.passed.Store(int64(10 * time.Minute))
	w.look()
	if n := w.dials.Load(); n != 1 {
		t.Errorf("%d dials after an answer's time, want one", n)
	}
	if got := w.config.Meshes.members.Probes.Askers(); !slices.Equal(got, []string{gatewayKey.String()}) {
		t.Errorf("askers are %v", got)
	}
	w.take(watch.Batch{Change: translate.Change{Delete: []translate.Key{gatewayKey}}})
	w.keep()
	if got := w.config.Meshes.members.Probes.Askers(); len(got) > 0 {
		t.Errorf("%v ask still", got)
	}
}

// TestServiceTLSIsKept: the condition comes with the first route, is written only when
// it changes, comes back when somebody removes it, leaves the rest of the status to
// others (no load balancer here), and goes with the last route.
func TestServiceTLSIsKept(t *testing.T) {
	w := newWireWorld(t, v1alpha1.ProbeOff)
	w.look()
	first := w.onService()
	if !strings.HasPrefix(first, "True/") || w.dials.Load() > 0 {
		t.Fatalf("the Service says %q after %d dials", first, w.dials.Load())
	}
	w.onServiceOnly()
	w.server.Calls()
	w.keep()
	if writes := w.server.Writes(); len(writes) > 0 {
		t.Errorf("the same was written again: %+v", writes)
	}
	r, _ := w.clients.Resource(translate.KindService)
	if _, err := r.Merge(t.Context(), types.NamespacedName{Namespace: "apps", Name: "cart"}, map[string]any{"status": map[string]any{"conditions": nil}}, "status"); err != nil {
		t.Fatal(err)
	}
	w.see(translate.KindService, "cart")
	w.keep()
	if got := w.onService(); got != first {
		t.Errorf("removed by somebody, the Service says %q", got)
	}
	w.take(watch.Batch{Change: translate.Change{Delete: []translate.Key{{Kind: translate.KindHTTPRoute, Namespace: "apps", Name: "cart"}}}})
	w.keep()
	if got := w.onService(); got != "" {
		t.Errorf("no route leads to it, and the Service says %q", got)
	}
}

// onServiceOnly wants our field manager to own nothing of the Service's status but the
// condition.
func (w *wireWorld) onServiceOnly() {
	w.Helper()
	for _, m := range w.live(translate.KindService, "cart").GetManagedFields() {
		if fields := string(m.FieldsV1.GetRawBytes()); m.Manager == "gatehouse" && (strings.Contains(fields, "loadBalancer") || !strings.Contains(fields, "BackendTLS")) {
			w.Errorf("we own %s", fields)
		}
	}
}
