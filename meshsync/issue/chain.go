package issue

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
)

const maxCertificates = 64 // of one text

// ParseChain reads the certificates of a CA's answer in PEM, in their order; text
// around them is no harm. No error repeats a byte of it.
func ParseChain(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("it holds something else than certificates")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("a certificate cannot be parsed")
		}
		if out = append(out, c); len(out) > maxCertificates {
			return nil, errors.New("it holds too many certificates")
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it holds no certificate")
	}
	return out, nil
}
