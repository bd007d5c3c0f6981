package aws

import (
	"time"

	"gatehouse.dev/lbmodel"
)

// Certificate is an identity that ACM holds. Its ARN stays over renewals: another
// leaf is imported over the old one. The key is never in here.
type Certificate struct {
	Identity lbmodel.Identity `json:"identity"` // without its Leaf
	// Leaf is the SHA-256 of the leaf's DER, hex; lbmodel.KnownAfterApply means
	// whatever the Keyring issues at Apply.
	Leaf string `json:"leaf,omitzero"`

	authorities []string      // of Identity.Renew: they say when a leaf is due, and are no property of it
	held        *lbmodel.Held // likewise
}

// Needs implements lbmodel.Spec.
func (c *Certificate) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (c *Certificate) Sources() []lbmodel.Source { return sources(c.Identity.Source) }

// RenewAt implements lbmodel.Renewing. A certificate that is kept in a Secret is
// its keeper's to renew.
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
	return &Certificate{Identity: c.Identity, Leaf: lbmodel.KnownAfterApply}
}

// wanted is the identity as a Keyring is asked for it.
func (c *Certificate) wanted() lbmodel.Identity {
	id := c.Identity
	id.Renew.Authorities, id.Renew.Held = c.authorities, c.held
	return id
}
