package aws

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"gatehouse.dev/lbmodel"
)

// dice draws gateways and requests that meet each other often.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 11))} }

func (d dice) pick(of ...string) string { return of[d.IntN(len(of))] }

// one in n.
func (d dice) one(n int) bool { return d.IntN(n) == 0 }

const longHost = "my-service.staging.eu-west-1.internal.example.com"

var owner = lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u1"}

func (d dice) gateway(settings string) lbmodel.Gateway {
	gw := lbmodel.Gateway{Owner: owner, Settings: json.RawMessage(settings)}
	for i := range 4 {
		gw.Pools = append(gw.Pools, lbmodel.Pool{
			Name: fmt.Sprint("p", i), Source: lbmodel.Source{Kind: "Service", Name: fmt.Sprint("p", i)},
			Protocol: [...]lbmodel.PoolProtocol{lbmodel.PoolHTTP1, lbmodel.PoolHTTP1, lbmodel.PoolWebSocket, lbmodel.PoolGRPC}[i],
		})
	}
	gw.Identities = []lbmodel.Identity{{Name: "cert", Issuer: "Secret", Leaf: &lbmodel.Leaf{SHA256: "aa", DNSNames: []string{"a.test"}}}}
	for _, p := range []struct {
		port     int32
		protocol lbmodel.Protocol
	}{{80, lbmodel.ProtocolHTTP}, {443, lbmodel.ProtocolHTTPS}, {8080, lbmodel.ProtocolHTTP}} {
		for _, host := range d.hosts() {
			gw.Listeners = append(gw.Listeners, d.listener(p.port, p.protocol, host))
		}
	}
	return gw.Canonical()
}

// hosts are those of the listeners of a port.
func (d dice) hosts() []string {
	all := []string{"", "a.test", "*.test", "b.a.test", "*.a.test", "xn--caf-dma.test"}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+d.IntN(3)]
}

func (d dice) listener(port int32, protocol lbmodel.Protocol, host string) lbmodel.Listener {
	name := fmt.Sprint(port, "-", host)
	l := lbmodel.Listener{Name: name, Source: lbmodel.Source{Kind: "Gateway", Name: "edge", Section: name}, Port: port, Protocol: protocol, Hostname: host}
	if protocol == lbmodel.ProtocolHTTPS {
		l.TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"cert"}}
	}
	for i := range 3 + d.IntN(8) {
		l.Rules = append(l.Rules, d.rules(&l, i)...)
	}
	d.Shuffle(len(l.Rules), func(i, j int) { l.Rules[i], l.Rules[j] = l.Rules[j], l.Rules[i] })
	return l
}

// rules are those of one route's rule: for several hostnames and methods, so that
// there is something to pack.
func (d dice) rules(l *lbmodel.Listener, i int) []lbmodel.Rule {
	r := lbmodel.Rule{Source: lbmodel.Source{Kind: "HTTPRoute", Name: fmt.Sprint("r", i)}, Action: d.action(i), Match: d.match()}
	if r.Match.GRPC != nil {
		r.Source.Kind = "GRPCRoute"
		r.Action = lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p3", Weight: 1}}}}
		if d.one(3) {
			r.Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 503, Body: fmt.Sprint("grpc", i)}}
		}
	}
	var out []lbmodel.Rule
	for range 1 + d.IntN(4) {
		r.Hostname = d.pick("", "a.test", "b.a.test", "c.a.test", "*.a.test", "*.test", longHost, "*."+longHost)
		if host, ok := lbmodel.IntersectHostnames(l.Hostname, r.Hostname); ok {
			r.Hostname = host
			if r.Match.GRPC == nil && d.one(2) {
				r.Match.Method = d.pick("GET", "POST", "PUT", "PURGE")
			}
			out = append(out, r)
		}
	}
	return out
}

func (d dice) match() lbmodel.Match {
	var m lbmodel.Match
	if d.one(5) {
		m.GRPC = &lbmodel.GRPCMatch{Kind: lbmodel.MatchExact, Service: d.pick("", "pkg.Svc", "pkg.Other"), Method: d.pick("", "Get", "List")}
		if d.one(3) {
			*m.GRPC = lbmodel.GRPCMatch{Kind: lbmodel.MatchRegex, Service: d.pick("", "pkg.+"), Method: d.pick("", "Get|List")}
		}
	} else {
		m.Path = d.path()
	}
	for range max(0, d.IntN(5)-2) {
		h := lbmodel.ValueMatch{Name: d.pick("x-a", "x-b"), Kind: lbmodel.MatchExact, Value: d.pick("1", "two", "a*c", "Th.ree")}
		if d.one(4) {
			h.Kind, h.Value = lbmodel.MatchRegex, d.pick("t.*|1", "[0-9]", "two|T.+")
		}
		m.Headers = append(m.Headers, h)
	}
	return m
}

func (d dice) path() lbmodel.PathMatch {
	kind := []lbmodel.MatchKind{lbmodel.MatchExact, lbmodel.MatchPrefix, lbmodel.MatchPrefix, lbmodel.MatchRegex}[d.IntN(4)]
	if kind == lbmodel.MatchRegex {
		return lbmodel.PathMatch{Kind: kind, Value: d.pick("/f.*", "/[0-9]+", "/foo|/bar/.*", "/(a|b)*c?")}
	}
	return lbmodel.PathMatch{Kind: kind, Value: d.pick("/", "/foo", "/foo/", "/foo/bar", "/FOO", "/a*b", "/1*2", "/1(2)", "/9%20%3C", "/a%20b", "/v1.0", "/%66oo", "/a;b", "/x%2Fy", "/b//c")}
}

func (d dice) action(i int) lbmodel.Action {
	switch d.IntN(5) {
	case 0:
		return lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 404 + 96*d.IntN(2), Body: fmt.Sprint("r", i)}}
	case 1:
		return lbmodel.Action{Redirect: d.redirect()}
	default:
		a := lbmodel.Action{Forward: &lbmodel.Forward{}}
		for range 1 + d.IntN(2) {
			a.Forward.Backends = append(a.Forward.Backends, lbmodel.Backend{Pool: fmt.Sprint("p", len(a.Forward.Backends)), Weight: []int32{1, 9, 0, 1000, 100_000}[d.IntN(5)]})
		}
		if d.one(2) {
			a.Edits.Rewrite = &lbmodel.Rewrite{Hostname: d.pick("", "in.test"), Path: d.pathEdit()}
		}
		return a
	}
}

func (d dice) pathEdit() *lbmodel.PathEdit {
	if d.one(3) {
		return nil
	}
	return &lbmodel.PathEdit{Kind: lbmodel.PathEditKind(d.pick(string(lbmodel.ReplaceFullPath), string(lbmodel.ReplacePrefixMatch))), Value: d.pick("", "/", "/new", "/new/", "/foo", "/a b", "/$1", "/c%20d")}
}

func (d dice) redirect() *lbmodel.Redirect {
	out := &lbmodel.Redirect{Scheme: d.pick("", "http", "https"), Hostname: d.pick("", "to.test"), Port: []int32{0, 80, 8443}[d.IntN(3)], Status: []int{301, 302}[d.IntN(2)]}
	out.Path = d.pathEdit()
	return out
}

// request is one whose meaning AWS leaves no doubt of: see docs/decisions/0028.
func (d dice) request() *lbmodel.Request {
	r := &lbmodel.Request{
		Scheme: "http", Port: []int32{80, 443, 8080}[d.IntN(3)], Method: d.pick("GET", "POST", "PUT", "PURGE", "HEAD"), Headers: map[string][]string{},
		Path:  d.pick("/", "/foo", "/foo/", "/foo/bar", "/foo/bar/", "/foobar", "/FOO", "/Foo", "/FOO/bar", "/a*b", "/A*b", "/axb", "/1*2", "/1x2", "/1*2/z", "/1(2)", "/9%20%3c/x", "/a%20b", "/v1.0/x", "/v1x0", "/42", "/x", "/new", "/bar/y", "/foo/foo/x", "/foo/bar/foo/bar"),
		Query: d.pick("", "", "q=1", "a=b&c=%20d", "p=/foo"),
	}
	if r.Port == 443 {
		r.Scheme = "https"
	}
	r.Host = d.requestHost(d.pick("a.test", "b.a.test", "c.a.test", "d.c.a.test", "test", "other.test", "xa.test", "xn--caf-dma.test", "elsewhere.example", longHost, "x."+longHost))
	for _, name := range []string{"X-A", "X-B"} {
		if d.one(2) {
			r.Headers[name] = []string{d.pick("1", "2", "two", "TWO", "a*c", "axc", "Th.ree", "Thxree")}
		}
	}
	if d.one(4) {
		r.Method, r.Path = "POST", "/"+d.pick("pkg.Svc", "pkg.Other", "other.Svc")+"/"+d.pick("Get", "List", "get")
		r.Headers["Content-Type"] = []string{d.pick("application/grpc", "application/grpc+proto", "Application/GRPC", "application/grpc; a=b", "application/grpc-web", "application/json")}
	}
	return r
}

// near is a request that a rule takes, or nearly takes.
func (d dice) near(l *lbmodel.Listener, rule *lbmodel.Rule) *lbmodel.Request {
	r := d.request()
	r.Port, r.Scheme = l.Port, strings.ToLower(string(l.Protocol))
	if host, _ := lbmodel.IntersectHostnames(l.Hostname, rule.Hostname); host != "" {
		r.Host = d.requestHost(strings.Replace(host, "*", d.pick("x", "b", "y.z"), 1))
	}
	m := &rule.Match
	if m.Method != "" {
		r.Method = m.Method
	}
	if p := m.Path; p.Value != "" && p.Kind != lbmodel.MatchRegex && !d.one(5) && !strings.ContainsAny(p.Value, ";") && !strings.Contains(p.Value, "//") && !strings.Contains(p.Value, "%66") && !strings.Contains(p.Value, "%2F") {
		r.Path = p.Value + d.pick("", "", "", "/x")
		r.Path = strings.Replace(r.Path, "//", "/", 1)
	}
	for _, h := range m.Headers {
		if h.Kind == lbmodel.MatchExact && !d.one(4) {
			r.Headers["X-"+strings.ToUpper(h.Name[2:])] = []string{h.Value}
		}
	}
	if m.GRPC != nil && d.one(2) {
		r.Method, r.Path = "POST", "/pkg.Svc/Get"
		r.Headers["Content-Type"] = []string{"application/grpc"}
	} else if m.GRPC == nil {
		delete(r.Headers, "Content-Type")
	}
	return r
}

func (d dice) requestHost(host string) string {
	port := d.pick("", "", ":80", ":443", ":8080", ":1234")
	if strings.HasSuffix(host, longHost) && port != "" {
		return host + port // upper case and a port are too much for AWS
	}
	if d.one(4) {
		host = strings.ToUpper(host[:1]) + host[1:]
	}
	if d.one(9) && !strings.HasSuffix(host, longHost) {
		host += "."
	}
	return host + port
}
