package issue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// KeyType is the Identity.KeyType of the keys that are made. All meshes take it;
// Linkerd takes no RSA key.
const KeyType = "ECDSA-P256"

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// request is a key and the request for its certificate.
type request struct {
	key *ecdsa.PrivateKey
	csr []byte // DER
}

// request has exactly the identity's names, and an empty subject: the names are in
// the extension, and Linkerd refuses a common name that differs.
func (k *keyring) request(id lbmodel.Identity) (*request, error) {
	template := &x509.CertificateRequest{DNSNames: slices.Clone(id.DNSNames), SignatureAlgorithm: x509.ECDSAWithSHA256}
	if id.SPIFFEID != "" {
		u, err := spiffeID(id.SPIFFEID)
		if err != nil {
			return nil, refusal(lbmodel.CodeInvalid, "%q is no SPIFFE ID: %w", id.SPIFFEID, err)
		}
		template.URIs = []*url.URL{u}
	}
	key, err := k.makeKey()
	if err != nil {
		return nil, refusal(lbmodel.CodeInternal, "no key could be made")
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil { // names that no certificate can have
		return nil, refusal(lbmodel.CodeInvalid, "its names cannot be in a certificate: %w", err)
	}
	return &request{key, csr}, nil
}

func spiffeID(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "spiffe" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.String() != text:
		return nil, errors.New("want spiffe://<trust domain>/<path>")
	}
	return u, nil
}

// AccountOf is the ServiceAccount that an identity names: by a SPIFFE ID with the
// path /ns/<namespace>/sa/<name>, or by Linkerd's name
// <name>.<namespace>.serviceaccount.identity.<control plane>.<trust domain>. It is
// not ok for others, whose CA does not know ServiceAccounts.
func AccountOf(id lbmodel.Identity) (account meshsync.Account, ok bool) {
	if id.SPIFFEID != "" {
		u, err := spiffeID(id.SPIFFEID)
		if err != nil {
			return meshsync.Account{}, false
		}
		p := strings.Split(u.Path, "/")
		if len(p) != 5 || p[1] != "ns" || p[3] != "sa" || p[2] == "" || p[4] == "" {
			return meshsync.Account{}, false
		}
		return meshsync.Account{Namespace: p[2], Name: p[4]}, true
	}
	if len(id.DNSNames) != 1 {
		return meshsync.Account{}, false
	}
	p := strings.SplitN(id.DNSNames[0], ".", 6)
	if len(p) != 6 || p[0] == "" || p[1] == "" || p[2] != "serviceaccount" || p[3] != "identity" {
		return meshsync.Account{}, false
	}
	return meshsync.Account{Namespace: p[1], Name: p[0]}, true
}
