package translate

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/linkerd"
)

// meshObject is something that a mesh, or a gateway's part in one, is made of.
func (d *dice) meshObject() any {
	switch d.n(7) {
	case 6:
		return d.authorizationPolicy()
	case 5:
		return d.bundle()
	case 0, 1:
		return d.binding()
	case 2, 3:
		return d.peerAuthentication()
	default:
		return d.meshConfig()
	}
}

func (d *dice) binding() *v1alpha1.MeshBinding {
	b := &v1alpha1.MeshBinding{ObjectMeta: metav1.ObjectMeta{Name: d.name(), Generation: 1}}
	b.Spec.ControllerName = mostly(d, pick(d, istio.Controller, linkerd.Controller), "odd.test/mesh")
	b.Spec.Gateways.NamespaceSelector = pick(d, metav1.LabelSelector{}, metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}},
		metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "apps"}})
	b.Spec.LabelSelector = seldom(d, metav1.LabelSelector{MatchLabels: map[string]string{"edge": "no"}},
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Odd"}}})
	b.Spec.MinimumTLS = mostly(d, v1alpha1.TLSLevel(""), v1alpha1.TLSNone, v1alpha1.TLSServerOnly)
	b.Spec.Identity.Issuer = mostly(d, v1alpha1.IssuerMesh, v1alpha1.IssuerNone)
	if d.n(3) == 0 {
		b.Spec.LandingPad = &v1alpha1.LandingPad{Namespace: "apps", Name: d.name(), SectionName: "a"}
	}
	if d.n(4) == 0 {
		b.Spec.TrustBundles = []v1alpha1.TrustBundleReference{{Kind: KindConfigMap, Namespace: d.namespace(), Name: d.name()}}
	}
	return b
}

func (d *dice) peerAuthentication() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"mtls": map[string]any{"mode": mostly(d, "STRICT", "PERMISSIVE", "DISABLE", "ODD")}},
	}}
	o.SetAPIVersion("security.istio.io/v1")
	o.SetKind("PeerAuthentication")
	o.SetNamespace(pick(d, d.namespace(), "istio-system"))
	o.SetName(d.name())
	return o
}

func (d *dice) authorizationPolicy() *unstructured.Unstructured {
	spec := pick(d, map[string]any{}, map[string]any{"action": "DENY", "rules": []any{map[string]any{}}}, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": d.name()}}}, map[string]any{"rules": "odd"})
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion("security.istio.io/v1")
	o.SetKind("AuthorizationPolicy")
	o.SetNamespace(pick(d, d.namespace(), "istio-system"))
	o.SetName(d.name())
	return o
}

// bundleAt is where the mesh configurations of dice have roots outside.
const bundleAt = "https://spire.test/bundle"

func (d *dice) bundle() *Bundle {
	at := meshsync.RootsAt{Kind: meshsync.RootsSPIFFE, Name: pick(d, "cluster.local", "a.test"), URL: bundleAt}
	roots, err := lbmodel.ParseRoots([]byte(testRoots))
	if err != nil {
		panic(err)
	}
	return &Bundle{At: at, Roots: pick(d, roots, nil), Problem: mostly(d, "", "it does not answer")}
}

func (d *dice) meshConfig() *corev1.ConfigMap {
	c := &corev1.ConfigMap{}
	switch d.n(3) {
	case 0:
		c.Namespace, c.Name = "istio-system", pick(d, "istio", "istio", "istio-a", "istio-b")
		c.Data = map[string]string{"mesh": mostly(d, "trustDomain: "+pick(d, "a", "b")+".test", ": junk", "caCertificates: [{spiffeBundleUrl: \""+bundleAt+"\"}]")}
	case 1:
		c.Namespace, c.Name = "istio-system", "istio-ca-root-cert"
		c.Data = map[string]string{"root-cert.pem": mostly(d, testRoots, "junk")}
	default:
		c.Namespace, c.Name = "linkerd", "linkerd-identity-trust-roots"
		c.Data = map[string]string{"ca-bundle.crt": testRoots}
	}
	return c
}

// inMesh gives a pod a ServiceAccount and perhaps a proxy.
func (d *dice) inMesh(p *corev1.Pod) *corev1.Pod {
	p.Spec.ServiceAccountName = d.name()
	if d.n(4) == 0 {
		p.Labels[labelGatewayName] = d.name()
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	}
	switch d.n(4) {
	case 0:
		p.Annotations = map[string]string{"sidecar.istio.io/status": pick(d, "{}", `{"revision":"a"}`, `{"revision":"b"}`)}
		p.Spec.Containers = []corev1.Container{{Name: "istio-proxy"}}
	case 1:
		p.Annotations = map[string]string{"linkerd.io/proxy-version": "stable"}
		p.Labels["linkerd.io/control-plane-ns"] = "linkerd"
		p.Spec.Containers = []corev1.Container{{Name: "linkerd-proxy"}}
	}
	return p
}

// meshed are a gateway that joins a mesh, and a backend with three pods.
func (d *dice) meshed() []any {
	all := metav1.LabelSelector{}
	b := d.binding()
	b.Name, b.Spec.Gateways.NamespaceSelector = "a", all
	b.Spec.ControllerName = pick(d, istio.Controller, linkerd.Controller)
	p := d.peerAuthentication()
	p.SetNamespace("istio-system")
	if d.n(2) == 0 {
		b.Spec.LandingPad = &v1alpha1.LandingPad{Namespace: "apps", Name: "b", SectionName: "a"}
	}
	out := []any{b, p, d.authorizationPolicy(), d.padPod(), rootsOf("istio-system", "istio-ca-root-cert", "root-cert.pem"), rootsOf("linkerd", "linkerd-identity-trust-roots", "ca-bundle.crt")}
	slice := d.slice()
	slice.Namespace, slice.Name, slice.Labels[discoveryv1.LabelServiceName] = "apps", "a", "a"
	slice.Ports, slice.Endpoints = []discoveryv1.EndpointPort{{Port: ptrTo[int32](8080)}}, nil
	for i, name := range []string{"a", "b", "c"} {
		pod := d.inMesh(d.pod())
		pod.Namespace, pod.Name, pod.Status.PodIP = "apps", name, "10.0.0."+string('1'+rune(i))
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{pod.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: maybe(d, true, false)},
			TargetRef: &corev1.ObjectReference{Kind: KindPod, Name: name},
		})
		out = append(out, pod)
	}
	svc := d.service()
	svc.Namespace, svc.Name, svc.Spec.Type = "apps", "a", corev1.ServiceTypeClusterIP
	svc.Spec.Ports = []corev1.ServicePort{{Port: 80, AppProtocol: maybe(d, "http", "grpc", "kubernetes.io/h2c")}}
	gateway := d.gateway()
	gateway.Namespace, gateway.Name, gateway.Spec.GatewayClassName = "apps", "a", "ours"
	gateway.Spec.Listeners = []gwv1.Listener{{Name: "a", Port: 80, Protocol: gwv1.HTTPProtocolType}}
	pad := d.gateway()
	pad.Namespace, pad.Name, pad.Spec.GatewayClassName = "apps", "b", "other"
	pad.Spec.Listeners = []gwv1.Listener{{Name: "a", Port: 8443, Protocol: gwv1.HTTPSProtocolType, TLS: &gwv1.ListenerTLSConfig{
		Options: map[gwv1.AnnotationKey]gwv1.AnnotationValue{"gateway.istio.io/tls-terminate-mode": pick[gwv1.AnnotationValue](d, "ISTIO_MUTUAL", "ISTIO_SIMPLE")},
	}}}
	route := d.httpRoute()
	route.Namespace, route.Name, route.Spec.Hostnames = "apps", "a", nil
	route.Spec.ParentRefs = []gwv1.ParentReference{{Name: "a"}}
	route.Spec.Rules = []gwv1.HTTPRouteRule{{BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: backendA(d.n(4))}, {BackendRef: d.backendRef()}}}}
	return append(out, slice, svc, gateway, route, pad)
}

// padPod serves the landing pad.
func (d *dice) padPod() *corev1.Pod {
	p := d.pod()
	p.Namespace, p.Name, p.Status.PodIP, p.Spec.ServiceAccountName = "apps", "pad", "10.0.0.9", "pad"
	p.Labels = map[string]string{labelGatewayName: "b"}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: mostly(d, corev1.ConditionTrue, corev1.ConditionFalse)}}
	p.Spec.Containers = []corev1.Container{{Name: "istio-proxy"}}
	return p
}

func backendA(weight int) (out gwv1.BackendRef) {
	out.Name, out.Port, out.Weight = "a", ptrTo[int32](80), ptrTo(int32(weight))
	return out
}

func rootsOf(namespace, name, key string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: testRoots}}
}
