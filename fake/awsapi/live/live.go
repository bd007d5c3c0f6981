package live

import (
	"context"
	"encoding/json/v2"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/serve"
)

// Config is what Start needs. API's Serve, Observed and Bound are set by Start.
type Config struct {
	API     awsapi.Config
	Traffic serve.Options
	// Every is how often time that has passed takes effect (load balancers come into
	// service, draining targets leave), in real time; 0 is a second.
	Every time.Duration
	Log   *slog.Logger // of what could not be served; nil logs nothing
}

// Live is an account whose load balancers serve.
type Live struct {
	*awsapi.Server
	traffic *serve.Server
	log     *slog.Logger
	life    context.Context //nolint:containedctx // of the whole, not of a call
	end     context.CancelFunc
	ticking sync.WaitGroup

	mu   sync.Mutex
	seen map[name]serve.TargetHealth
	at   time.Time // when seen was read
}

type name struct{ group, target string }

// fresh is how long a look at all targets' health is good for: a description asks
// for each target by itself.
const fresh = 20 * time.Millisecond

// Start makes an empty account that serves until Close.
func Start(ctx context.Context, c Config) *Live {
	l := &Live{traffic: serve.New(c.Traffic), log: c.Log}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	c.API.Serve, c.API.Observed, c.API.Bound = l.apply, l.observed, l.bound
	l.Server = awsapi.New(c.API)
	if c.Every == 0 {
		c.Every = time.Second
	}
	l.ticking.Go(func() { l.tick(c.Every) })
	return l
}

func (l *Live) apply(config serve.Config) {
	if err := l.traffic.Apply(l.life, config); err != nil {
		l.log.Warn("not everything is served", "err", err)
	}
	l.mu.Lock()
	l.at = time.Time{}
	l.mu.Unlock()
}

func (l *Live) tick(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-l.life.Done():
			return
		case <-ticker.C:
			l.Refresh()
		}
	}
}

// observed is what the checks say of a target.
func (l *Live) observed(group, target string, port int) (state, reason, description string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) > fresh {
		l.seen = map[name]serve.TargetHealth{}
		for _, h := range l.traffic.Health() {
			l.seen[name{h.Group, h.Target}] = h
		}
		l.at = time.Now()
	}
	h, ok := l.seen[name{group, elb.TargetName(target, port)}]
	if !ok { // nobody has looked at it yet, or nobody can
		return string(serve.StateInitial), "Elb.RegistrationInProgress", "Target registration is in progress", true
	}
	return string(h.State), h.Reason, h.Description, true
}

// bound is where a load balancer's listener is.
func (l *Live) bound(loadBalancer string, port int) netip.AddrPort {
	for _, b := range l.traffic.Bound() {
		if b.LoadBalancer == loadBalancer && int(b.Port) == port && !b.UDP {
			return b.Addr
		}
	}
	return netip.AddrPort{}
}

// Listeners is where listeners are.
func (l *Live) Listeners() []serve.Bound { return l.traffic.Bound() }

// Close ends the traffic, in good order as long as ctx allows.
func (l *Live) Close(ctx context.Context) error {
	l.end()
	l.ticking.Wait()
	return l.traffic.Close(ctx)
}

// ServeHTTP implements http.Handler: the account, and at /_gatehouse/listeners where
// listeners are bound.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == awsapi.AdminPath+"listeners" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, l.Listeners()) // a caller that has gone needs no answer
		return
	}
	l.Server.ServeHTTP(w, r)
}
