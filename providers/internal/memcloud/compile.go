package memcloud

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"gatehouse.dev/lbmodel"
)

// Settings are this provider's settings of a gateway.
type Settings struct {
	Location string         `json:"location"`
	Class    string         `json:"class,omitzero"` // of the address
	Label    string         `json:"label,omitzero"`
	Adopt    lbmodel.Handle `json:"adopt,omitzero"` // an Address to use instead of an own one
	// Private groups of endpoints are the gateway's own and named after it, as
	// target groups are in clouds that let only one balancer use one.
	Private bool `json:"private,omitzero"`
}

// Provider is the provider over a Service.
type Provider struct {
	service  *Service
	compiled atomic.Int32 // for the bugs that remember
}

// NewProvider is a new client of the cloud.
func (s *Service) NewProvider() *Provider { return &Provider{service: s} }

var features = []lbmodel.Feature{
	lbmodel.FeatureHTTP, lbmodel.FeatureHTTPS, lbmodel.FeatureWeights, lbmodel.FeatureFixedShare,
	lbmodel.FeatureManyCertificates, lbmodel.FeatureListenerIsolation, lbmodel.FeatureHTTP2, lbmodel.FeatureH2C,
	lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSSNI, lbmodel.FeatureBackendTLSDNSSAN,
	lbmodel.FeatureBackendTLSURISAN, lbmodel.FeatureBackendTLSIdentity, lbmodel.FeatureBackendTLSPerBackend,
}

// Offers implements providers.Compiler.
func (p *Provider) Offers(json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	has := map[lbmodel.Feature]lbmodel.Support{}
	for _, f := range features {
		has[f] = lbmodel.Yes
	}
	if p.service.bug == Overpromises {
		has[lbmodel.FeatureTCP] = lbmodel.Yes
	}
	return lbmodel.Features{Has: has}, nil
}

// compiler is one Compile.
type compiler struct {
	gateway     lbmodel.Gateway
	settings    Settings
	prefix      string
	own, shared lbmodel.Graph
	address     lbmodel.ID
	rules       int
	bug         Bug
}

// Compile implements providers.Compiler.
func (p *Provider) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	settings, err := parse(gw.Settings)
	if err != nil {
		return nil, nil, []lbmodel.Finding{{Condition: "Accepted", Reason: "InvalidParameters", Detail: err.Error(), Code: lbmodel.CodeInvalid}}
	}
	c := &compiler{
		gateway: gw, settings: settings, prefix: prefixOf(gw.Owner),
		own: lbmodel.Graph{}, shared: lbmodel.Graph{}, bug: p.service.bug,
	}
	c.compileAddress(p)
	c.compileIdentities()
	c.compilePools()
	for _, l := range gw.Listeners {
		c.compileListener(l)
	}
	return c.own, c.shared, nil
}

// prefixOf begins the names of what is a gateway's own.
func prefixOf(o lbmodel.Owner) string { return hash(o.String() + o.UID) }

func parse(raw []byte) (Settings, error) {
	var s Settings
	if err := jsonv2.Unmarshal(raw, &s, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

func (c *compiler) id(kind, name string) lbmodel.ID {
	return lbmodel.ID{Kind: kind, Location: c.settings.Location, Name: name}
}

func (c *compiler) compileAddress(p *Provider) {
	label := c.settings.Label
	switch n := p.compiled.Add(1); c.bug {
	case CompilesByChance:
		label = strconv.Itoa(int(n % 2))
	case CompilesByHistory:
		label = strconv.FormatBool(n > 1)
	}
	if c.settings.Adopt != "" {
		c.address = c.id("Address", heldPrefix+string(c.settings.Adopt))
		r := lbmodel.NewResource(c.address, Held{Label: label}).With(lbmodel.Adopted)
		r.Handle = c.settings.Adopt
		c.own[r.ID] = r
		return
	}
	c.address = c.id("Address", c.prefix+"-"+hash(c.settings.Class))
	c.add(c.address, Address{Class: c.settings.Class, Label: label})
}

func (c *compiler) compileIdentities() {
	for _, identity := range c.gateway.Identities {
		leaf := ""
		if identity.Leaf != nil {
			leaf = identity.Leaf.SHA256
		}
		identity.Source, identity.Leaf = lbmodel.Source{}, nil
		c.add(c.identity(identity.Name), Identity{Wish: identity, Leaf: leaf, bug: c.bug})
	}
}

func (c *compiler) identity(name string) lbmodel.ID {
	if name == "" {
		return lbmodel.ID{}
	}
	return c.id("Identity", c.prefix+"-"+name)
}

func (c *compiler) compilePools() {
	trust := map[string]lbmodel.Trust{}
	for _, t := range c.gateway.Trust {
		trust[t.Name] = t
	}
	for _, pool := range c.gateway.Pools {
		group := groupOf(c.gateway.Owner, pool, c.settings)
		if group.Hold == lbmodel.Shared {
			c.shared[group.ID] = group
		} else {
			c.own[group.ID] = group
		}
		b := Backend{Protocol: pool.Protocol, Group: group.ID}
		if t := pool.TLS; t != nil && t.Trust != "" {
			b.SNI, b.Trust, b.Identity = t.SNI, c.id("Trust", t.Trust), c.identity(t.Identity)
			c.shared[b.Trust] = c.trustOf(b.Trust, trust[t.Trust])
		}
		c.add(c.backend(pool.Name), b)
	}
}

func groupOf(owner lbmodel.Owner, pool lbmodel.Pool, settings Settings) lbmodel.Resource {
	g := Group{Endpoints: []string{}, Unknown: pool.Endpoints == nil}
	for _, e := range pool.Endpoints {
		if e.Usable() {
			g.Endpoints = append(g.Endpoints, net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))))
		}
	}
	id := lbmodel.ID{Kind: "Group", Location: settings.Location, Name: pool.Group}
	if settings.Private {
		id.Name = prefixOf(owner) + "-" + pool.Group
		return lbmodel.NewResource(id, g)
	}
	return lbmodel.NewResource(id, g).With(lbmodel.Shared)
}

func (c *compiler) trustOf(id lbmodel.ID, t lbmodel.Trust) lbmodel.Resource {
	t.Source = lbmodel.Source{}
	return lbmodel.NewResource(id, Trust{Wish: &t, bug: c.bug}).With(lbmodel.Shared)
}

// backend is named after what cannot be changed: a pool of another protocol is
// another backend.
func (c *compiler) backend(pool string) lbmodel.ID {
	for _, p := range c.gateway.Pools {
		if p.Name == pool {
			return c.id("Backend", c.prefix+"-"+hash(pool)+"-"+hash(string(p.Protocol)))
		}
	}
	return lbmodel.ID{}
}

func (c *compiler) compileListener(l lbmodel.Listener) {
	id := c.id("Listener", c.address.Name+"/"+strconv.Itoa(int(l.Port)))
	if c.settings.Adopt != "" {
		id.Name += "/" + c.prefix
	}
	spec := Listener{Address: c.address, Port: l.Port, Protocol: l.Protocol}
	if l.TLS != nil {
		for _, name := range l.TLS.Certificates {
			spec.Identities = append(spec.Identities, c.identity(name))
		}
	}
	c.add(id, spec)
	for _, r := range l.Rules {
		c.compileRule(id, r)
	}
}

func (c *compiler) compileRule(listener lbmodel.ID, r lbmodel.Rule) {
	c.rules++
	spec := Rule{Listener: listener, Address: c.address, Priority: c.rules * step, Host: r.Hostname, Path: r.Match.Path, bug: c.bug}
	switch {
	case r.Action.Fixed != nil:
		spec.Fixed = r.Action.Fixed.Status
	case r.Action.Forward != nil:
		for _, b := range r.Action.Forward.Backends {
			if b.Pool != "" && b.Weight > 0 {
				spec.Shares = append(spec.Shares, Share{Backend: c.backend(b.Pool), Weight: b.Weight})
			}
		}
	}
	name := hash(fmt.Sprint(r.Source, r.Hostname, r.Match))
	c.add(c.id("Rule", listener.Name+"/"+name), spec)
}

func (c *compiler) add(id lbmodel.ID, spec lbmodel.Spec) { c.own[id] = lbmodel.NewResource(id, spec) }

// Endpoints implements providers.Compiler.
func (p *Provider) Endpoints(owner lbmodel.Owner, pool lbmodel.Pool, raw json.RawMessage) lbmodel.Graph {
	settings, err := parse(raw)
	if err != nil {
		return nil // Compile says so
	}
	if p.service.bug == FastPathDiffers && len(pool.Endpoints) > 0 {
		pool.Endpoints = pool.Endpoints[:len(pool.Endpoints)-1]
	}
	group := groupOf(owner, pool, settings)
	return lbmodel.Graph{group.ID: group}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:5])
}
