package gcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/lbmodel"
)

// serveConfigs are a compiled graph as the emulator serves it, by port.
func serveConfigs(t *testing.T, gw lbmodel.Gateway, own lbmodel.Graph) map[int32]serve.Config {
	t.Helper()
	s, _ := readSettings(gw.Settings)
	f, _ := serve.FlavourOf(flavourOf(s.Flavour).scheme, strings.TrimPrefix(s.Location, global))
	out := map[int32]serve.Config{}
	for _, r := range own {
		fr, ok := r.Spec.(*ForwardingRule)
		if !ok {
			continue
		}
		urls, scheme := urlMapOf(own, fr.Target)
		c := serve.Config{Flavour: f, Scheme: scheme, Port: fr.port, Services: servicesOf(t, own)}
		fill(t, urls, &c.URLMap)
		out[fr.port] = c
	}
	return out
}

func urlMapOf(g lbmodel.Graph, target Ref) (*URLMap, string) {
	id, _ := target.id()
	ref, scheme := Ref(""), "http"
	switch p := g[id].Spec.(type) {
	case *TargetHTTPProxy:
		ref = p.URLMap
	case *TargetHTTPSProxy:
		ref, scheme = p.URLMap, "https"
	}
	id, _ = ref.id()
	return g[id].Spec.(*URLMap), scheme
}

func servicesOf(t *testing.T, g lbmodel.Graph) map[string]serve.BackendService {
	out := map[string]serve.BackendService{}
	for id, r := range g {
		if b, ok := r.Spec.(*BackendService); ok {
			var s serve.BackendService
			fill(t, b, &s)
			out[serve.Ref(Path(id, "my-project"))] = s
		}
	}
	return out
}

// fill reads what the API gets.
func fill(t *testing.T, spec lbmodel.Spec, to any) {
	t.Helper()
	body, err := Body(spec, "my-project")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, to); err != nil {
		t.Fatal(err)
	}
}

// worded is what becomes of a request, in words.
type worded struct {
	shares   []string // pool, percent, and the headers that a request and an answer get
	host     string
	path     string
	query    string
	timeout  time.Duration
	attempts string
	mirror   string
}

func (w worded) String() string {
	return fmt.Sprintf("forward %s as %s%s?%s in %s %s %s", w.shares, w.host, w.path, w.query, w.timeout, w.attempts, w.mirror)
}

func percent(weight, sum float64) int { return int(math.Round(100 * weight / sum)) }

// served is what Google Cloud does with a request.
func served(a serve.Answer, r *lbmodel.Request, pools map[string]string) string {
	if o := a.Own; o != nil {
		switch {
		case o.Header.Get("Location") != "":
			return fmt.Sprintf("redirect %d %s", o.Status, withoutPort(o.Header.Get("Location")))
		case o.Header.Get("Grpc-Status") != "":
			return "grpc " + o.Header.Get("Grpc-Status")
		default:
			return fmt.Sprintf("fixed %d", o.Status)
		}
	}
	f := a.Forward
	out := worded{host: plainHostOf(f.Host, r.Scheme), path: f.Path, query: f.Query, timeout: f.Timeout}
	sum, rest := 0.0, 1.0
	if f.Abort != nil {
		rest = 1 - f.Abort.Percentage/100
		out.shares = append(out.shares, fmt.Sprintf("%d=%d", f.Abort.HTTPStatus, percent(1-rest, 1)))
	}
	for _, s := range f.Shares {
		sum += float64(s.Weight)
	}
	for _, s := range f.Shares {
		request, response := clone(r.Headers), sampleResponse()
		s.Request.Apply(request)
		s.Response.Apply(response)
		out.shares = append(out.shares, shareText(pools[s.Service], percent(float64(s.Weight)*rest, sum), request, response))
	}
	slices.Sort(out.shares)
	if f.Retry.Attempts > 0 { // beside the one that happens anyway
		out.attempts = fmt.Sprintf("%d on %s in %s", f.Retry.Attempts, f.Retry.On, f.Retry.PerTry)
	}
	if f.Mirror != nil {
		out.mirror = fmt.Sprintf("%s %.0f", pools[f.Mirror.Service], f.Mirror.Percent)
	}
	return out.String()
}

func clone(h map[string][]string) http.Header { return http.Header(h).Clone() }

func sampleResponse() http.Header { return http.Header{"X-A": {"from backend"}, "X-C": {"1"}} }

func shareText(pool string, percent int, request, response http.Header) string {
	text := func(h http.Header) string {
		var out []string
		for _, k := range slices.Sorted(maps.Keys(h)) {
			out = append(out, k+": "+strings.Join(h[k], ", "))
		}
		return strings.Join(out, "; ")
	}
	return fmt.Sprintf("%s=%d (%s / %s)", pool, percent, text(request), text(response))
}

// plainHostOf is a host without the port that its scheme implies.
func plainHostOf(host, scheme string) string {
	return strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
}

// withoutPort is a URL without the port that its scheme implies: the two mean the same.
func withoutPort(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return location
	}
	u.Host = plainHostOf(u.Host, u.Scheme)
	return u.String()
}

// modelled is what the model says of a request, in the same words.
func modelled(a lbmodel.Answer, r *lbmodel.Request, mapped bool) string {
	if a.Rule == nil {
		return fixedText(404, r, mapped)
	}
	switch act := &a.Rule.Action; {
	case act.Fixed != nil:
		return fixedText(act.Fixed.Status, r, mapped)
	case act.Redirect != nil:
		return fmt.Sprintf("redirect %d %s", cmp.Or(act.Redirect.Status, 302), withoutPort(act.Redirect.Location(r, a.Listener.Port, a.Listener.Protocol, a.Prefix)))
	default:
		return wantedForward(a, r, mapped)
	}
}

// fixedText is an answer of the load balancer's own. gRPC clients may be told a
// grpc-status, of which the HTTP status would be read as the same.
func fixedText(status int, r *lbmodel.Request, mapped bool) string {
	if mapped && strings.HasPrefix(clone(r.Headers).Get("Content-Type"), "application/grpc") {
		code, ok := map[int]int{404: 12, 503: 14}[status]
		if !ok {
			code = 2
		}
		return fmt.Sprint("grpc ", code)
	}
	return fmt.Sprint("fixed ", status)
}

func wantedForward(a lbmodel.Answer, r *lbmodel.Request, mapped bool) string {
	act := &a.Rule.Action
	out := worded{host: plainHostOf(r.Host, r.Scheme), query: r.Query, path: act.Edits.Rewrite.EditPath(r.Path, a.Prefix)}
	if rw := act.Edits.Rewrite; rw != nil && rw.Hostname != "" {
		out.host = rw.Hostname
	}
	sum, own, status := 0.0, 0.0, 500
	for _, b := range act.Forward.Backends {
		sum += float64(b.Weight)
		if b.Fixed != nil && b.Weight > 0 {
			own, status = own+float64(b.Weight), b.Fixed.Status
		}
	}
	if own == sum {
		return fixedText(status, r, mapped)
	}
	if own > 0 {
		out.shares = append(out.shares, fmt.Sprintf("%d=%d", status, percent(own, sum)))
	}
	for _, b := range act.Forward.Backends {
		if b.Fixed != nil || b.Weight == 0 {
			continue
		}
		request, response := clone(r.Headers), sampleResponse()
		for _, e := range []*lbmodel.Edits{&act.Edits, &b.Edits} {
			e.Request.Apply(request)
			e.Response.Apply(response)
		}
		out.shares = append(out.shares, shareText(b.Pool, percent(float64(b.Weight), sum), request, response))
	}
	slices.Sort(out.shares)
	wantedTimes(&out, act)
	for _, m := range act.Edits.Mirrors {
		if m.Numerator > 0 {
			out.mirror = fmt.Sprintf("%s %.0f", m.Pool, 100*float64(m.Numerator)/float64(m.Denominator))
		}
	}
	return out.String()
}

func wantedTimes(out *worded, act *lbmodel.Action) {
	out.timeout = cmp.Or(time.Duration(act.Timeouts.Request), 30*time.Second)
	backend := time.Duration(act.Timeouts.Backend)
	if act.Retry == nil {
		out.timeout = min(out.timeout, cmp.Or(backend, out.timeout))
		return
	}
	on := "[connect-failure]"
	switch len(act.Retry.Codes) {
	case 3:
		on = "[connect-failure gateway-error]"
	case 4:
		on = "[connect-failure retriable-4xx gateway-error]"
	}
	out.attempts = fmt.Sprintf("%d on %s in %s", act.Retry.Attempts, on, cmp.Or(backend, out.timeout))
}

// asCompiled is a gateway without what Compile refuses and tells: listeners that cannot
// be told have no rules, matches that Google Cloud cannot take are gone, and actions
// that it cannot do are a server error.
func asCompiled(gw lbmodel.Gateway) (lbmodel.Gateway, int) {
	c := newCompiler(gw)
	c.addTrust()
	c.addPools()
	out, refused := gw, 0
	out.Listeners = nil
	m := matcher{c.s, c.f}
	for _, l := range gw.Listeners {
		rules := l.Rules
		l.Rules = nil
		for _, r := range rules {
			parts, err := m.parts(&r.Match)
			if err == nil {
				_, _, err = m.conditions(&r.Match)
			}
			if err != nil {
				refused++
				continue
			}
			if _, err := c.deeds(&l, &r, parts); err != nil {
				refused++
				r.Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: brokenStatus(&r.Match)}}
			}
			l.Rules = append(l.Rules, r)
		}
		if !c.tellsHost(&l, "") {
			l.Rules = forNames(&l, gw.Listeners)
		}
		out.Listeners = append(out.Listeners, l)
	}
	return out, refused
}

// forNames are a listener's rules for the hostnames without a wildcard of its port, and
// for no other.
func forNames(l *lbmodel.Listener, all []lbmodel.Listener) []lbmodel.Rule {
	names := map[string]bool{}
	for _, o := range all {
		for _, host := range append([]string{o.Hostname}, hostnames(o.Rules)...) {
			if o.Port == l.Port && host != "" && !lbmodel.IsWildcardHostname(host) {
				names[host] = true
			}
		}
	}
	var out []lbmodel.Rule
	for _, r := range l.Rules {
		for _, host := range slices.Sorted(maps.Keys(names)) {
			if own, ok := lbmodel.IntersectHostnames(l.Hostname, r.Hostname); ok && covers(own, host) {
				one := r
				one.Hostname = host
				out = append(out, one)
			}
		}
	}
	return out
}

func hostnames(rules []lbmodel.Rule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Hostname
	}
	return out
}
