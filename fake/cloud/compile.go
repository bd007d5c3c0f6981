package cloud

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/settings"
	"gatehouse.dev/lbmodel"
)

// Compile implements providers.Compiler.
//
// A gateway becomes a Balancer at one or more Addresses, a Listener for each of
// its own, a Rule for each rule (TLS, TCP and UDP forwards are rules too), a Pool
// for each pool and a Certificate for each identity. Trust and EndpointGroups are
// shared. Names: what cannot be changed, and the parent that a thing lives in, are
// hashed into them.
func (p *Provider) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	c := newCompiler(gw)
	c.shareTrust()
	c.addCertificates()
	c.addPools()
	c.addBalancer(c.addAddresses(), c.addNetwork())
	for _, l := range gw.Listeners {
		c.addListener(l)
	}
	return c.own, c.shared, c.findings
}

// Endpoints implements providers.Compiler: the endpoints of a pool are in its
// shared EndpointGroup, and nowhere else; whose gateway asks makes no difference.
func (p *Provider) Endpoints(_ lbmodel.Owner, pool lbmodel.Pool, raw json.RawMessage) lbmodel.Graph {
	s, _ := readSettings(raw)
	id, group := groupOf(pool, s.Location)
	return lbmodel.Graph{id: lbmodel.NewResource(id, group).With(lbmodel.Shared)}
}

// compiler is the working state of one Compile.
type compiler struct {
	gw       lbmodel.Gateway
	settings settings.Settings
	name     string // of the balancer, which everything of this gateway carries
	readable string // what names of this gateway begin with
	source   lbmodel.Source

	own, shared lbmodel.Graph
	findings    []lbmodel.Finding

	pools, identities, trust map[string]Ref // by the model's names
}

func newCompiler(gw lbmodel.Gateway) *compiler {
	o := gw.Owner
	readable := o.Namespace + "-" + o.Name
	s, _ := readSettings(gw.Settings) // Offers told what is wrong
	return &compiler{
		gw: gw, settings: s, readable: readable,
		name:   Name(readable, KindBalancer, o.Cluster, o.Kind, o.Namespace, o.Name, o.UID),
		source: ownerSource(o),
		own:    lbmodel.Graph{}, shared: lbmodel.Graph{},
		pools: map[string]Ref{}, identities: map[string]Ref{}, trust: map[string]Ref{},
	}
}

func ownerSource(o lbmodel.Owner) lbmodel.Source {
	return lbmodel.Source{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// id names a resource of this gateway; parts say which.
func (c *compiler) id(kind, readable string, parts ...string) lbmodel.ID {
	name := Name(c.readable+"-"+readable, slices.Concat([]string{kind, c.name}, parts)...)
	return lbmodel.ID{Kind: kind, Location: c.settings.Location, Name: name}
}

func (c *compiler) add(id lbmodel.ID, spec lbmodel.Spec) Ref {
	r := lbmodel.NewResource(id, spec)
	r.Owner = c.gw.Owner
	c.put(c.own, r)
	return RefTo(id)
}

func (c *compiler) put(to lbmodel.Graph, r lbmodel.Resource) {
	if err := to.Add(r); err != nil {
		c.find(c.source, "Programmed", "Invalid", lbmodel.CodeInternal, "%v", err)
	}
}

func (c *compiler) find(about lbmodel.Source, condition, reason string, code lbmodel.Code, detail string, args ...any) {
	c.findings = append(c.findings, lbmodel.Finding{
		About: about, Parent: c.source, Condition: condition, Reason: reason, Code: code, Detail: fmt.Sprintf(detail, args...),
	})
}

// addAddresses reserves what the gateway asks for, or one address of any value.
// A request that cannot be met is told and left out; it is not met by another
// address.
func (c *compiler) addAddresses() []Ref {
	requests := c.gw.Addresses
	if len(requests) == 0 {
		requests = []lbmodel.AddressRequest{{Type: lbmodel.AddressIP}}
	}
	var out []Ref
	for i, r := range requests {
		about := c.source
		about.Section = "addresses[" + strconv.Itoa(i) + "]"
		if ref, ok := c.addAddress(i, r, about); ok {
			out = append(out, ref)
		}
	}
	return out
}

func (c *compiler) addAddress(i int, r lbmodel.AddressRequest, about lbmodel.Source) (Ref, bool) {
	switch {
	case r.Type == lbmodel.AddressNamed && strings.HasPrefix(r.Value, "fake/"+c.settings.Location+"/"+KindAddress+"/"):
		return c.external(KindAddress, r.Value, &Address{}, lbmodel.External), true
	case r.Type == lbmodel.AddressNamed:
		c.find(about, "Programmed", "AddressNotUsable", lbmodel.CodeInvalid,
			"%q is not the handle of an address in %s, such as fake/%s/%s/7", r.Value, c.settings.Location, c.settings.Location, KindAddress)
		return "", false
	case r.Type != lbmodel.AddressIP:
		c.find(about, "Accepted", "UnsupportedAddress", lbmodel.CodeUnsupported,
			"addresses of type %s are not supported; use %s, or %s with the handle of a reserved address", r.Type, lbmodel.AddressIP, lbmodel.AddressNamed)
		return "", false
	case r.Routability != "":
		c.find(about, "Accepted", "UnsupportedAddress", lbmodel.CodeUnsupported,
			"routability %q is not supported; leave it out", r.Routability)
		return "", false
	}
	spec := &Address{Value: r.Value, Prefixes: ofFamily(c.settings.AddressPool, r.Family), source: about}
	if len(spec.Prefixes) == 0 {
		c.find(about, "Programmed", "AddressNotUsable", lbmodel.CodeInvalid, "no prefix of fake.addressPool is of family %s; add one", r.Family)
		return "", false
	}
	if err := spec.check(); err != nil {
		c.find(about, "Programmed", "AddressNotUsable", lbmodel.CodeInvalid, "%v", err)
		return "", false
	}
	if ip, err := netip.ParseAddr(r.Value); err == nil {
		spec.Value = ip.String()
	}
	return c.add(c.id(KindAddress, "address", string(encode(spec)), c.turn(i, r)), spec), true
}

// turn tells equal requests of one gateway apart.
func (c *compiler) turn(i int, r lbmodel.AddressRequest) string {
	n := 0
	for _, before := range c.gw.Addresses[:min(i, len(c.gw.Addresses))] {
		if before == r {
			n++
		}
	}
	return strconv.Itoa(n)
}

// external adds an object that is not ours, by its handle.
func (c *compiler) external(kind, handle string, spec lbmodel.Spec, hold lbmodel.Hold) Ref {
	r := lbmodel.NewResource(foreignID(kind, c.settings.Location, lbmodel.Handle(handle)), spec).With(hold)
	r.Handle = lbmodel.Handle(handle)
	c.put(c.own, r)
	return RefTo(r.ID)
}

// foreignID is our name for somebody else's object.
func foreignID(kind, location string, h lbmodel.Handle) lbmodel.ID {
	return lbmodel.ID{Kind: kind, Location: location, Name: string(h)}
}

// addNetwork adopts the network of the settings, as far as they say what it should
// be.
func (c *compiler) addNetwork() Ref {
	switch {
	case c.settings.Network == "":
		return ""
	case c.settings.NetworkIdleSeconds == 0:
		return c.external(KindNetwork, c.settings.Network, &Network{}, lbmodel.External)
	default:
		return c.external(KindNetwork, c.settings.Network, &Network{IdleSeconds: c.settings.NetworkIdleSeconds}, lbmodel.Adopted)
	}
}

func (c *compiler) addBalancer(addresses []Ref, network Ref) {
	id := lbmodel.ID{Kind: KindBalancer, Location: c.settings.Location, Name: c.name}
	c.add(id, &Balancer{
		Addresses: addresses, Network: network, Labels: c.gw.Labels,
		Loopback: c.settings.AllowLoopbackEndpoints, source: c.source,
	})
}

// shareTrust adds the roots; they are named in the cluster, not in the gateway.
func (c *compiler) shareTrust() {
	for _, t := range c.gw.Trust {
		id := lbmodel.ID{Kind: KindTrust, Location: c.settings.Location, Name: Name(t.Name, KindTrust, t.Name, strconv.FormatBool(t.System))}
		spec := &Trust{System: t.System, Roots: t.Roots, Rotation: rotationOf(t), source: t.Source}
		c.put(c.shared, lbmodel.NewResource(id, spec).With(lbmodel.Shared))
		c.trust[t.Name] = RefTo(id)
	}
}

// rotationOf is nil where roots come and go with their source at once.
func rotationOf(t lbmodel.Trust) *Rotation {
	if t.Overlap == 0 && len(t.Seen) == 0 && !t.Unknown {
		return nil
	}
	return &Rotation{Overlap: t.Overlap, Seen: t.Seen, Unknown: t.Unknown}
}

// addCertificates adds the identities. The leaf of one that is kept in a Secret is
// known; of others it is known once Place has seen, or Apply has asked for, it.
func (c *compiler) addCertificates() {
	for _, identity := range c.gw.Identities {
		spec := &Certificate{Identity: identity, Leaf: lbmodel.KnownAfterApply}
		spec.Identity.Leaf = nil
		if identity.Leaf != nil {
			spec.Leaf = identity.Leaf.SHA256
		}
		c.identities[identity.Name] = c.add(c.id(KindCertificate, identity.Name, identity.Name), spec)
	}
}
