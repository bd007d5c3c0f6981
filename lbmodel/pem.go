package lbmodel

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The bounds of one bundle. A thousandth of either is usual; the greatest public
// root store has about 150 roots in 250 KiB.
const (
	MaxRootsText = 1 << 20 // bytes
	MaxRoots     = 512
)

// ParseRoots reads every CA certificate of a PEM text: either all of them, or
// none and the reason with the place. Text around the blocks, PEM headers, CRLF,
// a byte order mark and missing or extra line ends change nothing. Roots come
// without duplicates, in the order of their fingerprints, re-encoded; expired
// ones too, since what time it is the caller knows.
//
// Refused are blocks that are no certificate (a private key by that name),
// OpenSSL's TRUSTED CERTIFICATE, PEM that was base64-encoded once more, base64 as
// long as a certificate outside of any block, UTF-16, and certificates that are no
// CA.
func ParseRoots(text []byte) ([]Root, error) {
	if len(text) > MaxRootsText {
		return nil, fmt.Errorf("%d bytes are more than the %d that a bundle of roots may have", len(text), MaxRootsText)
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, fmt.Errorf("%s: a NUL byte; the text is UTF-16, or none", placeIn(text, at))
	}
	starts := blockStarts(text)
	if err := checkBlocks(text, starts); err != nil {
		return nil, err
	}
	var roots []Root
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		root, err := parseRoot(text[start:end])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", placeIn(text, start), err)
		}
		roots = append(roots, root)
	}
	if err := checkStray(text); err != nil {
		return nil, err
	}
	return sortRoots(roots), nil
}

// sortRoots puts roots into canonical order and drops duplicates.
func sortRoots(roots []Root) []Root {
	slices.SortFunc(roots, func(a, b Root) int { return strings.Compare(a.SHA256, b.SHA256) })
	return slices.CompactFunc(roots, func(a, b Root) bool { return a.SHA256 == b.SHA256 })
}

const pemBegin = "-----BEGIN "

// blockStarts are the offsets of all blocks. Cutting there, and not at line
// ends, parses bundles that were joined without a line end between them.
func blockStarts(text []byte) []int {
	var starts []int
	for at := 0; ; at += len(pemBegin) {
		next := bytes.Index(text[at:], []byte(pemBegin))
		if next < 0 {
			return starts
		}
		at += next
		starts = append(starts, at)
	}
}

// checkBlocks finds what would get lost between blocks.
func checkBlocks(text []byte, starts []int) error {
	// The base64 of "-----BEGIN ": a bundle, or a part of one, encoded twice.
	if at := bytes.Index(text, []byte("LS0tLS1CRUdJTi")); at >= 0 {
		return fmt.Errorf("%s: PEM that was base64-encoded once more; decode it before it is stored", placeIn(text, at))
	}
	if len(starts) == 0 {
		return errors.New("no PEM block begins anywhere; wanted is -----BEGIN CERTIFICATE-----")
	}
	if ends := bytes.Count(text, []byte("-----END ")); ends > len(starts) {
		return fmt.Errorf("%d blocks end but only %d begin: a line -----BEGIN CERTIFICATE----- is missing or broken", ends, len(starts))
	}
	if len(starts) > MaxRoots {
		return fmt.Errorf("%d certificates are more than the %d that a bundle of roots may have", len(starts), MaxRoots)
	}
	return nil
}

// placeIn is an offset for programs and a line for people.
func placeIn(text []byte, offset int) string {
	return fmt.Sprintf("offset %d (line %d)", offset, 1+bytes.Count(text[:offset], []byte("\n")))
}

// parseRoot reads a text that begins with a block and holds no other.
func parseRoot(text []byte) (Root, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return Root{}, errors.New("the block is not valid PEM: its lines, its base64 or its END is broken")
	}
	if err := checkBlockType(block.Type); err != nil {
		return Root{}, err
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Root{}, fmt.Errorf("the certificate cannot be parsed: %w", err)
	}
	if !isCA(cert) {
		return Root{}, fmt.Errorf("the certificate %q is not a CA: put the root that signed it here instead", CertificateName(cert))
	}
	return newRoot(cert), nil
}

// CertificateName names a certificate for people: workloads' have no subject, only a URI.
func CertificateName(cert *x509.Certificate) string {
	switch subject := cert.Subject.String(); {
	case subject == "" && len(cert.URIs) > 0:
		return cert.URIs[0].String()
	case subject == "" && len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	default:
		return subject
	}
}

func checkBlockType(kind string) error {
	switch {
	case kind == "CERTIFICATE":
		return nil
	case kind == "TRUSTED CERTIFICATE":
		return errors.New("the block is OpenSSL's TRUSTED CERTIFICATE, whose trust settings would be lost; export it as a plain CERTIFICATE")
	case strings.Contains(kind, "PRIVATE KEY"):
		return errors.New("the block is a private key, in a place that is public; remove it and replace the key")
	default:
		return fmt.Errorf("the block is a %q and not a CERTIFICATE", kind)
	}
}

// isCA accepts certificates of X.509 version 1 that signed themselves: they
// could not yet say that they are a CA.
func isCA(cert *x509.Certificate) bool {
	if cert.BasicConstraintsValid {
		return cert.IsCA
	}
	return cert.Version < 3 && bytes.Equal(cert.RawSubject, cert.RawIssuer)
}

func newRoot(cert *x509.Certificate) Root {
	return Root{
		SHA256:   hexSHA256(cert.Raw),
		SPKI:     hexSHA256(cert.RawSubjectPublicKeyInfo),
		KeyID:    hex.EncodeToString(cert.SubjectKeyId),
		Subject:  strings.ToValidUTF8(cert.Subject.String(), "\uFFFD"),
		NotAfter: cert.NotAfter.UTC(),
		PEM:      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})),
	}
}

// AuthorityOf is the Leaf.Authority of a chain, the leaf first and its issuers
// after it. A chain that brings its root along leads to that root.
func AuthorityOf(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return ""
	}
	last := chain[len(chain)-1]
	if len(last.AuthorityKeyId) == 0 && bytes.Equal(last.RawSubject, last.RawIssuer) {
		return hex.EncodeToString(last.SubjectKeyId)
	}
	return hex.EncodeToString(last.AuthorityKeyId)
}

// LeafOf is what is public of the first certificate of a chain; there is one.
func LeafOf(chain []*x509.Certificate) Leaf {
	first := chain[0]
	out := Leaf{
		SHA256: hexSHA256(first.Raw), NotBefore: first.NotBefore.UTC(), NotAfter: first.NotAfter.UTC(),
		DNSNames: first.DNSNames, Issuer: first.Issuer.String(), KeyType: keyTypeOf(first), Authority: AuthorityOf(chain),
	}
	for _, u := range first.URIs {
		out.URIs = append(out.URIs, u.String())
	}
	return out
}

// keyTypeOf is the type of a certificate's key, of those that TLS uses.
func keyTypeOf(c *x509.Certificate) string {
	switch c.PublicKeyAlgorithm {
	case x509.ECDSA, x509.RSA, x509.Ed25519:
		return c.PublicKeyAlgorithm.String()
	default:
		return ""
	}
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
