package issue

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// candidate is a certificate with its key. It prints as nothing.
type candidate struct {
	key   *ecdsa.PrivateKey
	chain []*x509.Certificate
	leaf  lbmodel.Leaf
}

func newCandidate(key *ecdsa.PrivateKey, chain []*x509.Certificate) *candidate {
	c := &candidate{key: key, chain: chain}
	if len(chain) > 0 {
		c.leaf = lbmodel.Leaf{
			SHA256: fingerprint(chain[0]), NotBefore: chain[0].NotBefore, NotAfter: chain[0].NotAfter,
			Authority: lbmodel.AuthorityOf(chain),
		}
	}
	return c
}

func (c *candidate) pair() tls.Certificate {
	out := tls.Certificate{PrivateKey: c.key, Leaf: c.chain[0]}
	for _, cert := range c.chain {
		out.Certificate = append(out.Certificate, cert.Raw)
	}
	return out
}

// half is when a certificate is no more worth keeping.
func (c *candidate) half() time.Time {
	return c.leaf.NotBefore.Add(c.leaf.NotAfter.Sub(c.leaf.NotBefore) / 2)
}

// Format prints no key under any verb.
func (c *candidate) Format(f fmt.State, _ rune) { io.WriteString(f, "candidate(redacted)") } //nolint:errcheck // fmt collects the output

// LogValue is the same for structured logs.
func (c *candidate) LogValue() slog.Value { return slog.StringValue("candidate(redacted)") }

// MarshalJSON is the same as a JSON text.
func (c *candidate) MarshalJSON() ([]byte, error) { return json.Marshal("candidate(redacted)") }

// patience is how long a request that was accepted but not signed keeps its key: as
// long as Kubernetes keeps one that nobody approves.
const patience = 24 * time.Hour

// held are the newest certificates and open requests in memory, by identity.
type held struct {
	most int

	mu      sync.Mutex
	entries map[string]entry
}

// entry is a certificate, an open request, or both.
type entry struct {
	candidate *candidate
	request   *request
	at        time.Time // of the last change
}

// over says whether nothing of an entry is worth keeping.
func (e entry) over(now time.Time) bool {
	return (e.candidate == nil || !now.Before(e.candidate.half())) &&
		(e.request == nil || now.Sub(e.at) >= patience)
}

func newHeld(most int) *held { return &held{most: most, entries: map[string]entry{}} }

// slotOf tells identities apart: other names are another identity, and what one signer
// was asked for is nothing to another.
func slotOf(id lbmodel.Identity) string {
	return fmt.Sprintf("%q %q %q %q %s", id.Issuer, id.Signer, id.SPIFFEID, id.DNSNames, id.Renew.Lifetime)
}

// get is the certificate of an identity, unless half of its life is over.
func (h *held) get(slot string, now time.Time) *candidate {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.entries[slot]
	if !ok || e.candidate == nil || !now.Before(e.candidate.half()) {
		return nil
	}
	return e.candidate
}

// request is the open request of an identity.
func (h *held) request(slot string, now time.Time) *request {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[slot]
	if e.request == nil || now.Sub(e.at) >= patience {
		return nil
	}
	return e.request
}

func (h *held) put(slot string, c *candidate, now time.Time) {
	h.change(slot, func(e *entry) { e.candidate, e.at = c, now })
	h.bound(now)
}

// wait keeps an open request; its time begins when it is first asked about.
func (h *held) wait(slot string, r *request, now time.Time) {
	h.change(slot, func(e *entry) {
		if e.request != r {
			e.request, e.at = r, now
		}
	})
	h.bound(now)
}

func (h *held) forget(slot string) { h.change(slot, func(e *entry) { e.request = nil }) }
func (h *held) drop(slot string)   { h.change(slot, func(e *entry) { e.candidate = nil }) }

func (h *held) change(slot string, change func(*entry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[slot]
	change(&e)
	if h.entries[slot] = e; e.candidate == nil && e.request == nil {
		delete(h.entries, slot)
	}
}

// bound drops what is over and, while there is too much, the oldest.
func (h *held) bound(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var oldest string
	for slot, e := range h.entries {
		if e.over(now) {
			delete(h.entries, slot)
			continue
		}
		if o, ok := h.entries[oldest]; !ok || e.at.Before(o.at) {
			oldest = slot
		}
	}
	if len(h.entries) > h.most {
		delete(h.entries, oldest) // one was added, so one is too many
	}
}
