package lbmodel

import "time"

// Trust is a set of CA roots. Names are unique in a cluster: gateways that name
// the same Trust mean the same roots, so providers share it.
type Trust struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	System bool   `json:"system,omitzero"` // the provider's well-known public roots
	Roots  []Root `json:"roots,omitempty"` // sorted by SHA256, no duplicates
}

// Root is one CA certificate. It is public.
type Root struct {
	SHA256   string    `json:"sha256"` // of the DER, hex
	SPKI     string    `json:"spki"`   // SHA-256 of the SubjectPublicKeyInfo, hex: a re-signed root keeps it
	Subject  string    `json:"subject,omitzero"`
	NotAfter time.Time `json:"notAfter"`
	PEM      string    `json:"pem"` // re-encoded: no headers, no text around it
}

// Identity names a certificate that the gateway holds the key of: one that it
// serves to clients, or its client certificate towards backends. It never holds
// a key; keys pass from a Keyring to Apply and nowhere else.
type Identity struct {
	Name     string    `json:"name"` // unique in the gateway
	Source   Source    `json:"source"`
	SPIFFEID string    `json:"spiffeID,omitzero"`
	DNSNames []string  `json:"dnsNames,omitempty"`
	Issuer   string    `json:"issuer"` // IssuerSecret, or who is asked at Apply
	KeyType  string    `json:"keyType,omitzero"`
	Renew    RenewRule `json:"renew,omitzero"`
	Leaf     *Leaf     `json:"leaf,omitzero"` // what a given certificate holds now; nil when it is issued at Apply
}

// IssuerSecret is an identity that somebody else keeps in a Secret; others are
// issued on demand.
const IssuerSecret = "Secret"

// RenewRule says how long a leaf is asked for and when it is replaced.
type RenewRule struct {
	Lifetime Duration `json:"lifetime,omitzero"`
	Before   Duration `json:"before,omitzero"` // renewed when less than this is left; unset is a third of its life
}

// Leaf is the public part of a live certificate.
type Leaf struct {
	SHA256    string    `json:"sha256"` // of the leaf's DER, hex
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
	DNSNames  []string  `json:"dnsNames,omitempty"`
	URIs      []string  `json:"uris,omitempty"`
	Issuer    string    `json:"issuer,omitzero"` // the issuer's distinguished name
}
