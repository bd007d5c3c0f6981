package spiffe

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"math/big"
)

// bundle is a JWK set (RFC 7517) with SPIFFE's members.
type bundle struct {
	Keys        []jwk  `json:"keys"`
	Sequence    uint64 `json:"spiffe_sequence,omitzero"`
	RefreshHint int    `json:"spiffe_refresh_hint,omitzero"` // seconds
}

// jwk is a root: its key, and the certificate in x5c.
type jwk struct {
	Use   string   `json:"use"`
	Type  string   `json:"kty"`
	Curve string   `json:"crv,omitempty"`
	X     string   `json:"x,omitempty"`
	Y     string   `json:"y,omitempty"`
	N     string   `json:"n,omitempty"`
	E     string   `json:"e,omitempty"`
	Certs []string `json:"x5c"`
}

func keyOf(c *x509.Certificate) jwk {
	k := jwk{Use: "x509-svid", Certs: []string{base64.StdEncoding.EncodeToString(c.Raw)}}
	text := base64.RawURLEncoding.EncodeToString
	switch key := c.PublicKey.(type) {
	case *ecdsa.PublicKey:
		k.Type, k.Curve = "EC", key.Params().Name
		if point, err := key.Bytes(); err == nil { // 4, x, y (SEC 1, 2.3.3)
			half := (len(point) - 1) / 2
			k.X, k.Y = text(point[1:1+half]), text(point[1+half:])
		}
	case *rsa.PublicKey:
		k.Type, k.N, k.E = "RSA", text(key.N.Bytes()), text(big.NewInt(int64(key.E)).Bytes())
	case ed25519.PublicKey:
		k.Type, k.Curve, k.X = "OKP", "Ed25519", text(key)
	}
	return k
}
