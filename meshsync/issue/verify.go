package issue

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

const (
	maxChain = 8         // certificates of a chain; three are many
	maxAhead = time.Hour // of a certificate's beginning: a clock is wrong beyond that
)

// verify says under which roots a certificate verifies, or why it is not taken.
func (k *keyring) verify(id lbmodel.Identity, c *candidate, roots []lbmodel.Root) ([]lbmodel.Root, error) {
	if err := checkChain(c.chain); err != nil {
		return nil, err
	}
	leaf := c.chain[0]
	if err := checkNames(leaf, id); err != nil {
		return nil, err
	}
	if err := checkUse(leaf, &c.key.PublicKey); err != nil {
		return nil, err
	}
	now := k.config.Now()
	if err := k.checkLife(c.chain, now); err != nil {
		return nil, err
	}
	if leaf.NotBefore.After(now) {
		now = leaf.NotBefore // it will not be used before
	}
	return authorities(c.chain, roots, now)
}

// trim cuts a chain where a root begins: operators put roots into the files of their
// CAs, and one is trusted because it is published and not because it is sent.
func trim(chain []*x509.Certificate, roots []lbmodel.Root) []*x509.Certificate {
	for i, c := range chain {
		if i > 0 && (selfSigned(c) || slices.ContainsFunc(roots, func(r lbmodel.Root) bool { return r.SHA256 == fingerprint(c) })) {
			return chain[:i]
		}
	}
	return chain
}

func selfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignatureFrom(c) == nil
}

// checkChain wants the leaf first, and after each certificate the one that signed it.
func checkChain(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("there is no certificate")
	}
	if len(chain) > maxChain {
		return fmt.Errorf("the chain has %d certificates, the most is %d", len(chain), maxChain)
	}
	for i, c := range chain[1:] {
		if err := chain[i].CheckSignatureFrom(c); err != nil {
			return fmt.Errorf("certificate %d of the chain did not sign certificate %d: %w", i+2, i+1, err)
		}
	}
	return nil
}

var oidNames = asn1.ObjectIdentifier{2, 5, 29, 17} // subjectAltName

// checkNames wants the identity's names and no other, of whatever kind. The common
// name is not looked at: no mesh goes by it.
func checkNames(leaf *x509.Certificate, id lbmodel.Identity) error {
	var uris, wanted []string
	for _, u := range leaf.URIs {
		uris = append(uris, u.String())
	}
	if id.SPIFFEID != "" {
		wanted = []string{id.SPIFFEID}
	}
	dns, wantedDNS := slices.Sorted(slices.Values(leaf.DNSNames)), slices.Sorted(slices.Values(id.DNSNames))
	if !slices.Equal(uris, wanted) || !slices.Equal(dns, wantedDNS) || countNames(leaf) != len(wanted)+len(wantedDNS) {
		return fmt.Errorf("it is for URIs %.200q, DNS names %.200q, %d names in all, and not for %q",
			uris, dns, countNames(leaf), append(wanted, wantedDNS...))
	}
	return nil
}

// countNames also counts names of kinds that are not parsed; -1 is not readable.
func countNames(leaf *x509.Certificate) int {
	for _, e := range leaf.Extensions {
		if !e.Id.Equal(oidNames) {
			continue
		}
		var names []asn1.RawValue
		if rest, err := asn1.Unmarshal(e.Value, &names); err != nil || len(rest) > 0 {
			return -1
		}
		return len(names)
	}
	return 0
}

func checkUse(leaf *x509.Certificate, key *ecdsa.PublicKey) error {
	switch {
	case !key.Equal(leaf.PublicKey):
		return errors.New("it is for another key than ours")
	case leaf.IsCA:
		return errors.New("it is a CA")
	case !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth):
		return errors.New("it is not for client authentication")
	case leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("its key may not sign, which TLS needs")
	}
	return nil
}

// checkLife leaves a certificate that is not valid yet to the gate. A chain ends with
// the first of its certificates.
func (k *keyring) checkLife(chain []*x509.Certificate, now time.Time) error {
	begins, ends := chain[0].NotBefore, chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(ends) {
			ends = c.NotAfter
		}
	}
	switch {
	case begins.Sub(now) > maxAhead:
		return fmt.Errorf("it begins at %s and our clock says %s: one of the clocks is wrong", stamp(begins), stamp(now))
	case !now.Before(ends):
		return fmt.Errorf("it ended at %s, and our clock says %s", stamp(ends), stamp(now))
	case ends.Sub(later(begins, now)) < k.config.MinLife:
		return fmt.Errorf("it ends at %s, less than %s from now", stamp(ends), k.config.MinLife)
	}
	return nil
}

// authorities are the roots under which a chain verifies: more than one when a root
// was signed anew with its key.
func authorities(chain []*x509.Certificate, roots []lbmodel.Root, now time.Time) ([]lbmodel.Root, error) {
	options := x509.VerifyOptions{
		Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, r := range roots {
		if block, _ := pem.Decode([]byte(r.PEM)); block != nil {
			if c, err := x509.ParseCertificate(block.Bytes); err == nil {
				options.Roots.AddCert(c)
			}
		}
	}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	verified, err := chain[0].Verify(options)
	if err != nil {
		return nil, fmt.Errorf("it does not verify under the %d roots that are published: %w", len(roots), err)
	}
	var out []lbmodel.Root
	for _, r := range roots {
		if slices.ContainsFunc(verified, func(path []*x509.Certificate) bool { return fingerprint(path[len(path)-1]) == r.SHA256 }) {
			out = append(out, r)
		}
	}
	return out, nil
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
