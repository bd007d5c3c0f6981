package dataplane

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"gatehouse.dev/lbmodel"
)

// Counters are what the data plane did since it was made. The counts of a
// gateway go when it is no longer programmed.
type Counters struct {
	Requests   []RequestCount     `json:"requests"`
	Streams    []StreamCount      `json:"streams,omitempty"`
	Handshakes []HandshakeCount   `json:"handshakes,omitempty"`
	Failures   map[Failure]uint64 `json:"failures,omitempty"`
}

// RequestCount counts HTTP answers. Rule is empty where no rule matched, Pool
// where the gateway itself answered.
type RequestCount struct {
	Owner lbmodel.Owner `json:"owner"`
	Rule  string        `json:"rule,omitzero"` // the rule's Source
	Pool  string        `json:"pool,omitzero"`
	Code  int           `json:"code"`
	Count uint64        `json:"count"`
}

// StreamCount counts TCP and TLS connections and UDP flows that were forwarded.
type StreamCount struct {
	Owner lbmodel.Owner `json:"owner"`
	Pool  string        `json:"pool"`
	Count uint64        `json:"count"`
}

// HandshakeCount counts TLS sessions made with backends by the root that the
// backend's chain ended in; Root is empty where nothing is verified.
type HandshakeCount struct {
	Owner lbmodel.Owner `json:"owner"`
	Pool  string        `json:"pool"`
	Root  string        `json:"root,omitzero"` // SHA-256 of the DER, hex
	Count uint64        `json:"count"`
}

// Failure names one thing that went wrong.
type Failure string

// The failures that are counted.
const (
	FailedConnect      Failure = "Connect"            // an endpoint did not accept, or its TLS failed
	FailedBackend      Failure = "Backend"            // a backend broke off
	FailedTimeout      Failure = "Timeout"            // a route's timeout ran out
	FailedEndpoint     Failure = "NoEndpoint"         // nobody to send to
	FailedForbidden    Failure = "ForbiddenEndpoint"  // an address that must not be dialled
	FailedHandshake    Failure = "ClientHandshake"    // a client's TLS handshake
	FailedMisdirected  Failure = "Misdirected"        // Host and SNI of different listeners
	FailedSource       Failure = "SourceRange"        // a client outside of the listener's source ranges
	FailedConnections  Failure = "TooManyConnections" // a socket's limit
	FailedFlows        Failure = "TooManyFlows"       // a socket's limit, UDP
	DroppedMirror      Failure = "MirrorDropped"      // too many copies, or a body too large to copy
	DroppedLog         Failure = "LogDropped"         // the access log could not keep up
	RepeatedAttempt    Failure = "Retried"            // not a failure of the request
	FailedStream       Failure = "Stream"             // a TCP or TLS connection found no backend
	FailedHealthChecks Failure = "HealthCheck"        // an endpoint failed its check
)

// tally counts by key without a lock once a key was seen. Its keys are few: a
// rule's status codes, a pool's roots.
type tally[K comparable] struct {
	mu   sync.Mutex
	seen atomic.Pointer[[]slot[K]]
}

type slot[K comparable] struct {
	key   K
	count *atomic.Uint64
}

func (t *tally[K]) add(key K) { t.slot(key).Add(1) }

func (t *tally[K]) slot(key K) *atomic.Uint64 {
	if c := t.find(key); c != nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.find(key); c != nil {
		return c
	}
	c := new(atomic.Uint64)
	seen := append(slices.Clip(t.list()), slot[K]{key, c})
	t.seen.Store(&seen)
	return c
}

func (t *tally[K]) find(key K) *atomic.Uint64 {
	for _, s := range t.list() {
		if s.key == key {
			return s.count
		}
	}
	return nil
}

func (t *tally[K]) list() []slot[K] {
	if seen := t.seen.Load(); seen != nil {
		return *seen
	}
	return nil
}

// tallyKey is what a tally counts for.
type tallyKey struct {
	owner      lbmodel.Owner
	rule, pool string
}

// tallies are all counts, kept apart from configurations so that they go on when
// one is replaced.
type tallies struct {
	mu       sync.Mutex
	answers  map[tallyKey]*tally[int]
	sessions map[tallyKey]*tally[string]
	flows    map[tallyKey]*atomic.Uint64
	failures tally[Failure]
}

func newTallies() *tallies {
	return &tallies{
		answers:  map[tallyKey]*tally[int]{},
		sessions: map[tallyKey]*tally[string]{},
		flows:    map[tallyKey]*atomic.Uint64{},
	}
}

func (t *tallies) requests(owner lbmodel.Owner, rule, pool string) *tally[int] {
	return entry(t, t.answers, tallyKey{owner, rule, pool})
}

func (t *tallies) handshakes(owner lbmodel.Owner, pool string) *tally[string] {
	return entry(t, t.sessions, tallyKey{owner: owner, pool: pool})
}

func (t *tallies) streams(owner lbmodel.Owner, pool string) *atomic.Uint64 {
	return entry(t, t.flows, tallyKey{owner: owner, pool: pool})
}

func entry[V any](t *tallies, m map[tallyKey]*V, key tallyKey) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := m[key]
	if !ok {
		v = new(V)
		m[key] = v
	}
	return v
}

func (t *tallies) fail(f Failure) { t.failures.add(f) }

// keep forgets the counts of gateways that are gone.
func (t *tallies) keep(live map[lbmodel.Owner]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := func(k tallyKey) bool { return !live[k.owner] }
	maps.DeleteFunc(t.answers, func(k tallyKey, _ *tally[int]) bool { return gone(k) })
	maps.DeleteFunc(t.sessions, func(k tallyKey, _ *tally[string]) bool { return gone(k) })
	maps.DeleteFunc(t.flows, func(k tallyKey, _ *atomic.Uint64) bool { return gone(k) })
}

// Counters returns the counts so far in a stable order.
func (d *DataPlane) Counters() Counters {
	t := d.tallies
	t.mu.Lock()
	defer t.mu.Unlock()
	out := Counters{Failures: map[Failure]uint64{}}
	for k, answers := range ordered(t.answers) {
		for _, s := range answers.list() {
			out.Requests = append(out.Requests, RequestCount{k.owner, k.rule, k.pool, s.key, s.count.Load()})
		}
	}
	for k, sessions := range ordered(t.sessions) {
		for _, s := range sessions.list() {
			out.Handshakes = append(out.Handshakes, HandshakeCount{k.owner, k.pool, s.key, s.count.Load()})
		}
	}
	for k, n := range ordered(t.flows) {
		out.Streams = append(out.Streams, StreamCount{k.owner, k.pool, n.Load()})
	}
	for _, s := range t.failures.list() {
		out.Failures[s.key] = s.count.Load()
	}
	return out
}

func ordered[V any](m map[tallyKey]V) func(yield func(tallyKey, V) bool) {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b tallyKey) int {
		return cmp.Or(cmp.Compare(a.owner.String(), b.owner.String()), cmp.Compare(a.owner.UID, b.owner.UID),
			cmp.Compare(a.rule, b.rule), cmp.Compare(a.pool, b.pool))
	})
	return func(yield func(tallyKey, V) bool) {
		for _, k := range keys {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
