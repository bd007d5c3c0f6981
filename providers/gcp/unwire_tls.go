package gcp

import (
	"crypto/x509"
	jsonv2 "encoding/json/v2"
	"encoding/pem"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// canonical reads the roots out of the trust stores, and since when each is not
// published any more out of the description.
func (t *TrustConfig) canonical(_ *names, i *item) {
	var body struct {
		TrustStores []struct {
			TrustAnchors    []pemCertificate `json:"trustAnchors"`
			IntermediateCAs []pemCertificate `json:"intermediateCas"`
		} `json:"trustStores"`
	}
	if jsonv2.Unmarshal(i.body, &body) != nil {
		return // it holds none that we know, so that it is written anew
	}
	var text strings.Builder
	for _, s := range body.TrustStores {
		for _, c := range append(s.TrustAnchors, s.IntermediateCAs...) {
			text.WriteString(strings.TrimSpace(c.PEM) + "\n")
		}
	}
	roots, err := lbmodel.ParseRoots([]byte(text.String()))
	if err != nil {
		return // likewise
	}
	for j, r := range roots {
		if at := i.own.Dropped[r.SHA256[:droppedKey]]; at != 0 {
			roots[j].Dropped = time.Unix(at, 0).UTC()
		}
	}
	t.Roots = roots
}

// canonical reads the identity out of the description, and the leaf out of the
// certificate. The scope DEFAULT is not written.
func (c *Certificate) canonical(_ *names, i *item) {
	if i.own.Identity != nil {
		c.Identity = *i.own.Identity
	}
	if c.Scope == "" {
		c.Scope = scopeDefault
	}
	c.Leaf, c.Labels = "", othersLabels(c.Labels)
	if leaf := i.leaf(); leaf != nil {
		c.Leaf = leaf.SHA256
	}
}

// leaf is the leaf of a certificate; nil of one that cannot be read, so that it is
// replaced.
func (i *item) leaf() *lbmodel.Leaf {
	var body struct {
		PEM string `json:"pemCertificate"`
	}
	if i.id.Kind != KindCertificate || jsonv2.Unmarshal(i.body, &body) != nil {
		return nil
	}
	var chain []*x509.Certificate
	for rest := []byte(body.PEM); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil
		}
		chain = append(chain, one)
	}
	if len(chain) == 0 {
		return nil
	}
	leaf := lbmodel.LeafOf(chain)
	return &leaf
}
