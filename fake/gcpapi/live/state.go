package live

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/netservices"
	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// state is everything that is served, read from the project at one time.
type state struct {
	fronts   map[frontKey]*front
	services map[string]*service // by serve.Ref
}

// frontKey is one port of a forwarding rule.
type frontKey struct {
	rule store.Name
	port int
	udp  bool
}

// front is what a port does.
type front struct {
	key     frontKey
	ip      string
	kind    string // the collection of its proxy; "" passes packets through
	flavour serve.Flavour
	broken  string // why nothing can be served; "" if it can
	matcher *serve.Matcher
	made    source // of matcher
	tls     *frontTLS
	routes  []serve.TLSRoute
	service string // of proxies without a URL map, and of rules without a proxy
	state   *state
}

// reader reads one state.
type reader struct {
	*Live
	view   store.View
	before *state // what was served before
	out    *state
	fire   walls
}

// source is the resources that something was made of. Resources are never changed, only
// replaced: what was made of the same ones is the same.
type source []store.Object

func (s source) is(other source) bool {
	return slices.EqualFunc(s, other, func(a, b store.Object) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() })
}

// read is what a view says should be served. A part that cannot be served costs whoever
// uses it, never the rest.
func (l *Live) read(v store.View) *state {
	r := &reader{Live: l, view: v, before: l.state, out: &state{fronts: map[frontKey]*front{}, services: map[string]*service{}}}
	r.fire = r.readWalls()
	for _, n := range v.List(compute.Host, "backendServices", "") {
		s := r.readService(n, v.Get(n))
		r.out.services[s.ref] = s
	}
	for _, n := range v.List(compute.Host, "forwardingRules", "") {
		r.readRule(n, v.Get(n))
	}
	return r.out
}

// to is the resource that a field of another one names; nil if there is none.
func (r *reader) to(host string, of store.Name, text string) (store.Name, store.Object) {
	if text == "" {
		return "", nil
	}
	n, ok := r.view.Store().Resolve(host, of.Project(), text)
	if !ok {
		return "", nil
	}
	return n, r.view.Get(n)
}

func regionOf(n store.Name) string {
	if n.Location() == "global" {
		return ""
	}
	return n.Location()
}

// readRule makes a front for each port of a forwarding rule.
func (r *reader) readRule(n store.Name, o store.Object) {
	f := front{ip: store.Text(o, "IPAddress"), state: r.out, key: frontKey{n, firstPort(o), store.Text(o, "IPProtocol") == "UDP"}}
	flavour, known := serve.FlavourOf(store.Text(o, "loadBalancingScheme"), regionOf(n))
	f.flavour = flavour
	target, proxy := r.to(compute.Host, n, store.Text(o, "target"))
	switch {
	case proxy != nil && !known:
		f.broken = "the scheme " + store.Text(o, "loadBalancingScheme") + " is not emulated"
		f.kind = target.Collection()
	case proxy != nil:
		f.kind = target.Collection()
		r.readProxy(&f, target, proxy, firstPort(o))
	default:
		_, name := r.service(n, store.Text(o, "backendService"))
		f.service = name
	}
	for _, port := range portsOf(o) {
		one := f
		one.key.port = port
		r.out.fronts[one.key] = &one
	}
}

// service finds the backend service that a field names.
func (r *reader) service(of store.Name, text string) (*service, string) {
	n, _ := r.to(compute.Host, of, text)
	if n == "" {
		return nil, ""
	}
	ref := serve.Ref(n.Path())
	return r.out.services[ref], ref
}

func (r *reader) readProxy(f *front, n store.Name, o store.Object, port int) {
	var err error
	switch n.Collection() {
	case "targetHttpProxies":
		f.matcher, err = r.readMap(f, n, o, "http", port)
	case "targetHttpsProxies":
		f.matcher, err = r.readMap(f, n, o, "https", port)
		f.tls = r.readFrontTLS(n, o)
	case "targetSslProxies":
		f.tls = r.readFrontTLS(n, o)
		_, f.service = r.service(n, store.Text(o, "service"))
	case "targetTcpProxies":
		_, f.service = r.service(n, store.Text(o, "service"))
		f.routes, err = r.readRoutes(n)
	}
	if err != nil {
		f.broken = err.Error()
	}
}

func (r *reader) readMap(f *front, n store.Name, o store.Object, scheme string, port int) (*serve.Matcher, error) {
	name, urlMap := r.to(compute.Host, n, store.Text(o, "urlMap"))
	if urlMap == nil {
		return nil, fmt.Errorf("config_not_found: the URL map of %s is not there", n.Path())
	}
	used := r.view.Store().Refers(name, urlMap)
	f.made = source{urlMap}
	for _, one := range used {
		f.made = append(f.made, r.view.Get(one))
	}
	if was := r.before.fronts[f.key]; was != nil && was.matcher != nil && was.made.is(f.made) {
		return was.matcher, nil
	}
	c := serve.Config{Flavour: f.flavour, Scheme: scheme, Port: int32(port), Bytes: r.config.API.URLMapBytes, Services: map[string]serve.BackendService{}}
	if err := store.Decode(urlMap, &c.URLMap); err != nil {
		return nil, err
	}
	for _, one := range used {
		if s := r.out.services[serve.Ref(one.Path())]; s != nil {
			c.Services[s.ref] = s.spec
		}
	}
	return serve.New(c, r.config.Switches)
}

// readRoutes are the TlsRoutes of a proxy, in the order of their names.
func (r *reader) readRoutes(proxy store.Name) ([]serve.TLSRoute, error) {
	var out []serve.TLSRoute
	for _, n := range r.view.List(netservices.Host, "tlsRoutes", "projects/"+proxy.Project()) {
		var route serve.TLSRoute
		if err := store.Decode(r.view.Get(n), &route); err != nil {
			return nil, err
		}
		for _, text := range route.TargetProxies {
			if to, _ := r.to(compute.Host, n, text); to == proxy {
				out = append(out, route)
			}
		}
	}
	return out, nil
}

// portsOf are the ports of a rule: of a range the first, of all ports none.
func portsOf(o store.Object) []int {
	list := store.List(o, "ports")
	if span := store.Text(o, "portRange"); span != "" {
		list = []any{span}
	}
	var out []int
	for _, p := range list {
		text, _ := p.(string)
		first, _, _ := strings.Cut(text, "-")
		if n, err := strconv.Atoi(first); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func firstPort(o store.Object) int {
	if all := portsOf(o); len(all) > 0 {
		return all[0]
	}
	return 0
}
