package aws

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// The protocol versions of target groups.
const (
	versionHTTP1 = "HTTP1"
	versionHTTP2 = "HTTP2"
	versionGRPC  = "GRPC"
)

// addPools adds the pools' target groups with their targets.
func (c *compiler) addPools() {
	spent := map[string]int{}
	for i := range c.gw.Pools {
		p := &c.gw.Pools[i]
		id := c.groupID(p)
		c.pools[p.Name] = &placedPool{p, id}
		c.add(id, c.targetGroup(p))
		c.addTargets(id, p)
		c.judgeTargets(p, spent)
	}
}

// judgeTargets tells what of a pool will not be registered. Its targets stay wanted:
// the fast path, which sees one pool, could not say otherwise.
func (c *compiler) judgeTargets(p *lbmodel.Pool, spent map[string]int) {
	kind, n := balancerOf(p), len(c.targets(p.Endpoints))
	if n == 0 && slices.ContainsFunc(p.Endpoints, serving) {
		c.refuse(p.Source, c.source, "none of the %d endpoints can be registered: they are not of aws.targetFamily %s, or have no instance for aws.targetType %s",
			len(p.Endpoints), c.s.TargetFamily, c.s.TargetType)
	}
	quota := cmp.Or(c.s.Quotas.TargetsPerLoadBalancer, map[string]int{typeApplication: 1000, typeNetwork: 3000}[kind])
	if spent[kind]+n > quota {
		c.exceed(p.Source, c.source, "the load balancer has %d targets already, %d more are beyond the quota of %d; move routes to another gateway, or raise it", spent[kind], n, quota)
	}
	spent[kind] += n
}

// groupID carries what of a target group cannot be changed, and its load balancer:
// no other one may use it.
func (c *compiler) groupID(p *lbmodel.Pool) lbmodel.ID {
	return c.name(KindTargetGroup, c.gw.Owner.Name+"-"+p.Name, c.balancerID(balancerOf(p)).Name, p.Name,
		protocolOf(p), versionOf(p), c.s.TargetType, c.s.TargetFamily)
}

func balancerOf(p *lbmodel.Pool) string {
	if isStream(p) {
		return typeNetwork
	}
	return typeApplication
}

func isStream(p *lbmodel.Pool) bool {
	return p.Protocol == lbmodel.PoolTCP || p.Protocol == lbmodel.PoolUDP
}

func protocolOf(p *lbmodel.Pool) string {
	encrypted := p.TLS != nil || p.Protocol == lbmodel.PoolHTTP2
	switch {
	case p.Protocol == lbmodel.PoolUDP:
		return "UDP"
	case p.Protocol == lbmodel.PoolTCP && encrypted:
		return "TLS"
	case p.Protocol == lbmodel.PoolTCP:
		return "TCP"
	case encrypted:
		return "HTTPS"
	default:
		return "HTTP"
	}
}

// versionOf is "" for connections.
func versionOf(p *lbmodel.Pool) string {
	switch p.Protocol {
	case lbmodel.PoolTCP, lbmodel.PoolUDP:
		return ""
	case lbmodel.PoolH2C, lbmodel.PoolHTTP2:
		return versionHTTP2
	case lbmodel.PoolGRPC:
		return versionGRPC
	default:
		return versionHTTP1
	}
}

func (c *compiler) targetGroup(p *lbmodel.Pool) *TargetGroup {
	out := &TargetGroup{
		Protocol: protocolOf(p), Version: versionOf(p), TargetType: c.s.TargetType, Family: c.s.TargetFamily, Port: 80,
		VPC: c.s.VPC, site: c.site(), Health: defaultHealth(p), Attributes: map[string]string{},
		sources: sources(p.Source), hop: p.Name,
	}
	maps.Copy(out.Attributes, c.s.TargetGroupAttributes)
	if p.TLS != nil {
		out.sources = sources(p.Source, p.TLS.Source)
	}
	if p.Health != nil {
		h, err := healthOf(p)
		if err != nil {
			c.refuse(cmp.Or(p.Health.Source, p.Source), c.source, "the health check is left out: %v", err)
		} else {
			out.Health = h
		}
	}
	c.persist(out, p)
	out.Attributes = different(out.Attributes, groupDefaults(out))
	return out
}

// persist makes a Network Load Balancer keep clients at their targets.
func (c *compiler) persist(g *TargetGroup, p *lbmodel.Pool) {
	switch {
	case p.Persistence == nil:
	case isStream(p) && g.Protocol != "TLS" && p.Persistence.Kind == lbmodel.PersistSource:
		g.Attributes["stickiness.enabled"], g.Attributes["stickiness.type"] = "true", "source_ip"
	default:
		c.refuse(p.Source, c.source, "session persistence is left out: AWS has it by client address, for TCP and UDP only")
	}
}

// defaultHealth finds out whether somebody answers at all: a path that everybody
// serves is not known.
func defaultHealth(p *lbmodel.Pool) Health {
	out := Health{Protocol: protocolOf(p), Path: "/", Matcher: "200-499", Interval: 10, Timeout: 5, Healthy: 2, Unhealthy: 3}
	switch {
	case isStream(p):
		out.Protocol, out.Path, out.Matcher = "TCP", "", ""
	case versionOf(p) == versionGRPC:
		out.Path, out.Matcher = "/AWS.ALB/healthcheck", "0-99"
	}
	return out
}

// healthOf is a check as it was asked for, or what of it AWS cannot do.
func healthOf(p *lbmodel.Pool) (Health, error) {
	h := p.Health
	out := Health{
		Protocol: h.Protocol, Port: h.Port, Path: cmp.Or(h.Path, "/"), Matcher: "200-399",
		Interval: seconds(h.Interval, 10), Timeout: seconds(h.Timeout, 5), Healthy: cmp.Or(h.Healthy, 2), Unhealthy: cmp.Or(h.Unhealthy, 3),
	}
	grpc := versionOf(p) == versionGRPC
	switch {
	case h.Host != "" || h.Service != "":
		return out, fmt.Errorf("AWS sends neither a Host nor a gRPC service name of one's own")
	case h.Protocol == "TCP" && !isStream(p):
		return out, fmt.Errorf("an Application Load Balancer checks by HTTP, HTTPS or gRPC")
	case (h.Protocol == "GRPC") != grpc:
		return out, fmt.Errorf("gRPC is checked by gRPC, and nothing else is")
	case out.Interval < 5 || out.Interval > 300 || out.Timeout < 2 || out.Timeout > 120 || out.Timeout > out.Interval:
		return out, fmt.Errorf("the interval must be 5 to 300 s, the timeout 2 to 120 s and no longer than the interval")
	case out.Healthy < 2 || out.Healthy > 10 || out.Unhealthy < 2 || out.Unhealthy > 10:
		return out, fmt.Errorf("AWS counts 2 to 10 successes or failures")
	case h.Protocol == "TCP":
		out.Path, out.Matcher = "", ""
	case grpc:
		out.Protocol, out.Path, out.Matcher = protocolOf(p), "/grpc.health.v1.Health/Check", "0"
	}
	return out, nil
}

// seconds is a duration in whole seconds, or the default; one that has none is 0.
func seconds(d lbmodel.Duration, unset int32) int32 {
	if d == 0 {
		return unset
	}
	return int32(time.Duration(d) / time.Second)
}

// addTargets registers a pool's endpoints. It is the part of Compile that the fast
// path repeats.
func (c *compiler) addTargets(group lbmodel.ID, p *lbmodel.Pool) {
	id := group
	id.Kind = KindTargets
	c.add(id, &Targets{Group: refTo(group), Targets: c.targets(p.Endpoints), Unknown: p.Endpoints == nil,
		most: c.s.Quotas.TargetsPerGroup, nodes: c.s.TargetType == targetInstance, source: p.Source})
}

// targets are the endpoints that new traffic may go to: those that are ready, or,
// where none is, those that still serve while they end.
func (c *compiler) targets(endpoints []lbmodel.Endpoint) []Target {
	out := c.registered(endpoints, lbmodel.Endpoint.Usable)
	if len(out) == 0 {
		out = c.registered(endpoints, serving)
	}
	return out
}

func serving(e lbmodel.Endpoint) bool { return e.Ready || e.Serving }

func (c *compiler) registered(endpoints []lbmodel.Endpoint, usable func(lbmodel.Endpoint) bool) []Target {
	out := []Target{}
	for _, e := range endpoints {
		if id := c.targetID(&e); usable(e) && id != "" {
			out = append(out, Target{ID: id, Port: e.Port})
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port)) })
	return slices.Compact(out)
}

// targetID is how an endpoint is registered; "" is not at all: it is of the other IP
// family, or no instance.
func (c *compiler) targetID(e *lbmodel.Endpoint) string {
	if c.s.TargetType == targetInstance {
		return instanceID.FindString(e.Instance)
	}
	ip, err := netip.ParseAddr(e.Address)
	if err != nil || (lbmodel.FamilyOf(ip) == lbmodel.IPv6) != (c.s.TargetFamily == familyIPv6) {
		return ""
	}
	return ip.Unmap().String()
}

// instanceID is the end of a node's providerID, aws:///eu-west-1a/i-0abc.
var instanceID = regexp.MustCompile(`\bi-[0-9a-f]+$`)
