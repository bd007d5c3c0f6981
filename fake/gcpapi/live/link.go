package live

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// link is one endpoint of a backend service with its connections and what checks say of
// it. It outlives states that agree on it.
type link struct {
	key       linkKey
	transport *http.Transport // of HTTP services
	timeout   time.Duration   // to connect

	tls    atomic.Pointer[backendTLS]
	barred atomic.Bool // no firewall rule lets the load balancer in
	name   string
	load   atomic.Int64 // requests and connections under way

	gone  context.Context //nolint:containedctx // a link lives longer than the call that makes it
	cut   context.CancelFunc
	watch watch
}

// newLink makes a link that nobody checks yet.
func newLink(m *member, timeout time.Duration) *link {
	k := &link{key: m.key, name: m.name, timeout: timeout}
	k.gone, k.cut = context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	switch m.key.protocol {
	case "HTTP2":
		protocols.SetHTTP2(true)
	case "H2C", "GRPC":
		protocols.SetUnencryptedHTTP2(true)
	default:
		protocols.SetHTTP1(true)
	}
	k.transport = &http.Transport{
		DialContext:    func(ctx context.Context, _, _ string) (net.Conn, error) { return k.dial(ctx) },
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return k.dialTLS(ctx) },
		Protocols:      protocols, DisableCompression: true, MaxIdleConnsPerHost: 256, IdleConnTimeout: 10 * time.Minute, ExpectContinueTimeout: time.Second,
	}
	return k
}

var errBarred = errors.New("no firewall rule admits the load balancer")

// dial connects in plain text.
func (k *link) dial(ctx context.Context) (net.Conn, error) {
	if k.barred.Load() {
		return nil, &hopError{failedToConnect, errBarred}
	}
	d := net.Dialer{Timeout: k.timeout}
	conn, err := d.DialContext(ctx, "tcp", k.key.address)
	if err != nil {
		return nil, &hopError{failedToConnect, err}
	}
	return conn, nil
}

// dialTLS connects as the service's settings are now.
func (k *link) dialTLS(ctx context.Context) (net.Conn, error) {
	raw, err := k.dial(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	return k.tls.Load().handshake(ctx, raw, k.name)
}

// connect is for streams.
func (k *link) connect(ctx context.Context) (net.Conn, error) {
	if secured(k.key.protocol) {
		return k.dialTLS(ctx)
	}
	return k.dial(ctx)
}

// scheme is of requests to the endpoint.
func (k *link) scheme() string {
	if secured(k.key.protocol) {
		return "https"
	}
	return "http"
}

// secure takes new settings over: connections that are made from now on have them, and
// idle ones are not used again.
func (k *link) secure(to *backendTLS) {
	if to == nil {
		return
	}
	if was := k.tls.Swap(to); was != nil && was != to {
		k.transport.CloseIdleConnections()
	}
}

// connect gives every member its link: one of before, or a new one.
func (l *Live) connect(next *state) {
	for _, s := range next.services {
		for _, m := range s.members {
			k := l.links[m.key]
			if k == nil {
				k = newLink(m, l.config.ConnectTimeout)
				l.links[m.key] = k
			}
			m.link = k
			k.secure(s.tls)
			k.barred.Store(m.barred)
			l.watch(s, m)
		}
	}
}

// retire lets endpoints go that are no longer there: at once out of new traffic, and
// what is under way is cut when the service's draining is over.
func (l *Live) retire(next *state) {
	stays := map[*link]bool{}
	drain := map[string]time.Duration{}
	for _, s := range next.services {
		if s.spec.ConnectionDraining != nil {
			drain[s.ref] = time.Duration(s.spec.ConnectionDraining.DrainingTimeoutSec) * time.Second
		}
		for _, m := range s.members {
			stays[m.link] = true
		}
	}
	for key, k := range l.links {
		if stays[k] {
			continue
		}
		delete(l.links, key)
		k.watch.stop()
		l.health.forget(key)
		k.transport.CloseIdleConnections()
		l.running.Go(func() { k.leave(l.life, drain[key.service]) })
	}
}

// leave waits until the draining is over.
func (k *link) leave(life context.Context, drain time.Duration) {
	timer := time.NewTimer(drain)
	defer timer.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for k.load.Load() > 0 {
		select {
		case <-timer.C:
			k.cut()
		case <-life.Done():
			k.cut()
			return
		case <-k.gone.Done():
			return
		case <-tick.C:
		}
	}
	k.cut()
	k.transport.CloseIdleConnections()
}

// urlIs compares a URI as it is written.
func urlIs(want string) func(*url.URL) bool {
	return func(u *url.URL) bool { return u.String() == want }
}
