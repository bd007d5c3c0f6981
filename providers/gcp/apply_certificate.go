package gcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"strings"

	"gatehouse.dev/lbmodel"
)

// bringCertificate puts another leaf and its key in the place of those that are there,
// or changes what it is for; in one call.
func (c *change) bringCertificate(ctx context.Context, want *Certificate, planned lbmodel.Resource) (made, error) {
	have := c.step.Have.Spec.(*Certificate)
	leaf := c.step.Have.Facts.Leaf
	fields := map[string]any{}
	if !c.holds(want, have, planned) {
		pair, issued, err := c.key(ctx, want)
		if err != nil {
			return made{}, err
		}
		if fields["selfManaged"], err = c.selfManaged(pair); err != nil {
			return made{}, err
		}
		leaf = issued
	}
	if !maps.Equal(want.Labels, have.Labels) {
		fields["labels"] = want.Labels
	}
	if told, was := ownershipFor(c.owner, c.step.Hold, want), ownershipFor(c.owner, c.step.Hold, have); told.text() != was.text() {
		fields["description"] = c.noted(told).text()
	}
	m := made{spec: want.holding(leaf), facts: c.step.Have.Facts}
	m.facts.Leaf = leaf
	if len(fields) == 0 {
		return m, nil
	}
	return m, c.send(ctx, fields)
}

// holds says whether the wanted leaf is there. One that was to be issued is there when
// it is another one than the plan had, and one that need not be renewed yet.
func (c *change) holds(want, have *Certificate, planned lbmodel.Resource) bool {
	if want.Leaf != lbmodel.KnownAfterApply {
		return want.Leaf == have.Leaf
	}
	was, _ := planned.Spec.(*Certificate)
	return (was == nil || was.Leaf != have.Leaf) && want.wanted().Keeps(have.Identity, c.step.Have.Facts.Leaf, c.now())
}

// holding is the certificate with the leaf that it has now.
func (c *Certificate) holding(leaf *lbmodel.Leaf) *Certificate {
	out := *c
	if leaf != nil {
		out.Leaf = leaf.SHA256
	}
	return &out
}

// key is the key of the wanted leaf, or of one that is issued now.
func (c *change) key(ctx context.Context, want *Certificate) (tls.Certificate, *lbmodel.Leaf, error) {
	identity := want.wanted()
	if want.Leaf != lbmodel.KnownAfterApply {
		identity.Leaf = &lbmodel.Leaf{SHA256: want.Leaf}
	}
	return c.keys.Pair(ctx, c.step.ID, identity)
}

// selfManaged is a certificate with its key as Certificate Manager takes it: PEM, the
// leaf first.
func (c *change) selfManaged(pair tls.Certificate) (map[string]any, error) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, lbmodel.Errorf(lbmodel.CodeInvalid, "Apply", c.step.ID, "the key cannot be encoded: %w", err)
	}
	var chain strings.Builder
	for _, der := range pair.Certificate {
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return map[string]any{
		"pemCertificate": chain.String(),
		"pemPrivateKey":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}, nil
}
