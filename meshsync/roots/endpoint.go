package roots

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/spiffetls/tlsconfig"

	"gatehouse.dev/lbmodel"
)

// Profile is how a bundle endpoint proves who it is (SPIFFE Federation, 5.2).
type Profile string

// The profiles.
const (
	Web    Profile = "https_web"    // by its DNS name, as any web server
	SPIFFE Profile = "https_spiffe" // by a SPIFFE ID of the trust domain
)

// Endpoint is a SPIFFE bundle endpoint. It is read when the bundle's own
// spiffe_refresh_hint says, by default every five minutes.
type Endpoint struct {
	TrustDomain string // whose bundle it is
	URL         string // https, without a user
	Profile     Profile
	// WebRoots, of profile Web, are whom the server is verified by, in PEM; "": the
	// system's roots.
	WebRoots string
	// ID, of profile SPIFFE, is the server's, in the trust domain itself. It is verified
	// by the last bundle that was read, and until one was also by Bootstrap, in PEM.
	ID, Bootstrap string
	Timeout       time.Duration // of one request; zero is 30 s
}

// Bounds of spiffe_refresh_hint, which may be absent or senseless.
const (
	usualHint = 5 * time.Minute
	leastHint = time.Minute
	mostHint  = 24 * time.Hour
	firstHint = time.Minute // while there are no roots at all
)

// Where implements Source.
func (e Endpoint) Where() string {
	where := "SPIFFE bundle endpoint of " + e.TrustDomain
	if u, err := url.Parse(e.URL); err == nil {
		where += " at " + place(u)
	}
	return where
}

// Watch implements Source.
func (e Endpoint) Watch(ctx context.Context, s Start, tell func([]Bundle)) {
	l := newLedger(e.TrustDomain, s.Last)
	r, err := e.reader(s, l)
	if err != nil {
		refuse(ctx, s, l, err, tell)
		return
	}
	poll(ctx, s, l, pace{usual: usualHint, retry: usualHint, most: usualHint}, r.read, tell)
}

// endpoint reads one.
type endpoint struct {
	Endpoint
	domain spiffeid.TrustDomain
	at     *url.URL
	web    web
	ledger *ledger

	tag       string              // of the document that was taken last
	hint      time.Duration       // its own
	bootstrap []*x509.Certificate // until one was read
}

func (e Endpoint) reader(s Start, l *ledger) (*endpoint, error) {
	r := &endpoint{Endpoint: e, ledger: l}
	var err error
	if r.domain, err = spiffeid.TrustDomainFromString(e.TrustDomain); err != nil || r.domain.Name() != e.TrustDomain {
		return nil, fmt.Errorf("%q is not the name of a trust domain", e.TrustDomain)
	}
	if r.at, err = httpsURL(e.URL); err != nil {
		return nil, err
	}
	config, err := r.verify()
	if err == nil {
		r.web = newWeb(s, config, cmp.Or(e.Timeout, patience), redirectHTTPS)
	}
	return r, err
}

// verify is how the server is.
func (r *endpoint) verify() (*tls.Config, error) {
	switch r.Profile {
	case Web, "":
		pool, err := poolOf(r.WebRoots)
		return &tls.Config{RootCAs: pool}, err
	case SPIFFE:
		return r.verifyID()
	default:
		return nil, fmt.Errorf("%q is no profile of a bundle endpoint: %s and %s are", r.Profile, Web, SPIFFE)
	}
}

func (r *endpoint) verifyID() (*tls.Config, error) {
	id, err := spiffeid.FromString(r.ID)
	if err != nil || !id.MemberOf(r.domain) {
		return nil, fmt.Errorf("profile %s needs the server's SPIFFE ID in %s; %q is none", SPIFFE, r.TrustDomain, r.ID)
	}
	if r.Bootstrap != "" {
		found, err := lbmodel.ParseRoots([]byte(r.Bootstrap))
		if err != nil {
			return nil, fmt.Errorf("the roots to begin with: %w", err)
		}
		r.bootstrap = certificates(found)
	}
	if len(r.bootstrap) == 0 && !r.ledger.known() {
		return nil, fmt.Errorf("profile %s needs roots of %s to begin with", SPIFFE, r.TrustDomain)
	}
	config := &tls.Config{}
	tlsconfig.HookTLSClientConfig(config, r, tlsconfig.AuthorizeID(id))
	verify := config.VerifyPeerCertificate
	config.VerifyPeerCertificate = func(raw [][]byte, chains [][]*x509.Certificate) error {
		if err := verify(raw, chains); err != nil {
			return refusal{err}
		}
		return nil
	}
	return config, nil
}

// GetX509BundleForTrustDomain implements x509bundle.Source: what is trusted now.
func (r *endpoint) GetX509BundleForTrustDomain(domain spiffeid.TrustDomain) (*x509bundle.Bundle, error) {
	if domain != r.domain {
		return nil, fmt.Errorf("there is no bundle of %s here", domain)
	}
	known := certificates(r.ledger.bundles[r.TrustDomain].Roots)
	return x509bundle.FromX509Authorities(domain, append(known, r.bootstrap...)), nil
}

func (r *endpoint) read(ctx context.Context) (reading, error) {
	header := http.Header{"Accept": {"application/json"}}
	if r.tag != "" {
		header.Set("If-None-Match", r.tag)
	}
	a, err := r.web.get(ctx, r.at, header)
	switch {
	case err != nil:
		return r.failed(err)
	case a.status == http.StatusNotModified && r.tag != "":
		return reading{same: true, next: r.hint}, nil
	case a.status != http.StatusOK:
		return r.failed(fmt.Errorf("%s: status %d", place(r.at), a.status))
	}
	found, hint, err := parseDocument(r.domain, a.body)
	if err != nil {
		return r.failed(refusal{fmt.Errorf("%s: %w", place(r.at), err)})
	}
	// A document that is not taken must come again, or nobody would know why.
	if r.tag = ""; replace(r.ledger.bundles[found.Name], found, r.web.now(), time.Time{}).Problem == "" {
		r.tag, r.hint, r.bootstrap = a.header.Get("ETag"), hint, nil
	}
	return reading{found: []Bundle{found}, next: hint}, nil
}

// failed is a reading that comes to nothing. The next is at the usual time, as the
// specification wants it (SPIFFE Federation, 5.2.3), or sooner while there are no
// roots at all.
func (r *endpoint) failed(err error) (reading, error) {
	next := usualHint
	if !r.ledger.known() {
		next = firstHint
	}
	if r.hint > 0 {
		next = min(next, r.hint)
	}
	return reading{next: next}, err
}

// parseDocument reads a SPIFFE bundle (SPIFFE Trust Domain and Bundle, 4): its X.509
// authorities alone.
func parseDocument(domain spiffeid.TrustDomain, body []byte) (Bundle, time.Duration, error) {
	document, err := spiffebundle.Parse(domain, body)
	if err != nil {
		return Bundle{}, 0, fmt.Errorf("the answer is no SPIFFE bundle: %s", said(err.Error(), ""))
	}
	authorities := document.X509Authorities()
	if len(authorities) == 0 {
		return Bundle{}, 0, errors.New("the bundle has no X.509 roots")
	}
	found, err := normal(authorities)
	if err != nil {
		return Bundle{}, 0, err
	}
	sequence, _ := document.SequenceNumber()
	hint, ok := document.RefreshHint()
	if !ok || hint <= 0 {
		hint = usualHint
	}
	return Bundle{Name: domain.Name(), Roots: found, Sequence: sequence}, min(max(hint, leastHint), mostHint), nil
}
