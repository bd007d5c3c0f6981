package translate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// balancing is the work on one Service: each of its ports is a listener with a
// pool of its own.
type balancing struct {
	translation
	svc    *corev1.Service
	ranges []string
}

// protocolSCTP is what no listener speaks; core Services do.
const protocolSCTP = lbmodel.Protocol(corev1.ProtocolSCTP)

// model is the Service as a gateway.
func (t *balancing) model() lbmodel.Gateway {
	svc := t.svc
	out := lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: t.x.cluster, Kind: KindService, Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID)},
		Settings: t.class.settings,
	}
	if t.params.Deletion != v1alpha1.DeletionDelete {
		out.Deletion = lbmodel.Deletion(t.params.Deletion)
	}
	var addressable, open bool
	out.Addresses, addressable = t.addresses()
	t.ranges, open = t.sourceRanges()
	for i := range svc.Spec.Ports {
		l := t.port(&svc.Spec.Ports[i])
		l.dropped = !addressable
		if !l.refused && !open {
			t.refuse(l, reasonInvalidSourceRange, "no client address is allowed: "+rangesField(svc)+" has no range that can be used; correct it, or remove it to serve everybody", lbmodel.CodeInvalid)
		}
	}
	t.finish(&out)
	return out
}

// port adds the listener of a port.
func (t *balancing) port(p *corev1.ServicePort) *listener {
	protocol := lbmodel.Protocol(p.Protocol)
	if protocol == "" {
		protocol = lbmodel.ProtocolTCP
	}
	name := p.Name
	if name == "" {
		name = fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), p.Port)
	}
	twin := slices.ContainsFunc(t.listeners, func(o *listener) bool {
		return string(o.spec.Name) == name || o.spec.Port == p.Port && o.protocol() == protocol
	})
	l := newListener(t.key, gwv1.Listener{Name: gwv1.SectionName(name), Port: p.Port, Protocol: gwv1.ProtocolType(protocol)})
	t.listeners = append(t.listeners, l)
	switch reason, detail := t.unsupported(l); {
	case protocol == protocolSCTP:
		t.refuse(l, string(gwv1.ListenerReasonUnsupportedProtocol), fmt.Sprintf("port %d: protocol SCTP is not supported; use TCP or UDP", p.Port), lbmodel.CodeUnsupported)
	case twin:
		t.refuse(l, string(gwv1.ListenerReasonPortUnavailable), fmt.Sprintf("port %d: its name %q or its number is another port's", p.Port, name), lbmodel.CodeInvalid)
	case reason != "":
		t.refuse(l, reason, fmt.Sprintf("port %d: %s", p.Port, detail), lbmodel.CodeUnsupported)
	default:
		t.serve(l, p)
	}
	return l
}

// serve gives a listener its traffic: everything goes to the port's pool.
func (t *balancing) serve(l *listener, p *corev1.ServicePort) {
	at := ruleContext{state: &routeState{route: &route{key: t.key}}, section: string(l.spec.Name)}
	use := backendUse{from: referrer{KindService, t.key.Namespace}, to: target{groupCore, KindService, t.key.Namespace, t.key.Name}, port: p.Port}
	r := t.pool(use, t.poolOf(l, p), func() endpointSet { return t.finder.endpoints(t.groupOf(p)) })
	r.to = use.String()
	at.state.hops = []hop{{at, &r}}
	t.ports = append(t.ports, at.state)
	l.model.SourceRanges = t.ranges
	l.model.Route = t.key.source("")
	l.model.Forward = &lbmodel.Forward{Backends: []lbmodel.Backend{{Source: l.source(), Pool: r.pool, Weight: 1}}}
}

func (t *balancing) groupOf(p *corev1.ServicePort) groupRef {
	g := groupRef{
		key: t.key, port: p.Port, udp: p.Protocol == corev1.ProtocolUDP, reach: t.reach(),
		dual: len(t.svc.Spec.IPFamilies) > 1, nodes: byNodes(t.params, t.svc, p),
	}
	g.foreign = g.foreign && !g.nodes // a node needs no Pod to vouch for it
	return g
}

func (t *balancing) poolOf(l *listener, p *corev1.ServicePort) lbmodel.Pool {
	group := t.groupOf(p)
	out := lbmodel.Pool{Source: l.source(), Protocol: lbmodel.PoolTCP, Group: group.String(), Persistence: affinity(t.svc)}
	if group.udp {
		out.Protocol = lbmodel.PoolUDP
	}
	if group.nodes && t.svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		out.Health = localHealth(l.source(), t.svc.Spec.HealthCheckNodePort)
	}
	return out
}

// byNodes says whether a port is reached through the nodes. With the policy Local
// that takes the health check port, which tells nodes with endpoints from those
// that would drop the traffic; pods have no such difference.
func byNodes(params v1alpha1.GatewayParametersSpec, svc *corev1.Service, p *corev1.ServicePort) bool {
	local := svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	return params.ServiceTargets == v1alpha1.TargetNodes && p.NodePort != 0 && (!local || svc.Spec.HealthCheckNodePort != 0)
}

// localHealth asks a node whether it has endpoints of the Service: kube-proxy
// answers 200 then, and 503 otherwise.
func localHealth(from lbmodel.Source, port int32) *lbmodel.HealthCheck {
	return &lbmodel.HealthCheck{
		Source: from, Protocol: "HTTP", Port: port, Path: "/healthz",
		Interval: lbmodel.Duration(5 * time.Second), Timeout: lbmodel.Duration(2 * time.Second), Healthy: 1, Unhealthy: 2,
	}
}

// affinityTimeout is the API's default, in seconds: three hours.
const affinityTimeout = 10800

// affinity is sessionAffinity ClientIP: a client that was silent for the timeout
// may be sent elsewhere.
func affinity(svc *corev1.Service) *lbmodel.Persistence {
	if svc.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return nil
	}
	seconds := int32(affinityTimeout)
	if c := svc.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil {
		seconds = deref(c.ClientIP.TimeoutSeconds, seconds)
	}
	return &lbmodel.Persistence{Kind: lbmodel.PersistSource, IdleTimeout: lbmodel.Duration(time.Duration(seconds) * time.Second)}
}

// addresses are one for each IP family of the Service. ok is false where the
// address asked for cannot be: nothing is served at another one.
func (t *balancing) addresses() (out []lbmodel.AddressRequest, ok bool) {
	for _, family := range t.families() {
		out = append(out, lbmodel.AddressRequest{Type: lbmodel.AddressIP, Family: family})
	}
	asked := strings.TrimSpace(t.svc.Spec.LoadBalancerIP)
	if asked == "" {
		return out, true
	}
	ip, err := netip.ParseAddr(asked)
	if err != nil {
		return nil, t.addressProblem("spec.loadBalancerIP %q is not an IP address", asked)
	}
	if len(out) == 0 {
		return []lbmodel.AddressRequest{{Type: lbmodel.AddressIP, Family: lbmodel.FamilyOf(ip), Value: ip.String()}}, true
	}
	i := slices.IndexFunc(out, func(r lbmodel.AddressRequest) bool { return r.Family == lbmodel.FamilyOf(ip) })
	if i < 0 {
		return nil, t.addressProblem("spec.loadBalancerIP %s is of family %s, and spec.ipFamilies has only %s", asked, lbmodel.FamilyOf(ip), joinWords(t.svc.Spec.IPFamilies))
	}
	out[i].Value = ip.String()
	return out, true
}

func (t *balancing) addressProblem(format string, args ...any) (ok bool) {
	t.find(lbmodel.Finding{About: t.key.source(""), Condition: condAccepted, Reason: string(gwv1.GatewayReasonUnsupportedAddress), Detail: fmt.Sprintf(format, args...), Code: lbmodel.CodeInvalid})
	return false
}

// families are the IP families to have addresses of: those of the Service, but
// for one that it only prefers to have and the provider does not offer. None is
// for the provider to choose: files say nothing of what a cluster would fill in.
func (t *balancing) families() (out []lbmodel.IPFamily) {
	prefers := deref(t.svc.Spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack) == corev1.IPFamilyPolicyPreferDualStack
	for _, f := range t.svc.Spec.IPFamilies {
		family := lbmodel.IPFamily(f)
		if prefers && len(t.svc.Spec.IPFamilies) > 1 && family == lbmodel.IPv6 && !t.class.offers(lbmodel.FeatureIPv6) {
			continue
		}
		if family == lbmodel.IPv4 || family == lbmodel.IPv6 {
			out = append(out, family)
		}
	}
	return out
}
