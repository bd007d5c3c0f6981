package meshsync

import (
	"context"
	"crypto/x509"
	"time"

	"gatehouse.dev/lbmodel"
)

// Issuer signs a gateway's client certificate. Implementations are edges: they
// call a mesh's CA. They never see a private key and never retry.
type Issuer interface {
	// Issue returns a certificate for the request's public key. Errors are
	// lbmodel.Errors with a code: Denied when the CA refuses the caller or the
	// names, Invalid when it refuses the request, Quota, Throttled, Unavailable, and
	// Pending when somebody must do something first. The same request is asked again
	// after Pending, Throttled, Unavailable, and an error with RetryAfter.
	Issue(context.Context, Request) (Issued, error)
}

// Request is what is asked of an Issuer.
type Request struct {
	Identity lbmodel.Identity // SPIFFEID, DNSNames, Renew.Lifetime
	Account  Account          // on whose behalf: its token is shown to the CA
	CSR      []byte           // DER (RFC 2986), signed by the new key
	Lifetime time.Duration    // zero is the CA's own
}

// Issued is what an Issuer returned. Nothing in it is secret.
type Issued struct {
	Chain []*x509.Certificate // the leaf first, then its issuers; without roots
	Roots []*x509.Certificate // what the CA says its roots are; never uploaded, may be nil
}
