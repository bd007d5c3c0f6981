package keypair

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// No error of this file repeats what a parser said about a key, or any byte of
// the input: a key may stand where a certificate was meant.

const minRSABits = 1024 // crypto/tls signs with nothing shorter

// blocks are the PEM blocks of a text. Text around them, CRLF and a byte order
// mark are no harm (RFC 7468, 5.2); a BEGIN line that no block came of is.
func blocks(name string, text []byte) ([]*pem.Block, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	begun := bytes.Count(text, []byte("-----BEGIN "))
	var all []*pem.Block
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		all = append(all, block)
		text = rest
	}
	switch {
	case begun == 0:
		return nil, fmt.Errorf("%s is not PEM: it has no -----BEGIN line", name)
	case begun != len(all):
		return nil, fmt.Errorf("%s has %d PEM blocks of which %d cannot be read: each BEGIN and END stands on its own line, with base64 between", name, begun, begun-len(all))
	default:
		return all, nil
	}
}

// parseChain reads tls.crt: the leaf first, then its issuers.
func parseChain(text []byte) ([]*x509.Certificate, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("there is no tls.crt")
	}
	all, err := blocks("tls.crt", text)
	if err != nil {
		return nil, err
	}
	var chain []*x509.Certificate
	for _, block := range all {
		switch block.Type {
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("certificate %d of tls.crt cannot be parsed", len(chain)+1)
			}
			chain = append(chain, c)
		case "TRUSTED CERTIFICATE":
			return nil, errors.New("tls.crt has a TRUSTED CERTIFICATE block, which only OpenSSL reads: write it as CERTIFICATE")
		}
	}
	if len(chain) == 0 {
		return nil, errors.New("tls.crt has no CERTIFICATE block")
	}
	return chain, nil
}

// parseKey reads tls.key: the first private key in it.
func parseKey(text []byte) (crypto.Signer, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("there is no tls.key")
	}
	all, err := blocks("tls.key", text)
	if err != nil {
		return nil, err
	}
	for _, block := range all {
		if strings.HasPrefix(block.Type, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, errors.New("tls.key is encrypted, and nobody is there to type the passphrase: store it decrypted")
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return parseKeyBlock(block)
		}
	}
	return nil, errors.New("tls.key has no PRIVATE KEY block")
}

func parseKeyBlock(block *pem.Block) (crypto.Signer, error) {
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
		return nil, errors.New("tls.key is of a kind that TLS does not use: RSA, ECDSA and Ed25519 keys are, in PKCS #1, SEC 1 or PKCS #8 form")
	}
	if err != nil {
		return nil, errors.New("tls.key cannot be parsed as " + block.Type)
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		if n := key.N.BitLen(); n < minRSABits {
			return nil, fmt.Errorf("tls.key has %d bits, too few to sign for TLS: use 2048", n)
		}
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	case ed25519.PrivateKey:
		return key, nil
	default:
		return nil, errors.New("tls.key is of a kind that TLS does not sign with: use RSA, ECDSA or Ed25519")
	}
}

// matches says whether the key is the leaf's, and finds a leaf in a wrong place.
func matches(chain []*x509.Certificate, key crypto.Signer) error {
	own, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return errors.New("tls.key is of a kind that cannot be compared")
	}
	for i, c := range chain {
		switch {
		case own.Equal(c.PublicKey) && i == 0:
			return nil
		case own.Equal(c.PublicKey):
			return fmt.Errorf("tls.key is the key of certificate %d in tls.crt: the leaf must stand first", i+1)
		}
	}
	return errors.New("tls.key does not belong to the certificate in tls.crt")
}
