package nodeport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// Config says for which nodes to listen.
type Config struct {
	Client kubernetes.Interface
	Nodes  map[string][]netip.Addr // name to addresses, which are this machine's
	Log    *slog.Logger
}

// Proxy serves node ports until it is stopped.
type Proxy struct {
	config   Config
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	dirty    chan struct{}
	cancel   context.CancelFunc
	wait     sync.WaitGroup
	open     map[place]*door // by the loop only
}

// place is where a port listens.
type place struct {
	at       netip.AddrPort
	protocol corev1.Protocol // healthCheck for a health check port
}

const healthCheck corev1.Protocol = "health"

// Start begins to serve. The context bounds the start only.
func Start(ctx context.Context, config Config) (*Proxy, error) {
	p := &Proxy{config: config, dirty: make(chan struct{}, 1), open: map[place]*door{}}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	f := informers.NewSharedInformerFactory(config.Client, 0)
	p.services = f.Core().V1().Services().Lister()
	p.slices = f.Discovery().V1().EndpointSlices().Lister()
	touch := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.touch() },
		UpdateFunc: func(any, any) { p.touch() },
		DeleteFunc: func(any) { p.touch() },
	}
	for _, i := range []cache.SharedIndexInformer{f.Core().V1().Services().Informer(), f.Discovery().V1().EndpointSlices().Informer()} {
		if _, err := i.AddEventHandler(touch); err != nil {
			cancel()
			return nil, err
		}
	}
	f.Start(life.Done())
	p.wait.Go(func() {
		p.loop(life)
		f.Shutdown()
	})
	for kind, ok := range f.WaitForCacheSync(ctx.Done()) {
		if !ok {
			p.Stop()
			return nil, fmt.Errorf("nodeport: list %s: %w", kind, context.Cause(ctx))
		}
	}
	return p, nil
}

// Stop closes every port and ends every connection.
func (p *Proxy) Stop() {
	p.cancel()
	p.wait.Wait()
}

func (p *Proxy) touch() {
	select {
	case p.dirty <- struct{}{}:
	default:
	}
}

func (p *Proxy) loop(ctx context.Context) {
	for {
		select {
		case <-p.dirty:
		case <-time.After(5 * time.Second): // a port that was taken may be free
		case <-ctx.Done():
			for _, d := range p.open {
				d.close()
			}
			return
		}
		if err := p.sync(); err != nil {
			p.config.Log.Warn("node ports", "error", err)
		}
	}
}

// sync opens, changes and closes ports to be what the Services say.
func (p *Proxy) sync() error {
	services, err := p.services.List(labels.Everything())
	if err != nil {
		return err
	}
	want := map[place]route{}
	for _, s := range services {
		if err := p.wanted(s, want); err != nil {
			return err
		}
	}
	for at, d := range p.open {
		if _, ok := want[at]; !ok {
			d.close()
			delete(p.open, at)
		}
	}
	var failed []error
	for at, r := range want {
		if d, ok := p.open[at]; ok {
			d.route.Store(&r)
			continue
		}
		d, err := open(at, r)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		p.open[at] = d
	}
	return errors.Join(failed...)
}

// wanted adds the ports of one Service.
func (p *Proxy) wanted(s *corev1.Service, want map[place]route) error {
	if s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	slices, err := p.slices.EndpointSlices(s.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name}))
	if err != nil {
		return err
	}
	local := s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	for node, addresses := range p.config.Nodes {
		only := ""
		if local {
			only = node
		}
		for _, a := range addresses {
			for _, port := range s.Spec.Ports {
				if port.NodePort != 0 {
					r := route{service: s.Namespace + "/" + s.Name, sticky: sticky(s), targets: targets(slices, port.Name, a, only)}
					want[place{netip.AddrPortFrom(a, uint16(port.NodePort)), port.Protocol}] = r
				}
			}
			if n := s.Spec.HealthCheckNodePort; n != 0 && local {
				want[place{netip.AddrPortFrom(a, uint16(n)), healthCheck}] = route{
					namespace: s.Namespace, name: s.Name, local: locals(slices, node),
				}
			}
		}
	}
	return nil
}

// sticky is how long a client stays with a target; zero is not at all.
func sticky(s *corev1.Service) time.Duration {
	if s.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return 0
	}
	if c := s.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		return time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
	}
	return 3 * time.Hour
}

// targets are the ready endpoints of a port, in the family of the node's
// address, of one node if it is named. Without any, those that still serve while
// they terminate. Source: KEP-1669.
func targets(all []*discoveryv1.EndpointSlice, port string, of netip.Addr, node string) []netip.AddrPort {
	var ready, serving []netip.AddrPort
	for _, s := range all {
		number, ok := number(s, port)
		if !ok || (s.AddressType == discoveryv1.AddressTypeIPv6) != of.Is6() {
			continue
		}
		for _, e := range s.Endpoints {
			if node != "" && (e.NodeName == nil || *e.NodeName != node) {
				continue
			}
			for _, text := range e.Addresses {
				a, err := netip.ParseAddr(text)
				if err != nil {
					continue // of a family that has no addresses, as FQDN
				}
				switch c := e.Conditions; {
				case c.Ready == nil || *c.Ready:
					ready = append(ready, netip.AddrPortFrom(a, number))
				case c.Serving != nil && *c.Serving:
					serving = append(serving, netip.AddrPortFrom(a, number))
				}
			}
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return serving
}

func number(s *discoveryv1.EndpointSlice, name string) (uint16, bool) {
	for _, p := range s.Ports {
		if p.Port != nil && (p.Name == nil && name == "" || p.Name != nil && *p.Name == name) {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}

// locals counts the ready endpoints of a node.
func locals(all []*discoveryv1.EndpointSlice, node string) int {
	seen := map[string]bool{}
	for _, s := range all {
		for _, e := range s.Endpoints {
			if e.NodeName != nil && *e.NodeName == node && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				for _, a := range e.Addresses {
					seen[a] = true
				}
			}
		}
	}
	return len(seen)
}
