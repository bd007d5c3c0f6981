package lbmodel

import "time"

// Trust is a set of CA roots. Names are unique in a cluster: gateways that name
// the same Trust mean the same roots, so providers share it.
type Trust struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	System bool   `json:"system,omitzero"` // the provider's well-known public roots
	Roots  []Root `json:"roots,omitempty"` // sorted by SHA256, no duplicates

	// Overlap is how long a root stays after its source dropped it: the longest life
	// of a certificate that it may have signed. Zero lets it go at once. See Rotate.
	Overlap Duration `json:"overlap,omitzero"`
	// Seen are the keys (Root.SPKI) of roots to which certificates lead that were
	// seen on the wire lately, sorted: none of those goes, whatever its source says.
	Seen []string `json:"seen,omitempty"`
	// Unknown says that the source cannot be read: what is there stays, nothing is
	// dropped, and what is not there is not made. Roots is empty then.
	Unknown bool `json:"unknown,omitzero"`
}

// Root is one CA certificate. It is public.
type Root struct {
	SHA256   string    `json:"sha256"`         // of the DER, hex
	SPKI     string    `json:"spki"`           // SHA-256 of the SubjectPublicKeyInfo, hex: a re-signed root keeps it
	KeyID    string    `json:"keyID,omitzero"` // its SubjectKeyIdentifier (RFC 5280 4.2.1.2), hex; "" when it has none
	Subject  string    `json:"subject,omitzero"`
	NotAfter time.Time `json:"notAfter"`
	PEM      string    `json:"pem"` // re-encoded: no headers, no text around it
	// Dropped is since when its source does not publish it any more; zero while it
	// does. Only what a provider placed has it: see Rotate.
	Dropped time.Time `json:"dropped,omitzero"`
}

// Identity names a certificate that the gateway holds the key of: one that it
// serves to clients, or its client certificate towards backends. It never holds
// a key; keys pass from a Keyring to Apply and nowhere else.
type Identity struct {
	Name     string   `json:"name"` // unique in the gateway
	Source   Source   `json:"source"`
	SPIFFEID string   `json:"spiffeID,omitzero"`
	DNSNames []string `json:"dnsNames,omitempty"`
	Issuer   string   `json:"issuer"` // IssuerSecret, or who is asked at Apply
	// Signer is whom the issuer has sign, where that is not the usual one, in words of its
	// own: they are only compared.
	Signer  string    `json:"signer,omitzero"`
	KeyType string    `json:"keyType,omitzero"`
	Renew   RenewRule `json:"renew,omitzero"`
	Leaf    *Leaf     `json:"leaf,omitzero"` // what a given certificate holds now; nil when it is issued at Apply
}

// IssuerSecret is an identity that somebody else keeps in a Secret; others are
// issued on demand.
const IssuerSecret = "Secret"

// RenewRule says how long a leaf is asked for and when it is replaced.
type RenewRule struct {
	Lifetime Duration `json:"lifetime,omitzero"`
	Before   Duration `json:"before,omitzero"` // renewed when less than this is left; unset is a third of its life
	// Authorities are the keys (Root.KeyID) of the roots that the issuer's mesh
	// publishes now, sorted. A live leaf that leads to another one is due at once,
	// and a new one is not taken. Empty is any: nobody knows, or it does not matter.
	Authorities []string `json:"authorities,omitempty"`
	// Held is the certificate that an issuer who makes the keys itself has now. A live
	// leaf of another authority that is older is due at once, although its own is
	// published still: whoever gave it does not use that any more. Nil: nobody knows.
	Held *Held `json:"held,omitzero"`
}

// Held is a certificate that somebody else has the key of.
type Held struct {
	Authority string    `json:"authority"` // as Leaf.Authority
	NotBefore time.Time `json:"notBefore"`
}

// Leaf is the public part of a live certificate.
type Leaf struct {
	SHA256    string    `json:"sha256"` // of the leaf's DER, hex
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
	DNSNames  []string  `json:"dnsNames,omitempty"`
	URIs      []string  `json:"uris,omitempty"`
	Issuer    string    `json:"issuer,omitzero"`  // the issuer's distinguished name
	KeyType   string    `json:"keyType,omitzero"` // "ECDSA", "RSA", "Ed25519"; "" is unknown
	// Authority is the key of the root that it leads to, hex: the
	// AuthorityKeyIdentifier of the last certificate of its chain, which is sent
	// without the root. "" is unknown. See AuthorityOf.
	Authority string `json:"authority,omitzero"`
}
