package pki

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// The limits of a trust store and of chains.
const (
	MaxAuthorities   = 200      // anchors and intermediates together
	MaxIntermediates = 100      // of them
	MaxTwins         = 3        // intermediates with the same subject and key
	MaxPEM           = 5 << 10  // bytes of one certificate in a trust config
	MaxConstraints   = 10       // name constraints of a root
	maxDepth         = 10       // certificates of a chain, with root and leaf
	maxSearch        = 100      // certificates looked at for one chain
	maxChain         = 10       // certificates that a peer may send
	maxChainBytes    = 16 << 10 // of what it sends
)

// Failure is why a certificate is refused, as logs name it after server_cert_ and
// client_cert_; "" is none.
type Failure string

// The failures.
const (
	NotProvided       Failure = "not_provided"
	TooManyInChain    Failure = "chain_exceeded_limit"
	ChainTooLarge     Failure = "exceeded_size_limit"
	RSAKeySize        Failure = "invalid_rsa_key_size"
	Curve             Failure = "unsupported_elliptic_curve_key"
	KeyAlgorithm      Failure = "unsupported_key_algorithm"
	InvalidEKU        Failure = "chain_invalid_eku"
	TooManyConstraint Failure = "chain_max_name_constraints_exceeded"
	NoTrustConfig     Failure = "trust_config_not_found"
	SearchLimit       Failure = "validation_search_limit_exceeded"
	NotValid          Failure = "validation_failed"
)

// Usage is what a leaf is for.
type Usage x509.ExtKeyUsage

// The usages.
const (
	Server = Usage(x509.ExtKeyUsageServerAuth)
	Client = Usage(x509.ExtKeyUsageClientAuth)
)

// Relaxation is a rule of leaves that is not kept to
// (MTLSPolicy.clientValidationRelaxations).
type Relaxation string

// The relaxations.
const (
	AllowMissingEKU  Relaxation = "ALLOW_MISSING_EKU"
	AllowSHA1        Relaxation = "ALLOW_SHA1_HASHING"
	AllowExpiredLeaf Relaxation = "ALLOW_EXPIRED_LEAF_CERTIFICATE"
)

// Key says whether a public key is of an allowed kind: RSA from 2048 to 4096 bits, P-256
// or P-384.
func Key(c *x509.Certificate) Failure {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if n := key.N.BitLen(); n < 2048 || n > 4096 {
			return RSAKeySize
		}
	case *ecdsa.PublicKey:
		if n := key.Curve.Params().BitSize; n != 256 && n != 384 {
			return Curve
		}
	default:
		return KeyAlgorithm
	}
	return ""
}

// isWeak tells of hashes below SHA-256.
func isWeak(c *x509.Certificate) bool {
	switch c.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1:
		return true
	}
	return false
}

// Authority says what keeps a certificate from being an anchor or an intermediate, in a
// sentence; nil is nothing.
func Authority(c *x509.Certificate) error {
	switch {
	case !c.BasicConstraintsValid || !c.IsCA:
		return errors.New("the certificate is not a CA's: basicConstraints must have CA=true")
	case c.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("the certificate is not a CA's: keyUsage must have keyCertSign")
	case isWeak(c):
		return errors.New("the certificate's signature must use SHA-256 or better")
	case Key(c) != "":
		return errors.New("the certificate's key must be RSA of 2048 to 4096 bits, P-256 or P-384")
	case constraints(c) > MaxConstraints:
		return errors.New("the certificate has more than 10 name constraints")
	}
	return nil
}

func constraints(c *x509.Certificate) int {
	n := len(c.PermittedDNSDomains) + len(c.ExcludedDNSDomains) + len(c.PermittedIPRanges) + len(c.ExcludedIPRanges)
	n += len(c.PermittedEmailAddresses) + len(c.ExcludedEmailAddresses)
	return n + len(c.PermittedURIDomains) + len(c.ExcludedURIDomains)
}

// Leaf says why a certificate cannot be a leaf of this use; "" if it can.
func Leaf(c *x509.Certificate, usage Usage, now time.Time, relaxed ...Relaxation) Failure {
	if f := Key(c); f != "" {
		return f
	}
	forbidden := []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageTimeStamping, x509.ExtKeyUsageOCSPSigning}
	missing := len(c.ExtKeyUsage) == 0 && len(c.UnknownExtKeyUsage) == 0
	switch {
	case missing && slices.Contains(relaxed, AllowMissingEKU):
	case !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsage(usage)), slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool { return slices.Contains(forbidden, u) }):
		return InvalidEKU
	}
	switch {
	case c.IsCA, now.Before(c.NotBefore):
		return NotValid
	case now.After(c.NotAfter) && !slices.Contains(relaxed, AllowExpiredLeaf):
		return NotValid
	case isWeak(c) && !slices.Contains(relaxed, AllowSHA1):
		return NotValid
	}
	return ""
}
