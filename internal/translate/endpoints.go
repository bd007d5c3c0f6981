package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// reach is which endpoint addresses a gateway may send traffic to. Gateways of
// different reach see different endpoints of one Service, so it is part of a
// pool's group.
type reach struct {
	loopback bool // addresses of the gateway's own machine
	foreign  bool // addresses that no Pod of the namespace has
}

func (r reach) suffix() (out string) {
	if r.foreign {
		out += "+foreign"
	}
	if r.loopback {
		out += "+loopback"
	}
	return out
}

func (t *translation) reach() reach {
	return reach{loopback: t.loopback, foreign: t.params.ForeignEndpoints == v1alpha1.ForeignAllow}
}

func (x *Index) loopbackAllowed(c class) bool {
	return x.options.AllowLoopback != nil && x.options.AllowLoopback(c.provider, c.settings)
}

// endpointSet is what a group has at the moment, and what it may not have.
type endpointSet struct {
	endpoints []lbmodel.Endpoint // nil is unknown
	refused   []refusal
	others    int // endpoints of the backend in other parts of it
}

type refusal struct{ address, rule string }

// groupRef is a Pool.Group taken apart.
type groupRef struct {
	key  Key
	port int32
	udp  bool
	dual bool // endpoints of both IP families
	// nodes are the endpoints in place of pods: they pass traffic on from the
	// port's nodePort.
	nodes bool
	reach
	// mesh is the binding by whose mesh the endpoints are divided, and part which of
	// them are meant; "" is all.
	mesh, part string
}

// isXBackend is how a group tells an XBackend from a Service, whose name has no
// dot in it.
const isXBackend = "xbackend."

// String is the group: namespace/name:port, and what sets it apart.
func (g groupRef) String() string {
	name := g.key.Name
	if g.key.Kind == KindXBackend {
		name = isXBackend + name
	}
	out := g.key.Namespace + "/" + name + ":" + strconv.Itoa(int(g.port))
	if g.udp {
		out += "+udp"
	}
	if g.dual {
		out += "+dual"
	}
	if g.nodes {
		out += "+nodes"
	}
	out += g.suffix()
	if g.mesh != "" {
		out += inMesh + g.mesh + inPart + g.part
	}
	return out
}

// The words by which a group names a part of a backend.
const (
	inMesh = "+mesh."
	inPart = "+part."
)

// wholeGroup is the group of all of a backend's endpoints.
func wholeGroup(group string) string {
	whole, _, _ := strings.Cut(group, inMesh)
	return whole
}

// parseGroup reads what groupRef.String wrote.
func parseGroup(group string) (g groupRef, ok bool) {
	base, suffix, _ := strings.Cut(wholeGroup(group), "+")
	if _, rest, divided := strings.Cut(group, inMesh); divided {
		g.mesh, g.part, _ = strings.Cut(rest, inPart)
	}
	for word := range strings.SplitSeq(suffix, "+") {
		g.udp = g.udp || word == "udp"
		g.dual = g.dual || word == "dual"
		g.nodes = g.nodes || word == "nodes"
		g.foreign = g.foreign || word == "foreign"
		g.loopback = g.loopback || word == "loopback"
	}
	namespace, rest, ok := strings.Cut(base, "/")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon < 0 {
		return g, false
	}
	port, err := strconv.Atoi(rest[colon+1:])
	g.port = int32(port)
	g.key = Key{KindService, namespace, rest[:colon]}
	if name, is := strings.CutPrefix(rest[:colon], isXBackend); is {
		g.key.Kind, g.key.Name = KindXBackend, name
	}
	return g, err == nil
}

// group is the shared set of endpoints that a use of a backend reaches.
func (t *translation) group(u backendUse, key Key, port int32) groupRef {
	return groupRef{key: key, port: port, udp: u.from.kind == KindUDPRoute, reach: t.reach()}
}

// ServiceKey is the Service that an EndpointSlice belongs to.
func ServiceKey(s *discoveryv1.EndpointSlice) Key {
	return Key{KindService, s.Namespace, s.Labels[discoveryv1.LabelServiceName]}
}

// PoolsOf is the fast path of an endpoint change: the pools of one gateway whose
// endpoints come from the given Service (or XBackend), with the endpoints that
// this index has. Each equals the pool of that name in x.Gateway of the gateway,
// given that nothing but endpoints changed since before was made
// ([Change.EndpointsOnly]). The findings are those about refused endpoints.
//
// again says that endpoints are not all that changed: the pods behind the backend
// are reached in other ways than before, as a mesh knows them. There are no pools
// then, and x.Gateway says what there is to do.
func (x *Index) PoolsOf(backend Key, before Result) (pools []lbmodel.Pool, findings []lbmodel.Finding, again bool) {
	sets, again := x.meshSets(backend, &before)
	if again {
		return nil, nil, true
	}
	told, f := map[string]endpointSet{}, finder{x: x}
	for _, p := range before.Gateway.Pools {
		g, ok := parseGroup(p.Group)
		if !ok || g.key != backend || g.nodes { // slices have no say in which nodes there are
			continue
		}
		if _, done := sets[p.Group]; !done {
			sets[p.Group] = f.endpoints(g)
		}
		told[wholeGroup(p.Group)] = sets[p.Group]
		p.Endpoints = sets[p.Group].endpoints
		pools = append(pools, p)
	}
	owner := before.Gateway.Owner
	gateway := Key{owner.Kind, owner.Namespace, owner.Name}
	return pools, refusedFindings(slices.Concat(before.routes, before.ports), told, gateway), false
}

// IsAboutEndpoints says whether a finding is one of those of PoolsOf.
func IsAboutEndpoints(f lbmodel.Finding) bool { return f.Reason == reasonEndpointsRefused }

func (f *finder) begin(g groupRef) *finder {
	f.group, f.found, f.refused = g, f.found[:0], nil
	return f
}

// endpoints are those of a whole backend.
func (f *finder) endpoints(g groupRef) endpointSet {
	f.begin(g)
	if g.key.Kind == KindService {
		found := f.x.at(g.key)
		svc, ok := found.obj.(*corev1.Service)
		if !ok {
			return endpointSet{}
		}
		port := g.servicePort(svc)
		if port == nil {
			return endpointSet{}
		}
		if g.nodes {
			return f.nodeEndpoints(svc, port)
		}
		return f.serviceEndpoints(found.parts, svc, port)
	}
	b, ok := lookup[*gwxv1alpha1.XBackend](f.x, KindXBackend, g.key.Namespace, g.key.Name)
	switch {
	case !ok:
		return endpointSet{}
	case b.Spec.ExternalHostname != nil:
		name := strings.ToLower(string(b.Spec.ExternalHostname.Hostname))
		return endpointSet{endpoints: []lbmodel.Endpoint{{FQDN: name, Port: g.port, Ready: true, Serving: true}}}
	default:
		return f.selectedEndpoints(b)
	}
}

// refusedFindings says of every route which of its backends has endpoints that
// are not sent to.
func refusedFindings(routes []*routeState, sets map[string]endpointSet, gateway Key) (out []lbmodel.Finding) {
	if len(sets) == 0 {
		return nil // as nearly always: no need to look at every route
	}
	for _, s := range routes {
		for _, h := range s.hops {
			set := sets[h.group]
			if h.pool == "" || len(set.refused) == 0 {
				continue
			}
			out = append(out, lbmodel.Finding{
				About: h.at.source(), Parent: gateway.source(""), Condition: condResolvedRefs, Reason: reasonEndpointsRefused,
				Detail: set.describe(h.to), Code: lbmodel.CodeInvalid,
			})
		}
	}
	return out
}

func (t *translation) findRefusedEndpoints() {
	sets := map[string]endpointSet{}
	for _, p := range t.poolList {
		if len(p.refused) > 0 {
			sets[wholeGroup(p.Group)] = endpointSet{p.Endpoints, p.refused, p.others}
		}
	}
	t.findings = append(t.findings, refusedFindings(slices.Concat(t.routes, t.ports), sets, t.key)...)
}

// ruleForeign is why an address of nobody is refused.
const ruleForeign = "no Pod's address in this namespace (allow it with GatewayParameters spec.foreignEndpoints: Allow)"

// describe tells the first few refusals and the way out of each kind.
func (s endpointSet) describe(backend string) string {
	const few = 3
	var told []string
	for _, r := range s.refused[:min(few, len(s.refused))] {
		told = append(told, r.address+" is "+r.rule)
	}
	if more := len(s.refused) - few; more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%d of %d endpoints of %s are not sent to: %s", len(s.refused), len(s.refused)+len(s.endpoints)+s.others, backend, strings.Join(told, ", "))
}
