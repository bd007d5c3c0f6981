package consul

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

const base = `
kind: ConfigMap
apiVersion: v1
metadata: {namespace: consul, name: consul-server-config}
data: {server.json: '{"datacenter": "east"}'}
---
kind: ServiceDefaults
apiVersion: consul.hashicorp.com/v1alpha1
metadata: {namespace: shop, name: cart}
spec: {protocol: http}
---
kind: Service
apiVersion: v1
metadata: {namespace: shop, name: cart}
spec: {selector: {app: cart}, ports: [{port: 80, targetPort: 8080}]}
---
kind: Pod
apiVersion: v1
metadata:
  namespace: shop
  name: cart-1
  labels: {app: cart, consul.hashicorp.com/connect-inject-status: injected}
  annotations:
    consul.hashicorp.com/connect-service-port: web
    consul.hashicorp.com/transparent-proxy-status: enabled
spec:
  serviceAccountName: cart
  containers:
  - name: cart
    ports: [{containerPort: 8080, name: web}]
    readinessProbe: {httpGet: {path: /ready, port: 20300}}
  - {name: consul-dataplane, readinessProbe: {tcpSocket: {port: 20000}}}
`

var dialect = Dialect{TrustDomain: "1234.consul"}

type change struct{ old, with string }

func cluster(t testing.TB, changes []change, more ...string) *meshtest.World {
	t.Helper()
	text := base
	for _, c := range changes {
		if !strings.Contains(text, c.old) {
			t.Fatalf("the base has no %q", c.old)
		}
		text = strings.Replace(text, c.old, c.with, 1)
	}
	return meshtest.Parse(t, append([]string{text}, more...)...)
}

// TestDefault is the whole answer for a service of protocol http.
func TestDefault(t *testing.T) {
	want := meshsync.Inbound{
		Membership: meshsync.Meshed,
		Account:    meshsync.Account{Namespace: "shop", Name: "cart"},
		Names:      []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://1234.consul/ns/default/dc/east/svc/cart"}},
		Port:       20000,
		Chains:     []meshsync.Chain{{Selects: []string{"http/1.1"}, HTTP: true}},
		Otherwise:  meshsync.Resets,
		MinVersion: "1.2",
		Health: &lbmodel.HealthCheck{
			Protocol: "HTTP", Port: 20300, Path: "/ready", Healthy: 1, Unhealthy: 3,
			Interval: lbmodel.Duration(10 * time.Second), Timeout: lbmodel.Duration(time.Second),
		},
	}
	if diff := cmp.Diff(want, cluster(t, nil).Accepts(dialect, "shop", "cart", "cart-1")); diff != "" {
		t.Errorf("the public listener has one chain, and Consul's names are of services (-want +got):\n%s", diff)
	}
}

func TestMesh(t *testing.T) {
	got := dialect.Mesh(cluster(t, nil))
	got.Says, got.Settings = nil, nil
	want := meshsync.Mesh{
		Installed: true, Namespace: "consul", TrustDomain: "1234.consul", TrustDomains: []string{"1234.consul"},
		Roots:    []meshsync.RootsAt{{Kind: meshsync.RootsConsul, Namespace: "consul", Name: "1234.consul"}},
		LeafLife: 72 * time.Hour, Propagation: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the roots are no object of the cluster (-want +got):\n%s", diff)
	}
	id, _ := meshsync.NameOf(dialect, dialect.Mesh(cluster(t, nil)), meshsync.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"})
	if want := "spiffe://1234.consul/ns/default/dc/east/svc/gatehouse-1"; id != want {
		t.Errorf("a gateway is a service: %q, want %q", id, want)
	}
}

// TestInbound has the rows of Consul through the judge.
func TestInbound(t *testing.T) {
	const (
		direct   = "Direct ClientAndServer HTTP1"
		disabled = "Blocked InboundDisabled"
		unknown  = "Blocked IdentityUnknown"
		outside  = "Blocked BelowMinimum"
	)
	grpc := change{"{protocol: http}", "{protocol: grpc}"}
	for _, c := range []struct {
		name, why string
		changes   []change
		more      []string
		protocol  lbmodel.PoolProtocol
		full, gcp string
		detail    string
	}{
		{"http", "one chain for all", nil, nil, lbmodel.PoolHTTP1, direct, direct, ""},
		{"grpc", "h2 is negotiated", []change{grpc}, nil, lbmodel.PoolGRPC, "Direct ClientAndServer GRPC", "Direct ClientAndServer GRPC", ""},
		{"grpc at http", "http negotiates HTTP/1.1 only", nil, nil, lbmodel.PoolGRPC, "Blocked ALPNUnsupported", "Blocked ALPNUnsupported", ""},
		{"tcp", "the default: no ALPN, nothing is read", []change{{"{protocol: http}", "{}"}}, nil, lbmodel.PoolHTTP1, direct + " -L7Policy", direct + " -L7Policy", ""},
		{"ProxyDefaults", "for all services that say nothing", []change{{"{protocol: http}", "{}"}}, []string{proxyDefaultsYAML}, lbmodel.PoolHTTP1, direct, direct, ""},
		{"ServiceDefaults first", "", []change{grpc}, []string{proxyDefaultsYAML}, lbmodel.PoolGRPC, "Direct ClientAndServer GRPC", "Direct ClientAndServer GRPC", ""},
		{"permissive", "the public listener is as it was, only the application's port is open", []change{{"{protocol: http}", "{protocol: http, mutualTLSMode: permissive}"}}, nil, lbmodel.PoolHTTP1, direct, direct, "permissive"},
		{"another port", "the public listener leads to the service's own port only", []change{{"connect-service-port: web", "connect-service-port: '9090'"}}, nil, lbmodel.PoolHTTP1, disabled, disabled, "9090"},
		{"several services, none here", "", []change{{"connect-service-port: web", "connect-service-port: '1,2'"}}, nil, lbmodel.PoolHTTP1, disabled, disabled, "no service"},
		{"intent", "an annotation is no proxy", []change{{"status: injected", "status: x"}, {"name: consul-dataplane", "name: x"}, {"  annotations:", "  annotations:\n    consul.hashicorp.com/connect-inject: 'true'"}}, nil, lbmodel.PoolHTTP1, outside, outside, "restart"},
		{"broken injection", "", []change{{"name: consul-dataplane", "name: x"}}, nil, lbmodel.PoolHTTP1, outside, outside, "broken"},
		{"a container by that name", "", []change{{"status: injected", "status: x"}}, nil, lbmodel.PoolHTTP1, outside, outside, "injector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes, c.more...).Accepts(dialect, "shop", "cart", "cart-1")
			hop := meshsync.Hop{Protocol: c.protocol, Minimum: lbmodel.TLSClientAndServer, Roots: 2}
			got := []string{meshtest.Outcome(meshsync.Judge(in, hop, lbmodel.FullFeatures())), meshtest.Outcome(meshsync.Judge(in, hop, meshtest.GCP()))}
			if diff := cmp.Diff([]string{c.full, c.gcp}, got); diff != "" {
				t.Errorf("%s (-want +got; everything, GCP):\n%s%s", c.why, diff, in.Detail)
			}
			if !strings.Contains(in.Detail, c.detail) {
				t.Errorf("%s: the detail %q does not say %q", c.why, in.Detail, c.detail)
			}
		})
	}
	in := cluster(t, nil).Accepts(Dialect{}, "shop", "cart", "cart-1")
	if v := meshsync.Judge(in, meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Roots: 1}, lbmodel.FullFeatures()); meshtest.Outcome(v) != unknown {
		t.Errorf("without Consul's trust domain no name is guessed: %s", meshtest.Outcome(v))
	}
}

const proxyDefaultsYAML = `
kind: ProxyDefaults
apiVersion: consul.hashicorp.com/v1alpha1
metadata: {namespace: consul, name: global}
spec: {config: {protocol: http}}
`

func TestServices(t *testing.T) {
	port := change{"connect-service-port: web", "connect-service-port: 9090,web\n    consul.hashicorp.com/connect-service: admin,cart-web"}
	for _, c := range []struct {
		name, why string
		changes   []change
		want      string
		port      int32
	}{
		{"by Service", "consul-k8s registers it by that name", nil, "/ns/default/dc/east/svc/cart", 20000},
		{"by annotation", "it comes first", []change{{"  annotations:", "  annotations:\n    consul.hashicorp.com/connect-service: basket"}}, "/ns/default/dc/east/svc/basket", 20000},
		{"several in a pod", "each has a listener of its own", []change{port}, "/ns/default/dc/east/svc/cart-web", 20001},
		{"a namespace of Consul", "Enterprise has them", []change{{"  annotations:", "  annotations:\n    consul.hashicorp.com/consul-namespace: team"}}, "/ns/team/dc/east/svc/cart", 20000},
		{"no datacenter", "Consul's default", []change{{`{"datacenter": "east"}`, "{"}}, "/ns/default/dc/dc1/svc/cart", 20000},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes).Accepts(dialect, "shop", "cart", "cart-1")
			want := []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://1234.consul" + c.want}}
			if !cmp.Equal(want, in.Names) || in.Port != c.port {
				t.Errorf("%s: %v at %d, want %v at %d", c.why, in.Names, in.Port, want, c.port)
			}
		})
	}
}

func TestHealthAndVersion(t *testing.T) {
	for _, c := range []struct {
		name, why string
		changes   []change
		proxy     bool
		plain     bool
	}{
		{"rewritten", "a listener of the proxy's leads to the probed path", nil, false, false},
		{"not rewritten", "a probe of the port itself would be redirected to the public listener", []change{{"port: 20300", "port: 8080"}}, true, false},
		{"no redirection", "the application's port is its own", []change{{"port: 20300", "port: 8080"}, {"status: enabled", "status: x"}}, false, true},
		{"permissive", "clear text to the application's port passes", []change{{"port: 20300", "port: 8080"}, {"{protocol: http}", "{mutualTLSMode: permissive}"}}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, c.changes).Accepts(dialect, "shop", "cart", "cart-1")
			if in.ProxyHealth != c.proxy || in.Plain != c.plain || (in.Health == nil) != c.proxy {
				t.Errorf("%s: %+v, the proxy's %v, plain %v", c.why, in.Health, in.ProxyHealth, in.Plain)
			}
		})
	}
	w := cluster(t, nil, "kind: Mesh\napiVersion: consul.hashicorp.com/v1alpha1\nmetadata: {namespace: consul, name: mesh}\nspec: {tls: {incoming: {tlsMinVersion: TLSv1_3}}}")
	if in := w.Accepts(dialect, "shop", "cart", "cart-1"); in.MinVersion != "1.3" {
		t.Errorf("the mesh may ask for TLS 1.3, got %q", in.MinVersion)
	}
}

func TestAuthorization(t *testing.T) {
	want := `apiVersion: consul.hashicorp.com/v1alpha1
kind: ServiceIntentions
metadata:
  name: cart
  namespace: shop
spec:
  destination:
    name: cart
  sources:
  - action: allow
    name: gatehouse-1
  - action: allow
    name: gatehouse-2
`
	if diff := cmp.Diff(want, Authorization("shop", "cart", []string{"gatehouse-2", "gatehouse-1"})); diff != "" {
		t.Errorf("intentions know services (-want +got):\n%s", diff)
	}
}

// TestUnknownDomainSaysWhatToDo: what only Consul knows can be asked for and named, by
// commands that need nothing filled in but what the first one prints.
func TestUnknownDomainSaysWhatToDo(t *testing.T) {
	in := cluster(t, nil).Accepts(Dialect{}, "shop", "cart", "cart-1")
	v := meshsync.Judge(in, meshsync.Hop{Protocol: lbmodel.PoolHTTP1, Minimum: lbmodel.TLSClientAndServer, Roots: 1}, meshtest.GCP())
	if v.Reason != meshsync.ReasonIdentityUnknown || v.Fix == nil {
		t.Fatalf("%s, fix %+v", v.Reason, v.Fix)
	}
	for _, part := range []string{
		"kubectl -n consul exec consul-server-0 ", "/v1/connect/ca/roots", "TrustDomain",
		"kubectl patch meshbinding ", `"kind":"ConsulRoots","name":"`, "grpcs://consul-server.consul.svc:8503",
	} {
		if !strings.Contains(v.Fix.Say, part) {
			t.Errorf("the fix does not say %q:\n%s", part, v.Fix.Say)
		}
	}
}
