package gcp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"gatehouse.dev/lbmodel"
)

// What a TrustConfig takes (Certificate Manager, trust configs; backend mTLS).
const (
	maxRoots         = 200 // anchors and intermediates together
	maxIntermediates = 100
	maxSameCA        = 3 // intermediates with one subject and key
	maxPEM           = 5_000
	minRSA           = 2048
	maxRSA           = 4096
	maxConstraints   = 10 // names of a root's constraints
	maxSANs          = 5
)

// certificateOf is a root itself.
func certificateOf(r lbmodel.Root) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(r.PEM))
	if block == nil {
		return nil, errors.New("it is no PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// checkRoot says why Google Cloud does not take a root, or would verify nothing by it.
func checkRoot(r lbmodel.Root) error {
	cert, err := certificateOf(r)
	switch {
	case err != nil:
		return err
	case len(r.PEM) > maxPEM:
		return fmt.Errorf("it has %d bytes as PEM, and %d are allowed", len(r.PEM), maxPEM)
	case !cert.IsCA || !cert.BasicConstraintsValid:
		return errors.New("it is no CA (basicConstraints)")
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("its key may not sign certificates (keyUsage)")
	case constraints(cert) > maxConstraints:
		return fmt.Errorf("it has %d name constraints, and %d are allowed", constraints(cert), maxConstraints)
	}
	return errors.Join(checkKey(cert.PublicKey), checkSignature(cert))
}

func constraints(c *x509.Certificate) int {
	return len(c.PermittedDNSDomains) + len(c.ExcludedDNSDomains) + len(c.PermittedIPRanges) + len(c.ExcludedIPRanges) +
		len(c.PermittedEmailAddresses) + len(c.ExcludedEmailAddresses) + len(c.PermittedURIDomains) + len(c.ExcludedURIDomains)
}

// checkKey knows the kinds of keys that are taken.
func checkKey(key any) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSA || n > maxRSA {
			return fmt.Errorf("its RSA key has %d bits, and Google Cloud takes %d to %d", n, minRSA, maxRSA)
		}
		return nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() || k.Curve == elliptic.P384() {
			return nil
		}
		return fmt.Errorf("its key is on the curve %s, and Google Cloud takes P-256 and P-384", k.Curve.Params().Name)
	default:
		return fmt.Errorf("its key is %T, and Google Cloud takes RSA, ECDSA P-256 and P-384", key)
	}
}

func checkSignature(c *x509.Certificate) error {
	switch c.SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.MD5WithRSA, x509.MD2WithRSA, x509.DSAWithSHA1:
		return fmt.Errorf("it is signed by %s, and Google Cloud takes SHA-256 or better", c.SignatureAlgorithm)
	default:
		return nil
	}
}

// divideRoots tells trust anchors from intermediates: what another one of the bundle
// has issued is no anchor. One whose issuer is not there is, since else nothing would
// lead anywhere.
func divideRoots(roots []lbmodel.Root) (anchors, intermediates []lbmodel.Root) {
	certificates := make([]*x509.Certificate, len(roots))
	for i, r := range roots {
		certificates[i], _ = certificateOf(r)
	}
	for i, r := range roots {
		if issuedByAnother(certificates, i) {
			intermediates = append(intermediates, r)
		} else {
			anchors = append(anchors, r)
		}
	}
	return anchors, intermediates
}

func issuedByAnother(all []*x509.Certificate, i int) bool {
	c := all[i]
	if c == nil || bytes.Equal(c.RawIssuer, c.RawSubject) {
		return false
	}
	for j, other := range all {
		if j != i && other != nil && bytes.Equal(c.RawIssuer, other.RawSubject) && c.CheckSignatureFrom(other) == nil {
			return true
		}
	}
	return false
}

// checkBundle says what is too much of a set of roots together.
func checkBundle(roots []lbmodel.Root) error {
	_, intermediates := divideRoots(roots)
	same := map[string]int{}
	most := 0
	for _, r := range intermediates {
		key := r.Subject + "\n" + r.SPKI
		same[key]++
		most = max(most, same[key])
	}
	switch {
	case len(roots) == 0:
		return errors.New("none of its certificates is taken")
	case len(roots) > maxRoots:
		return fmt.Errorf("it has %d certificates, and Google Cloud takes %d", len(roots), maxRoots)
	case len(intermediates) > maxIntermediates:
		return fmt.Errorf("it has %d intermediates, and Google Cloud takes %d", len(intermediates), maxIntermediates)
	case most > maxSameCA:
		return fmt.Errorf("it has %d intermediates of one name and key, and Google Cloud takes %d", most, maxSameCA)
	default:
		return nil
	}
}
