package aws

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// addTLS gives a listener of AWS's the certificates of the gateway's listeners, and
// the roots by which clients are verified; false when it cannot be served without.
func (c *compiler) addTLS(spec *Listener, id lbmodel.ID, alike []*lbmodel.Listener) bool {
	certificates := c.certificates(alike)
	if len(certificates) == 0 {
		c.find(alike[0].Source, c.source, "Programmed", "Invalid", lbmodel.CodeInvalid, "no listener of port %d has a certificate that AWS takes", spec.Port)
		return false
	}
	spec.TLSPolicy, spec.Certificate = c.s.TLSPolicy, certificates[0]
	if v := trustOf(alike[0]); v != "" {
		store, ok := c.trustStore(v, alike[0])
		if !ok {
			return false
		}
		spec.TrustStore = store
	}
	for _, ref := range certificates[1:] {
		c.addListenerCertificate(id, ref, alike)
	}
	return true
}

// certificates are those of the listeners, each once. The first, which is served
// without a server name, is of the least specific hostname.
func (c *compiler) certificates(listeners []*lbmodel.Listener) []Ref {
	ordered := slices.Clone(listeners)
	slices.SortStableFunc(ordered, func(a, b *lbmodel.Listener) int { return lbmodel.CompareHostnames(b.Hostname, a.Hostname) })
	var out []Ref
	for _, l := range ordered {
		if l.TLS == nil {
			continue
		}
		for _, name := range l.TLS.Certificates {
			if ref, ok := c.certificate(name, l); ok && !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
	}
	return out
}

// certificate adds an identity. ACM takes none that has no DNS name.
func (c *compiler) certificate(name string, l *lbmodel.Listener) (Ref, bool) {
	i := slices.IndexFunc(c.gw.Identities, func(i lbmodel.Identity) bool { return i.Name == name })
	if i < 0 {
		c.find(l.Source, c.source, "Programmed", "Invalid", lbmodel.CodeInternal, "the gateway has no identity named %q", name)
		return "", false
	}
	identity := c.gw.Identities[i]
	if names := dnsNames(&identity); len(names) == 0 && (identity.Leaf == nil || identity.SPIFFEID != "") {
		c.refuse(l.Source, c.source, "the certificate %s has no DNS name, and ACM takes none without", name)
		return "", false
	}
	spec := &Certificate{Identity: identity, Leaf: lbmodel.KnownAfterApply, authorities: identity.Renew.Authorities, held: identity.Renew.Held}
	spec.Identity.Leaf, spec.Identity.Renew.Authorities, spec.Identity.Renew.Held = nil, nil, nil
	if identity.Leaf != nil {
		spec.Leaf = identity.Leaf.SHA256
	}
	return c.add(c.name(KindCertificate, name, name), spec), true
}

func dnsNames(i *lbmodel.Identity) []string {
	if i.Leaf != nil {
		return i.Leaf.DNSNames
	}
	return i.DNSNames
}

func (c *compiler) addListenerCertificate(listener lbmodel.ID, certificate Ref, alike []*lbmodel.Listener) {
	var from []lbmodel.Source
	for _, l := range alike {
		from = append(from, l.Source)
	}
	quota := c.s.Quotas.CertificatesPerLoadBalancer
	if c.spent.certificates == quota {
		c.exceed(alike[len(alike)-1].Source, c.source, "the load balancer has %d more certificates than listeners already, which is the quota; "+
			"use fewer, with wildcard names, or raise it", quota)
		return
	}
	c.spent.certificates++
	c.add(listenerCertificateID(c.gw.Owner, listener, certificate.id()), &ListenerCertificate{Listener: refTo(listener), Certificate: certificate, sources: sources(from...)})
}

// listenerCertificateID is a certificate's place in a listener.
func listenerCertificateID(o lbmodel.Owner, listener, certificate lbmodel.ID) lbmodel.ID {
	return ownedID(o, KindListenerCertificate, listener.Location, certificate.Name, listener.Name, certificate.Name)
}

// trustStore adds roots and their store; they are named in the cluster, not in the
// gateway.
func (c *compiler) trustStore(name string, l *lbmodel.Listener) (Ref, bool) {
	i := slices.IndexFunc(c.gw.Trust, func(t lbmodel.Trust) bool { return t.Name == name })
	switch {
	case i < 0:
		c.find(l.Source, c.source, "Programmed", "Invalid", lbmodel.CodeInternal, "the gateway has no trust named %q", name)
		return "", false
	case c.s.Trust == nil || c.gw.Trust[i].System:
		c.refuse(l.Source, c.source, "clients are verified by roots that are named, and only where aws.trust says where these are put")
		return "", false
	case c.spent.verifying == maxVerifying:
		c.exceed(l.Source, c.source, "a load balancer verifies clients on %d ports at most", maxVerifying)
		return "", false
	}
	c.spent.verifying++
	return c.shareTrust(&c.gw.Trust[i]), true
}

func (c *compiler) shareTrust(t *lbmodel.Trust) Ref {
	name := nameOf(t.Name, KindTrustStore, c.gw.Owner.Cluster, t.Name)
	bundle := lbmodel.ID{Kind: KindTrustBundle, Location: c.s.Region, Name: nameOf(t.Name, KindTrustBundle, c.gw.Owner.Cluster, t.Name, c.s.Trust.Bucket, c.s.Trust.Prefix)}
	store := lbmodel.ID{Kind: KindTrustStore, Location: c.s.Region, Name: name}
	c.put(c.shared, lbmodel.NewResource(bundle, &TrustBundle{
		Bucket: c.s.Trust.Bucket, Key: c.s.Trust.Prefix + bundle.Name + ".pem", Roots: t.Roots, Rotation: rotationOf(t), source: t.Source,
	}).With(lbmodel.Shared))
	c.put(c.shared, lbmodel.NewResource(store, &TrustStore{Bundle: refTo(bundle), source: t.Source}).With(lbmodel.Shared))
	return refTo(store)
}

// rotationOf is nil where roots come and go with their source at once.
func rotationOf(t *lbmodel.Trust) *Rotation {
	if t.Overlap == 0 && len(t.Seen) == 0 && !t.Unknown {
		return nil
	}
	return &Rotation{Overlap: t.Overlap, Seen: t.Seen, Unknown: t.Unknown}
}
