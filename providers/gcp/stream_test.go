package gcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/lbmodel"
)

// Why: a connection goes by its server name to whom the model says, or is closed,
// whichever rule Google Cloud asks first.
func TestServerNamesMeanTheSame(t *testing.T) {
	for seed := range uint64(60) {
		d := newDice(seed)
		gw := lbmodel.Gateway{Owner: owner, Settings: []byte(settingsOf("RegionalInternal", ""))}
		for i := range 3 {
			gw.Pools = append(gw.Pools, lbmodel.Pool{Name: fmt.Sprint("p", i), Protocol: lbmodel.PoolTCP, Endpoints: []lbmodel.Endpoint{}})
		}
		for _, host := range d.hosts() {
			l := lbmodel.Listener{Name: "l" + host, Port: 443, Protocol: lbmodel.ProtocolTLS, Hostname: host, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSPassthrough}}
			for range d.IntN(4) {
				hostname := d.pick("", "a.test", "*.a.test", "b.a.test", "*.test")
				if own, ok := lbmodel.IntersectHostnames(host, hostname); ok {
					l.SNI = append(l.SNI, lbmodel.SNIRule{Hostname: own, Forward: lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: fmt.Sprint("p", d.IntN(3)), Weight: 1}}}})
				}
			}
			slices.SortStableFunc(l.SNI, func(a, b lbmodel.SNIRule) int { return lbmodel.CompareHostnames(a.Hostname, b.Hostname) })
			gw.Listeners = append(gw.Listeners, l)
		}
		gw = gw.Canonical()
		own, _, findings := Compiler{}.Compile(gw)
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		routes, rest := tlsRoutes(t, own)
		for _, name := range []string{"", "a.test", "b.a.test", "x.b.a.test", "c.test", "test", "elsewhere.example", "xn--caf-dma.test"} {
			for _, order := range []serve.Position{serve.Listed, serve.Specific} {
				got := rest
				if a := serve.PickTLS(routes, name, nil, serve.Switches{RouteOrder: order}); a != nil {
					got = poolIn(own, a.Shares()[0].Service)
				}
				if want := poolFor(gw, name); got != want {
					t.Fatalf("seed %d, %q, %s: %q, want %q\n%s", seed, name, order, got, want, encode(gw.Listeners))
				}
			}
		}
	}
}

// tlsRoutes are the routes, and who gets what none takes.
func tlsRoutes(t *testing.T, own lbmodel.Graph) (routes []serve.TLSRoute, rest string) {
	for _, r := range own {
		switch spec := r.Spec.(type) {
		case *TLSRoute:
			var one serve.TLSRoute
			fill(t, spec, &one)
			routes = append(routes, one)
		case *TargetTCPProxy:
			id, _ := spec.Service.id()
			rest = own[id].Spec.(*BackendService).hop
		}
	}
	return routes, rest
}

// poolIn is the pool of a backend service, by its path; "" is nobody.
func poolIn(own lbmodel.Graph, service string) string {
	for id, r := range own {
		if b, ok := r.Spec.(*BackendService); ok && strings.HasSuffix(service, "/"+id.Name) {
			return b.hop
		}
	}
	return "no such service"
}

// poolFor is what the model says.
func poolFor(gw lbmodel.Gateway, name string) string {
	i := lbmodel.PickListener(gw.Listeners, 443, name)
	if i < 0 {
		return ""
	}
	for _, r := range gw.Listeners[i].SNI {
		if lbmodel.HostMatches(r.Hostname, name) {
			return r.Forward.Backends[0].Pool
		}
	}
	return ""
}

// Why: a check must be one that Google Cloud makes, of what the pods' probes look at,
// and of connections only where a port demands a certificate.
func TestHealthChecks(t *testing.T) {
	second := lbmodel.Duration(1e9)
	tls := &lbmodel.BackendTLS{Trust: "t", Identity: "i"}
	for _, c := range []struct {
		name, flavour string
		health        *lbmodel.HealthCheck
		tls           *lbmodel.BackendTLS
		want          string
		told          string
	}{
		{"none", "GlobalExternal", nil, nil, `"type":"TCP","checkIntervalSec":5,"timeoutSec":5,"healthyThreshold":2,"unhealthyThreshold":2,"tcpHealthCheck":{"portSpecification":"USE_SERVING_PORT"}`, ""},
		{"probe", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/ready", Interval: 3 * second}, nil, `"checkIntervalSec":3,"timeoutSec":3`, ""},
		{"port of its own", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "HTTP", Port: 15021}, tls, `"httpHealthCheck":{"portSpecification":"USE_FIXED_PORT","port":15021,"requestPath":"/"}`, ""},
		{"port that demands a certificate", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "HTTPS", Path: "/ready"}, tls, `"tcpHealthCheck":{"portSpecification":"USE_SERVING_PORT"}`, ""},
		{"gRPC over TLS", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "GRPC", Service: "a"}, &lbmodel.BackendTLS{Trust: "t"}, `"grpcTlsHealthCheck":{"portSpecification":"USE_SERVING_PORT","grpcServiceName":"a"}`, ""},
		{"odd interval", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "HTTP", Interval: 301 * second}, nil, `"tcpHealthCheck"`, "1 to 300 s"},
		{"odd count", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "HTTP", Healthy: 11}, nil, `"tcpHealthCheck"`, "1 to 10"},
		{"odd protocol", "GlobalExternal", &lbmodel.HealthCheck{Protocol: "EXEC"}, nil, `"tcpHealthCheck"`, "no checks by EXEC"},
		{"nodes", "PassthroughInternal", nil, nil, `"httpHealthCheck":{"portSpecification":"USE_FIXED_PORT","port":10256,"requestPath":"/healthz"}`, ""},
		{"nodes have no serving port", "PassthroughInternal", &lbmodel.HealthCheck{Protocol: "TCP"}, nil, `"port":10256`, "a port of nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			compiler := newCompiler(lbmodel.Gateway{Owner: owner, Settings: []byte(settingsOf(c.flavour, ""))})
			id, _ := compiler.addHealthCheck(&lbmodel.Pool{Name: "p", Protocol: lbmodel.PoolHTTP1, Health: c.health, TLS: c.tls}).id()
			if got := encode(compiler.shared[id].Spec); !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if told := encode(compiler.findings); (c.told == "") != (len(compiler.findings) == 0) || !strings.Contains(told, c.told) {
				t.Errorf("%s, want %q", told, c.told)
			}
		})
	}
}
