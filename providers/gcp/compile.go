package gcp

import (
	"cmp"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/gcp/settings"
	"gatehouse.dev/providers/naming"
)

// ProviderName is the last part of the controller name gatehouse.dev/gcp.
const ProviderName = "gcp"

// nameLimit is the greatest length of a name, in bytes (RFC 1035, as the API has it).
const nameLimit = 63

// Compiler is the pure part of the provider: it says what Google Cloud can do and turns
// a gateway into its resources. It has no state.
type Compiler struct{}

var _ providers.Compiler = Compiler{}

// Compile implements providers.Compiler.
//
// A gateway becomes a ForwardingRule for each port of each Address, with a target proxy
// and a UrlMap (HTTP, HTTPS) or a TlsRoute (TLS), a BackendService for each pool, and a
// Certificate for each identity that is served or shown to backends. Shared, by the
// gateways of a cluster at one location, are roots (TrustConfig), endpoints
// (NetworkEndpointGroup, NetworkEndpoints), health checks and firewall rules. Names:
// what cannot be changed is hashed into them.
func (Compiler) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	c := newCompiler(gw)
	c.addTrust()
	c.addPools()
	addresses := c.addresses()
	if len(addresses) == 0 {
		return c.own, c.shared, c.findings
	}
	for _, listeners := range byPort(gw.Listeners) {
		c.addPort(listeners, addresses)
	}
	return c.own, c.shared, c.findings
}

// Endpoints implements providers.Compiler: the endpoints of a pool are in the
// NetworkEndpoints of its groups, and their ports in its firewall rule. All of it is
// shared: whose gateway asks makes no difference. The groups are there already.
func (Compiler) Endpoints(owner lbmodel.Owner, pool lbmodel.Pool, raw json.RawMessage) lbmodel.Graph {
	c := newCompiler(lbmodel.Gateway{Owner: owner, Settings: raw})
	if c.heldService(&pool) == "" && c.judgePool(&pool) == nil {
		c.addEndpoints(&pool)
	}
	maps.DeleteFunc(c.shared, func(id lbmodel.ID, _ lbmodel.Resource) bool { return id.Kind == KindNetworkEndpointGroup })
	return c.shared
}

// nowhere is where nothing is: references need a place. Nobody plans for settings
// without a location.
const nowhere = "unset"

// compiler is the working state of one Compile.
type compiler struct {
	gw       lbmodel.Gateway
	s        *settings.Settings
	f        flavour
	readable string // what names of this gateway begin with
	source   lbmodel.Source

	own, shared lbmodel.Graph
	findings    []lbmodel.Finding

	pools    map[string]*placedPool // by the model's names
	trust    map[string]placedTrust // likewise
	rules    map[Ref]int            // forwarding rules by address
	nobodies map[string]Ref         // backend services of nobody, by protocol
}

// placedPool is a pool and how its backend services are made.
type placedPool struct {
	pool  *lbmodel.Pool
	spec  *BackendService
	held  Ref
	wrong error // why no traffic may go there
}

// placedTrust is a set of roots.
type placedTrust struct {
	ref    Ref // "" for well-known roots
	system bool
	wrong  error
}

func newCompiler(gw lbmodel.Gateway) *compiler {
	s, _ := readSettings(gw.Settings) // Offers told what is wrong
	s.Location = cmp.Or(s.Location, nowhere)
	o := gw.Owner
	return &compiler{
		gw: gw, s: &s, f: flavourOf(s.Flavour), readable: o.Namespace + "-" + o.Name,
		source: lbmodel.Source{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
		own:    lbmodel.Graph{}, shared: lbmodel.Graph{},
		pools: map[string]*placedPool{}, trust: map[string]placedTrust{}, rules: map[Ref]int{}, nobodies: map[string]Ref{},
	}
}

// name is of something in this gateway; parts say what. The flavour is among them:
// nothing of one serves another.
func (c *compiler) name(kind, readable string, parts ...string) lbmodel.ID {
	o := c.gw.Owner
	name := naming.Hashed(c.readable+"-"+readable, nameLimit,
		slices.Concat([]string{kind, o.Cluster, o.Kind, o.Namespace, o.Name, o.UID, string(c.s.Flavour)}, parts)...)
	return lbmodel.ID{Kind: kind, Location: c.s.Location, Name: name}
}

// sharedName is of something that the gateways of the cluster have together.
func (c *compiler) sharedName(kind, location, readable string, parts ...string) lbmodel.ID {
	name := naming.Hashed(readable, nameLimit, slices.Concat([]string{kind, c.gw.Owner.Cluster, c.s.Location}, parts)...)
	return lbmodel.ID{Kind: kind, Location: location, Name: name}
}

func (c *compiler) add(id lbmodel.ID, spec lbmodel.Spec) Ref {
	r := lbmodel.NewResource(id, spec)
	r.Owner = c.gw.Owner
	c.put(c.own, r)
	return refTo(id)
}

func (c *compiler) share(id lbmodel.ID, spec lbmodel.Spec) Ref {
	c.put(c.shared, lbmodel.NewResource(id, spec).With(lbmodel.Shared))
	return refTo(id)
}

// external adds an object that is not ours, by its path.
func (c *compiler) external(id lbmodel.ID) Ref {
	r := lbmodel.NewResource(id, &Foreign{}).With(lbmodel.External)
	r.Handle = lbmodel.Handle(Path(id, c.s.Project))
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

// refusal is an error that has a condition and a reason of its own.
type refusal struct {
	condition, reason string
	err               error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// refuseFor is refuse with the words of an error.
func (c *compiler) refuseFor(about, parent lbmodel.Source, err error) {
	var own *refusal
	if errors.As(err, &own) {
		c.find(about, parent, own.condition, own.reason, lbmodel.CodeUnsupported, "%v", err)
		return
	}
	c.refuse(about, parent, "%v", err)
}

// exceed tells that a quota is too small for somebody.
func (c *compiler) exceed(about, parent lbmodel.Source, text string, args ...any) {
	c.find(about, parent, "Programmed", "NoResources", lbmodel.CodeQuota, text, args...)
}

// byPort are listeners that share a port of one transport, each in the model's order.
func byPort(listeners []lbmodel.Listener) [][]*lbmodel.Listener {
	type port struct {
		number int32
		udp    bool
	}
	ports := map[port][]*lbmodel.Listener{}
	for i := range listeners {
		l := &listeners[i]
		p := port{l.Port, l.Protocol == lbmodel.ProtocolUDP}
		ports[p] = append(ports[p], l)
	}
	out := make([][]*lbmodel.Listener, 0, len(ports))
	for _, p := range slices.SortedFunc(maps.Keys(ports), func(a, b port) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(strconv.FormatBool(a.udp), strconv.FormatBool(b.udp)))
	}) {
		out = append(out, ports[p])
	}
	return out
}

// addPort serves the listeners of a port. They share what Google Cloud has once for a
// port: the first says, and those that want something else are refused.
func (c *compiler) addPort(listeners []*lbmodel.Listener, addresses []Ref) {
	alike := c.alike(listeners)
	first := alike[0]
	var target Ref
	switch {
	case c.f.passthrough:
		c.addPassthrough(alike, addresses)
		return
	case first.Protocol == lbmodel.ProtocolHTTP || first.Protocol == lbmodel.ProtocolHTTPS:
		target = c.addHTTP(alike, listeners)
	case first.Protocol == lbmodel.ProtocolTCP:
		target = c.addTCP(first)
	case first.Protocol == lbmodel.ProtocolTLS:
		target = c.addTLS(alike)
	default:
		c.find(first.Source, c.source, "Accepted", "UnsupportedProtocol", lbmodel.CodeUnsupported,
			"%s listeners need gcp.flavour PassthroughExternal or PassthroughInternal", first.Protocol)
	}
	if target != "" {
		c.addForwardingRules(alike, addresses, &ForwardingRule{Target: target})
	}
}

// alike are the listeners that agree with the first one; the others are told.
func (c *compiler) alike(listeners []*lbmodel.Listener) []*lbmodel.Listener {
	first := listeners[0]
	var out []*lbmodel.Listener
	for _, l := range listeners {
		var what string
		switch {
		case l.Protocol != first.Protocol:
			what = "protocol"
		case encode(validationOf(l)) != encode(validationOf(first)):
			what = "verification of clients"
		default:
			out = append(out, l)
			continue
		}
		c.refuse(l.Source, c.source, "Google Cloud has one %s for a port, and listener %s of port %d has another; use another port", what, first.Name, l.Port)
	}
	return out
}

// validationOf is how clients are verified, or nil.
func validationOf(l *lbmodel.Listener) *lbmodel.ClientValidation {
	if l.TLS == nil {
		return nil
	}
	return l.TLS.Validation
}

// listenerSources are those of listeners, for what serves all of them.
func listenerSources(listeners []*lbmodel.Listener) []lbmodel.Source {
	var out []lbmodel.Source
	for _, l := range listeners {
		out = append(out, l.Source)
	}
	return sources(out...)
}

func portText(port int32) string { return strconv.Itoa(int(port)) }

func assumes(s *settings.Settings, a settings.Assumption) bool { return slices.Contains(s.Assume, a) }

// encode writes a value deterministically. The types of this package can always be
// encoded, so a failure is a bug that the first test shows.
func encode(v any) string {
	out, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("gcp: %T cannot be encoded: %v", v, err))
	}
	return string(out)
}
