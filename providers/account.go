package providers

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// Config is what an Account is made of. Provider and Cluster are required; every
// other zero value means the default that its comment names.
type Config struct {
	Provider Provider
	Cluster  string // the --cluster name: part of every Owner
	Name     string // of the account, for logs and metrics
	// Named are foreign resources to observe beside those that wanted graphs
	// name (a wanted resource that carries a Handle is always looked up by it).
	Named []lbmodel.Handle

	Clock Clock
	Rand  func() float64 // in [0,1), for jitter; math/rand/v2
	Pacer Pacer          // asked before every call; none
	Log   *slog.Logger   // discarded
	Watch func(Call)     // told of every finished call, for metrics; called concurrently; none

	Parallel     int           // calls of one run at a time; 8
	CallTimeout  time.Duration // of one call; 30 s. A call that outlives it by a quarter is given up on
	ObserveEvery time.Duration // between drift scans; 5 min
	Settle       time.Duration // how long our own write outweighs a read that contradicts it; 10 s
	Patience     Patience
}

// Clock is where an Account's time comes from. The zero value is the real one.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Patience bounds how hard one run tries. The delays themselves are the error
// table's (lbmodel.RetryOf), with full jitter. Zero fields mean their defaults.
type Patience struct {
	Attempts int           // tries of one step, looks at a Pending one not counted; 5
	Retries  int           // retries of all steps of a run together; 20, and one more for every four steps
	Cap      time.Duration // of one wait, also of what the cloud asks for; 30 s
	Pending  time.Duration // how long a step is polled before the run reports it Pending; 2 min
}

// Account is the portable type over a Provider: it paces, retries, sets
// deadlines, runs plans in order and in parallel, remembers what the cloud looks
// like (so that nothing to do costs no call), and merges what gateways share.
// There is one for each account of a provider; all methods may be called
// concurrently.
//
// A turn of the loop that uses it:
//
//	findings := account.Want(gateway)                      // what it should be
//	plan, err := account.Plan(ctx, owners, lbmodel.HoldDisruptive)
//	outcome := account.Apply(ctx, plan, progress)          // and again, until the plan is empty
//
// A gateway that goes is told by Drop, planned and applied like any other, and
// its finalizer goes when Gone says so.
type Account struct {
	provider Provider
	config   Config

	observing chan struct{} // holds one token: one observation at a time

	mu      sync.Mutex // guards what follows; never held during a call, a Place or a Diff
	wishes  wishes
	shadow  shadow
	orphans set // shared resources that are there and that no gateway describes
	late    set // endpoints that changed before their resource was there
	scans   scans
	claims  map[lbmodel.ID]chan struct{} // resources with a call in flight
	calls   map[string]int
}

// NewAccount makes an Account that has not looked at the cloud yet.
func NewAccount(config Config) *Account {
	config = config.withDefaults()
	return &Account{
		provider:  config.Provider,
		config:    config,
		observing: make(chan struct{}, 1),
		wishes:    newWishes(),
		shadow:    newShadow(),
		orphans:   set{},
		late:      set{},
		claims:    map[lbmodel.ID]chan struct{}{},
		calls:     map[string]int{},
	}
}

// Lingering is a Provider with addresses that clients go on using after others are
// published, such as those behind names that resolvers keep.
type Lingering interface {
	// Lingers is how long what is reached by a replaced address goes on serving.
	Lingers() time.Duration
}

// Lingers is how long the provider wants a replaced address to go on serving
// (lbmodel.LingerReplaced); 0 is not at all.
func (a *Account) Lingers() time.Duration {
	if l, ok := a.provider.(Lingering); ok {
		return l.Lingers()
	}
	return 0
}

func (c Config) withDefaults() Config {
	setDefault(&c.Parallel, 8)
	setDefault(&c.CallTimeout, 30*time.Second)
	setDefault(&c.ObserveEvery, 5*time.Minute)
	setDefault(&c.Settle, 10*time.Second)
	setDefault(&c.Patience.Attempts, 5)
	setDefault(&c.Patience.Retries, 20)
	setDefault(&c.Patience.Cap, 30*time.Second)
	setDefault(&c.Patience.Pending, 2*time.Minute)
	if c.Clock.Now == nil {
		c.Clock.Now = time.Now
	}
	if c.Clock.After == nil {
		c.Clock.After = time.After
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Pacer == nil {
		c.Pacer = unpaced{}
	}
	c.Log = c.Log.With("account", c.Name, "cluster", c.Cluster)
	return c
}

func setDefault[T int | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}
