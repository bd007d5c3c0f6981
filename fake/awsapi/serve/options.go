package serve

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"
)

// Options make a Server. The zero value is usable.
type Options struct {
	Log *slog.Logger // nil logs nothing
	// Access is told of every request, connection and flow when it is over, from
	// its own goroutine; it must not block. nil is nobody.
	Access func(Entry)
	// HealthChanged is told when the checks change what [Server.Health] says, from a
	// check's goroutine; it must not block. nil is nobody.
	HealthChanged func(group, target string, s State)
	Clock         Clock
	// ClientAddress is what a client's real loopback address stands for, by which
	// source-ip, security groups and X-Forwarded-For go. nil is itself.
	ClientAddress func(netip.AddrPort) netip.AddrPort
	Rand          func() float64 // in [0,1), for weights; nil is math/rand/v2
	// DrainTimeout bounds, in real time, how long what is in flight may last after
	// its listener or the server went; 0 is 10 s.
	DrainTimeout time.Duration
	// ConnectTimeout is ALB's time to connect to a target and for its TLS
	// handshake, in real time; 0 is AWS's 10 s.
	ConnectTimeout time.Duration
}

// Clock is by what health checks wait, and certificates and cookies age. The zero
// value is the real one. Timeouts of connections are always real time: sockets
// know no other.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

func (o Options) withDefaults() Options {
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 10*time.Second)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Access == nil {
		o.Access = func(Entry) {}
	}
	if o.HealthChanged == nil {
		o.HealthChanged = func(string, string, State) {}
	}
	if o.Clock.Now == nil {
		o.Clock.Now = time.Now
	}
	if o.Clock.After == nil {
		o.Clock.After = time.After
	}
	if o.ClientAddress == nil {
		o.ClientAddress = func(a netip.AddrPort) netip.AddrPort { return a }
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// Entry is one line of the access log.
type Entry struct {
	LoadBalancer string
	Listener     string // "" if it went meanwhile
	Rule         string // "default" for the default rule; "" before rules, and of network load balancers' default
	Group        string // "" if nobody was chosen
	Target       string
	Client       netip.AddrPort
	Method, Host string // of requests
	Path         string // as the client sent it, without the query
	// Status is what the client got; 460 for a client that did not wait. 0 is a
	// connection or flow.
	Status int
	// Own says that the load balancer itself answered, or broke off; Why, why.
	Own bool
	Why string
}

// Bound is a socket: where a listener really is.
type Bound struct {
	LoadBalancer string
	Listener     string
	Port         int32          // Listener.Port
	Asked        netip.AddrPort // of Listener.Addresses
	Addr         netip.AddrPort
	UDP          bool
}

// TargetHealth is what DescribeTargetHealth could say of a target.
type TargetHealth struct {
	Group  string
	Target string
	State  State
	// Reason is AWS's code, such as Target.Timeout; "" of healthy targets.
	Reason      string
	Description string
}
