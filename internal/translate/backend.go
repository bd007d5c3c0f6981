package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// backendUse is a reference to a backend together with all that decides how it
// is reached. Equal uses in one gateway have one answer.
type backendUse struct {
	from       referrer
	to         target
	port       int32  // 0 is none
	terminated bool   // TLSRoute: we decrypt, so the hop to the backend is ours
	selected   string // the MeshBinding that wants the route's backends to be members
}

// resolution is what a use comes to: a pool, or why there is none.
type resolution struct {
	to     string // the backend as a person would name it
	pool   string
	group  string
	level  lbmodel.TLSLevel // of our own hop; "" where the bytes are the client's
	tls    string           // reason for gatehouse.dev/BackendTLS when the hop is refused for its TLS
	reason string           // "" is resolved
	detail string
	mesh   *meshOutcome // nil where no mesh has a part in it
}

func refused(reason, format string, args ...any) resolution {
	return resolution{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// hop is one backend of a route, for gatehouse.dev/BackendTLS and for what is
// said about endpoints.
type hop struct {
	at ruleContext
	*resolution
}

// backend is one share of a route's traffic. A broken reference keeps its share
// and answers for it.
func (t *translation) backend(c ruleContext, ref gwv1.BackendRef) lbmodel.Backend {
	out := lbmodel.Backend{Source: c.source(), Weight: weightOf(ref)}
	r := t.resolve(c, ref.BackendObjectReference)
	if r.reason != "" {
		return c.brokenBackend(out)
	}
	out.Pool = r.pool
	return out
}

// resolve follows a reference and reports it where it leads nowhere.
func (t *translation) resolve(c ruleContext, ref gwv1.BackendObjectReference) *resolution {
	route := c.state.route.key
	use := backendUse{
		from: referrer{route.Kind, route.Namespace},
		to: target{
			string(deref(ref.Group, groupCore)), string(deref(ref.Kind, KindService)),
			string(deref(ref.Namespace, gwv1.Namespace(route.Namespace))), string(ref.Name),
		},
		port: deref(ref.Port, 0), terminated: c.terminated, selected: c.state.selected,
	}
	r, ok := t.resolved[use]
	if !ok {
		followed := t.follow(use)
		followed.to = use.String()
		r = &followed
		t.resolved[use] = r
	}
	if r.reason != "" {
		t.unresolved(c, r.reason, r.detail)
	}
	c.state.hops = append(c.state.hops, hop{c, r})
	return r
}

// String names the backend as a person would.
func (u backendUse) String() string {
	kind, port := "", ""
	if u.to.kind != KindService {
		kind = u.to.kind + " "
	}
	if u.port != 0 {
		port = ":" + strconv.Itoa(int(u.port))
	}
	return kind + u.to.namespace + "/" + u.to.name + port
}

// ownHop says whether the connection to the backend is one that we open with a
// protocol of our own, rather than the client's bytes passed on.
func (u backendUse) ownHop() bool {
	return u.from.kind == KindHTTPRoute || u.from.kind == KindGRPCRoute || u.terminated
}

// follow answers in the order that gives nothing away: the kind, the grant, and
// only then whether the object exists.
func (t *translation) follow(u backendUse) resolution {
	isBackend := u.to.group == groupGatewayX && u.to.kind == KindXBackend
	switch {
	case !isBackend && (u.to.group != groupCore || u.to.kind != KindService):
		return refused(string(gwv1.RouteReasonInvalidKind), "%s %s is not supported; name a Service or an XBackend of group %s",
			qualified(u.to.group, u.to.kind), u.to.name, groupGatewayX)
	case isBackend && u.to.namespace != u.from.namespace:
		return refused(reasonRefNotPermitted, "XBackend %s/%s: a route may only use XBackends of its own namespace %s", u.to.namespace, u.to.name, u.from.namespace)
	case !t.x.permitted(u.from, u.to):
		return refused(reasonRefNotPermitted, "%s %s/%s: no ReferenceGrant in namespace %s lets a %s of namespace %s refer to it",
			u.to.kind, u.to.namespace, u.to.name, u.to.namespace, u.from.kind, u.from.namespace)
	case isBackend:
		return t.followXBackend(u)
	default:
		return t.followService(u)
	}
}

func (t *translation) followService(u backendUse) resolution {
	key := Key{KindService, u.to.namespace, u.to.name}
	found := t.x.at(key)
	svc, ok := found.obj.(*corev1.Service)
	switch {
	case !ok:
		return refused(string(gwv1.RouteReasonBackendNotFound), "Service %s/%s does not exist", u.to.namespace, u.to.name)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return refused(string(gwv1.RouteReasonInvalidKind),
			"Service %s/%s is of type ExternalName, which is refused (CVE-2021-25740); use an XBackend of type ExternalHostname", u.to.namespace, u.to.name)
	case u.port == 0:
		return refused(string(gwv1.RouteReasonBackendNotFound), "a reference to Service %s/%s needs a port", u.to.namespace, u.to.name)
	}
	port, problem := servicePort(svc, u)
	if port == nil {
		return problem
	}
	var tls *lbmodel.BackendTLS
	if u.ownHop() {
		var bad string
		if tls, bad = t.policyTLS(partsOf[*gwv1.BackendTLSPolicy](found.parts), svc, port.Name); bad != "" {
			r := refused(reasonInvalidBackendTLS, "%s", bad)
			r.tls = reasonInvalidBackendTLS
			return r
		}
	}
	protocol, unfit := serviceProtocol(u, deref(port.AppProtocol, ""), tls != nil)
	if unfit != "" {
		return refused(string(gwv1.RouteReasonUnsupportedProtocol), "Service %s/%s port %d: %s", svc.Namespace, svc.Name, u.port, unfit)
	}
	group := t.group(u, key, u.port)
	pool := lbmodel.Pool{
		Source: key.source("ports[" + strconv.Itoa(int(u.port)) + "]"), Protocol: protocol, TLS: tls, Group: group.String(),
	}
	if len(t.members) > 0 && u.joinable() {
		return t.meshPool(u, pool, group)
	}
	return t.pool(u, pool, func() endpointSet { return t.finder.begin(group).serviceEndpoints(found.parts, svc, port) })
}

// servicePort finds the port that a reference names by its number. TCP and UDP
// may share a number; the route's kind says which is meant.
func servicePort(svc *corev1.Service, u backendUse) (*corev1.ServicePort, resolution) {
	want, found := corev1.ProtocolTCP, false
	if u.from.kind == KindUDPRoute {
		want = corev1.ProtocolUDP
	}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.Port != u.port {
			continue
		}
		if p.Protocol == want || p.Protocol == "" && want == corev1.ProtocolTCP {
			return p, resolution{}
		}
		found = true
	}
	if found {
		return nil, refused(string(gwv1.RouteReasonUnsupportedProtocol), "Service %s/%s has port %d, but not for %s, which a %s needs",
			svc.Namespace, svc.Name, u.port, want, u.from.kind)
	}
	return nil, refused(string(gwv1.RouteReasonBackendNotFound), "Service %s/%s has no port %d; it has %s", svc.Namespace, svc.Name, u.port, portList(svc))
}

func portList(svc *corev1.Service) string {
	var ports []string
	for _, p := range svc.Spec.Ports {
		ports = append(ports, strconv.Itoa(int(p.Port)))
	}
	if len(ports) == 0 {
		return "none"
	}
	return strings.Join(ports, ", ")
}

// floor is the least protection of a hop that the gateway's parameters demand.
func (t *translation) floor() lbmodel.TLSLevel { return lbmodel.TLSLevel(t.params.MinimumBackendTLS) }

// poolState is a pool, the endpoints that it may not have, and whether anything
// that is served uses it.
type poolState struct {
	lbmodel.Pool
	refused []refusal
	others  int // see endpointSet
	used    bool
}

// pool names a pool and stores it with its endpoints, unless its hop is protected
// less than the gateway's parameters demand: nothing below the floor is ever
// programmed.
func (t *translation) pool(u backendUse, p lbmodel.Pool, find func() endpointSet) resolution {
	r := resolution{group: p.Group}
	if u.ownHop() || p.TLS != nil {
		floor := t.floor()
		if p.TLS != nil {
			p.TLS = t.attainable(p.TLS)
		}
		r.level = p.TLS.Level()
		if !r.level.AtLeast(floor) {
			bad := refused(reasonBelowMinimum, "the hop to %s would be %s, and minimumBackendTLS is %s; give the backend a BackendTLSPolicy%s",
				u, r.level, floor, clientHint(floor))
			bad.tls, bad.level = reasonBelowMinimum, r.level
			return bad
		}
		if p.TLS != nil && !p.TLS.Floor.AtLeast(floor) {
			p.TLS.Floor = floor
		}
	}
	r.pool = t.keep(p, find)
	return r
}

// keep stores a pool under its name, once. The endpoints are found now, while all
// that find reads is at hand. A name that the pool has already is that of its part
// of the backend.
func (t *translation) keep(p lbmodel.Pool, find func() endpointSet) (name string) {
	base, _, _ := strings.Cut(p.Group, "+")
	part := p.Name
	p.Name = base + "/" + string(p.Protocol)
	if p.TLS != nil && p.TLS.Source.Kind != KindMeshBinding { // what a mesh asks for follows from the part
		p.Name += "/" + tlsHash(p.TLS)
	}
	if part != "" {
		p.Name += "/" + part
	}
	if t.pools[p.Name] == nil {
		set := find()
		p.Endpoints = set.endpoints
		state := &poolState{Pool: p, refused: set.refused, others: set.others}
		t.pools[p.Name], t.poolList = state, append(t.poolList, state)
	}
	return p.Name
}

func clientHint(floor lbmodel.TLSLevel) string {
	if floor == lbmodel.TLSClientAndServer {
		return ", and the Gateway a spec.tls.backend.clientCertificateRef"
	}
	return ""
}

// tlsHash tells pools apart that differ in nothing but their TLS. Where it came
// from does not matter.
func tlsHash(t *lbmodel.BackendTLS) string {
	c := *t
	c.Source = lbmodel.Source{}
	return shortHash(fmt.Sprintf("%+v", c))
}

// shortHash is 8 hex digits that follow from the text.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
