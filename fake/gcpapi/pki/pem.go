package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Chain parses PEM certificates, leaf first. Anything else in the text is refused.
func Chain(text string) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	rest := []byte(text)
	for {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("a PEM block is %s, not CERTIFICATE", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("a certificate cannot be parsed")
		}
		out, rest = append(out, c), after
	}
	if len(out) == 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("it is not PEM")
	}
	return out, nil
}

// One parses exactly one PEM certificate.
func One(text string) (*x509.Certificate, error) {
	all, err := Chain(text)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("it has %d certificates, not 1", len(all))
	}
	return all[0], nil
}

// Ordered says whether each certificate of a chain is signed by the next.
func Ordered(chain []*x509.Certificate) bool {
	for i := range len(chain) - 1 {
		if chain[i].CheckSignatureFrom(chain[i+1]) != nil {
			return false
		}
	}
	return true
}

// PrivateKey parses a PEM private key: PKCS #8, PKCS #1 or SEC 1.
func PrivateKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is not PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return nil, errors.New("the private key is of an unknown kind") // which may be secret
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, errors.New("the private key cannot be parsed") // parsers may quote it
	}
	return signer, nil
}

// Fits says whether a key is a certificate's.
func Fits(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}
