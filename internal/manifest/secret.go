package manifest

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

const secretKind = "Secret"

// secretField is as much of a field's path as may be shown: what was meant as a
// value may stand in a key's place.
func secretField(path string) string {
	section, key, _ := strings.Cut(path, ".")
	switch section {
	case "data", "stringData":
		if !slices.Contains([]string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, corev1.ServiceAccountRootCAKey}, key) {
			return section
		}
		return path
	case "metadata":
		if key != "name" && key != "namespace" {
			return section
		}
		return path
	case "apiVersion", "kind", "type", "immutable":
		return section
	default:
		return ""
	}
}

// splitPair is a Secret taken apart.
type splitPair struct {
	public *translate.Secret
	pair   *tls.Certificate // nil when it cannot be served; public.Problem says why
	notes  []fault          // worth telling, though the pair can be served
}

// splitSecret takes a Secret apart at the edge.
func splitSecret(s *corev1.Secret, now time.Time) *splitPair {
	out := &splitPair{public: &translate.Secret{
		Namespace: s.Namespace, Name: s.Name, UID: string(s.UID), Type: s.Type,
		CA: string(s.Data[corev1.ServiceAccountRootCAKey]),
	}}
	if err := out.take(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], now); err != nil {
		out.public.Problem = err.Error()
	}
	return out
}

func (p *splitPair) take(crt, private []byte, now time.Time) error {
	chain, err := parseChain(crt)
	if err != nil {
		return err
	}
	p.public.Leaf = leafOf(chain[0])
	key, err := parseKey(private)
	if err != nil {
		return err
	}
	if err := matches(chain, key); err != nil {
		return err
	}
	p.pair = &tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, c := range chain {
		p.pair.Certificate = append(p.pair.Certificate, c.Raw)
	}
	p.notes = notesOn(chain, now)
	return nil
}

func leafOf(c *x509.Certificate) *lbmodel.Leaf {
	sum := sha256.Sum256(c.Raw)
	leaf := &lbmodel.Leaf{
		SHA256:    hex.EncodeToString(sum[:]),
		NotBefore: c.NotBefore.UTC(),
		NotAfter:  c.NotAfter.UTC(),
		DNSNames:  c.DNSNames,
		Issuer:    c.Issuer.String(),
	}
	for _, u := range c.URIs {
		leaf.URIs = append(leaf.URIs, u.String())
	}
	return leaf
}

// notesOn says what clients may stumble over although the pair can be served.
func notesOn(chain []*x509.Certificate, now time.Time) []fault {
	const field = "data.tls.crt"
	var notes []fault
	switch leaf := chain[0]; {
	case now.After(leaf.NotAfter):
		notes = append(notes, fault{field: field, message: "the certificate ended on " + leaf.NotAfter.UTC().Format(time.RFC3339)})
	case now.Before(leaf.NotBefore):
		notes = append(notes, fault{field: field, message: "the certificate begins only on " + leaf.NotBefore.UTC().Format(time.RFC3339)})
	}
	for i := range len(chain) - 1 {
		if chain[i].CheckSignatureFrom(chain[i+1]) != nil {
			notes = append(notes, fault{field: field, message: fmt.Sprintf(
				"certificate %d is not signed by certificate %d: order the chain from the leaf to its issuer", i+1, i+2)})
			break
		}
	}
	return notes
}
