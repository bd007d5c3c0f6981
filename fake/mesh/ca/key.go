package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
)

// KeyType is a kind of key, in lbmodel's words.
type KeyType string

// The key types. "" is [ECDSA].
const (
	ECDSA   KeyType = "ECDSA-P256"
	P384    KeyType = "ECDSA-P384"
	RSA     KeyType = "RSA-2048"
	Ed25519 KeyType = "Ed25519"
)

// NewKey makes a key.
func NewKey(k KeyType) (crypto.Signer, error) {
	switch k {
	case ECDSA, "":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case P384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case RSA:
		return rsa.GenerateKey(rand.Reader, 2048)
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("there is no key type %q", k)
}
