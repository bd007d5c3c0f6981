package cloud

import (
	"cmp"
	"crypto/tls"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// Options say how a cloud behaves. The zero value is the strict cloud in memory
// that the tests of this repository use.
type Options struct {
	// StateDir keeps the objects (never keys) in a directory, for one process at a
	// time; "" keeps them in memory.
	StateDir string
	// ReadOnly opens a StateDir beside the process that owns it, as it is now:
	// every call that would change something is refused.
	ReadOnly bool
	// CompactAfter is how many writes the directory's journal holds at least before
	// a snapshot takes its place; 1,024.
	CompactAfter int
	// Locations that exist; none is any.
	Locations []string

	Now          func() time.Time // time.Now
	AddressDelay time.Duration    // until an address is there; 20 ms, negative is none
	HealthDelay  time.Duration    // until an endpoint that nobody checks is healthy; 20 ms, negative is none
	PageSize     int              // of lists; 500
	Limits       Limits
}

// Limits are how much of a thing there may be. Zero fields mean their defaults.
type Limits struct {
	Addresses        int // in a location; 1,000
	Listeners        int // of a balancer; 1,000
	Rules            int // of a listener; 20,000
	Endpoints        int // of a group; 10,000
	Backends         int // of a rule; 256
	CertificatesEach int // of a listener; 1,000
	SourceRanges     int // of a listener; 256
}

// Cloud is the service. All its methods may be called concurrently.
type Cloud struct {
	options Options

	mu      sync.Mutex // guards what follows, except where disk has its own
	calls   calls
	state   state
	recent  []change // the last writes, for stale reads
	vault   map[lbmodel.Handle]tls.Certificate
	reports map[lbmodel.Handle]map[lbmodel.Target]lbmodel.Health // by Pool
	written int64                                                // bytes of the journal that hold all of state
	version uint64
	changed chan struct{} // closed with the next change
	closed  bool

	disk *disk // nil in memory
}

// change is a write that can be taken back in the eyes of a stale reader.
type change struct{ old, next *object }

// staleWrites is how many writes a stale read does not see yet.
const staleWrites = 4

// New makes a cloud, with what its state directory holds.
func New(options Options) (*Cloud, error) {
	c := &Cloud{
		options: options.withDefaults(),
		calls:   calls{counts: map[string]int{}},
		state:   newState(),
		vault:   map[lbmodel.Handle]tls.Certificate{},
		reports: map[lbmodel.Handle]map[lbmodel.Target]lbmodel.Health{},
		changed: make(chan struct{}),
	}
	if options.StateDir == "" {
		return c, nil
	}
	var err error
	c.disk, err = openDisk(c.options, &c.state)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.AddressDelay = max(0, cmp.Or(o.AddressDelay, 20*time.Millisecond))
	o.HealthDelay = max(0, cmp.Or(o.HealthDelay, 20*time.Millisecond))
	o.CompactAfter = cmp.Or(o.CompactAfter, 1024)
	o.PageSize = cmp.Or(o.PageSize, 500)
	o.Limits = Limits{
		Addresses:        cmp.Or(o.Limits.Addresses, 1_000),
		Listeners:        cmp.Or(o.Limits.Listeners, 1_000),
		Rules:            cmp.Or(o.Limits.Rules, maxRules),
		Endpoints:        cmp.Or(o.Limits.Endpoints, 10_000),
		Backends:         cmp.Or(o.Limits.Backends, maxBackends),
		CertificatesEach: cmp.Or(o.Limits.CertificatesEach, 1_000),
		SourceRanges:     cmp.Or(o.Limits.SourceRanges, maxRanges),
	}
	return o
}

// Close ends the cloud: it gives the state directory back and refuses every call
// from then on. It may be called twice.
func (c *Cloud) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.disk == nil {
		return nil
	}
	return c.disk.close()
}

// Changed is the version of what the cloud holds and a channel that is closed when
// there is a newer one. Read it, use [Cloud.Serving], then wait for the channel:
// no change is missed.
func (c *Cloud) Changed() (version uint64, next <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.changed
}

// Settle lets everything that is under way be done now: addresses are there,
// endpoints are healthy. What begins later takes its time again.
func (c *Cloud) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, old := range slices.Clone(c.state.order) {
		next := *old
		next.ReadyAt, next.Seen = time.Time{}, make(map[lbmodel.Target]time.Time, len(old.Seen))
		for target := range old.Seen {
			next.Seen[target] = time.Time{}
		}
		c.state.replace(old, &next)
	}
	c.recent = nil
}

// commit makes a change: first in the journal, then visible. The call replies when
// the journal is on the disk.
func (c *Cloud) commit(old, next *object) error {
	if c.disk != nil {
		written, err := c.disk.append(old, next)
		if err != nil {
			return err
		}
		c.written = written
	}
	c.state.replace(old, next)
	c.recent = append(c.recent, change{old, next})
	if len(c.recent) > staleWrites {
		c.recent = slices.Clone(c.recent[len(c.recent)-staleWrites:])
	}
	c.notify()
	if c.disk != nil {
		c.disk.compact(&c.state)
	}
	return nil
}

// notify tells whoever waits that there is something new.
func (c *Cloud) notify() {
	c.version++
	close(c.changed)
	c.changed = make(chan struct{})
}

func handleOf(location, kind string, seq int) lbmodel.Handle {
	return lbmodel.Handle("fake/" + location + "/" + kind + "/" + strconv.Itoa(seq))
}
