package issue

import (
	"cmp"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Config says whom a Keyring asks and what it believes. Issuers, Roots and Live are
// required.
type Config struct {
	// Issuers is who signs for an identity, and on whose behalf it is asked. Its
	// errors are lbmodel.Errors with a code. See AccountOf.
	Issuers func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error)
	// Roots are what the mesh of an issuer (Identity.Issuer) publishes now; none
	// when that is not known, and then nothing is issued.
	Roots func(issuer string) []lbmodel.Root
	// Live is the certificate that the gateway shows now under an identity; nil when
	// it shows none, and of several the one that ends first. With an error it is not
	// known, and nothing is issued.
	Live func(lbmodel.Identity) (*lbmodel.Leaf, error)
	// Trusted says whether backends trust a root; nil takes every published one for
	// trusted.
	Trusted Trusted
	// Backends says the same of those behind the identity's own gateway, and is asked
	// besides; nil is that they do.
	Backends func(id lbmodel.Identity, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time)

	// Watch is told of every decision of the gate, for conditions and metrics; nil is
	// nobody. It is called by many goroutines.
	Watch func(lbmodel.Identity, Decision)

	Quota   Quota         // of each issuer
	Timeout time.Duration // of one call of an issuer; zero is 10 seconds
	// Skew is how far the beginning of a certificate may lie ahead of our clock.
	// Zero is a minute; Istio and Linkerd also date certificates back. One that
	// begins later waits, and one that begins more than an hour later is refused:
	// then a clock is wrong.
	Skew time.Duration
	// MinLife is what a certificate must have left. Zero is ten minutes.
	MinLife time.Duration
	// Margin is how long before the end of the live certificate the new one is
	// handed out although backends are not known to trust it: what a provider needs
	// to put it into use. Zero is a quarter of an hour; it is never more than a
	// third of the live one's life.
	Margin time.Duration
	Held   int              // certificates kept in memory; zero is 4096
	Now    func() time.Time // nil is time.Now
}

// Quota is how often an issuer is asked: PerSecond in the long run, zero is 10, and
// Burst at once, zero is 10.
type Quota struct {
	PerSecond float64
	Burst     int
}

func (c Config) withDefaults() Config {
	c.Quota.PerSecond = cmp.Or(c.Quota.PerSecond, 10)
	c.Quota.Burst = cmp.Or(c.Quota.Burst, 10)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Skew = cmp.Or(c.Skew, time.Minute)
	c.MinLife = cmp.Or(c.MinLife, 10*time.Minute)
	c.Margin = cmp.Or(c.Margin, 15*time.Minute)
	c.Held = cmp.Or(c.Held, 4096)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Watch == nil {
		c.Watch = func(lbmodel.Identity, Decision) {}
	}
	if c.Trusted == nil {
		c.Trusted = All()
	}
	return c
}
