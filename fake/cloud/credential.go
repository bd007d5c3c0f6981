package cloud

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Trust is a set of CA roots, shared by every gateway of a cluster.
type Trust struct {
	System bool           `json:"system,omitzero"` // the well-known public roots; cannot be changed
	Roots  []lbmodel.Root `json:"roots,omitempty"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (t *Trust) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (t *Trust) Sources() []lbmodel.Source { return sources(t.source) }

// Narrows implements lbmodel.Narrowing: no root comes, so nobody who is verified by
// what stays is waiting.
func (t *Trust) Narrows(have lbmodel.Spec) bool {
	old, ok := have.(*Trust)
	return ok && !slices.ContainsFunc(t.Roots, func(r lbmodel.Root) bool {
		return !slices.ContainsFunc(old.Roots, func(o lbmodel.Root) bool { return o.SHA256 == r.SHA256 })
	})
}

// Flows implements lbmodel.Flowing: roots come and none goes.
func (t *Trust) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Trust)
	return ok && old.System == t.System && old.Narrows(t)
}

// Structure implements lbmodel.Flowing: whom to trust is somebody's decision when a
// trust comes or loses a root.
func (t *Trust) Structure() lbmodel.Spec { return t }

func (t *Trust) references(func(*Ref)) {}
func (t *Trust) frozen() any           { return t.System }

func (t *Trust) check() error {
	if t.System != (len(t.Roots) == 0) {
		return fmt.Errorf("a trust has roots, or is the system's: it would verify nothing otherwise")
	}
	for i, root := range t.Roots {
		if err := checkRoot(root); err != nil {
			return fmt.Errorf("roots[%d]: %w", i, err)
		}
	}
	return nil
}

func checkRoot(root lbmodel.Root) error {
	block, rest := pem.Decode([]byte(root.PEM))
	if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 {
		return fmt.Errorf("pem is not one CERTIFICATE block")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return fmt.Errorf("pem: %w", err)
	}
	if got := fingerprint(block.Bytes); got != root.SHA256 {
		return fmt.Errorf("sha256 is %s, but the certificate's is %s", root.SHA256, got)
	}
	return nil
}

// Certificate is a certificate whose key the cloud holds. The body never has the
// key: it is sent beside the body, and kept in a vault that nothing prints.
type Certificate struct {
	Identity lbmodel.Identity `json:"identity"` // without its Leaf
	// Leaf is the SHA-256 of the leaf's DER, hex. Empty, in a Spec only, means
	// whatever the Keyring issues at Apply.
	Leaf string `json:"leaf,omitzero"`

	follows []lbmodel.ID // the roots of the backends that it is shown to
}

// Follows implements lbmodel.Follower: a mesh that issues under a new root expects
// that root to be trusted first.
func (c *Certificate) Follows() []lbmodel.ID { return c.follows }

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
	return c.Identity.Renew.At(*f.Leaf)
}

// Flows implements lbmodel.Flowing: another leaf for the same identity.
func (c *Certificate) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Certificate)
	return ok && lbmodel.DigestOf(c.Structure()) == lbmodel.DigestOf(old.Structure())
}

// Structure implements lbmodel.Flowing: a certificate, whatever its leaf.
func (c *Certificate) Structure() lbmodel.Spec {
	return &Certificate{Identity: c.Identity, Leaf: lbmodel.KnownAfterApply, follows: c.follows}
}

func (c *Certificate) references(func(*Ref)) {}
func (c *Certificate) frozen() any           { return c.Identity.Name }

func (c *Certificate) check() error {
	if c.Leaf == "" {
		return fmt.Errorf("leaf is required")
	}
	if c.Identity.Leaf != nil {
		return fmt.Errorf("identity.leaf must not be set: leaf says which one it is")
	}
	return nil
}

// wanted is the identity as a Keyring is asked for it: with the leaf, when it is
// the key of that very certificate and no other that is needed.
func (c *Certificate) wanted(leaf *lbmodel.Leaf) lbmodel.Identity {
	id := c.Identity
	id.Leaf = leaf
	return id
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
