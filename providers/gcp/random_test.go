package gcp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/textproto"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// dice draws gateways and requests that meet each other often.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 17))} }

func (d dice) pick(of ...string) string { return of[d.IntN(len(of))] }

// one in n.
func (d dice) one(n int) bool { return d.IntN(n) == 0 }

var owner = lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u1"}

func (d dice) gateway(settings string) lbmodel.Gateway {
	gw := lbmodel.Gateway{Owner: owner, Settings: json.RawMessage(settings)}
	for i := range 4 {
		gw.Pools = append(gw.Pools, lbmodel.Pool{
			Name: fmt.Sprint("p", i), Group: fmt.Sprint("apps/p", i, ":80"), Source: lbmodel.Source{Kind: "Service", Name: fmt.Sprint("p", i)},
			Protocol:  [...]lbmodel.PoolProtocol{lbmodel.PoolHTTP1, lbmodel.PoolHTTP1, lbmodel.PoolWebSocket, lbmodel.PoolGRPC}[i],
			Endpoints: d.endpoints(i),
		})
	}
	gw.Identities = []lbmodel.Identity{{Name: "cert", Issuer: lbmodel.IssuerSecret, Leaf: &lbmodel.Leaf{SHA256: "aa", DNSNames: []string{"a.test"}}}}
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

func (d dice) endpoints(pool int) []lbmodel.Endpoint {
	var out []lbmodel.Endpoint
	for i := range d.IntN(4) {
		zone := d.pick("europe-west1-b", "europe-west1-c")
		out = append(out, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.%d.%d", pool, i+1), Port: 8080, Zone: zone, Ready: true, Serving: true,
			Instance: "gce://p/" + zone + "/node-" + fmt.Sprint(i)})
	}
	return append(out, []lbmodel.Endpoint{}...)
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
	regexes := 2
	for i := range 3 + d.IntN(8) {
		l.Rules = append(l.Rules, d.rules(&l, i, &regexes)...)
	}
	d.Shuffle(len(l.Rules), func(i, j int) { l.Rules[i], l.Rules[j] = l.Rules[j], l.Rules[i] })
	return l
}

// rules are those of one route's rule, for several hostnames.
func (d dice) rules(l *lbmodel.Listener, i int, regexes *int) []lbmodel.Rule {
	r := lbmodel.Rule{Source: lbmodel.Source{Kind: "HTTPRoute", Name: fmt.Sprint("r", i)}, Action: d.action(), Match: d.match(regexes)}
	if r.Match.GRPC != nil {
		r.Source.Kind = "GRPCRoute"
		r.Action = lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p3", Weight: 1}}}}
		if d.one(3) {
			r.Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 503}}
		}
	}
	var out []lbmodel.Rule
	for range 1 + d.IntN(3) {
		r.Hostname = d.pick("", "a.test", "b.a.test", "c.a.test", "*.a.test", "*.test")
		if len(expressionsOf(&r.Match)) > 0 && len(out) > 0 {
			break
		}
		if host, ok := lbmodel.IntersectHostnames(l.Hostname, r.Hostname); ok {
			r.Hostname = host
			out = append(out, r)
		}
	}
	return out
}

// regex says whether there is one left.
func (d dice) regex(left *int) bool {
	if *left == 0 || !d.one(4) {
		return false
	}
	*left--
	return true
}

func (d dice) match(regexes *int) lbmodel.Match {
	var m lbmodel.Match
	if d.one(5) {
		m.GRPC = &lbmodel.GRPCMatch{Kind: lbmodel.MatchExact, Service: d.pick("", "pkg.Svc", "pkg.Other"), Method: d.pick("", "Get", "List")}
		if d.regex(regexes) {
			*m.GRPC = lbmodel.GRPCMatch{Kind: lbmodel.MatchRegex, Service: d.pick("", "pkg.+"), Method: d.pick("", "Get|List")}
		}
	} else {
		m.Path = d.path(regexes)
		if d.one(3) {
			m.Method = d.pick("GET", "POST", "PUT", "PURGE")
		}
	}
	for range max(0, d.IntN(5)-2) {
		m.Headers = append(m.Headers, d.value(d.pick("x-a", "x-b"), regexes))
	}
	for range max(0, d.IntN(5)-3) {
		m.Query = append(m.Query, d.value(d.pick("q", "tag"), regexes))
	}
	return dedupe(m)
}

// dedupe keeps the first of a name, as translation does.
func dedupe(m lbmodel.Match) lbmodel.Match {
	for _, list := range []*[]lbmodel.ValueMatch{&m.Headers, &m.Query} {
		if len(*list) == 2 && (*list)[0].Name == (*list)[1].Name {
			*list = (*list)[:1]
		}
	}
	return m
}

func (d dice) value(name string, regexes *int) lbmodel.ValueMatch {
	out := lbmodel.ValueMatch{Name: name, Kind: lbmodel.MatchExact, Value: d.pick("1", "2", "two", "a*c", "Th.ree", "1 2", "a&b")}
	if d.regex(regexes) {
		out.Kind, out.Value = lbmodel.MatchRegex, d.pick("t.*|1", "[0-9]", "two|T.+", "(a|b)*c")
	}
	return out
}

func (d dice) path(regexes *int) lbmodel.PathMatch {
	if d.regex(regexes) {
		return lbmodel.PathMatch{Kind: lbmodel.MatchRegex, Value: d.pick("/f.*", "/[0-9]+", "/foo|/bar/.*", "/(a|b)*c?")}
	}
	kind := []lbmodel.MatchKind{lbmodel.MatchExact, lbmodel.MatchPrefix, lbmodel.MatchPrefix}[d.IntN(3)]
	return lbmodel.PathMatch{Kind: kind, Value: d.pick("/", "/foo", "/foo/", "/foo/bar", "/FOO", "/a*b", "/1(2)", "/9%20%3C", "/a%20b", "/v1.0", "/%66oo", "/a;b", "/x%2Fy", "/b//c", "/bar", "/a/./b")}
}

func (d dice) action() lbmodel.Action {
	switch d.IntN(7) {
	case 0:
		return lbmodel.Action{Fixed: &lbmodel.Fixed{Status: []int{404, 500, 503, 200}[d.IntN(4)], Body: d.pick("", "", "", "text")}}
	case 1, 2:
		return lbmodel.Action{Redirect: d.redirect()}
	default:
		a := lbmodel.Action{Forward: &lbmodel.Forward{}}
		for i := range 1 + d.IntN(3) {
			a.Forward.Backends = append(a.Forward.Backends, d.backend(i))
		}
		if d.one(2) {
			a.Edits.Rewrite = &lbmodel.Rewrite{Hostname: d.pick("", "in.test"), Path: d.pathEdit()}
		}
		a.Edits.Request, a.Edits.Response = d.edit(), d.edit()
		if d.one(4) {
			a.Edits.Mirrors = []lbmodel.Mirror{{Pool: "p2", Numerator: int32(d.IntN(3)), Denominator: 4}}
		}
		a.Timeouts.Request = lbmodel.Duration([]time.Duration{0, 0, 5 * time.Second, 1500 * time.Millisecond}[d.IntN(4)])
		a.Timeouts.Backend = lbmodel.Duration([]time.Duration{0, 0, time.Second}[d.IntN(3)])
		if d.one(4) {
			a.Retry = &lbmodel.Retry{Attempts: d.IntN(4), Codes: [][]int{nil, {502, 503, 504}, {409, 502, 503, 504}, {500}}[d.IntN(4)]}
		}
		return a
	}
}

func (d dice) backend(i int) lbmodel.Backend {
	b := lbmodel.Backend{Pool: fmt.Sprint("p", i), Weight: []int32{1, 9, 0, 1000, 100_000}[d.IntN(5)]}
	switch {
	case d.one(6):
		b.Pool, b.Fixed = "", &lbmodel.Fixed{Status: []int{500, 500, 503}[d.IntN(3)]}
	case d.one(4):
		b.Edits.Request, b.Edits.Response = d.edit(), d.edit()
	}
	return b
}

func (d dice) edit() *lbmodel.HeaderEdit {
	if d.one(2) {
		return nil
	}
	out := &lbmodel.HeaderEdit{}
	if d.one(2) {
		out.Remove = []string{d.pick("X-A", "X-B", "X-C")}
	}
	if d.one(2) {
		out.Set = []lbmodel.Header{{Name: d.pick("x-a", "x-a", "X-B"), Value: d.pick("set", "set", "set2", "{client_region}")}}
	}
	if d.one(2) {
		out.Add = []lbmodel.Header{{Name: d.pick("x-a", "X-A", "X-B", "X-C", "X-Google-Y"), Value: d.pick("add", "add2")}}
	}
	return out
}

func (d dice) pathEdit() *lbmodel.PathEdit {
	if d.one(3) {
		return nil
	}
	return &lbmodel.PathEdit{Kind: lbmodel.PathEditKind(d.pick(string(lbmodel.ReplaceFullPath), string(lbmodel.ReplacePrefixMatch))),
		Value: d.pick("", "/", "/new", "/new/", "/foo", "/$1", "/c%20d", "/a b", "/q?r", `/b\1`)}
}

func (d dice) redirect() *lbmodel.Redirect {
	return &lbmodel.Redirect{Scheme: d.pick("", "", "http", "https", "https"), Hostname: d.pick("", "to.test"), Port: []int32{0, 0, 0, 80, 443, 8443}[d.IntN(6)],
		Status: []int{0, 301, 302, 303, 307, 308}[d.IntN(6)], Path: d.pathEdit()}
}

// request is one whose meaning Google leaves no doubt of: see docs/decisions/0029.
func (d dice) request() *lbmodel.Request {
	r := &lbmodel.Request{
		Scheme: "http", Port: []int32{80, 443, 8080}[d.IntN(3)], Method: d.pick("GET", "POST", "PUT", "PURGE", "HEAD"), Headers: map[string][]string{},
		Path: d.pick("/", "/foo", "/foo/", "/foo/bar", "/foo/bar/", "/foobar", "/FOO", "/Foo", "/FOO/bar", "/a*b", "/A*b", "/axb", "/1(2)", "/a;b", "/a;b/c",
			"/v1.0/x", "/v1x0", "/42", "/x", "/new", "/bar/y", "/bar", "/foo/foo/x", "/foo/x%20y", "/foo/bar/foo/bar"),
		Query: d.pick("", "", "q=1", "q=two", "q=TWO&tag=1", "tag=a*c", "tag=Th.ree&q=2", "q"),
	}
	if r.Port == 443 {
		r.Scheme = "https"
	}
	r.Host = d.pick("a.test", "b.a.test", "c.a.test", "d.c.a.test", "test", "other.test", "xa.test", "xn--caf-dma.test", "elsewhere.example")
	r.Host = withPort(r)
	for _, name := range []string{"X-A", "X-B"} {
		if d.one(2) {
			r.Headers[name] = []string{d.pick("1", "2", "two", "TWO", "a*c", "axc", "Th.ree", "Thxree", "1 2")}
		}
	}
	if d.one(4) {
		r.Method, r.Path = "POST", "/"+d.pick("pkg.Svc", "pkg.Other", "other.Svc")+"/"+d.pick("Get", "List", "get")
		r.Headers["Content-Type"] = []string{d.pick("application/grpc", "application/grpc+proto", "application/grpc-web", "application/json")}
	}
	return r
}

// withPort is a Host as clients send it.
func withPort(r *lbmodel.Request) string {
	host, _, _ := strings.Cut(r.Host, ":")
	if r.Port == 8080 {
		return host + ":8080"
	}
	return host
}

// near is a request that a rule takes, or nearly takes.
func (d dice) near(l *lbmodel.Listener, rule *lbmodel.Rule) *lbmodel.Request {
	r := d.request()
	r.Port, r.Scheme = l.Port, strings.ToLower(string(l.Protocol))
	if host, _ := lbmodel.IntersectHostnames(l.Hostname, rule.Hostname); host != "" {
		r.Host = strings.Replace(host, "*", d.pick("x", "b", "y.z"), 1)
	}
	r.Host = withPort(r)
	m := &rule.Match
	if m.Method != "" {
		r.Method = m.Method
	}
	if path, err := plainPath(m.Path.Value); err == nil && m.Path.Kind != lbmodel.MatchRegex && !d.one(5) {
		r.Path = strings.Replace(d.pick(path, path, path, path+"/x", path+"x", strings.ToUpper(path)), "//", "/", 1)
	}
	for _, h := range m.Headers {
		if h.Kind == lbmodel.MatchExact && !d.one(4) {
			r.Headers[textproto.CanonicalMIMEHeaderKey(h.Name)] = []string{d.pick(h.Value, h.Value, strings.ToUpper(h.Value))}
		}
	}
	for i, q := range m.Query {
		if q.Kind == lbmodel.MatchExact && !d.one(4) && plainQuery.MatchString(q.Value) {
			r.Query = strings.Trim(map[int]string{0: "", 1: r.Query}[i]+"&"+q.Name+"="+q.Value, "&")
		}
	}
	delete(r.Headers, "Content-Type")
	if m.GRPC != nil && d.one(2) {
		r.Method, r.Path = "POST", "/pkg.Svc/Get"
		r.Headers["Content-Type"] = []string{"application/grpc"}
	}
	return r
}
