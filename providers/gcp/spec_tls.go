package gcp

import (
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// TrustConfig is a set of CA certificates, shared by the gateways of a cluster at one
// location. Roots come and go in place; since when one is not published any more is
// stored with it.
type TrustConfig struct {
	Roots []lbmodel.Root `json:"roots,omitempty"`
	// Rotation is by what Place decides which roots there are now. It is in a compiled
	// Spec only.
	Rotation *Rotation `json:"rotation,omitzero"`

	source  lbmodel.Source
	rotates bool      // it had a Rotation with an Overlap
	next    time.Time // when a root is to go
}

// Rotation is the part of an lbmodel.Trust that says how roots come and go.
type Rotation struct {
	Overlap lbmodel.Duration `json:"overlap,omitzero"`
	Seen    []string         `json:"seen,omitempty"`
	Unknown bool             `json:"unknown,omitzero"`
}

// pemCertificate is the API's form of one.
type pemCertificate struct {
	PEM string `json:"pemCertificate"`
}

func (t *TrustConfig) wire() any {
	type store struct {
		TrustAnchors    []pemCertificate `json:"trustAnchors"`
		IntermediateCAs []pemCertificate `json:"intermediateCas,omitempty"`
	}
	var s store
	anchors, intermediates := divideRoots(t.Roots)
	for _, r := range anchors {
		s.TrustAnchors = append(s.TrustAnchors, pemCertificate{r.PEM})
	}
	for _, r := range intermediates {
		s.IntermediateCAs = append(s.IntermediateCAs, pemCertificate{r.PEM})
	}
	return struct {
		TrustStores []store `json:"trustStores"`
	}{[]store{s}}
}

// Needs implements lbmodel.Spec.
func (t *TrustConfig) Needs() []lbmodel.ID { return nil }

// TrustRoots implements lbmodel.Rooted.
func (t *TrustConfig) TrustRoots() []lbmodel.Root { return t.Roots }

// Sources implements lbmodel.Sourced.
func (t *TrustConfig) Sources() []lbmodel.Source { return sources(t.source) }

// Widens implements lbmodel.Narrowing: a root comes.
func (t *TrustConfig) Widens(have lbmodel.Spec) bool {
	old, ok := have.(*TrustConfig)
	return !ok || lbmodel.GainsRoot(t.Roots, old.Roots)
}

// Narrows implements lbmodel.Narrowing: a root goes.
func (t *TrustConfig) Narrows(have lbmodel.Spec) bool {
	old, ok := have.(*TrustConfig)
	return ok && old.Widens(t)
}

// RenewAt implements lbmodel.Renewing: when a root that is not published any more is
// to go.
func (t *TrustConfig) RenewAt(lbmodel.Facts) time.Time { return t.next }

// RenewWhy says what becomes of it then.
func (t *TrustConfig) RenewWhy() string { return "drops a root" }

// Flows implements lbmodel.Flowing: roots come, and none goes but by rotation.
func (t *TrustConfig) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*TrustConfig)
	return ok && lbmodel.RotationFlows(t.Roots, old.Roots)
}

// Structure implements lbmodel.Flowing: whom to trust, or, where a mesh rotates its
// roots, that the mesh is trusted.
func (t *TrustConfig) Structure() lbmodel.Spec {
	out := &TrustConfig{source: t.source}
	if !t.rotates && (t.Rotation == nil || t.Rotation.Overlap == 0) {
		out.Roots = lbmodel.Published(t.Roots)
	}
	return out
}

// The scopes of certificates.
const (
	scopeDefault    = "DEFAULT"
	scopeRegions    = "ALL_REGIONS"
	scopeClientAuth = "CLIENT_AUTH"
)

// Certificate is an identity that Certificate Manager holds. It stays over renewals:
// another leaf is put in its place. Its scope cannot be changed. The key is never in
// here.
type Certificate struct {
	Identity lbmodel.Identity `json:"identity"` // without its Leaf
	Scope    string           `json:"scope"`
	// Leaf is the SHA-256 of the leaf's DER, hex; lbmodel.KnownAfterApply means
	// whatever the Keyring issues at Apply.
	Leaf   string            `json:"leaf,omitzero"`
	Labels map[string]string `json:"labels,omitempty"`

	authorities []string      // of Identity.Renew: they say when a leaf is due, and are no property of it
	held        *lbmodel.Held // likewise
	follows     []lbmodel.ID  // roots of those that it is shown to
}

func (c *Certificate) wire() any {
	return struct {
		Scope  string            `json:"scope"`
		Labels map[string]string `json:"labels,omitempty"`
	}{c.Scope, c.Labels}
}

// Needs implements lbmodel.Spec.
func (c *Certificate) Needs() []lbmodel.ID { return nil }

// Follows implements lbmodel.Follower: a client certificate changes when the roots of
// those that it is shown to are there.
func (c *Certificate) Follows() []lbmodel.ID { return c.follows }

// Sources implements lbmodel.Sourced.
func (c *Certificate) Sources() []lbmodel.Source { return sources(c.Identity.Source) }

// RenewAt implements lbmodel.Renewing. A certificate that is kept in a Secret is its
// keeper's to renew.
func (c *Certificate) RenewAt(f lbmodel.Facts) time.Time {
	if c.Identity.Issuer == lbmodel.IssuerSecret || f.Leaf == nil {
		return time.Time{}
	}
	return c.wanted().RenewAt(*f.Leaf)
}

// Flows implements lbmodel.Flowing: another leaf for the same identity.
func (c *Certificate) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Certificate)
	return ok && lbmodel.DigestOf(c.Structure()) == lbmodel.DigestOf(old.Structure())
}

// Structure implements lbmodel.Flowing: a certificate, whatever its leaf.
func (c *Certificate) Structure() lbmodel.Spec {
	return &Certificate{Identity: c.Identity, Scope: c.Scope, Leaf: lbmodel.KnownAfterApply, Labels: c.Labels}
}

// wanted is the identity as a Keyring is asked for it.
func (c *Certificate) wanted() lbmodel.Identity {
	id := c.Identity
	id.Renew.Authorities, id.Renew.Held = c.authorities, c.held
	return id
}

// BackendAuthenticationConfig is what backends are verified by and what is shown to
// them. None of it can be changed while it is in use, so its content is its name.
type BackendAuthenticationConfig struct {
	ClientCertificate Ref    `json:"clientCertificate,omitzero"`
	TrustConfig       Ref    `json:"trustConfig,omitzero"`
	WellKnownRoots    string `json:"wellKnownRoots"` // NONE, PUBLIC_ROOTS

	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (b *BackendAuthenticationConfig) Needs() []lbmodel.ID {
	return needs(b.ClientCertificate, b.TrustConfig)
}

// Sources implements lbmodel.Sourced.
func (b *BackendAuthenticationConfig) Sources() []lbmodel.Source { return b.sources }

// ServerTLSPolicy is how clients are verified. Its content is its name.
type ServerTLSPolicy struct {
	MTLSPolicy MTLSPolicy `json:"mtlsPolicy"`

	sources []lbmodel.Source
}

// MTLSPolicy is that of a load balancer.
type MTLSPolicy struct {
	ClientValidationMode        string `json:"clientValidationMode"`
	ClientValidationTrustConfig Ref    `json:"clientValidationTrustConfig"`
}

// Needs implements lbmodel.Spec.
func (p *ServerTLSPolicy) Needs() []lbmodel.ID {
	return needs(p.MTLSPolicy.ClientValidationTrustConfig)
}

// Sources implements lbmodel.Sourced.
func (p *ServerTLSPolicy) Sources() []lbmodel.Source { return p.sources }

// CertificateMap has the certificates of one port of a GlobalExternal gateway, in
// entries.
type CertificateMap struct {
	Labels map[string]string `json:"labels,omitempty"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (m *CertificateMap) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (m *CertificateMap) Sources() []lbmodel.Source { return sources(m.source) }

// CertificateMapEntry are the certificates of a server name, or (PRIMARY) of all
// others.
type CertificateMapEntry struct {
	Map          Ref    `json:"map"`
	Hostname     string `json:"hostname,omitzero"`
	Matcher      string `json:"matcher,omitzero"` // PRIMARY
	Certificates []Ref  `json:"certificates"`     // four at most

	sources []lbmodel.Source
}

func (e *CertificateMapEntry) wire() any {
	return struct {
		Hostname     string `json:"hostname,omitzero"`
		Matcher      string `json:"matcher,omitzero"`
		Certificates []Ref  `json:"certificates"`
	}{e.Hostname, e.Matcher, e.Certificates}
}

// Needs implements lbmodel.Spec.
func (e *CertificateMapEntry) Needs() []lbmodel.ID {
	return needs(append(slices.Clone(e.Certificates), e.Map)...)
}

// Sources implements lbmodel.Sourced.
func (e *CertificateMapEntry) Sources() []lbmodel.Source { return e.sources }
