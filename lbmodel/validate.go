package lbmodel

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Validate says everything that is wrong with a gateway by itself: names that
// nothing bears or that two things bear, ports and addresses that cannot be,
// values that no request could match. Each error names the object and the field.
// What translation makes is always valid, so that providers need not look; what
// a provider can do is Restrict's business.
func Validate(g Gateway) error {
	v := &validation{pools: map[string]bool{}, trust: map[string]bool{}, identities: map[string]bool{}}
	v.names(&g)
	v.addresses(&g)
	v.eachPool(g.Pools)
	v.eachTrust(g.Trust)
	v.eachIdentity(g.Identities)
	v.eachListener(g.Listeners)
	if len(g.Settings) > 0 && !g.Settings.IsValid() {
		v.fail(g.source(), "settings", "not valid JSON")
	}
	if len(v.problems) == 0 {
		return nil
	}
	return Errorf(CodeInvalid, "validate", ID{}, "%w", errors.Join(v.problems...))
}

// validation is one run of Validate: what exists, and what is wrong.
type validation struct {
	problems                 []error
	pools, trust, identities map[string]bool
}

func (v *validation) fail(about Source, field, format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf("%s: %s: %s", about, field, fmt.Sprintf(format, args...)))
}

func (v *validation) names(g *Gateway) {
	for i := range g.Pools {
		v.name(v.pools, g.Pools[i].Source, "pool", g.Pools[i].Name)
	}
	for i := range g.Trust {
		v.name(v.trust, g.Trust[i].Source, "trust", g.Trust[i].Name)
	}
	for i := range g.Identities {
		v.name(v.identities, g.Identities[i].Source, "identity", g.Identities[i].Name)
	}
	listeners := map[string]bool{}
	for i := range g.Listeners {
		v.name(listeners, g.Listeners[i].Source, "listener", g.Listeners[i].Name)
	}
}

func (v *validation) addresses(g *Gateway) {
	for _, a := range g.Addresses {
		oneOf(v, g.source(), "addresses.family", a.Family, "", IPv4, IPv6)
		if ip, err := netip.ParseAddr(a.Value); err == nil && a.Family != "" && a.Family != FamilyOf(ip) {
			v.fail(g.source(), "addresses.value", "%s is not of family %s", a.Value, a.Family)
		}
	}
}

func (v *validation) name(seen map[string]bool, about Source, kind, name string) {
	switch {
	case name == "":
		v.fail(about, "name", "a %s needs a name", kind)
	case seen[name]:
		v.fail(about, "name", "two of %s %q", kind, name)
	}
	seen[name] = true
}

func (v *validation) exists(names map[string]bool, about Source, field, name string) {
	if !names[name] {
		v.fail(about, field, "%q does not exist in this gateway", name)
	}
}

// existsOrNone is exists for a name that may be left out.
func (v *validation) existsOrNone(names map[string]bool, about Source, field, name string) {
	if name != "" {
		v.exists(names, about, field, name)
	}
}

func oneOf[T cmp.Ordered](v *validation, about Source, field string, value T, allowed ...T) {
	if !slices.Contains(allowed, value) {
		v.fail(about, field, "%v is none of %v", value, allowed)
	}
}

func within[T cmp.Ordered](v *validation, about Source, field string, value, low, high T) {
	if value < low || value > high {
		v.fail(about, field, "%v is not between %v and %v", value, low, high)
	}
}

func (v *validation) port(about Source, field string, port int32) {
	within(v, about, field, port, 1, 65535)
}

func (v *validation) hostname(about Source, name string) {
	labels := strings.Split(strings.TrimPrefix(name, "*."), ".")
	if name != "" && (len(name) > maxHostname || !allDNSLabels(labels)) {
		v.fail(about, "hostname", "%q is not a lower case DNS name, with or without *. in front", name)
	}
}

func (v *validation) eachPool(pools []Pool) {
	for i := range pools {
		p := &pools[i]
		oneOf(v, p.Source, "protocol", p.Protocol, PoolHTTP1, PoolH2C, PoolHTTP2, PoolWebSocket, PoolGRPC, PoolTCP, PoolUDP)
		if p.Group == "" {
			v.fail(p.Source, "group", "a pool needs a group")
		}
		for _, e := range p.Endpoints {
			v.endpoint(p.Source, e)
		}
		v.backendTLS(p.TLS)
		v.health(p)
		v.persistence(p.Source, p.Persistence)
	}
}

func (v *validation) endpoint(about Source, e Endpoint) {
	v.port(about, "endpoints.port", e.Port)
	_, err := netip.ParseAddr(e.Address)
	switch {
	case (e.Address == "") == (e.FQDN == ""):
		v.fail(about, "endpoints", "exactly one of address and FQDN must be set")
	case e.Address != "" && err != nil:
		v.fail(about, "endpoints.address", "%v", err)
	case e.FQDN != "" && (len(e.FQDN) > maxHostname || !allDNSLabels(strings.Split(e.FQDN, "."))):
		v.fail(about, "endpoints.fqdn", "%q is not a lower case DNS name", e.FQDN)
	}
}

func (v *validation) backendTLS(t *BackendTLS) {
	if t == nil {
		return
	}
	v.existsOrNone(v.trust, t.Source, "trust", t.Trust)
	v.existsOrNone(v.identities, t.Source, "identity", t.Identity)
	oneOf(v, t.Source, "floor", t.Floor, "", TLSNone, TLSUnverified, TLSServerOnly, TLSClientAndServer)
	oneOf(v, t.Source, "minVersion", t.MinVersion, "", "1.2", "1.3")
	for _, san := range t.SANs {
		oneOf(v, t.Source, "sans.kind", san.Kind, SANDNS, SANURI)
		if san.Value == "" {
			v.fail(t.Source, "sans.value", "a name needs a value")
		}
	}
	if t.NoALPN && len(t.ALPN) > 0 {
		v.fail(t.Source, "alpn", "given together with noALPN")
	}
	if t.Trust != "" && t.SNI == "" && len(t.SANs) == 0 {
		v.fail(t.Source, "sans", "nothing says which name the backend's certificate must have")
	}
}

func (v *validation) health(p *Pool) {
	if p.Health == nil {
		return
	}
	h := p.Health
	oneOf(v, h.Source, "healthCheck.protocol", h.Protocol, "HTTP", "HTTPS", "GRPC", "TCP")
	within(v, h.Source, "healthCheck.port", h.Port, 0, 65535)
	if h.Interval < 0 || h.Timeout < 0 || h.Healthy < 0 || h.Unhealthy < 0 {
		v.fail(h.Source, "healthCheck", "a time or count is negative")
	}
}

func (v *validation) persistence(about Source, p *Persistence) {
	if p != nil {
		oneOf(v, about, "sessionPersistence.kind", p.Kind, PersistCookie, PersistHeader, PersistSource)
	}
}

func (v *validation) eachTrust(trust []Trust) {
	for i := range trust {
		t := &trust[i]
		if !exactlyOne(t.System, t.Unknown, len(t.Roots) > 0) {
			v.fail(t.Source, "roots", "trust is either the system's roots, or unknown, or at least one root")
		}
		if t.Overlap < 0 {
			v.fail(t.Source, "overlap", "%s is less than nothing", t.Overlap)
		}
		for _, root := range t.Roots {
			parsed, err := ParseRoots([]byte(root.PEM))
			if err != nil || len(parsed) != 1 || parsed[0].SHA256 != root.SHA256 || parsed[0].SPKI != root.SPKI {
				v.fail(t.Source, "roots", "the PEM of root %s is not that certificate", root.SHA256)
			}
		}
	}
}

func exactlyOne(conditions ...bool) bool {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n == 1
}

func (v *validation) eachIdentity(identities []Identity) {
	for i := range identities {
		id := &identities[i]
		switch {
		case id.Issuer == "":
			v.fail(id.Source, "issuer", "identity %q needs one", id.Name)
		case id.Issuer == IssuerSecret && id.Leaf == nil:
			v.fail(id.Source, "leaf", "identity %q is given, so its certificate must be known", id.Name)
		}
		if id.Renew.Before < 0 || id.Renew.Lifetime < 0 || id.Renew.Before > id.Renew.Lifetime {
			v.fail(id.Source, "renew", "renewal must begin within the lifetime")
		}
	}
}
