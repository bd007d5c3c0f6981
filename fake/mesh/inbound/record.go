package inbound

import (
	"crypto/x509"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// Outcome is what became of a connection.
type Outcome string

// The outcomes.
const (
	Terminated Outcome = "Terminated" // TLS ended in the proxy
	Refused    Outcome = "Refused"    // the handshake failed
	Passed     Outcome = "Passed"     // ciphertext went on to the application
	Clear      Outcome = "Clear"      // clear text was taken
	WasReset   Outcome = "Reset"
)

// Connection is the record of one connection.
type Connection struct {
	At        time.Time
	Hello     Hello
	Chain     string
	Outcome   Outcome
	Why       string // of Refused
	Version   uint16 // of TLS
	ALPN      string // negotiated
	Client    string // whom its certificate names
	Serial    string // of that certificate, hexadecimal
	Authority string // key ID of its issuer, hexadecimal
	Expires   time.Time
}

// Seen is what a pod has counted. Denied are connections that the policy closed,
// Forbidden requests that it refused, BadRequests connections that should have
// spoken HTTP.
type Seen struct {
	Connections, Open                          int
	Terminated, Refused, Passed, Clear, Resets int
	Requests, Denied, Forbidden, BadRequests   int
	Clients                                    map[string]int // terminated connections by whom they are of; "" is nobody
	Last                                       []Connection   // the newest last, at most 256
}

// maxLast bounds Seen.Last.
const maxLast = 256

type records struct {
	mu   sync.Mutex
	seen Seen
}

// Seen is what was counted so far.
func (p *Pod) Seen() Seen {
	p.records.mu.Lock()
	defer p.records.mu.Unlock()
	out := p.records.seen
	out.Open = p.open.count()
	out.Clients = maps.Clone(out.Clients)
	out.Last = slices.Clone(out.Last)
	return out
}

func (r *records) count(add func(*Seen)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.seen)
}

// note records a connection whose fate is known.
func (t *taken) note(o Outcome, err error) {
	c := Connection{At: t.pod.config.Now(), Hello: t.hello, Chain: t.chain.Name, Outcome: o, Client: t.visit.Client}
	if err != nil {
		c.Why = err.Error()
	}
	if t.state != nil {
		c.Version, c.ALPN = t.state.Version, t.state.NegotiatedProtocol
	}
	c.certificate(t.visit.Cert)
	t.pod.records.count(func(s *Seen) { s.add(c) })
	if t.pod.config.Watch != nil {
		t.pod.config.Watch(c)
	}
}

func (c *Connection) certificate(leaf *x509.Certificate) {
	if leaf != nil {
		c.Serial, c.Authority = leaf.SerialNumber.Text(16), hex.EncodeToString(leaf.AuthorityKeyId)
		c.Expires = leaf.NotAfter
	}
}

func (s *Seen) add(c Connection) {
	s.Connections++
	switch c.Outcome {
	case Terminated:
		s.Terminated++
		if s.Clients == nil {
			s.Clients = map[string]int{}
		}
		s.Clients[c.Client]++
	case Refused:
		s.Refused++
	case Passed:
		s.Passed++
	case Clear:
		s.Clear++
	case WasReset:
		s.Resets++
	}
	if s.Last = append(s.Last, c); len(s.Last) > maxLast {
		s.Last = slices.Delete(s.Last, 0, 1)
	}
}
