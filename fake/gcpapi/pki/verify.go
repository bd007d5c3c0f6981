package pki

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"
)

// Store is what chains are built with.
type Store struct {
	Anchors       []*x509.Certificate
	Intermediates []*x509.Certificate
	Allowed       []*x509.Certificate // leaves that are valid as they are
	Public        *x509.CertPool      // roots of the Web PKI; nil without them
	// AuthoritiesNeedEKU keeps to the letter of the page, which wants serverAuth (for
	// clients clientAuth) in CA certificates as well; else one without any EKU is taken.
	AuthoritiesNeedEKU bool
}

// Verify says why a peer's chain, leaf first, is refused; "" if it is taken.
func (s *Store) Verify(chain []*x509.Certificate, usage Usage, now time.Time, relaxed ...Relaxation) Failure {
	if f := size(chain); f != "" {
		return f
	}
	leaf := chain[0]
	if slices.ContainsFunc(s.Allowed, leaf.Equal) {
		return ""
	}
	if f := Leaf(leaf, usage, now, relaxed...); f != "" {
		return f
	}
	at := now
	if slices.Contains(relaxed, AllowExpiredLeaf) && now.After(leaf.NotAfter) {
		at = leaf.NotAfter
	}
	w := &walk{store: s, usage: usage, now: at, left: maxSearch, pool: slices.Concat(chain[1:], s.Intermediates)}
	if w.from(leaf, []*x509.Certificate{leaf}) || s.public(chain, usage, now) {
		return ""
	}
	if w.failure != "" {
		return w.failure
	}
	return NotValid
}

func size(chain []*x509.Certificate) Failure {
	total := 0
	for _, c := range chain {
		total += len(c.Raw)
	}
	switch {
	case len(chain) == 0:
		return NotProvided
	case len(chain) > maxChain:
		return TooManyInChain
	case total > maxChainBytes:
		return ChainTooLarge
	}
	return ""
}

// public asks the roots of the Web PKI.
func (s *Store) public(chain []*x509.Certificate, usage Usage, now time.Time) bool {
	if s.Public == nil {
		return false
	}
	pool := x509.NewCertPool()
	for _, c := range chain[1:] {
		pool.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: s.Public, Intermediates: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsage(usage)}})
	return err == nil
}

// walk looks for a way from a leaf to an anchor.
type walk struct {
	store   *Store
	usage   Usage
	now     time.Time
	left    int // certificates that may still be looked at
	pool    []*x509.Certificate
	failure Failure // the most telling one
}

func (w *walk) from(c *x509.Certificate, path []*x509.Certificate) bool {
	for _, anchor := range w.store.Anchors {
		if anchor.Equal(c) && len(path) > 1 && w.whole(path) || w.links(c, anchor) && len(path) < maxDepth && w.whole(append(path, anchor)) {
			return true
		}
	}
	if len(path)+2 > maxDepth { // one more, and an anchor
		return false
	}
	for _, next := range w.pool {
		if !slices.ContainsFunc(path, next.Equal) && w.links(c, next) && w.from(next, append(slices.Clone(path), next)) {
			return true
		}
	}
	return false
}

// links says whether parent has signed c, as far as the rules let it.
func (w *walk) links(c, parent *x509.Certificate) bool {
	if !bytes.Equal(c.RawIssuer, parent.RawSubject) || len(c.AuthorityKeyId) == 0 || !bytes.Equal(c.AuthorityKeyId, parent.SubjectKeyId) {
		return false
	}
	if w.left--; w.left < 0 {
		w.failure = SearchLimit
		return false
	}
	switch {
	case constraints(parent) > MaxConstraints:
		w.failure = TooManyConstraint
		return false
	case !w.purpose(parent):
		w.failure = InvalidEKU
		return false
	case Authority(parent) != nil, w.now.Before(parent.NotBefore), w.now.After(parent.NotAfter):
		return false
	}
	return c.CheckSignatureFrom(parent) == nil
}

func (w *walk) purpose(c *x509.Certificate) bool {
	if len(c.ExtKeyUsage) == 0 && len(c.UnknownExtKeyUsage) == 0 {
		return !w.store.AuthoritiesNeedEKU
	}
	return slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsage(w.usage)) || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
}

// whole looks at what only a whole chain shows: name constraints and path lengths.
func (w *walk) whole(path []*x509.Certificate) bool {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(path[len(path)-1])
	for _, c := range path[1 : len(path)-1] {
		between.AddCert(c)
	}
	_, err := path[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: w.now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}
