package gcp

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// The protocols of backend services.
const (
	protocolHTTP  = "HTTP"
	protocolHTTPS = "HTTPS"
	protocolHTTP2 = "HTTP2"
	protocolH2C   = "H2C"
	protocolTCP   = "TCP"
	protocolUDP   = "UDP"
)

// streamIdle is how long, in seconds, a connection may be silent: as long as those of
// a TlsRoute. Of HTTP, timeoutSec is how long an answer may take.
const streamIdle = 3600

// Greatest numbers of endpoints in a group, by its type.
const (
	maxEndpoints         = 10_000
	maxRegionalInternet  = 256
	maxGlobalInternet    = 1
	typeNode             = "GCE_VM_IP"
	typeInternet         = "INTERNET_FQDN_PORT"
	healthyEndpointRate  = 100_000 // requests a second of an endpoint: no limit of ours
	endpointsConnections = 100_000 // connections of an endpoint: likewise
)

// addPools makes ready the pools' backend services, and adds their endpoints.
func (c *compiler) addPools() {
	for i := range c.gw.Pools {
		p := &c.gw.Pools[i]
		placed := &placedPool{pool: p, held: c.heldService(p)}
		c.pools[p.Name] = placed
		if placed.held != "" {
			continue
		}
		if placed.wrong = c.judgePool(p); placed.wrong != nil {
			c.refuse(p.Source, c.source, "%v", placed.wrong)
			continue
		}
		groups, firewall := c.addEndpoints(p)
		c.judgeEndpoints(p)
		var tls *TLSSettings
		if tls, placed.wrong = c.tlsSettings(p); placed.wrong != nil {
			c.refuseFor(p.TLS.Source, c.source, placed.wrong)
			continue
		}
		placed.spec = c.backendService(p, groups)
		placed.spec.firewall = firewall
		placed.spec.TLSSettings, placed.spec.presents = tls, tls != nil && p.TLS.Identity != ""
		c.addService(placed, nil)
	}
}

// heldService is the backend service of somebody else's that stands for the pool.
func (c *compiler) heldService(p *lbmodel.Pool) Ref {
	for _, h := range c.s.Held {
		if h.Kind == KindBackendService && h.For == p.Group && p.Group != "" {
			id := lbmodel.ID{Kind: KindBackendService, Location: c.s.Location}
			id.Name = "projects/" + c.s.Project + "/" + scope(c.s.Location) + "/backendServices/" + h.Name
			return c.external(id)
		}
	}
	return ""
}

// judgePool says why no traffic may go to a pool at all.
func (c *compiler) judgePool(p *lbmodel.Pool) error {
	stream := isStream(p)
	switch {
	case isInternet(p) && c.s.Flavour == "CrossRegionInternal", isInternet(p) && c.f.passthrough, isInternet(p) && stream:
		return errors.New("backends by DNS name are for HTTP and HTTPS of global external and regional gateways")
	case isInternet(p) && c.f.globalExternal() && p.TLS != nil:
		return errors.New("a global external Application Load Balancer verifies no backend by DNS name; use gcp.flavour RegionalExternal")
	case stream && p.TLS != nil:
		return errors.New("connections to backends of TCP and TLS listeners have no TLS of the load balancer's own; pass the clients' through, or use an HTTP or HTTPS listener")
	default:
		return nil
	}
}

func isStream(p *lbmodel.Pool) bool {
	return p.Protocol == lbmodel.PoolTCP || p.Protocol == lbmodel.PoolUDP
}

// isInternet says whether a pool's endpoints have DNS names.
func isInternet(p *lbmodel.Pool) bool {
	return slices.ContainsFunc(p.Endpoints, func(e lbmodel.Endpoint) bool { return e.FQDN != "" })
}

func protocolOf(p *lbmodel.Pool) string {
	switch {
	case p.Protocol == lbmodel.PoolUDP:
		return protocolUDP
	case p.Protocol == lbmodel.PoolTCP:
		return protocolTCP
	case p.Protocol == lbmodel.PoolHTTP2 || p.TLS != nil && (p.Protocol == lbmodel.PoolGRPC || p.Protocol == lbmodel.PoolH2C):
		return protocolHTTP2
	case p.Protocol == lbmodel.PoolGRPC || p.Protocol == lbmodel.PoolH2C:
		return protocolH2C
	case p.TLS != nil:
		return protocolHTTPS
	default:
		return protocolHTTP
	}
}

// backendService is a pool's, without its TLS and what a route adds.
func (c *compiler) backendService(p *lbmodel.Pool, groups []Ref) *BackendService {
	out := &BackendService{
		LoadBalancingScheme: c.f.scheme, Protocol: protocolOf(p), TimeoutSec: c.s.TimeoutSeconds,
		ConnectionDraining: Draining{c.s.DrainSeconds}, SessionAffinity: "NONE", sources: sources(p.Source), hop: p.Name,
	}
	for _, g := range groups {
		out.Backends = append(out.Backends, c.backend(p, g))
	}
	switch {
	case c.f.passthrough:
		out.TimeoutSec = 0
	case isStream(p):
		out.TimeoutSec = streamIdle
	}
	if !isInternet(p) {
		out.HealthChecks = []Ref{c.addHealthCheck(p)}
	}
	if p.Persistence != nil {
		if err := persist(out, p.Persistence); err != nil {
			c.refuse(p.Source, c.source, "session persistence is left out: %v", err)
		}
	}
	if p.TLS != nil {
		out.sources = sources(p.Source, p.TLS.Source)
	}
	return out
}

func (c *compiler) backend(p *lbmodel.Pool, group Ref) Backend {
	switch {
	case isInternet(p):
		return Backend{Group: group}
	case c.f.passthrough:
		return Backend{Group: group, BalancingMode: "CONNECTION"}
	case isStream(p):
		return Backend{Group: group, BalancingMode: "CONNECTION", MaxConnectionsPerEndpoint: endpointsConnections}
	default:
		return Backend{Group: group, BalancingMode: "RATE", MaxRatePerEndpoint: healthyEndpointRate}
	}
}

// addService adds a pool's backend service; one with its own session persistence is
// another.
func (c *compiler) addService(p *placedPool, persistence *lbmodel.Persistence) Ref {
	parts := []string{p.pool.Name}
	spec := *p.spec
	if persistence != nil {
		parts = append(parts, encode(persistence))
		spec.SessionAffinity, spec.StrongCookie = "NONE", nil
		_ = persist(&spec, persistence) // whoever asks has tried it
	}
	return c.add(c.name(KindBackendService, p.pool.Name, parts...), &spec)
}

// service is the backend service of a pool for a route, or why there is none.
func (c *compiler) service(pool string, persistence *lbmodel.Persistence) (Ref, error) {
	p := c.pools[pool]
	switch {
	case p == nil:
		return "", fmt.Errorf("the gateway has no pool named %q", pool)
	case p.wrong != nil:
		return "", p.wrong
	case p.held != "":
		return p.held, nil
	case persistence == nil:
		return refTo(c.name(KindBackendService, p.pool.Name, p.pool.Name)), nil
	}
	if err := persist(&BackendService{}, persistence); err != nil {
		return "", err
	}
	return c.addService(p, persistence), nil
}

// persist keeps clients at their endpoints.
func persist(b *BackendService, p *lbmodel.Persistence) error {
	switch {
	case p.Kind == lbmodel.PersistSource:
		b.SessionAffinity = "CLIENT_IP"
		return nil
	case p.Kind != lbmodel.PersistCookie:
		return errors.New("sessions are kept by cookie or client address")
	case b.Protocol == protocolTCP || b.Protocol == protocolUDP:
		return errors.New("there are no cookies in connections")
	case p.IdleTimeout != 0:
		return errors.New("a session ends at a time, not when it is idle; use absoluteTimeout")
	case p.Permanent != (p.AbsoluteTimeout != 0):
		return errors.New("a cookie lasts for its absoluteTimeout (lifetimeType Permanent) or for the browser's session (neither)")
	case p.AbsoluteTimeout > lbmodel.Duration(maxCookie):
		return errors.New("a cookie lasts for two weeks at most")
	}
	b.SessionAffinity = "STRONG_COOKIE_AFFINITY"
	b.StrongCookie = &Cookie{Name: cmp.Or(p.Name, "gatehouse-session"), Path: "/", TTL: durationOf(p.AbsoluteTimeout)}
	return nil
}

// groupType is the type of a pool's network endpoint groups.
func (c *compiler) groupType(p *lbmodel.Pool) string {
	switch {
	case isInternet(p):
		return typeInternet
	case c.f.passthrough:
		return typeNode
	default:
		return c.s.EndpointType
	}
}

// addEndpoints adds a pool's network endpoint groups with their endpoints, and what
// lets the load balancer reach them. It is the part of Compile that the fast path
// repeats; the groups themselves never change.
func (c *compiler) addEndpoints(p *lbmodel.Pool) (out []Ref, firewall Ref) {
	kind := c.groupType(p)
	for _, location := range c.groupLocations(kind) {
		spec := &NetworkEndpointGroup{NetworkEndpointType: kind, source: p.Source}
		if kind != typeInternet || location != global {
			spec.Network = c.network()
		}
		if kind == typeGCE || kind == typeNode {
			spec.Subnetwork = c.nodeSubnetwork(location)
		}
		group := cmp.Or(p.Group, p.Name)
		id := c.sharedName(KindNetworkEndpointGroup, location, group, group, location, kind, string(spec.Network), string(spec.Subnetwork))
		ref := c.share(id, spec)
		id.Kind = KindNetworkEndpoints
		c.share(id, &NetworkEndpoints{Group: ref, Endpoints: c.endpoints(p, location), Unknown: p.Endpoints == nil, source: p.Source})
		out = append(out, ref)
	}
	return out, c.addProbeFirewall(p)
}

// nodeSubnetwork is that of the nodes of a zone: where the network is.
func (c *compiler) nodeSubnetwork(zone string) Ref {
	if c.s.NodeSubnetwork == "" {
		return ""
	}
	project, _, _ := strings.Cut(string(c.network()), "/global/")
	return Ref(project + "/regions/" + zone[:max(0, strings.LastIndexByte(zone, '-'))] + "/subnetworks/" + c.s.NodeSubnetwork)
}

func (c *compiler) groupLocations(kind string) []string {
	if kind == typeInternet {
		return []string{c.s.Location}
	}
	return c.s.Zones
}

// endpoints are those of a location that new traffic may go to: those that are ready,
// or, where none is anywhere, those that still serve while they end.
func (c *compiler) endpoints(p *lbmodel.Pool, location string) []Endpoint {
	usable := lbmodel.Endpoint.Usable
	if !slices.ContainsFunc(p.Endpoints, usable) {
		usable = serving
	}
	kind, out := c.groupType(p), []Endpoint{}
	for i := range p.Endpoints {
		e, at := c.endpoint(kind, &p.Endpoints[i])
		if at == location && usable(p.Endpoints[i]) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, compareEndpoints)
	out = slices.Compact(out)
	return out[:min(len(out), c.endpointLimit(p)):len(out)]
}

func serving(e lbmodel.Endpoint) bool { return e.Ready || e.Serving }

func (c *compiler) endpointLimit(p *lbmodel.Pool) int {
	switch {
	case !isInternet(p):
		return maxEndpoints
	case c.f.global:
		return maxGlobalInternet
	default:
		return maxRegionalInternet
	}
}

// providerID is a node's, gce://project/zone/name.
var providerID = regexp.MustCompile(`^gce://[^/]+/([^/]+)/([^/]+)$`)

// endpoint is how one is attached to groups of a type, and where; "" is nowhere.
func (c *compiler) endpoint(kind string, e *lbmodel.Endpoint) (_ Endpoint, location string) {
	node := providerID.FindStringSubmatch(e.Instance)
	ip, err := netip.ParseAddr(e.Address)
	switch {
	case kind == typeInternet && e.FQDN != "":
		return Endpoint{FQDN: e.FQDN, Port: e.Port}, c.s.Location
	case kind == typeInternet, err != nil, lbmodel.FamilyOf(ip) != lbmodel.IPv4:
		return Endpoint{}, ""
	case kind == typeHybrid:
		return Endpoint{IPAddress: ip.Unmap().String(), Port: e.Port}, c.hybridZone(e)
	case node == nil:
		return Endpoint{}, ""
	case kind == typeNode:
		return Endpoint{Instance: node[2]}, node[1]
	default:
		return Endpoint{Instance: node[2], IPAddress: ip.Unmap().String(), Port: e.Port}, node[1]
	}
}

// hybridZone is the zone whose group has an endpoint that is in none of Google's: the
// first.
func (c *compiler) hybridZone(e *lbmodel.Endpoint) string {
	if slices.Contains(c.s.Zones, e.Zone) || len(c.s.Zones) == 0 {
		return e.Zone
	}
	return c.s.Zones[0]
}

// judgeEndpoints tells what of a pool will get no traffic. The rest does.
func (c *compiler) judgeEndpoints(p *lbmodel.Pool) {
	var lost []string
	kind := c.groupType(p)
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if _, at := c.endpoint(kind, e); serving(*e) && !slices.Contains(c.groupLocations(kind), at) {
			lost = append(lost, string(e.Target()))
		}
	}
	if len(lost) > 0 {
		c.find(p.Source, c.source, "ResolvedRefs", "UnsupportedValue", lbmodel.CodeUnsupported,
			"%d of %d endpoints get no traffic, such as %s: they need an IPv4 address and (but for gcp.endpointType %s) a node with a providerID "+
				"gce://PROJECT/ZONE/NAME in one of gcp.zones %s; the others are served", len(lost), len(p.Endpoints), lost[0], typeHybrid, strings.Join(c.s.Zones, ", "))
	}
	for _, at := range c.groupLocations(kind) {
		if n, limit := c.countAt(p, at), c.endpointLimit(p); n > limit {
			c.exceed(p.Source, c.source, "%d endpoints are in %s, and a network endpoint group takes %d; the last get no traffic", n, at, limit)
		}
	}
}

func (c *compiler) countAt(p *lbmodel.Pool, location string) int {
	n, kind := 0, c.groupType(p)
	for i := range p.Endpoints {
		if _, at := c.endpoint(kind, &p.Endpoints[i]); at == location && serving(p.Endpoints[i]) {
			n++
		}
	}
	return n
}
