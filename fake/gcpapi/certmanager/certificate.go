package certmanager

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/pki"
	"gatehouse.dev/fake/gcpapi/store"
)

// The scopes.
const (
	scopeDefault    = "DEFAULT"
	scopeAllRegions = "ALL_REGIONS"
	// ScopeClient is of certificates that load balancers present to backends.
	ScopeClient = "CLIENT_AUTH"
)

// completeCertificate fills in what is read off the certificates. The default scope is
// not written, as in all JSON of this API.
func completeCertificate(_ store.View, _ store.Name, o store.Object) {
	if o["scope"] == scopeDefault {
		delete(o, "scope")
	}
	if managed, ok := o["managed"].(store.Object); ok {
		managed["state"] = "PROVISIONING"
		o["sanDnsnames"] = managed["domains"]
		return
	}
	chain, err := pki.Chain(store.Text(o, "selfManaged.pemCertificate"))
	if err != nil {
		return // the check says so
	}
	o["pemCertificate"], o["expireTime"] = encode(chain), chain[0].NotAfter.UTC().Format(time.RFC3339)
	delete(o, "sanDnsnames")
	var names []any
	for _, name := range chain[0].DNSNames {
		names = append(names, name)
	}
	if len(names) > 0 {
		o["sanDnsnames"] = names
	}
}

func encode(chain []*x509.Certificate) string {
	var out strings.Builder
	for _, c := range chain {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return out.String()
}

func checkCertificate(_ store.View, n store.Name, _, o store.Object) error {
	kinds := 0
	for _, field := range []string{"selfManaged", "managed", "managedIdentity"} {
		if o[field] != nil {
			kinds++
		}
	}
	scope := store.Text(o, "scope")
	switch {
	case kinds != 1:
		return store.Bad("Invalid certificate: exactly one of self_managed, managed and managed_identity must be set; %d are.", kinds)
	case scope == scopeAllRegions && n.Location() != "global", scope == "EDGE_CACHE" && n.Location() != "global":
		return store.Bad("Invalid scope: %s certificates must be in location global.", scope)
	case o["managedIdentity"] != nil:
		return &store.Error{Status: 501, Reason: store.Unimplemented, Message: "managed_identity is not emulated"}
	case o["managed"] != nil:
		return checkManaged(o)
	}
	return checkSelfManaged(o)
}

func checkManaged(o store.Object) error {
	if store.Text(o, "scope") == ScopeClient {
		return store.Bad("Invalid scope: a managed certificate can't be of scope CLIENT_AUTH.")
	}
	if domains := store.List(o, "managed.domains"); len(domains) == 0 || len(domains) > 100 {
		return store.Bad("Invalid managed.domains: from 1 to 100 must be set, not %d.", len(domains))
	}
	return nil
}

// mostCertificate is how long a certificate's chain may be, in bytes of PEM.
const mostCertificate = 64 << 10

func checkSelfManaged(o store.Object) error {
	text := store.Text(o, "selfManaged.pemCertificate")
	chain, err := pki.Chain(text)
	switch {
	case len(text) > mostCertificate:
		return store.Bad("Invalid self_managed.pem_certificate: it can have %d bytes, not %d.", mostCertificate, len(text))
	case err != nil:
		return store.Bad("Invalid self_managed.pem_certificate: %v.", err)
	case !pki.Ordered(chain):
		return store.Bad("Invalid self_managed.pem_certificate: the chain is out of order: the leaf must come first, and each certificate be signed by the next.")
	case pki.Key(chain[0]) != "":
		return store.Bad("Invalid self_managed.pem_certificate: the key must be RSA of 2048 to 4096 bits, P-256 or P-384.")
	}
	key, err := pki.PrivateKey(store.Text(o, "selfManaged.pemPrivateKey"))
	if err == nil && !pki.Fits(key, chain[0]) {
		err = errors.New("it is not the certificate's")
	}
	if err != nil {
		return store.Bad("Invalid self_managed.pem_private_key: %v.", err)
	}
	if store.Text(o, "scope") == ScopeClient {
		return checkClient(chain[0])
	}
	return nil
}

// checkClient is what scope CLIENT_AUTH asks for.
func checkClient(leaf *x509.Certificate) error {
	switch {
	case leaf.IsCA:
		return store.Bad("Invalid self_managed.pem_certificate: a certificate of scope CLIENT_AUTH must not be a CA's.")
	case !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth):
		return store.Bad("Invalid self_managed.pem_certificate: a certificate of scope CLIENT_AUTH must have the extended key usage clientAuth.")
	}
	return nil
}

// showCertificate adds who uses it.
func showCertificate(v store.View, n store.Name, o store.Object) {
	var by []any
	for _, user := range v.Users(n) {
		by = append(by, store.Object{"name": string(user)})
	}
	if len(by) > 0 {
		o["usedBy"] = by
	}
}

// KeyPair is a self-managed certificate as TLS uses it; false for one that has none.
func KeyPair(o store.Object) (tls.Certificate, bool) {
	pair, err := tls.X509KeyPair([]byte(store.Text(o, "selfManaged.pemCertificate")), []byte(store.Text(o, "selfManaged.pemPrivateKey")))
	return pair, err == nil
}
