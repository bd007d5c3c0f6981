package certmanager

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"

	"gatehouse.dev/fake/gcpapi/pki"
	"gatehouse.dev/fake/gcpapi/store"
)

// checkTrust is what a TrustConfig may hold.
func (config Config) checkTrust(_ store.View, _ store.Name, _, o store.Object) error {
	stores := store.List(o, "trustStores")
	if len(stores) > 1 {
		return store.Bad("Invalid trust_stores: only one trust store is allowed, %d are given.", len(stores))
	}
	if domains, _ := o["spiffeTrustStores"].(store.Object); len(domains) > 0 && len(stores) > 0 {
		return store.Bad("Invalid spiffe_trust_stores: they can't be together with trust_stores.")
	}
	for i, one := range stores {
		inside, _ := one.(store.Object)
		if err := config.checkStore(fmt.Sprintf("trust_stores[%d]", i), inside); err != nil {
			return err
		}
	}
	_, err := parse("allowlisted_certificates", store.List(o, "allowlistedCertificates"))
	return err
}

func (config Config) checkStore(at string, o store.Object) error {
	anchors, err := parse(at+".trust_anchors", store.List(o, "trustAnchors"))
	if err != nil {
		return err
	}
	between, err := parse(at+".intermediate_cas", store.List(o, "intermediateCas"))
	if err != nil {
		return err
	}
	switch {
	case len(between) > pki.MaxIntermediates:
		return store.Bad("Invalid %s: a trust store can have %d intermediate CAs, not %d.", at, pki.MaxIntermediates, len(between))
	case len(anchors)+len(between) > pki.MaxAuthorities:
		return store.Bad("Invalid %s: a trust store can have %d trust anchors and intermediate CAs together, not %d.", at, pki.MaxAuthorities, len(anchors)+len(between))
	case twins(between) > pki.MaxTwins:
		return store.Bad("Invalid %s: a trust store can have %d intermediate CAs with the same subject and key, not %d.", at, pki.MaxTwins, twins(between))
	}
	if !config.RefuseUnfit {
		return nil
	}
	for _, c := range append(anchors, between...) {
		if err := pki.Authority(c); err != nil {
			return store.Bad("Invalid %s: %s: %v.", at, c.Subject, err)
		}
	}
	return nil
}

// parse reads a list of objects with a pemCertificate.
func parse(at string, all []any) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for i, one := range all {
		inside, _ := one.(store.Object)
		text := store.Text(inside, "pemCertificate")
		if len(text) > pki.MaxPEM {
			return nil, store.Bad("Invalid %s[%d].pem_certificate: it can have %d bytes, not %d.", at, i, pki.MaxPEM, len(text))
		}
		c, err := pki.One(text)
		if err != nil {
			return nil, store.Bad("Invalid %s[%d].pem_certificate: %v.", at, i, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// twins is how many share a subject and a key, at most.
func twins(all []*x509.Certificate) int {
	most, seen := 0, map[[sha256.Size]byte]int{}
	for _, c := range all {
		key := sha256.Sum256(append(append([]byte{}, c.RawSubject...), c.RawSubjectPublicKeyInfo...))
		seen[key]++
		most = max(most, seen[key])
	}
	return most
}

// Store is a TrustConfig as chains are built with it. What does not parse is not in it;
// nothing else gets in.
func Store(o store.Object) pki.Store {
	var out pki.Store
	for _, one := range store.List(o, "trustStores") {
		inside, _ := one.(store.Object)
		anchors, _ := parse("", store.List(inside, "trustAnchors"))
		between, _ := parse("", store.List(inside, "intermediateCas"))
		out.Anchors, out.Intermediates = append(out.Anchors, anchors...), append(out.Intermediates, between...)
	}
	out.Allowed, _ = parse("", store.List(o, "allowlistedCertificates"))
	return out
}
