package signing

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/tokens"
)

// Desk signs for a CA. It may be used by many goroutines.
type Desk struct {
	CA *ca.CA

	mu    sync.Mutex
	fault Fault
	left  int
	calls []Call
}

// Call is the record of one request.
type Call struct {
	At      time.Time
	Account tokens.Account // zero: not authenticated
	Names   []string       // that were signed
	Life    time.Duration  // that was asked for
	Key     x509.PublicKeyAlgorithm
	Until   time.Time // of the leaf; zero: none was signed
	Code    string    // of the answer; "OK"
}

// maxCalls bounds the record.
const maxCalls = 1024

// Note records a call.
func (d *Desk) Note(c Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.At = d.CA.Now()
	if d.calls = append(d.calls, c); len(d.calls) > maxCalls {
		d.calls = slices.Delete(d.calls, 0, 1)
	}
}

// Calls are the newest 1024 calls, the newest last.
func (d *Desk) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Sign answers a request, as the fault has it: the leaf and its intermediates.
func (d *Desk) Sign(f Fault, r ca.Request, public crypto.PublicKey) ([]*x509.Certificate, error) {
	by := d.CA
	switch f {
	case WrongKey:
		key, err := ca.NewKey(ca.ECDSA)
		if err != nil {
			return nil, err
		}
		public = key.Public()
	case WrongName:
		r.URIs, r.DNSNames = others(r.URIs), others(r.DNSNames)
	case Expired:
		r.Life, r.Age = time.Hour, 2*time.Hour
	case Stranger:
		stranger, err := ca.New(ca.Config{Name: "stranger", Now: d.CA.Now})
		if err != nil {
			return nil, err
		}
		by = stranger
	}
	chain, err := by.Sign(r, public)
	if f == RootTwice && err == nil {
		chain = append(chain, d.CA.SigningRoot())
	}
	return chain, err
}

// others are names of somebody else.
func others(names []string) []string {
	out := slices.Clone(names)
	for i, n := range out {
		if scheme, rest, ok := strings.Cut(n, "://"); ok {
			out[i] = scheme + "://" + rest + "-other"
			continue
		}
		out[i] = "other-" + n
	}
	return out
}

// Serving is a certificate for the CA's own server: of the CA itself, made anew
// when its roots change or its life, 30 days by the CA's clock, is over.
type Serving struct {
	CA      *ca.CA
	Request ca.Request // its names

	mu      sync.Mutex
	leaf    *tls.Certificate
	changed <-chan struct{}
}

// Certificate is a tls.Config's GetCertificate.
func (s *Serving) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaf != nil && !s.outdated() {
		return s.leaf, nil
	}
	changed := s.CA.Changed()
	r := s.Request
	r.Life = 30 * 24 * time.Hour
	leaf, err := s.CA.Issue(r)
	if err != nil {
		return nil, err
	}
	s.leaf, s.changed = &leaf, changed
	return s.leaf, nil
}

func (s *Serving) outdated() bool {
	select {
	case <-s.changed:
		return true
	default:
		return !s.CA.Now().Before(s.leaf.Leaf.NotAfter)
	}
}
