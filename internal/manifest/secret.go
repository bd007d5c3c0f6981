package manifest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/keypair"
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

// splitPair is a Secret taken apart, with what is worth telling about it though the
// pair can be served.
type splitPair struct {
	keypair.Split
	notes []fault
}

// splitSecret takes a Secret apart at the edge.
func splitSecret(s *corev1.Secret, now time.Time) *splitPair {
	out := &splitPair{Split: keypair.Take(s)}
	if out.Pair != nil {
		out.notes = notesOn(*out.Pair, now)
	}
	return out
}

// notesOn says what clients may stumble over although the pair can be served.
func notesOn(pair tls.Certificate, now time.Time) []fault {
	const field = "data.tls.crt"
	var notes []fault
	switch leaf := pair.Leaf; {
	case now.After(leaf.NotAfter):
		notes = append(notes, fault{field: field, message: "the certificate ended on " + leaf.NotAfter.UTC().Format(time.RFC3339)})
	case now.Before(leaf.NotBefore):
		notes = append(notes, fault{field: field, message: "the certificate begins only on " + leaf.NotBefore.UTC().Format(time.RFC3339)})
	}
	if i := unsigned(pair.Certificate); i > 0 {
		notes = append(notes, fault{field: field, message: fmt.Sprintf(
			"certificate %d is not signed by certificate %d: order the chain from the leaf to its issuer", i, i+1)})
	}
	return notes
}

// unsigned is the number of the first certificate that the next one did not sign;
// 0 is none.
func unsigned(chain [][]byte) int {
	var signed *x509.Certificate
	for i, raw := range chain {
		issuer, err := x509.ParseCertificate(raw)
		if err != nil || signed != nil && signed.CheckSignatureFrom(issuer) != nil {
			return i
		}
		signed = issuer
	}
	return 0
}
