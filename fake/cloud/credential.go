package cloud

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"time"

	"gatehouse.dev/lbmodel"
)

// Trust is a set of CA roots, shared by every gateway of a cluster. With a root
// that its source does not publish any more is stored since when: whichever process
// looks next goes on from there.
type Trust struct {
	System bool           `json:"system,omitzero"` // the well-known public roots; cannot be changed
	Roots  []lbmodel.Root `json:"roots,omitempty"`
	// Rotation is by what Place decides which roots there are now. It is in a
	// compiled Spec only: the cloud is sent what came of it.
	Rotation *Rotation `json:"rotation,omitempty"`

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

// Needs implements lbmodel.Spec.
func (t *Trust) Needs() []lbmodel.ID { return nil }

// TrustRoots implements lbmodel.Rooted.
func (t *Trust) TrustRoots() []lbmodel.Root { return t.Roots }

// Sources implements lbmodel.Sourced.
func (t *Trust) Sources() []lbmodel.Source { return sources(t.source) }

// Widens implements lbmodel.Narrowing: a root comes, and somebody who is verified
// by it may be waiting.
func (t *Trust) Widens(have lbmodel.Spec) bool {
	old, ok := have.(*Trust)
	return !ok || lbmodel.GainsRoot(t.Roots, old.Roots)
}

// Narrows implements lbmodel.Narrowing: a root goes.
func (t *Trust) Narrows(have lbmodel.Spec) bool {
	old, ok := have.(*Trust)
	return ok && old.Widens(t)
}

// RenewAt implements lbmodel.Renewing: when a root that is not published any more
// is to go.
func (t *Trust) RenewAt(lbmodel.Facts) time.Time { return t.next }

// RenewWhy says what becomes of it then.
func (t *Trust) RenewWhy() string { return "drops a root" }

// Flows implements lbmodel.Flowing: roots come, and none goes but by rotation.
func (t *Trust) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Trust)
	return ok && old.System == t.System && lbmodel.RotationFlows(t.Roots, old.Roots)
}

// Structure implements lbmodel.Flowing: whom to trust is somebody's decision when a
// trust comes or loses a root. Where a mesh rotates its roots, it is the decision to
// trust the mesh.
func (t *Trust) Structure() lbmodel.Spec {
	out := &Trust{System: t.System, source: t.source}
	if !t.rotates {
		out.Roots = lbmodel.Published(t.Roots)
	}
	return out
}

func (t *Trust) references(func(*Ref)) {}
func (t *Trust) frozen() any           { return t.System }

func (t *Trust) check() error {
	if t.Rotation != nil {
		return fmt.Errorf("rotation must not be set: roots are what came of it")
	}
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
	Identity lbmodel.Identity `json:"identity"` // without its Leaf; without authorities and Held in the cloud
	// Leaf is the SHA-256 of the leaf's DER, hex. Empty, in a Spec only, means
	// whatever the Keyring issues at Apply.
	Leaf string `json:"leaf,omitzero"`

	follows     []lbmodel.ID // the roots of the backends that it is shown to
	authorities []string     // of Identity.Renew, after Place
	held        *lbmodel.Held
}

// Follows implements lbmodel.Follower: a mesh that issues under a new root expects
// that root to be trusted first.
func (c *Certificate) Follows() []lbmodel.ID { return c.follows }

// Presents implements lbmodel.Presenting.
func (c *Certificate) Presents() string { return c.Identity.Name }

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
	return c.wanted(nil).RenewAt(*f.Leaf)
}

// Flows implements lbmodel.Flowing: another leaf for the same identity.
func (c *Certificate) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Certificate)
	return ok && lbmodel.DigestOf(c.Structure()) == lbmodel.DigestOf(old.Structure())
}

// Structure implements lbmodel.Flowing: a certificate, whatever its leaf.
func (c *Certificate) Structure() lbmodel.Spec {
	return &Certificate{Identity: c.placed().Identity, Leaf: lbmodel.KnownAfterApply, follows: c.follows}
}

func (c *Certificate) references(func(*Ref)) {}
func (c *Certificate) frozen() any           { return c.Identity.Name }

func (c *Certificate) check() error {
	if c.Leaf == "" {
		return fmt.Errorf("leaf is required")
	}
	if renew := c.Identity.Renew; c.Identity.Leaf != nil || renew.Authorities != nil || renew.Held != nil {
		return fmt.Errorf("identity.leaf, identity.renew.authorities and identity.renew.held must not be set: leaf says which one it is")
	}
	return nil
}

// placed is the certificate without what the cloud has no use for: which authorities
// a mesh publishes, and which its issuer uses, decides when a leaf is due, and is no
// property of it.
func (c *Certificate) placed() *Certificate {
	out := *c
	if out.Identity.Renew.Authorities != nil {
		out.authorities, out.Identity.Renew.Authorities = out.Identity.Renew.Authorities, nil
	}
	if out.Identity.Renew.Held != nil {
		out.held, out.Identity.Renew.Held = out.Identity.Renew.Held, nil
	}
	return &out
}

// wanted is the identity as a Keyring is asked for it: with the leaf, when it is
// the key of that very certificate and no other that is needed.
func (c *Certificate) wanted(leaf *lbmodel.Leaf) lbmodel.Identity {
	id := c.Identity
	id.Leaf = leaf
	if c.authorities != nil {
		id.Renew.Authorities = c.authorities
	}
	if c.held != nil {
		id.Renew.Held = c.held
	}
	return id
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
