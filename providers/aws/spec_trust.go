package aws

import (
	"time"

	"gatehouse.dev/lbmodel"
)

// TrustBundle is a file of CA certificates in S3, shared by every gateway of a
// cluster. Since when a root is not published any more is stored with it.
type TrustBundle struct {
	Bucket string         `json:"bucket"`
	Key    string         `json:"key"`
	Roots  []lbmodel.Root `json:"roots,omitempty"`
	// Rotation is by what Place decides which roots there are now. It is in a
	// compiled Spec only.
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

// Needs implements lbmodel.Spec.
func (t *TrustBundle) Needs() []lbmodel.ID { return nil }

// TrustRoots implements lbmodel.Rooted.
func (t *TrustBundle) TrustRoots() []lbmodel.Root { return t.Roots }

// Sources implements lbmodel.Sourced.
func (t *TrustBundle) Sources() []lbmodel.Source { return sources(t.source) }

// Widens implements lbmodel.Narrowing: a root comes.
func (t *TrustBundle) Widens(have lbmodel.Spec) bool {
	old, ok := have.(*TrustBundle)
	return !ok || lbmodel.GainsRoot(t.Roots, old.Roots)
}

// Narrows implements lbmodel.Narrowing: a root goes.
func (t *TrustBundle) Narrows(have lbmodel.Spec) bool {
	old, ok := have.(*TrustBundle)
	return ok && old.Widens(t)
}

// RenewAt implements lbmodel.Renewing: when a root that is not published any more
// is to go.
func (t *TrustBundle) RenewAt(lbmodel.Facts) time.Time { return t.next }

// RenewWhy says what becomes of it then.
func (t *TrustBundle) RenewWhy() string { return "drops a root" }

// Flows implements lbmodel.Flowing: roots come, and none goes but by rotation.
func (t *TrustBundle) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*TrustBundle)
	return ok && lbmodel.RotationFlows(t.Roots, old.Roots)
}

// Structure implements lbmodel.Flowing: whom to trust, or, where a mesh rotates its
// roots, that the mesh is trusted.
func (t *TrustBundle) Structure() lbmodel.Spec {
	out := &TrustBundle{Bucket: t.Bucket, Key: t.Key, source: t.source}
	if !t.rotates && (t.Rotation == nil || t.Rotation.Overlap == 0) {
		out.Roots = lbmodel.Published(t.Roots)
	}
	return out
}

// TrustStore is what listeners verify clients by. Its ARN stays while its bundle
// rotates: it is told to read the bundle again.
type TrustStore struct {
	Bundle Ref `json:"bundle"`
	// Roots are the SHA-256 of the roots that it has read, in the bundle's order. A
	// compiled Spec has none: Place says which.
	Roots []string `json:"roots,omitempty"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (s *TrustStore) Needs() []lbmodel.ID { return needs(s.Bundle) }

// Sources implements lbmodel.Sourced.
func (s *TrustStore) Sources() []lbmodel.Source { return sources(s.source) }

// Flows implements lbmodel.Flowing: it follows its bundle. A root that goes at once
// is agreed to with the bundle.
func (s *TrustStore) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*TrustStore)
	return ok && old.Bundle == s.Bundle
}

// Structure implements lbmodel.Flowing.
func (s *TrustStore) Structure() lbmodel.Spec { return &TrustStore{Bundle: s.Bundle, source: s.source} }
