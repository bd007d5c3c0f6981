package aws

import (
	"cmp"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/aws/settings"
)

// ProviderName is the last part of the controller name gatehouse.dev/aws.
const ProviderName = "aws"

// Compiler is the pure part of the provider: it says what AWS can do and turns a
// gateway into AWS's resources. It has no state.
type Compiler struct{}

var _ providers.Compiler = Compiler{}

// Compile implements providers.Compiler.
//
// A gateway becomes one load balancer (or two, see settings.Flavour) with a security
// group, a Listener for each of its ports, a Rule for each match of its routes, a
// TargetGroup and its Targets for each pool, and a Certificate for each identity that
// is served. Roots for clients are shared: a TrustBundle and its TrustStore. Names:
// what cannot be changed, and the parent that a thing lives in, are hashed into them.
func (Compiler) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	c := newCompiler(gw)
	c.addPools()
	if !c.addressable() {
		return c.own, c.shared, c.findings
	}
	http, streams := c.divide()
	if len(http) > 0 {
		c.addHTTP(http)
	}
	if len(streams) > 0 || c.s.Flavour == settings.ApplicationBehindNetwork && len(http) > 0 {
		c.addNetwork(streams, http)
	}
	return c.own, c.shared, c.findings
}

// Endpoints implements providers.Compiler: the endpoints of a pool are the Targets of
// its target group, which is the gateway's own.
func (Compiler) Endpoints(owner lbmodel.Owner, pool lbmodel.Pool, raw json.RawMessage) lbmodel.Graph {
	c := newCompiler(lbmodel.Gateway{Owner: owner, Settings: raw})
	c.addTargets(c.groupID(&pool), &pool)
	return c.own
}

// noRegion is where nothing is: references need a place. Nobody plans for settings
// without a region.
const noRegion = "unset"

// compiler is the working state of one Compile.
type compiler struct {
	gw       lbmodel.Gateway
	s        *settings.Settings
	encoder  encoder
	readable string // what names of this gateway begin with
	source   lbmodel.Source

	own, shared lbmodel.Graph
	findings    []lbmodel.Finding

	pools map[string]*placedPool // by the model's names
	spent spending
}

// placedPool is a pool and its target group.
type placedPool struct {
	pool *lbmodel.Pool
	id   lbmodel.ID
}

func newCompiler(gw lbmodel.Gateway) *compiler {
	s, _ := readSettings(gw.Settings) // Offers told what is wrong
	s.Region = cmp.Or(s.Region, noRegion)
	o := gw.Owner
	return &compiler{
		gw: gw, s: &s, encoder: encoder{&s}, readable: o.Namespace + "-" + o.Name,
		source: lbmodel.Source{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
		own:    lbmodel.Graph{}, shared: lbmodel.Graph{}, pools: map[string]*placedPool{},
		spent: spending{groups: map[Ref]bool{}},
	}
}

// name is of something in this gateway; parts say what.
func (c *compiler) name(kind, readable string, parts ...string) lbmodel.ID {
	return ownedID(c.gw.Owner, kind, c.s.Region, readable, parts...)
}

// ownedID is the name of something of an owner's.
func ownedID(o lbmodel.Owner, kind, region, readable string, parts ...string) lbmodel.ID {
	name := nameOf(readable, slices.Concat([]string{kind, o.Cluster, o.Kind, o.Namespace, o.Name, o.UID}, parts)...)
	return lbmodel.ID{Kind: kind, Location: region, Name: name}
}

func (c *compiler) add(id lbmodel.ID, spec lbmodel.Spec) Ref {
	r := lbmodel.NewResource(id, spec)
	r.Owner = c.gw.Owner
	c.put(c.own, r)
	return refTo(id)
}

func (c *compiler) put(to lbmodel.Graph, r lbmodel.Resource) {
	if err := to.Add(r); err != nil {
		c.find(c.source, c.source, "Programmed", "Invalid", lbmodel.CodeInternal, "%v", err)
	}
}

func (c *compiler) find(about, parent lbmodel.Source, condition, reason string, code lbmodel.Code, text string, args ...any) {
	f := lbmodel.Finding{About: about, Parent: parent, Condition: condition, Reason: reason, Code: code, Detail: fmt.Sprintf(text, args...)}
	if !slices.Contains(c.findings, f) {
		c.findings = append(c.findings, f)
	}
}

// refuse tells that a part of a route or a listener cannot be done.
func (c *compiler) refuse(about, parent lbmodel.Source, text string, args ...any) {
	c.find(about, parent, "Accepted", "UnsupportedValue", lbmodel.CodeUnsupported, text, args...)
}

// exceed tells that a quota is too small for somebody.
func (c *compiler) exceed(about, parent lbmodel.Source, text string, args ...any) {
	c.find(about, parent, "Programmed", "NoResources", lbmodel.CodeQuota, text, args...)
}

// divide are the listeners of each kind of load balancer, by what the flavour allows.
func (c *compiler) divide() (http, streams []*lbmodel.Listener) {
	for i := range c.gw.Listeners {
		l := &c.gw.Listeners[i]
		if l.Protocol == lbmodel.ProtocolHTTP || l.Protocol == lbmodel.ProtocolHTTPS {
			http = append(http, l)
		} else {
			streams = append(streams, l)
		}
	}
	switch {
	case c.s.Flavour == settings.ApplicationBehindNetwork:
		return http, streams
	case c.s.Flavour == settings.Network:
		c.refuseKind(http, "a Network Load Balancer does not serve them")
		return nil, streams
	case c.s.Flavour == settings.Application || len(http) > 0:
		c.refuseKind(streams, "the gateway is an Application Load Balancer, which does not serve them; use a gateway of their own, or have the operator choose aws.flavour ApplicationBehindNetwork")
		return http, nil
	default:
		return nil, streams
	}
}

func (c *compiler) refuseKind(listeners []*lbmodel.Listener, why string) {
	for _, l := range listeners {
		c.find(l.Source, c.source, "Accepted", "UnsupportedProtocol", lbmodel.CodeUnsupported, "%s listeners: %s", l.Protocol, why)
	}
}

// addressable says whether the gateway can have the addresses that it asks for: a load
// balancer has a DNS name, and is reached from where its scheme says. What asks for
// something else is not served at another address.
func (c *compiler) addressable() bool {
	for i, a := range c.gw.Addresses {
		about := c.source
		about.Section = fmt.Sprintf("addresses[%d]", i)
		if a.Value != "" || a.Routability != "" {
			c.find(about, c.source, "Accepted", "UnsupportedAddress", lbmodel.CodeUnsupported,
				"AWS gives a load balancer its DNS name, and aws.scheme says from where it is reached; leave value and routability out")
			return false
		}
	}
	return true
}

// byPort are listeners that share a port, each in the model's order.
func byPort(listeners []*lbmodel.Listener) [][]*lbmodel.Listener {
	ports := map[int32][]*lbmodel.Listener{}
	for _, l := range listeners {
		ports[l.Port] = append(ports[l.Port], l)
	}
	out := make([][]*lbmodel.Listener, 0, len(ports))
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		out = append(out, ports[port])
	}
	return out
}

// balancerID is a load balancer of ours, or the held one. What is in it and what its
// listeners use carries its name.
func (c *compiler) balancerID(kind string) lbmodel.ID {
	if arn := c.heldBalancer(kind); arn != "" {
		return lbmodel.ID{Kind: KindLoadBalancer, Location: c.s.Region, Name: arn}
	}
	return c.name(KindLoadBalancer, c.readable, kind, c.scheme(kind), c.s.VPC)
}

// scheme is internal for what stands behind another load balancer.
func (c *compiler) scheme(kind string) string {
	if c.inner(kind) {
		return schemeInternal
	}
	return c.s.Scheme
}

// heldBalancer is the ARN of the load balancer that is held, or whose listener is.
func (c *compiler) heldBalancer(kind string) string {
	mark := map[string]string{typeApplication: "/app/", typeNetwork: "/net/"}[kind]
	for _, h := range c.s.Held {
		head, rest, ok := strings.Cut(h.ARN, mark)
		parts := strings.Split(rest, "/")
		if ok && len(parts) >= 2 {
			return strings.TrimSuffix(strings.TrimSuffix(head, ":listener"), ":loadbalancer") + ":loadbalancer" + mark + parts[0] + "/" + parts[1]
		}
	}
	return ""
}

// heldListener is the ARN of the listener that is held for a port, or "".
func (c *compiler) heldListener(port int32) string {
	for _, h := range c.s.Held {
		if h.Kind == KindListener && h.Port == port {
			return h.ARN
		}
	}
	return ""
}

// external adds an object that is not ours, by its ARN.
func (c *compiler) external(id lbmodel.ID, spec lbmodel.Spec) Ref {
	r := lbmodel.NewResource(id, spec).With(lbmodel.External)
	r.Handle = lbmodel.Handle(id.Name)
	c.put(c.own, r)
	return refTo(id)
}

// encode writes a value deterministically. The types of this package can always be
// encoded, so a failure is a bug that the first test shows.
func encode(v any) string {
	out, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("aws: %T cannot be encoded: %v", v, err))
	}
	return string(out)
}
