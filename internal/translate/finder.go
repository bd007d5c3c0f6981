package translate

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/lbmodel"
)

// finder gathers the endpoints of one group after another: it judges their
// addresses and merges what several slices say of one.
type finder struct {
	x       *Index
	group   groupRef
	found   []located // its memory serves the next group again
	refused []refusal
}

// located is an endpoint with its address as a number, to order by.
type located struct {
	addr netip.Addr
	lbmodel.Endpoint
}

// serviceEndpoints reads a Service's EndpointSlices, whoever made them: headless
// Services and Services without a selector are no different. The slice's port of
// the Service port's name is the one to send to. Of a dual-stack Service the
// first family counts, so that no pod counts twice, unless the group is of both.
func (f *finder) serviceEndpoints(parts pmap[any], svc *corev1.Service, port *corev1.ServicePort) endpointSet {
	endpointSlices := partsOf[*discoveryv1.EndpointSlice](parts)
	for _, s := range endpointSlices {
		if number, ok := slicePort(s, port); ok && f.group.inFamily(s, svc) {
			for i := range s.Endpoints {
				f.addEndpoint(&s.Endpoints[i], number)
			}
		}
	}
	if svc.Spec.PublishNotReadyAddresses { // the slice says ready of all; that they are leaving must not matter either
		for i := range f.found {
			f.found[i].Terminating = f.found[i].Terminating && !f.found[i].Ready
		}
	}
	return f.set(sourceKnown(len(endpointSlices) > 0 || f.x.live))
}

// servicePort finds the Service port that a group means.
func (g groupRef) servicePort(svc *corev1.Service) *corev1.ServicePort {
	use := backendUse{from: referrer{kind: KindTCPRoute}, port: g.port}
	if g.udp {
		use.from.kind = KindUDPRoute
	}
	port, _ := servicePort(svc, use)
	return port
}

func (g groupRef) inFamily(s *discoveryv1.EndpointSlice, svc *corev1.Service) bool {
	switch s.AddressType {
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
		return g.dual || len(svc.Spec.IPFamilies) == 0 || string(svc.Spec.IPFamilies[0]) == string(s.AddressType)
	default:
		return false // FQDN slices are deprecated and nobody says what they mean
	}
}

// slicePort is the port of a slice that a Service port leads to. A slice port
// without a number leaves the choice to the Service.
func slicePort(s *discoveryv1.EndpointSlice, port *corev1.ServicePort) (int32, bool) {
	for _, p := range s.Ports {
		if deref(p.Name, "") != port.Name || deref(p.Protocol, corev1.ProtocolTCP) != cmp.Or(port.Protocol, corev1.ProtocolTCP) {
			continue
		}
		if p.Port != nil {
			return *p.Port, true
		}
		return cmp.Or(port.TargetPort.IntVal, port.Port), true
	}
	return 0, false
}

// addEndpoint takes the first address: the API says that they are
// interchangeable. An unset condition means ready.
func (f *finder) addEndpoint(e *discoveryv1.Endpoint, port int32) {
	if len(e.Addresses) == 0 {
		return
	}
	ready := deref(e.Conditions.Ready, true)
	gated := !ready && f.gated(e)
	out := lbmodel.Endpoint{
		Address: e.Addresses[0], Port: port, Zone: deref(e.Zone, ""), Node: deref(e.NodeName, ""),
		Ready: ready || gated, Serving: gated || deref(e.Conditions.Serving, ready), Terminating: deref(e.Conditions.Terminating, false),
	}
	if r := e.TargetRef; r != nil && r.Kind == KindPod {
		out.Pod = Key{KindPod, cmp.Or(r.Namespace, f.group.key.Namespace), r.Name}.source("")
	}
	f.add(out)
}

// add judges an address and keeps the endpoint.
func (f *finder) add(e lbmodel.Endpoint) {
	addr, err := netip.ParseAddr(e.Address)
	if err != nil {
		f.refused = append(f.refused, refusal{e.Address, lbmodel.ForbiddenInvalid})
		return
	}
	if rule := f.forbidden(addr, e.Address); rule != "" {
		f.refused = append(f.refused, refusal{e.Address, rule})
		return
	}
	var canonical [46]byte
	if text := addr.AppendTo(canonical[:0]); string(text) != e.Address {
		e.Address = string(text)
	}
	f.locate(&e)
	f.found = append(f.found, located{addr, e})
}

// forbidden is the rule under which an address is never sent to.
func (f *finder) forbidden(addr netip.Addr, text string) string {
	rule, bad := lbmodel.ForbiddenEndpoint(addr)
	switch {
	case bad && rule == lbmodel.ForbiddenLoopback && f.group.loopback:
		return "" // nobody's Pod can have it; the class's settings vouch for it
	case bad && rule == lbmodel.ForbiddenLoopback:
		return "loopback (allowed only with allowLoopbackEndpoints: true in the provider's part of the class's GatewayParameters, as in spec.fake)"
	case bad:
		return rule
	case f.group.foreign || f.group.nodes || f.group.key.Kind == KindXBackend:
		return ""
	case f.x.podHas(f.group.key.Namespace, text):
		return ""
	default:
		return ruleForeign
	}
}

func (x *Index) podHas(namespace, address string) bool {
	return x.at(Key{kindPodIP, namespace, address}).parts.size > 0
}

// locate fills in what the node knows.
func (f *finder) locate(e *lbmodel.Endpoint) {
	if e.Node == "" {
		return
	}
	node, ok := lookup[*corev1.Node](f.x, KindNode, "", e.Node)
	if !ok {
		return
	}
	e.Instance = node.Spec.ProviderID
	e.Zone = cmp.Or(e.Zone, zoneOf(node))
}

func zoneOf(n *corev1.Node) string { return n.Labels[corev1.LabelTopologyZone] }

// set is what was gathered, ordered by address and port. Without a source of
// endpoints they are unknown rather than none. Where two slices name the same
// endpoint, as they do for a moment when it moves between them, the better state
// counts.
func (f *finder) set(known sourceKnown) endpointSet {
	slices.SortStableFunc(f.found, func(a, b located) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.Port, b.Port))
	})
	out := endpointSet{refused: f.refused}
	if known {
		out.endpoints = make([]lbmodel.Endpoint, 0, len(f.found))
	}
	for i, e := range f.found {
		if i > 0 && f.found[i-1].addr == e.addr && f.found[i-1].Port == e.Port {
			have := &out.endpoints[len(out.endpoints)-1]
			have.Ready, have.Serving = have.Ready || e.Ready, have.Serving || e.Serving
			have.Terminating = have.Terminating && e.Terminating
			continue
		}
		out.endpoints = append(out.endpoints, e.Endpoint)
	}
	return out
}

// sourceKnown says whether there is a source that lists the endpoints.
type sourceKnown bool

// selectedEndpoints are the pods that an XBackend selects. They are endpoints by
// their own address, so none is foreign.
func (f *finder) selectedEndpoints(b *gwxv1alpha1.XBackend) endpointSet {
	known := f.x.live
	for _, pod := range partsOf[*corev1.Pod](f.x.at(Key{Kind: kindPodsIn, Name: b.Namespace}).parts) {
		known = true
		if selectsPod(b, pod) {
			f.addPod(pod)
		}
	}
	return f.set(sourceKnown(known))
}

// addPod takes a pod by its own address.
func (f *finder) addPod(pod *corev1.Pod) {
	if pod.Status.PodIP == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return
	}
	ready := podReady(pod)
	f.add(lbmodel.Endpoint{
		Address: pod.Status.PodIP, Port: f.group.port, Node: pod.Spec.NodeName, Pod: Key{KindPod, pod.Namespace, pod.Name}.source(""),
		Ready: ready && pod.DeletionTimestamp == nil, Serving: ready, Terminating: pod.DeletionTimestamp != nil,
	})
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
