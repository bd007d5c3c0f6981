package translate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/settings"
	"gatehouse.dev/lbmodel"
)

// dice turns bytes into choices, so that a fuzzer can steer them. Without bytes
// left every throw is 0.
type dice struct{ data []byte }

func (d *dice) n(sides int) int {
	if len(d.data) == 0 || sides < 2 {
		return 0
	}
	v := int(d.data[0])
	d.data = d.data[1:]
	return v % sides
}

func pick[T any](d *dice, of ...T) T { return of[d.n(len(of))] }

// maybe is a pointer to one of the values, or nil.
func maybe[T any](d *dice, of ...T) *T {
	i := d.n(len(of) + 1)
	if i == len(of) {
		return nil
	}
	return &of[i]
}

// seldom is maybe with five chances in six of nil; mostly is the good value with
// the same chances. A cluster where everything is wrong shows little.
func seldom[T any](d *dice, of ...T) *T {
	if d.n(6) != 5 {
		return nil
	}
	return ptrTo(pick(d, of...))
}

func mostly[T any](d *dice, good T, bad ...T) T {
	if d.n(6) != 5 {
		return good
	}
	return pick(d, bad...)
}

// The names are few, so that objects meet, miss and fight each other.
func (d *dice) namespace() string { return pick(d, "apps", "team") }
func (d *dice) name() string      { return pick(d, "a", "b", "c") }
func (d *dice) host() gwv1.Hostname {
	return mostly(d, pick[gwv1.Hostname](d, "a.test", "*.test", "b.a.test", "*.a.test", ""), "c.other", "BAD_.x")
}
func (d *dice) port() int32      { return pick[int32](d, 80, 443, 8080) }
func (d *dice) age() metav1.Time { return metav1.Unix(int64(1000*d.n(3)), 0) }
func (d *dice) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: d.namespace(), Name: d.name(), Generation: int64(d.n(3)), CreationTimestamp: d.age()}
}

// object is a random object of a random kind.
func (d *dice) object() any {
	switch d.n(32) {
	case 0, 1, 2:
		return d.gateway()
	case 3:
		return d.listenerSet()
	case 4, 5, 6, 7:
		return d.httpRoute()
	case 8:
		return d.grpcRoute()
	case 9:
		return d.l4Route()
	case 10, 11, 12:
		return d.service()
	case 20, 21, 22:
		return d.slice()
	case 13, 23, 24, 25, 26:
		return d.inMesh(d.pod())
	case 27, 28, 29, 30, 31:
		return d.meshObject()
	case 14:
		return d.grant()
	case 15:
		return d.policy()
	case 16:
		return d.xbackend()
	case 17:
		return d.secretOrConfigMap()
	case 18:
		return d.parametersOrNamespace()
	default:
		return d.node()
	}
}

func (d *dice) gateway() *gwv1.Gateway {
	g := &gwv1.Gateway{ObjectMeta: d.meta()}
	g.Spec.GatewayClassName = mostly[gwv1.ObjectName](d, "ours", "other", "none")
	for range 1 + d.n(4) {
		g.Spec.Listeners = append(g.Spec.Listeners, d.listener())
	}
	if d.n(3) == 0 {
		g.Spec.AllowedListeners = &gwv1.AllowedListeners{Namespaces: &gwv1.ListenerNamespaces{From: pick(d, ptrTo(gwv1.NamespacesFromAll), ptrTo(gwv1.NamespacesFromSelector), nil), Selector: selector(d)}}
	}
	if d.n(3) == 0 {
		g.Spec.TLS = &gwv1.GatewayTLSConfig{Backend: &gwv1.GatewayBackendTLS{ClientCertificateRef: ptrTo(d.secretRef())}}
	}
	if d.n(8) == 7 {
		g.Spec.Infrastructure = &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{Group: groupGatehouse, Kind: KindParameters, Name: d.name()}}
	}
	return g
}

func ptrTo[T any](v T) *T { return &v }

func selector(d *dice) *metav1.LabelSelector {
	return maybe(d, metav1.LabelSelector{MatchLabels: map[string]string{"edge": "yes"}})
}

func (d *dice) listener() gwv1.Listener {
	l := gwv1.Listener{Name: gwv1.SectionName(d.name()), Port: d.port()}
	if h := d.host(); h != "" {
		l.Hostname = &h
	}
	l.Protocol = pick(d, "HTTP", "HTTP", "HTTP", "HTTPS", "TLS", "TCP", "UDP", mostly[gwv1.ProtocolType](d, "HTTP", "acme.test/odd"))
	if l.Protocol == "HTTPS" || l.Protocol == "TLS" || d.n(20) == 19 {
		l.TLS = &gwv1.ListenerTLSConfig{Mode: seldom(d, gwv1.TLSModeTerminate, gwv1.TLSModePassthrough)}
		for range d.n(3) {
			l.TLS.CertificateRefs = append(l.TLS.CertificateRefs, d.secretRef())
		}
	}
	if d.n(2) == 0 {
		l.AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: maybe(d, gwv1.NamespacesFromAll, gwv1.NamespacesFromSelector), Selector: selector(d)}}
		if d.n(3) == 0 {
			l.AllowedRoutes.Kinds = []gwv1.RouteGroupKind{{Kind: pick[gwv1.Kind](d, KindHTTPRoute, KindTCPRoute, "Odd")}}
		}
	}
	return l
}

func (d *dice) listenerSet() *gwv1.ListenerSet {
	s := &gwv1.ListenerSet{ObjectMeta: d.meta()}
	s.Spec.ParentRef = gwv1.ParentGatewayReference{Name: gwv1.ObjectName(d.name()), Namespace: ptrTo(gwv1.Namespace(d.namespace()))}
	for range 1 + d.n(2) {
		s.Spec.Listeners = append(s.Spec.Listeners, gwv1.ListenerEntry(d.listener()))
	}
	return s
}

func (d *dice) secretRef() gwv1.SecretObjectReference {
	return gwv1.SecretObjectReference{Name: gwv1.ObjectName(d.name()), Namespace: seldom(d, gwv1.Namespace(d.namespace()))}
}

func (d *dice) parents() (out []gwv1.ParentReference) {
	for range 1 + d.n(2) {
		out = append(out, gwv1.ParentReference{
			Kind: seldom[gwv1.Kind](d, KindGateway, KindListenerSet), Name: gwv1.ObjectName(d.name()), Namespace: seldom(d, gwv1.Namespace(d.namespace())),
			SectionName: seldom(d, gwv1.SectionName(d.name())), Port: seldom(d, d.port()),
		})
	}
	return out
}

func (d *dice) hostnames() (out []gwv1.Hostname) {
	for range d.n(3) {
		out = append(out, d.host())
	}
	return out
}

func (d *dice) ref() (out gwv1.BackendObjectReference) {
	out.Name, out.Namespace, out.Port = gwv1.ObjectName(d.name()), seldom(d, gwv1.Namespace(d.namespace())), ptrTo(mostly(d, pick[int32](d, 80, 443), 81))
	if d.n(6) == 5 {
		out.Group, out.Kind = ptrTo[gwv1.Group](groupGatewayX), ptrTo[gwv1.Kind](KindXBackend)
	}
	return out
}

func (d *dice) backendRef() gwv1.BackendRef {
	return gwv1.BackendRef{BackendObjectReference: d.ref(), Weight: maybe[int32](d, 0, 1, 7)}
}

func (d *dice) httpRoute() *gwv1.HTTPRoute {
	r := &gwv1.HTTPRoute{ObjectMeta: d.meta()}
	r.Spec.ParentRefs, r.Spec.Hostnames = d.parents(), d.hostnames()
	for range 1 + d.n(3) {
		rule := gwv1.HTTPRouteRule{Name: maybe(d, gwv1.SectionName(d.name()))}
		for range d.n(3) {
			rule.Matches = append(rule.Matches, d.httpMatch())
		}
		for range d.n(6) / 4 {
			rule.Filters = append(rule.Filters, d.filter())
		}
		for range d.n(3) {
			b := gwv1.HTTPBackendRef{BackendRef: d.backendRef()}
			if d.n(6) == 5 {
				b.Filters = append(b.Filters, d.filter())
			}
			rule.BackendRefs = append(rule.BackendRefs, b)
		}
		if d.n(4) == 0 {
			rule.Timeouts = &gwv1.HTTPRouteTimeouts{Request: maybe(d, "1s", mostly[gwv1.Duration](d, "0s", "x")), BackendRequest: maybe(d, mostly[gwv1.Duration](d, "500ms", "2s"))}
			rule.Retry = &gwv1.HTTPRouteRetry{Attempts: maybe(d, 0, 2), Codes: []gwv1.HTTPRouteRetryStatusCode{mostly[gwv1.HTTPRouteRetryStatusCode](d, 500, 99)}}
		}
		if d.n(4) == 0 {
			rule.SessionPersistence = &gwv1.SessionPersistence{Type: seldom[gwv1.SessionPersistenceType](d, "Cookie", "Header", "Odd")}
		}
		r.Spec.Rules = append(r.Spec.Rules, rule)
	}
	return r
}

func (d *dice) httpMatch() (m gwv1.HTTPRouteMatch) {
	if d.n(2) == 0 {
		m.Path = &gwv1.HTTPPathMatch{
			Type:  maybe[gwv1.PathMatchType](d, "Exact", "PathPrefix", mostly[gwv1.PathMatchType](d, "RegularExpression", "Odd")),
			Value: maybe(d, "/", "/a", "/a/", mostly(d, "/a/b", "no", "/(", "/a.*")),
		}
	}
	m.Method = seldom[gwv1.HTTPMethod](d, "GET", "POST", "get")
	if d.n(2) == 0 {
		m.Headers = []gwv1.HTTPHeaderMatch{
			{Name: "X-A", Value: d.name()},
			{Type: seldom[gwv1.HeaderMatchType](d, "RegularExpression", "Odd"), Name: pick[gwv1.HTTPHeaderName](d, "x-a", "x-b"), Value: mostly(d, "v", "(")},
		}
		m.QueryParams = []gwv1.HTTPQueryParamMatch{{Name: "q", Value: d.name()}}
	}
	return m
}

func (d *dice) filter() gwv1.HTTPRouteFilter {
	edit := &gwv1.HTTPHeaderFilter{
		Set: []gwv1.HTTPHeader{{Name: mostly[gwv1.HTTPHeaderName](d, "x-a", "x b"), Value: mostly(d, "1", "1\r\n2")}},
		Add: []gwv1.HTTPHeader{{Name: mostly[gwv1.HTTPHeaderName](d, "x-c", "X-A"), Value: "2"}}, Remove: []string{"x-d"},
	}
	path := &gwv1.HTTPPathModifier{Type: pick(d, "ReplaceFullPath", mostly[gwv1.HTTPPathModifierType](d, "ReplacePrefixMatch", "Odd")), ReplacePrefixMatch: maybe(d, "", "/x")}
	switch d.n(7) {
	case 0:
		return gwv1.HTTPRouteFilter{Type: "RequestHeaderModifier", RequestHeaderModifier: edit}
	case 1:
		return gwv1.HTTPRouteFilter{Type: "ResponseHeaderModifier", ResponseHeaderModifier: edit}
	case 2:
		return gwv1.HTTPRouteFilter{Type: "RequestRedirect", RequestRedirect: &gwv1.HTTPRequestRedirectFilter{
			Scheme: maybe(d, mostly(d, "https", "ftp")), Port: maybe(d, d.port()), Path: pick(d, nil, path), StatusCode: maybe(d, 301, mostly(d, 308, 200))}}
	case 3:
		return gwv1.HTTPRouteFilter{Type: "URLRewrite", URLRewrite: &gwv1.HTTPURLRewriteFilter{Path: path, Hostname: maybe(d, mostly[gwv1.PreciseHostname](d, "x.test", "_"))}}
	case 4:
		return gwv1.HTTPRouteFilter{Type: "RequestMirror", RequestMirror: &gwv1.HTTPRequestMirrorFilter{BackendRef: d.ref(), Percent: maybe(d, 0, mostly[int32](d, 50, 200))}}
	case 5:
		return gwv1.HTTPRouteFilter{Type: "CORS", CORS: &gwv1.HTTPCORSFilter{AllowOrigins: []gwv1.CORSOrigin{"*"}}}
	default:
		return gwv1.HTTPRouteFilter{Type: pick[gwv1.HTTPRouteFilterType](d, "ExternalAuth", "ExtensionRef", "Odd", "CORS")}
	}
}

func (d *dice) grpcRoute() *gwv1.GRPCRoute {
	r := &gwv1.GRPCRoute{ObjectMeta: d.meta()}
	r.Spec.ParentRefs, r.Spec.Hostnames = d.parents(), d.hostnames()
	m := gwv1.GRPCRouteMatch{Method: maybe(d, gwv1.GRPCMethodMatch{Type: maybe[gwv1.GRPCMethodMatchType](d, "Exact", "RegularExpression", "Odd"), Service: maybe(d, "s.S", "(", "a/b"), Method: maybe(d, "M")})}
	r.Spec.Rules = []gwv1.GRPCRouteRule{{Matches: []gwv1.GRPCRouteMatch{m}, BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: d.backendRef()}}}}
	return r
}

func (d *dice) l4Route() any {
	refs := []gwv1.BackendRef{d.backendRef(), d.backendRef()}
	meta, parents := d.meta(), d.parents()
	switch d.n(3) {
	case 0:
		r := &gwv1.TLSRoute{ObjectMeta: meta}
		r.Spec.ParentRefs, r.Spec.Hostnames, r.Spec.Rules = parents, d.hostnames(), []gwv1.TLSRouteRule{{BackendRefs: refs}}
		return r
	case 1:
		r := &gwv1.TCPRoute{ObjectMeta: meta}
		r.Spec.ParentRefs, r.Spec.Rules = parents, []gwv1.TCPRouteRule{{BackendRefs: refs}}
		return r
	default:
		r := &gwv1.UDPRoute{ObjectMeta: meta}
		r.Spec.ParentRefs, r.Spec.Rules = parents, []gwv1.UDPRouteRule{{BackendRefs: refs}}
		return r
	}
}

func (d *dice) service() *corev1.Service {
	s := &corev1.Service{ObjectMeta: d.meta()}
	s.Spec.Type = mostly(d, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName)
	for i := range 1 + d.n(2) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: mostly(d, "", d.name()), Port: []int32{80, 443}[i], Protocol: mostly(d, corev1.ProtocolTCP, "", corev1.ProtocolUDP),
			AppProtocol: seldom(d, "kubernetes.io/h2c", "https", "grpc", "odd"),
		})
	}
	if d.n(2) == 0 {
		d.balance(s)
	}
	return s
}

// balance makes a Service one of type LoadBalancer.
func (d *dice) balance(s *corev1.Service) {
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, maybe(d, "gatehouse.dev/fake", mostly(d, "gatehouse.dev/fake", "other.test/lb"))
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].NodePort = pick[int32](d, 0, 30080) + int32(i)
		s.Spec.Ports[i].Protocol = mostly(d, s.Spec.Ports[i].Protocol, corev1.ProtocolSCTP)
	}
	s.Spec.ExternalTrafficPolicy = pick(d, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	s.Spec.HealthCheckNodePort = pick[int32](d, 0, 32000)
	s.Spec.SessionAffinity = pick(d, corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP)
	s.Spec.PublishNotReadyAddresses = d.n(2) == 0
	s.Spec.IPFamilies = pick(d, nil, []corev1.IPFamily{"IPv4"}, []corev1.IPFamily{"IPv4", "IPv6"}, []corev1.IPFamily{"IPv6"})
	s.Spec.IPFamilyPolicy = maybe(d, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)
	s.Spec.LoadBalancerIP = mostly(d, pick(d, "", "192.0.2.7"), "2001:db8::7", "junk")
	for range d.n(3) {
		s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, mostly(d, pick(d, "10.0.0.0/8", " 10.1.0.5/16"), "10.0.0.1", "2001:db8::/32", ""))
	}
	if d.n(8) == 7 {
		s.DeletionTimestamp = ptrTo(metav1.Unix(1, 0))
	}
}

func (d *dice) node() *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: d.name(), Labels: map[string]string{corev1.LabelTopologyZone: d.name()}}}
	if d.n(3) == 0 {
		n.Labels[corev1.LabelNodeExcludeBalancers] = pick(d, "true", "false", "", "odd")
	}
	if d.n(4) == 0 {
		n.Spec.Taints = []corev1.Taint{{Key: pick(d, autoscalerTaint, "other")}}
	}
	for _, address := range []string{d.address(), pick(d, "fd00::9", "192.0.2.99"), "n.test"} {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: mostly(d, corev1.NodeInternalIP, corev1.NodeExternalIP), Address: address})
	}
	return n
}

func (d *dice) slice() *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: d.meta(), AddressType: discoveryv1.AddressTypeIPv4}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: d.name()}
	s.Ports = []discoveryv1.EndpointPort{{Name: seldom(d, d.name()), Port: maybe[int32](d, 8080, 9090)}}
	for range d.n(4) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{d.address()}, NodeName: maybe(d, d.name()),
			Conditions: discoveryv1.EndpointConditions{Ready: maybe(d, true, false), Serving: maybe(d, true), Terminating: maybe(d, true)},
			TargetRef:  maybe(d, corev1.ObjectReference{Kind: KindPod, Name: d.name()}),
		})
	}
	return s
}

func (d *dice) address() string {
	return mostly(d, pick(d, "10.0.0.1", "10.0.0.2", "10.0.0.3"), "127.0.0.1", "169.254.169.254", "fd00::1", "junk")
}

func (d *dice) pod() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: d.meta()}
	p.Labels = map[string]string{"app": d.name()}
	p.Status.PodIP, p.Spec.NodeName = d.address(), d.name()
	for range d.n(3) {
		gate := mostly(d, corev1.PodConditionType(GatePrefix+d.name()), "other.test/gate")
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, "other.test/gate"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: mostly(d, corev1.ConditionTrue, corev1.ConditionFalse)})
	}
	return p
}

func (d *dice) grant() *gwv1.ReferenceGrant {
	g := &gwv1.ReferenceGrant{ObjectMeta: d.meta()}
	g.Spec.From = []gwv1.ReferenceGrantFrom{{Group: groupGateway, Kind: pick[gwv1.Kind](d, KindHTTPRoute, KindGateway, KindTCPRoute), Namespace: gwv1.Namespace(d.namespace())}}
	g.Spec.To = []gwv1.ReferenceGrantTo{{Kind: pick[gwv1.Kind](d, KindService, KindSecret), Name: maybe(d, gwv1.ObjectName(d.name()))}}
	return g
}

func (d *dice) validation() gwv1.BackendTLSPolicyValidation {
	v := gwv1.BackendTLSPolicyValidation{Hostname: mostly[gwv1.PreciseHostname](d, "x.test", "")}
	if d.n(3) > 0 {
		v.WellKnownCACertificates = ptrTo(mostly[gwv1.WellKnownCACertificatesType](d, "System", "odd/x"))
	} else {
		v.CACertificateRefs = []gwv1.LocalObjectReference{{Kind: mostly[gwv1.Kind](d, KindConfigMap, "Odd"), Name: gwv1.ObjectName(d.name())}}
	}
	return v
}

func (d *dice) policy() *gwv1.BackendTLSPolicy {
	p := &gwv1.BackendTLSPolicy{ObjectMeta: d.meta()}
	target := gwv1.LocalPolicyTargetReferenceWithSectionName{SectionName: maybe(d, gwv1.SectionName(d.name()))}
	target.Kind, target.Name = KindService, gwv1.ObjectName(d.name())
	p.Spec.TargetRefs, p.Spec.Validation = []gwv1.LocalPolicyTargetReferenceWithSectionName{target}, d.validation()
	return p
}

func (d *dice) xbackend() *gwxv1alpha1.XBackend {
	b := &gwxv1alpha1.XBackend{ObjectMeta: d.meta()}
	b.Spec.Port.Number = mostly[gwxv1alpha1.PortNumber](d, 443, 0)
	b.Spec.Protocol = seldom[gwxv1alpha1.BackendProtocol](d, "HTTP", "H2C", "HTTP2", "TCP", "MCP")
	if d.n(2) == 0 {
		b.Spec.Type = gwxv1alpha1.BackendTypeExternalHostname
		b.Spec.ExternalHostname = &gwxv1alpha1.ExternalHostnameBackend{Hostname: mostly[gwv1.PreciseHostname](d, "out.example.com", "localhost", "x.svc")}
	} else {
		b.Spec.Type = gwxv1alpha1.BackendTypeEndpointSelector
		b.Spec.EndpointSelector = &gwxv1alpha1.EndpointSelectorBackend{LabelSelector: gwxv1alpha1.LabelSelector{MatchLabels: map[gwv1.LabelKey]gwv1.LabelValue{"app": gwv1.LabelValue(d.name())}}}
	}
	if d.n(2) == 0 {
		v := d.validation()
		b.Spec.TLS = &gwxv1alpha1.BackendTLS{Mode: pick[gwxv1alpha1.BackendTLSMode](d, "None", "ServerOnly", "ClientAndServer"), Validation: &v, ClientCertificateRef: maybe(d, d.secretRef())}
	}
	return b
}

func (d *dice) secretOrConfigMap() any {
	m := d.meta()
	if d.n(2) == 0 {
		return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{mostly(d, caKey, "other"): mostly(d, testRoots, "junk")}}
	}
	if d.n(3) == 0 {
		return &Secret{Namespace: m.Namespace, Name: m.Name, Problem: "broken"}
	}
	return &Secret{Namespace: m.Namespace, Name: m.Name, Leaf: &lbmodel.Leaf{SHA256: m.Name, DNSNames: []string{string(d.host())}}}
}

func (d *dice) parametersOrNamespace() any {
	if d.n(2) == 0 {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.namespace(), Labels: map[string]string{"edge": pick(d, "yes", "no")}}}
	}
	p := &v1alpha1.GatewayParameters{ObjectMeta: d.meta()}
	if d.n(2) == 0 {
		p.Namespace, p.Name = "apps", "services"
	}
	p.Spec = v1alpha1.GatewayParametersSpec{
		MinimumBackendTLS: pick(d, v1alpha1.TLSNone, v1alpha1.TLSServerOnly), ForeignEndpoints: pick(d, v1alpha1.ForeignDeny, v1alpha1.ForeignAllow, ""),
		ServiceTargets: pick(d, v1alpha1.TargetPods, v1alpha1.TargetNodes, ""),
		Fake:           mostly(d, &settings.Settings{}, nil),
	}
	return p
}

// next is the first of those that are left, or any object.
func (d *dice) next(left *[]any) any {
	if len(*left) == 0 {
		return d.object()
	}
	obj := (*left)[0]
	*left = (*left)[1:]
	return obj
}

// objects are two classes and up to n random objects, each key once.
func (d *dice) objects(n int) []any {
	classes := map[string]string{"ours": "gatehouse.dev/fake", "other": "acme.test/gateway"}
	var out []any
	for _, name := range []string{"ours", "other"} {
		c := &gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gwv1.GatewayClassSpec{ControllerName: gwv1.GatewayController(classes[name])}}
		if d.n(6) == 5 {
			c.Spec.ParametersRef = &gwv1.ParametersReference{Group: groupGatehouse, Kind: KindParameters, Name: "a", Namespace: ptrTo[gwv1.Namespace]("apps")}
		}
		out = append(out, c)
	}
	seen := map[Key]bool{}
	var first []any
	if d.n(2) == 0 {
		first = d.meshed()
	}
	for range n {
		obj := d.next(&first)
		key, ok := KeyOf(obj)
		if !ok {
			panic(fmt.Sprintf("no key for %T", obj))
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, obj)
		}
	}
	return out
}
