package inbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what a pod is.
type Config struct {
	Proxy Proxy                          // nil is Plain
	Leaf  tls.Certificate                // what the proxy shows
	Roots []*x509.Certificate            // whose clients it takes
	Mates map[string][]*x509.Certificate // other trust domains, each with roots of its own
	App   App
	// Listen is where the application's port is seen; zero is any port of 127.0.0.1.
	// The proxy's own port and the health port are free ones of the same address.
	Listen netip.AddrPort
	Health uint16           // the health port, when it must be a certain one
	Now    func() time.Time // by which certificates are judged; nil is time.Now
	// Detect is how long the proxy waits for first bytes before it takes a connection
	// as one whose server speaks first; zero is ten seconds, as Linkerd.
	Detect time.Duration
	// Requests are how many HTTP requests a connection may carry before the proxy asks
	// for another, as Envoy's max_requests_per_connection; zero is no limit.
	Requests int32
	Watch    func(Connection) // told of every connection once its fate is known; may be nil
}

// Setting is what can change while a pod runs.
type Setting struct {
	Proxy Proxy
	Leaf  tls.Certificate
	Roots []*x509.Certificate
	Mates map[string][]*x509.Certificate
}

// Pod is a running pod.
type Pod struct {
	config  Config
	setting atomic.Pointer[Setting]
	update  sync.Mutex
	ready   atomic.Pointer[Readiness]

	app        *application
	front, own net.Listener
	health     *http.Server
	healthAddr string
	web        *web
	open       conns
	records    records
	running    sync.WaitGroup
	context    context.CancelFunc
	done       <-chan struct{}
	closeOnce  sync.Once
}

// Readiness is what a proxy says of itself.
type Readiness string

// The states.
const (
	Ready    Readiness = "Ready"
	NotReady Readiness = "NotReady"
)

// Start runs a pod until Close.
func Start(c Config) (*Pod, error) {
	if c.Proxy == nil {
		c.Proxy = Plain{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Detect == 0 {
		c.Detect = 10 * time.Second
	}
	if !c.Listen.IsValid() {
		c.Listen = netip.MustParseAddrPort("127.0.0.1:0")
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pod{config: c, context: cancel, done: ctx.Done()}
	p.setting.Store(&Setting{c.Proxy, c.Leaf, c.Roots, c.Mates})
	p.SetReadiness(Ready)
	if err := p.listen(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Pod) listen() (err error) {
	if p.app, err = startApp(p.config.App); err != nil {
		return err
	}
	p.web = newWeb(p)
	if p.front, err = net.Listen("tcp", p.config.Listen.String()); err != nil {
		return err
	}
	beside := netip.AddrPortFrom(p.config.Listen.Addr(), 0).String()
	if p.own, err = net.Listen("tcp", beside); err != nil {
		return err
	}
	probes, err := net.Listen("tcp", netip.AddrPortFrom(p.config.Listen.Addr(), p.config.Health).String())
	if err != nil {
		return err
	}
	p.healthAddr = probes.Addr().String()
	p.health = &http.Server{Handler: http.HandlerFunc(p.serveHealth), ErrorLog: silent()}
	p.running.Go(func() { _ = p.health.Serve(probes) })
	p.running.Go(func() { p.accept(p.front, atApp) })
	p.running.Go(func() { p.accept(p.own, atProxy) })
	return nil
}

// Addr is the application's port, as the outside reaches it.
func (p *Pod) Addr() string { return p.front.Addr().String() }

// ProxyAddr is the proxy's own port.
func (p *Pod) ProxyAddr() string { return p.own.Addr().String() }

// HealthAddr is where the proxy answers probes.
func (p *Pod) HealthAddr() string { return p.healthAddr }

// AppAddr is the application, past the proxy.
func (p *Pod) AppAddr() string { return p.app.addr }

// Update changes settings at once. Connections that were taken before go on as
// they were.
func (p *Pod) Update(change func(*Setting)) {
	p.update.Lock()
	defer p.update.Unlock()
	next := *p.setting.Load()
	change(&next)
	p.setting.Store(&next)
}

// Become gives the pod another proxy, or the same in another mode.
func (p *Pod) Become(proxy Proxy) { p.Update(func(s *Setting) { s.Proxy = proxy }) }

// Renew has the proxy show another certificate.
func (p *Pod) Renew(leaf tls.Certificate) { p.Update(func(s *Setting) { s.Leaf = leaf }) }

// Trust has the proxy take clients of other roots.
func (p *Pod) Trust(roots []*x509.Certificate) { p.Update(func(s *Setting) { s.Roots = roots }) }

// Disconnect closes the connections that are open.
func (p *Pod) Disconnect() { p.open.closeOpen() }

// SetReadiness has the proxy's health answer 200 or 503.
func (p *Pod) SetReadiness(r Readiness) { p.ready.Store(&r) }

// Close ends everything, connections too, and waits for it.
func (p *Pod) Close() error {
	p.closeOnce.Do(func() {
		p.context()
		for _, l := range []net.Listener{p.front, p.own} {
			if l != nil {
				l.Close()
			}
		}
		if p.health != nil {
			p.health.Close()
		}
		p.open.closeAll()
		if p.web != nil {
			p.web.close()
		}
		p.running.Wait()
		if p.app != nil {
			p.app.close()
		}
	})
	return nil
}

// serveHealth is the proxy's health, and the application's by way of the proxy
// (/app-health of Istio's 15020).
func (p *Pod) serveHealth(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.setting.Load().Proxy.Healthy(r.URL.Path):
		if *p.ready.Load() != Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case strings.HasPrefix(r.URL.Path, "/app-health/"):
		if !p.app.answers() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
