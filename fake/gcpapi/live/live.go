package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json/v2"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// Config is what Start needs. API's Changed and Observed are set by Start.
type Config struct {
	API      gcpapi.Config
	Switches serve.Switches
	// Reach is where an endpoint's address or domain name really is, to be dialled; nil is
	// there.
	Reach func(host string, port int) string
	// Bind is where a forwarding rule's port is served; nil is any free port of 127.0.0.1.
	Bind func(rule store.Name, ip string, port int) netip.AddrPort
	// Every is how often time that has passed takes effect, in real time; 0 is a second.
	Every time.Duration
	// CheckEvery replaces the interval of every health check, in real time; 0 is as each
	// says.
	CheckEvery time.Duration
	// ConnectTimeout is for a connection to an endpoint, TLS included; 0 is 5 s.
	ConnectTimeout time.Duration
	SystemRoots    *x509.CertPool // PUBLIC_ROOTS; nil is this machine's
	// AuthoritiesNeedEKU keeps to the letter of the page on backend mTLS, which wants
	// serverAuth in CA certificates too.
	AuthoritiesNeedEKU bool
	Access             func(Entry)  // told of every request and connection when it is over; nil is nobody
	Log                *slog.Logger // of what could not be served; nil logs nothing
}

func (c Config) filled() Config {
	c.Every, c.ConnectTimeout = cmp.Or(c.Every, time.Second), cmp.Or(c.ConnectTimeout, 5*time.Second)
	if c.Reach == nil {
		c.Reach = func(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
	}
	if c.Bind == nil {
		c.Bind = func(store.Name, string, int) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") }
	}
	if c.Access == nil {
		c.Access = func(Entry) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Entry is one line of the load balancers' log.
type Entry struct {
	Rule    string // the forwarding rule, such as global/forwardingRules/f
	Decided string // what of the URL map decided
	Service string // the backend service; "" if the load balancer answered
	Backend string // the endpoint's address and port
	Method  string // of requests
	Host    string
	Path    string
	Status  int    // 0 is a connection
	Details string // Google's statusDetails; "" is response_sent_by_backend
}

// Live is a project whose load balancers serve.
type Live struct {
	*gcpapi.Server
	config  Config
	life    context.Context //nolint:containedctx // of the whole, not of a call
	end     context.CancelFunc
	running sync.WaitGroup // checks, endpoints that drain, copies, the clock's tick
	drain   sync.WaitGroup // sockets that are closing
	spread  spread

	positions map[string]serve.Position // of the switches
	longest   time.Duration             // from a call until all of it is served, by the project's clock
	until     time.Time                 // when all that was called for is served
	applied   time.Time                 // when the state was read last

	mu      sync.Mutex // held by apply and Close
	closed  bool
	sockets map[frontKey]socket
	links   map[linkKey]*link
	state   *state

	health health // what checks say, for the API
}

// Start makes an empty project that serves until Close.
func Start(ctx context.Context, c Config) *Live {
	l := &Live{config: c.filled(), sockets: map[frontKey]socket{}, links: map[linkKey]*link{}, state: &state{}}
	l.positions = map[string]serve.Position{}
	for _, w := range serve.AllSwitches() {
		l.positions[w.Name] = w.Get(c.Switches)
	}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	c.API.Changed, c.API.Observed = l.changed, l.health.observed
	l.Server = gcpapi.New(c.API)
	for _, d := range c.API.Times.Operations {
		l.longest = max(l.longest, d)
	}
	l.longest += c.API.Times.Propagation
	l.running.Go(l.tick)
	return l
}

func (l *Live) tick() {
	ticker := time.NewTicker(l.config.Every)
	defer ticker.Stop()
	for {
		select {
		case <-l.life.Done():
			return
		case <-ticker.C:
			l.pass()
		}
	}
}

// changed serves what a call changed, and has the clock looked at until all of it is.
func (l *Live) changed() {
	l.mu.Lock()
	l.until = l.Clock.Now().Add(l.longest)
	l.mu.Unlock()
	l.apply()
}

// pass looks whether time has brought something.
func (l *Live) pass() {
	l.mu.Lock()
	settled := !l.applied.Before(l.until)
	l.mu.Unlock()
	if !settled {
		l.apply()
	}
}

// apply serves what the project holds now.
func (l *Live) apply() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.applied = l.Clock.Now()
	var next *state
	l.Look(func(v store.View) { next = l.read(v) })
	l.connect(next)
	l.listen(next)
	l.retire(next)
	l.state = next
}

// Bound is a port that is served.
type Bound struct {
	Rule string // such as global/forwardingRules/f
	IP   string // as clients of Google would see it
	Port int
	UDP  bool
	Addr netip.AddrPort // where it really is
}

// Listeners are the ports that are served, in order.
func (l *Live) Listeners() []Bound {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Bound
	for _, s := range l.sockets {
		f := s.serves()
		out = append(out, Bound{serve.Ref(f.key.rule.Path()), f.ip, f.key.port, f.key.udp, s.address()})
	}
	slices.SortFunc(out, func(a, b Bound) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Port, b.Port)) })
	return out
}

// Close ends the traffic: what is under way has until ctx is over.
func (l *Live) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.listen(&state{})
	l.mu.Unlock()
	stop := context.AfterFunc(ctx, l.end)
	defer stop()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		l.drain.Wait()
	}()
	select {
	case <-drained:
	case <-ctx.Done():
	}
	l.end()
	<-drained
	l.running.Wait()
	for _, k := range l.links {
		k.cut()
		k.transport.CloseIdleConnections()
	}
	return ctx.Err()
}

// ServeHTTP implements http.Handler: the project, and at /_gatehouse/listeners where its
// load balancers are.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == gcpapi.AdminPath+"listeners" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, l.Listeners()) // a caller that has gone needs no answer
		return
	}
	l.Server.ServeHTTP(w, r)
}

// position is where a switch stands.
func (l *Live) position(name string) serve.Position { return l.positions[name] }

// status is the HTTP status that a switch stands for.
func (l *Live) status(name string) int {
	return map[serve.Position]int{serve.Unavailable: http.StatusServiceUnavailable, serve.BadGateway: http.StatusBadGateway, serve.GatewayTimeout: http.StatusGatewayTimeout}[l.position(name)]
}

// traceID is a new X-Cloud-Trace-Context.
func traceID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:]) + "/1;o=0"
}
