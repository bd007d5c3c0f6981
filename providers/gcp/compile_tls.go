package gcp

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// addTrust adds the roots; they are named in the cluster, not in the gateway. A root
// that Google Cloud does not take is left out, and told: what is under it is not
// verified, and so not served.
func (c *compiler) addTrust() {
	for i := range c.gw.Trust {
		t := &c.gw.Trust[i]
		c.trust[t.Name] = c.placeTrust(t)
	}
}

func (c *compiler) placeTrust(t *lbmodel.Trust) placedTrust {
	if t.System {
		return placedTrust{system: true}
	}
	spec := &TrustConfig{Rotation: rotationOf(t), source: t.Source}
	for _, r := range t.Roots {
		if err := checkRoot(r); err != nil {
			c.find(t.Source, c.source, lbmodel.ConditionBackendTLS, "PrivateRootsUnsupported", lbmodel.CodeUnsupported,
				"the root %s (%s) is left out, and what leads to it is not trusted: %v", r.Subject, shortHash(r.SHA256), err)
			continue
		}
		spec.Roots = append(spec.Roots, r)
	}
	if err := checkBundle(spec.Roots); err != nil && !t.Unknown {
		return placedTrust{wrong: fmt.Errorf("the roots of %s are not taken: %w", t.Source, err)}
	}
	id := c.sharedName(KindTrustConfig, c.s.Location, t.Name, t.Name)
	return placedTrust{ref: c.share(id, spec)}
}

func shortHash(sha256 string) string { return sha256[:min(12, len(sha256))] }

// rotationOf is nil where roots come and go with their source at once.
func rotationOf(t *lbmodel.Trust) *Rotation {
	if t.Overlap == 0 && len(t.Seen) == 0 && !t.Unknown {
		return nil
	}
	return &Rotation{Overlap: t.Overlap, Seen: t.Seen, Unknown: t.Unknown}
}

// tlsSettings are what of a pool's TLS Google Cloud does. What it cannot is refused:
// it never becomes weaker.
func (c *compiler) tlsSettings(p *lbmodel.Pool) (*TLSSettings, error) {
	t := p.TLS
	if t == nil {
		return nil, nil
	}
	why, err := c.judgeTLS(t)
	if err != nil {
		return nil, &refusal{lbmodel.ConditionBackendTLS, why, err}
	}
	if t.Trust == "" {
		return nil, nil // any certificate is taken
	}
	out := &TLSSettings{SNI: t.SNI}
	for _, san := range t.SANs {
		if san.Kind == lbmodel.SANURI {
			out.SubjectAltNames = append(out.SubjectAltNames, SAN{UniformResourceIdentifier: san.Value})
		} else {
			out.SubjectAltNames = append(out.SubjectAltNames, SAN{DNSName: san.Value})
		}
	}
	config, err := c.authentication(t)
	out.AuthenticationConfig = NamedRef(config)
	return out, err
}

// judgeTLS says what cannot be had of a hop's TLS, and by which reason.
func (c *compiler) judgeTLS(t *lbmodel.BackendTLS) (reason string, _ error) {
	trust, known := c.trust[t.Trust]
	switch {
	case t.Trust == "" && t.Identity != "":
		return "ClientCertificateUnsupported", errors.New("a client certificate is shown only to backends that are verified; give the backend roots")
	case t.Trust == "" && (t.SNI != "" || len(t.SANs) > 0):
		return "SNIUnsupported", errors.New("a name that is asked for is verified too; give the backend roots, or take the names away")
	case t.Trust != "" && !known:
		return "PrivateRootsUnsupported", fmt.Errorf("the gateway has no trust named %q", t.Trust)
	case trust.wrong != nil:
		return "PrivateRootsUnsupported", trust.wrong
	case trust.system && t.SNI == "":
		return "SNIUnsupported", errors.New("well-known roots count only for a server name that is asked for; give a hostname")
	case len(t.SANs) > maxSANs:
		return "TooManySANs", fmt.Errorf("%d names are given, of which one must be the backend's, and Google Cloud takes %d", len(t.SANs), maxSANs)
	default:
		return "", nil
	}
}

// authentication adds what backends are verified by and what is shown to them: one for
// each pair of an identity and roots, once in a gateway.
func (c *compiler) authentication(t *lbmodel.BackendTLS) (Ref, error) {
	trust := c.trust[t.Trust]
	spec := &BackendAuthenticationConfig{TrustConfig: trust.ref, WellKnownRoots: "NONE"}
	if trust.system {
		spec.WellKnownRoots = "PUBLIC_ROOTS"
	}
	if t.Identity != "" {
		ref, err := c.clientCertificate(t, trust.ref)
		if err != nil {
			return "", &refusal{lbmodel.ConditionBackendTLS, "ClientCertificateUnsupported", err}
		}
		spec.ClientCertificate = ref
	}
	id := c.name(KindBackendAuthenticationConfig, "to-"+t.Trust, encode(spec))
	if old, ok := c.own[id].Spec.(*BackendAuthenticationConfig); ok {
		spec.sources = old.sources
	}
	spec.sources = sources(append(spec.sources, t.Source)...)
	return c.add(id, spec), nil
}

// clientCertificate is the certificate that is shown to backends. It follows their
// roots.
func (c *compiler) clientCertificate(t *lbmodel.BackendTLS, roots Ref) (Ref, error) {
	ref, err := c.certificate(t.Identity, scopeClientAuth)
	if err != nil {
		return "", err
	}
	id, _ := ref.id()
	trust, private := roots.id()
	if cert := c.own[id].Spec.(*Certificate); private && !slices.Contains(cert.follows, trust) {
		cert.follows = append(cert.follows, trust)
	}
	return ref, nil
}

// certificate adds an identity for one purpose.
func (c *compiler) certificate(name, scope string) (Ref, error) {
	i := slices.IndexFunc(c.gw.Identities, func(i lbmodel.Identity) bool { return i.Name == name })
	if i < 0 {
		return "", fmt.Errorf("the gateway has no identity named %q", name)
	}
	id := c.name(KindCertificate, name, name, scope)
	if _, ok := c.own[id]; ok {
		return refTo(id), nil
	}
	identity := c.gw.Identities[i]
	if err := checkKeyType(&identity); err != nil {
		return "", err
	}
	spec := &Certificate{Identity: identity, Scope: scope, Leaf: lbmodel.KnownAfterApply, Labels: labelsOf(c.gw.Labels),
		authorities: identity.Renew.Authorities, held: identity.Renew.Held}
	spec.Identity.Leaf, spec.Identity.Renew.Authorities, spec.Identity.Renew.Held = nil, nil, nil
	if identity.Leaf != nil {
		spec.Leaf = identity.Leaf.SHA256
	}
	return c.add(id, spec), nil
}

// checkKeyType refuses what is told of a key that Google Cloud does not take.
func checkKeyType(i *lbmodel.Identity) error {
	kind := i.KeyType
	if i.Leaf != nil {
		kind = i.Leaf.KeyType
	}
	if kind == "Ed25519" {
		return fmt.Errorf("the certificate %s has an Ed25519 key, and Google Cloud takes RSA, ECDSA P-256 and P-384", i.Name)
	}
	return nil
}

// serverCertificates are those of the listeners of a port, each once. The first, which
// is served without a server name, is of the least specific hostname. One that is not
// taken is told; the others are served.
func (c *compiler) serverCertificates(listeners []*lbmodel.Listener) []Ref {
	ordered := slices.Clone(listeners)
	slices.SortStableFunc(ordered, func(a, b *lbmodel.Listener) int { return lbmodel.CompareHostnames(b.Hostname, a.Hostname) })
	var out []Ref
	for _, l := range ordered {
		for _, ref := range c.certificatesOf(l) {
			if !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
	}
	return out
}

func (c *compiler) certificatesOf(l *lbmodel.Listener) []Ref {
	if l.TLS == nil {
		return nil
	}
	var out []Ref
	for _, name := range l.TLS.Certificates {
		ref, err := c.certificate(name, c.serverScope())
		if err != nil {
			c.refuse(l.Source, c.source, "%v", err)
			continue
		}
		out = append(out, ref)
	}
	return out
}

func (c *compiler) serverScope() string {
	if c.f.global && c.f.internal {
		return scopeRegions
	}
	return scopeDefault
}

// serverPolicy verifies clients; "" is that nobody asks for it. An error says that they
// cannot be verified, so that nobody is served.
func (c *compiler) serverPolicy(l *lbmodel.Listener) (Ref, error) {
	v := validationOf(l)
	if v == nil {
		return "", nil
	}
	trust, known := c.trust[v.Trust]
	switch {
	case !known:
		return "", fmt.Errorf("the gateway has no trust named %q", v.Trust)
	case trust.wrong != nil:
		return "", trust.wrong
	case trust.system:
		return "", errors.New("clients are verified by roots that are named")
	}
	spec := &ServerTLSPolicy{MTLSPolicy: MTLSPolicy{ClientValidationMode: "REJECT_INVALID", ClientValidationTrustConfig: trust.ref}, sources: sources(l.Source)}
	if v.Insecure {
		spec.MTLSPolicy.ClientValidationMode = "ALLOW_INVALID_OR_MISSING_CLIENT_CERT"
	}
	return c.add(c.name(KindServerTLSPolicy, "clients-"+v.Trust, portText(l.Port), encode(spec)), spec), nil
}

// maxPerEntry is how many certificates an entry of a map has.
const maxPerEntry = 4

// certificateMap adds the map of a port. A listener's own hostname has its
// certificates; so have the names in them, where no listener's hostname is the same.
func (c *compiler) certificateMap(listeners []*lbmodel.Listener, all []Ref) Ref {
	port := portText(listeners[0].Port)
	to := c.add(c.name(KindCertificateMap, port, port), &CertificateMap{Labels: labelsOf(c.gw.Labels), source: c.source})
	c.addEntry(to, "", all[:1], listeners)
	named := map[string][]Ref{}
	for _, ref := range all {
		for _, host := range c.hostsOf(ref) {
			named[host] = append(named[host], ref)
		}
	}
	for _, l := range listeners {
		if refs := c.certificatesOf(l); l.Hostname != "" && len(refs) > 0 {
			delete(named, l.Hostname)
			c.addEntry(to, l.Hostname, refs, []*lbmodel.Listener{l})
		}
	}
	for _, host := range slices.Sorted(maps.Keys(named)) {
		c.addEntry(to, host, named[host], listeners)
	}
	return to
}

// hostsOf are the DNS names of a certificate that is added.
func (c *compiler) hostsOf(ref Ref) []string {
	id, _ := ref.id()
	name := c.own[id].Spec.(*Certificate).Identity.Name
	i := slices.IndexFunc(c.gw.Identities, func(i lbmodel.Identity) bool { return i.Name == name })
	if identity := &c.gw.Identities[i]; identity.Leaf == nil {
		return identity.DNSNames
	}
	return c.gw.Identities[i].Leaf.DNSNames
}

// addEntry adds the certificates of a server name, or of all that have no other.
func (c *compiler) addEntry(to Ref, host string, refs []Ref, listeners []*lbmodel.Listener) {
	if len(refs) > maxPerEntry {
		c.exceed(listeners[0].Source, c.source, "%d certificates are for the server name %q, and a certificate map takes %d; the last are left out", len(refs), host, maxPerEntry)
		refs = refs[:maxPerEntry]
	}
	spec := &CertificateMapEntry{Map: to, Hostname: host, Certificates: refs, sources: listenerSources(listeners)}
	readable := host
	if host == "" {
		spec.Matcher, readable = "PRIMARY", "primary"
	}
	id, _ := to.id()
	c.add(c.name(KindCertificateMapEntry, readable, id.Name, host), spec)
}
