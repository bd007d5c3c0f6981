package cli

import (
	"bytes"
	"strings"
	"testing"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/lbmodel"
)

func to(pools ...string) lbmodel.Forward {
	var f lbmodel.Forward
	for _, p := range pools {
		f.Backends = append(f.Backends, lbmodel.Backend{Pool: p, Weight: 1})
	}
	return f
}

// streams is a gateway of everything that is not HTTP, and of HTTP that ends
// early.
func streams() lbmodel.Gateway {
	tcp, idle := to("db"), lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "db"}}}
	root := lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/"}}
	forward := to("db", "unknown")
	return lbmodel.Gateway{
		Owner: lbmodel.Owner{Kind: "Gateway", Namespace: "a", Name: "g"},
		Listeners: []lbmodel.Listener{
			{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Rules: []lbmodel.Rule{
				{Hostname: "idle.test", Match: root, Action: lbmodel.Action{Forward: &idle}},
				{Hostname: "both.test", Match: root, Action: lbmodel.Action{Forward: &forward}},
			}},
			{Name: "tls", Port: 443, Protocol: lbmodel.ProtocolTLS, Hostname: "*.tls.test", SNI: []lbmodel.SNIRule{
				{Hostname: "a.tls.test", Forward: to("db")}, {Hostname: "b.tls.test", Forward: to("db")}}},
			{Name: "tcp", Port: 5432, Protocol: lbmodel.ProtocolTCP, Forward: &tcp},
			{Name: "bare", Port: 5433, Protocol: lbmodel.ProtocolTCP},
			{Name: "dns", Port: 5432, Protocol: lbmodel.ProtocolUDP, Forward: &tcp},
		},
		Pools: []lbmodel.Pool{
			{Name: "db", Endpoints: []lbmodel.Endpoint{{Address: "10.0.0.1", Port: 1, Ready: true}, {Address: "10.0.0.2", Port: 1}}},
			{Name: "unknown"},
		},
	}
}

// TestTrace follows requests and connections to where they end, and says why.
func TestTrace(t *testing.T) {
	cases := []struct {
		name, url string
		want      []string
	}{
		{"TCP goes to its route", "tcp://x.test:5432", []string{"TCP :5432", "every connection", "10.0.0.1:1", "10.0.0.2:1  (not ready)", "answered by the one endpoint"}},
		{"UDP on the same port is another listener", "udp://x.test:5432", []string{"UDP :5432"}},
		{"a port without a route", "tcp://x.test:5433", []string{"no route is attached: the connection is closed", "refused"}},
		{"TLS by name, with what was tried", "tls://b.tls.test", []string{"tls  TLS :443 *.tls.test", "the name b.tls.test does not match a.tls.test", "SNI b.tls.test", "one endpoint"}},
		{"a name that no route takes", "tls://c.tls.test:443", []string{"no route takes the name"}},
		{"a name that no listener takes", "tls://other.test:443", []string{"port 443 serves only *.tls.test"}},
		{"nothing has a weight", "http://idle.test/", []string{"no backend has a weight", "answered here: 500"}},
		{"endpoints that only the cluster knows", "http://both.test/", []string{"50%", "endpoints are known after apply", "answered by endpoints that are known after apply"}},
		{"another protocol's port", "https://x.test:80/", []string{"nothing answers HTTPS on port 80; there is http (HTTP :80 any host)"}},
		{"a scheme that nobody speaks", "https://x.test/", []string{"no listener speaks HTTPS; there is http (HTTP :80 any host)"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q, err := parseQuestion([]string{c.url}, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			tracePrinter{term.NewScreen(&out, func(string) string { return "" }, term.Never)}.print(q.traceIn(streams()))
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing: an explanation must say what decides\n%s", want, out.String())
				}
			}
		})
	}
}
