package dataplane

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// verifier decides whether a backend is who the model says. It replaces the
// standard library's check, which can't compare URI names, and does the rest of
// it the same way: chain, validity, usage.
type verifier struct {
	roots *x509.CertPool
	sans  []lbmodel.SAN
	sni   string // the name that must match when there are no SANs
	now   func() time.Time
}

// errUnverifiable is a pool that asks for a verification that cannot be had.
var errUnverifiable = errors.New("backend TLS cannot be verified")

// errNoCertificate is a backend that says nothing about itself.
var errNoCertificate = errors.New("the backend sent no certificate")

// nameError is a certificate that is sound and somebody else's.
type nameError struct{ wanted, presented string }

func (e *nameError) Error() string {
	return fmt.Sprintf("the backend's certificate is for %q, wanted is %q", e.presented, e.wanted)
}

func newVerifier(t *lbmodel.BackendTLS, trust *trust, now func() time.Time) (*verifier, error) {
	switch {
	case trust == nil:
		return nil, fmt.Errorf("%w: trust %q is not part of the gateway", errUnverifiable, t.Trust)
	case trust.pool == nil:
		return nil, fmt.Errorf("%w: trust %q holds no root", errUnverifiable, t.Trust)
	case t.SNI == "" && len(t.SANs) == 0:
		return nil, fmt.Errorf("%w: neither a server name nor a subject alternative name is given", errUnverifiable)
	}
	return &verifier{roots: trust.pool, sans: t.SANs, sni: t.SNI, now: now}, nil
}

// verify returns the root that the chain ends in. It runs for every handshake,
// resumed ones too.
func (v *verifier) verify(state tls.ConnectionState) (*x509.Certificate, error) {
	if len(state.PeerCertificates) == 0 {
		return nil, errNoCertificate
	}
	leaf := state.PeerCertificates[0]
	options := x509.VerifyOptions{Roots: v.roots, Intermediates: x509.NewCertPool(), CurrentTime: v.now()}
	for _, c := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(options)
	if err != nil {
		return nil, err
	}
	if err := v.identify(leaf); err != nil {
		return nil, err
	}
	chain := chains[0]
	return chain[len(chain)-1], nil
}

// identify asks for any one of the SANs, or for the server name when there are
// none (BackendTLSPolicy validation.subjectAltNames).
func (v *verifier) identify(leaf *x509.Certificate) error {
	if len(v.sans) == 0 {
		if leaf.VerifyHostname(v.sni) != nil {
			return &nameError{wanted: v.sni, presented: names(leaf)}
		}
		return nil
	}
	for _, san := range v.sans {
		if hasSAN(leaf, san) {
			return nil
		}
	}
	return &nameError{wanted: wantedNames(v.sans), presented: names(leaf)}
}

func hasSAN(leaf *x509.Certificate, san lbmodel.SAN) bool {
	switch san.Kind {
	case lbmodel.SANDNS:
		return leaf.VerifyHostname(san.Value) == nil
	case lbmodel.SANURI:
		for _, uri := range leaf.URIs {
			if uri.String() == san.Value {
				return true
			}
		}
	}
	return false
}

func wantedNames(sans []lbmodel.SAN) string {
	var out []string
	for _, san := range sans {
		out = append(out, san.Value)
	}
	return strings.Join(out, " or ")
}

// names lists a few names of a certificate for an error's text.
func names(leaf *x509.Certificate) string {
	all := append([]string(nil), leaf.DNSNames...)
	for _, uri := range leaf.URIs {
		all = append(all, uri.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return strings.Join(all[:min(len(all), 4)], ", ")
}

// trust is a compiled lbmodel.Trust. pool is nil when it holds no root: nothing
// verifies then, rather than the machine's roots.
type trust struct {
	pool   *x509.CertPool
	roots  map[string]bool // by DER; without the system's
	system bool
	digest string
}

// vouches says whether a client that was verified when it connected still would
// be: a kept connection must not outlive the root that let it in. The system's
// roots are taken as they were.
func (t *trust) vouches(state *tls.ConnectionState) bool {
	if t == nil {
		return false
	}
	return slices.ContainsFunc(state.VerifiedChains, func(chain []*x509.Certificate) bool {
		return t.system || t.roots[string(chain[len(chain)-1].Raw)]
	})
}

// remember notes the certificates of a PEM text.
func (t *trust) remember(text []byte) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		t.roots[string(block.Bytes)] = true
	}
}

func (d *DataPlane) compileTrust(t lbmodel.Trust) (*trust, error) {
	out := &trust{roots: map[string]bool{}, system: t.System}
	if t.System {
		pool, err := d.systemRoots()
		if err != nil {
			return nil, fmt.Errorf("trust %s: the system's roots: %w", t.Name, err)
		}
		out.pool, out.digest = pool.Clone(), "system "
	}
	for _, root := range t.Roots {
		if out.pool == nil {
			out.pool = x509.NewCertPool()
		}
		if !out.pool.AppendCertsFromPEM([]byte(root.PEM)) {
			return nil, fmt.Errorf("trust %s: root %s is not a PEM certificate", t.Name, root.SHA256)
		}
		out.remember([]byte(root.PEM))
		out.digest += root.SHA256 + " "
	}
	return out, nil
}

func (d *DataPlane) systemRoots() (*x509.CertPool, error) {
	if d.config.SystemRoots != nil {
		return d.config.SystemRoots, nil
	}
	return x509.SystemCertPool()
}

// fingerprint is the SHA-256 of a certificate's DER in hex, as lbmodel.Root has
// it.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
