//go:build e2e

package realmesh

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/test/cluster/programs"
)

// Who comes, and whom they come to.
const (
	edgeName    = "spiffe://cluster.local/ns/gatehouse-system/sa/edge"
	podName     = "spiffe://cluster.local/ns/apps/sa/cart"
	linkerdName = "cart.apps.serviceaccount.identity.linkerd.cluster.local"
)

// client is what is shown to a proxy.
type client string

const (
	meshed    client = "member"    // a certificate of the mesh, with an ECDSA key
	rsaMember client = "rsa"       // likewise, with an RSA key
	nobody    client = "nobody"    // none
	foreigner client = "foreigner" // one of the mesh's CA in another trust domain
	stranger  client = "stranger"  // one of another CA
)

// outcome is what comes of a request.
type outcome string

const (
	known   outcome = "known"   // answered, and the application was told who came
	unknown outcome = "unknown" // answered, by whoever came
	none    outcome = "none"    // not answered
)

// meeting is a client at a proxy. No client here offers ALPN: nginx cannot.
type meeting struct {
	name   string
	proxy  inbound.Proxy
	sni    string // "" is none
	client client
	want   outcome
}

func meetings() []meeting {
	strict := inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}
	mutual := func(hosts ...string) inbound.Proxy {
		return inbound.IstioGateway{Mode: inbound.IstioMutual, Hosts: hosts}
	}
	linkerd := inbound.Linkerd{Identity: linkerdName}
	consul := inbound.Consul{Protocol: inbound.HTTP}
	return []meeting{
		{"Istio STRICT, HTTP", strict, "", meshed, known},
		{"Istio STRICT, HTTP, any SNI", strict, "shop.example", meshed, known},
		{"Istio STRICT, HTTP, RSA key", strict, "", rsaMember, known},
		{"Istio STRICT, HTTP, without a certificate", strict, "", nobody, none},
		{"Istio STRICT, HTTP, another trust domain", strict, "", foreigner, none},
		{"Istio STRICT, HTTP, another CA", strict, "", stranger, none},
		{"Istio STRICT, no protocol", inbound.Istio{Mode: inbound.Strict, Protocol: inbound.Auto}, "", meshed, unknown},
		{"Istio STRICT, TCP", inbound.Istio{Mode: inbound.Strict, Protocol: inbound.TCP}, "", meshed, unknown},
		{"Istio STRICT, undeclared port", inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP, Undeclared: true}, "", meshed, unknown},
		{"Istio PERMISSIVE, HTTP", inbound.Istio{Protocol: inbound.HTTP}, "", meshed, none},
		{"Istio PERMISSIVE, no protocol", inbound.Istio{Protocol: inbound.Auto}, "", meshed, none},
		{"Istio PERMISSIVE, TCP", inbound.Istio{Protocol: inbound.TCP}, "", meshed, none},
		{"Istio DISABLE, HTTP", inbound.Istio{Mode: inbound.Disable, Protocol: inbound.HTTP}, "", meshed, none},
		{"Istio gateway, any host", mutual("*"), "", meshed, known},
		{"Istio gateway, its host", mutual("shop.example"), "shop.example", meshed, known},
		{"Istio gateway, another host", mutual("shop.example"), "cart.example", meshed, none},
		{"Istio gateway, no SNI", mutual("shop.example"), "", meshed, none},
		{"Istio gateway, another trust domain", mutual("*"), "", foreigner, known},
		{"Istio gateway, without a certificate", mutual("*"), "", nobody, none},
		{"Istio gateway, ISTIO_SIMPLE", inbound.IstioGateway{Mode: inbound.IstioSimple}, "", nobody, unknown},
		{"Istio east-west gateway", inbound.IstioGateway{Mode: inbound.AutoPassthrough, Hosts: []string{"outbound_.80_._.cart"}}, "outbound_.80_._.cart", meshed, none},
		{"Istio ambient", inbound.Ambient{}, "", meshed, none},
		{"Istio ambient, STRICT", inbound.Ambient{Mode: inbound.Strict}, "", meshed, none},
		{"Linkerd, its own name", linkerd, linkerdName, meshed, known},
		{"Linkerd, no SNI", linkerd, "", meshed, none},
		{"Linkerd, another SNI", linkerd, "shop.example", meshed, none},
		{"Linkerd, RSA key", linkerd, linkerdName, rsaMember, none},
		{"Linkerd, without a certificate", linkerd, linkerdName, nobody, unknown},
		{"Linkerd, without a certificate where one is asked for", inbound.Linkerd{Identity: linkerdName, Policy: inbound.AllAuthenticated}, linkerdName, nobody, none},
		{"Linkerd, another CA", linkerd, linkerdName, stranger, none},
		{"Linkerd, opaque port", inbound.Linkerd{Identity: linkerdName, Opaque: true}, linkerdName, meshed, none},
		{"Consul", consul, "", meshed, known},
		{"Consul, another CA", consul, "", stranger, none},
		{"Consul, without a certificate", consul, "", nobody, none},
		{"Consul, permissive", inbound.Consul{Permissive: true}, "", meshed, none},
		{"Kuma", inbound.Kuma{Protocol: inbound.HTTP}, "", meshed, known},
		{"Kuma, another trust domain", inbound.Kuma{Protocol: inbound.HTTP}, "", foreigner, none},
		{"Kuma, PERMISSIVE", inbound.Kuma{Mode: inbound.Permissive, Protocol: inbound.HTTP}, "", meshed, none},
		{"no mesh", inbound.Plain{}, "", meshed, none},
	}
}

// TestNginx has nginx, which nobody here wrote, and our own data plane meet the
// doubles of all meshes' proxies. Both must fare alike, and as the meshes' sources say:
// then the verdicts hold for load balancers in general and not for our data plane.
// nginx cannot check a URI in a certificate, so it verifies where the name is DNS.
func TestNginx(t *testing.T) {
	all := meetings()
	w := newMeetingPlace(t, all)
	figures.version(w.version())
	fares := map[string]map[outcome]int{}
	for who, ports := range map[string]int{"nginx": nginxPorts, "our data plane": planePorts} {
		fares[who] = map[outcome]int{}
		for i, m := range all {
			got, why := fare(t, ports+i)
			if fares[who][got]++; got != m.want {
				t.Errorf("%s at %s: %s (%s), want %s", who, m.name, got, why, m.want)
			}
		}
	}
	t.Logf("%d meetings: %v", len(all), fares)
}

// fare is what a request comes to.
func fare(t *testing.T, port int) (outcome, string) {
	t.Helper()
	body, err := read(t.Context(), clientOnce(), fmt.Sprintf("http://127.0.0.1:%d/cart", port))
	var said inbound.Answer
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	switch {
	case err != nil:
		return none, err.Error()
	case said.Client != "":
		return known, said.Client
	}
	return unknown, ""
}

// The first ports of the two.
const (
	nginxPorts = 20000
	planePorts = 21000
)

const nginxConfig = `
daemon off;
user root;
worker_processes 1;
pid {{.Dir}}/pid;
error_log {{.Dir}}/error.log;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path {{.Dir}}/t1; proxy_temp_path {{.Dir}}/t2; fastcgi_temp_path {{.Dir}}/t3; uwsgi_temp_path {{.Dir}}/t4; scgi_temp_path {{.Dir}}/t5;
  proxy_http_version 1.1;
  proxy_ssl_session_reuse off;
  proxy_ssl_protocols TLSv1.2 TLSv1.3;
  proxy_ssl_trusted_certificate {{.Dir}}/roots.pem;
{{range .Servers}}
  server {
    listen 127.0.0.1:{{.Port}};
    location / {
      proxy_pass https://{{.Backend}};
{{if .Files}}      proxy_ssl_certificate {{.Files}}.crt; proxy_ssl_certificate_key {{.Files}}.key;
{{end}}{{if .SNI}}      proxy_ssl_server_name on; proxy_ssl_name {{.SNI}};
{{end}}{{if .Verify}}      proxy_ssl_verify on;
{{end}}    }
  }
{{end}}
}
`

// nginxServer is a meeting as nginx's configuration has it.
type nginxServer struct {
	Port    int
	Backend string
	Files   string // of the certificate, without their ends
	SNI     string
	Verify  bool
}

// meetingPlace is one pod for each meeting, and both clients.
type meetingPlace struct {
	*testing.T
	ca      *ca.CA
	dir     string
	clients map[client]tls.Certificate
	binary  string
}

func newMeetingPlace(t *testing.T, all []meeting) *meetingPlace {
	t.Helper()
	w := &meetingPlace{T: t, dir: shortDir(t)}
	var err error
	if w.binary, err = exec.LookPath("nginx"); err != nil {
		t.Fatalf("%v: on Debian, apt-get install nginx", err)
	}
	w.ca, err = ca.New(ca.Config{})
	w.do(err)
	other, err := ca.New(ca.Config{})
	w.do(err)
	issue := func(by *ca.CA, id string, key ca.KeyType) tls.Certificate {
		pair, err := by.Issue(ca.Request{URIs: []string{id}, Key: key})
		w.do(err)
		return pair
	}
	w.clients = map[client]tls.Certificate{
		meshed: issue(w.ca, edgeName, ca.ECDSA), rsaMember: issue(w.ca, edgeName, ca.RSA),
		foreigner: issue(w.ca, "spiffe://elsewhere.example/ns/a/sa/b", ca.ECDSA), stranger: issue(other, edgeName, ca.ECDSA),
	}
	var servers []nginxServer
	model := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "real", Kind: "Gateway", Namespace: "edge", Name: "edge", UID: "1"}, Settings: []byte(`{"allowLoopbackEndpoints": true}`),
		Trust: []lbmodel.Trust{{Name: "mesh", Roots: w.roots()}},
	}
	for who := range w.clients {
		model.Identities = append(model.Identities, lbmodel.Identity{Name: string(who), Issuer: lbmodel.IssuerSecret})
	}
	for i, m := range all {
		addr := w.pod(m)
		servers = append(servers, w.server(m, nginxPorts+i, addr))
		w.join(&model, m, planePorts+i, addr)
	}
	w.startNginx(servers)
	w.startPlane(model)
	return w
}

func (w *meetingPlace) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *meetingPlace) roots() []lbmodel.Root {
	w.Helper()
	roots, err := lbmodel.ParseRoots(w.ca.Bundle())
	w.do(err)
	return roots
}

// pod starts one behind the proxy, and returns the address of its port.
func (w *meetingPlace) pod(m meeting) netip.AddrPort {
	w.Helper()
	r := ca.Request{URIs: []string{podName}}
	if isLinkerd(m) {
		r = ca.Request{DNSNames: []string{linkerdName}}
	}
	leaf, err := w.ca.Issue(r)
	w.do(err)
	p, err := inbound.Start(inbound.Config{Proxy: m.proxy, Leaf: leaf, Roots: w.ca.Roots(), Detect: time.Second})
	w.do(err)
	w.Cleanup(func() { w.do(p.Close()) })
	return netip.MustParseAddrPort(p.Addr())
}

func isLinkerd(m meeting) bool {
	_, is := m.proxy.(inbound.Linkerd)
	return is
}

func (w *meetingPlace) server(m meeting, port int, backend netip.AddrPort) nginxServer {
	w.Helper()
	s := nginxServer{Port: port, Backend: backend.String(), SNI: m.sni, Verify: isLinkerd(m) && m.sni == linkerdName}
	if m.client != nobody {
		s.Files = filepath.Join(w.dir, string(m.client))
	}
	return s
}

// join gives our own gateway a listener that leads to a meeting.
func (w *meetingPlace) join(gw *lbmodel.Gateway, m meeting, port int, backend netip.AddrPort) {
	how := lbmodel.BackendTLS{SNI: m.sni, Trust: "mesh", NoALPN: true, SANs: []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: podName}}}
	if isLinkerd(m) {
		how.SANs = []lbmodel.SAN{{Kind: lbmodel.SANDNS, Value: linkerdName}}
	}
	if m.client != nobody {
		how.Identity = string(m.client)
	}
	name := fmt.Sprint("m", port)
	gw.Pools = append(gw.Pools, lbmodel.Pool{Name: name, Group: name, Protocol: lbmodel.PoolHTTP1, TLS: &how,
		Endpoints: []lbmodel.Endpoint{{Address: backend.Addr().String(), Port: int32(backend.Port()), Ready: true}}})
	gw.Listeners = append(gw.Listeners, lbmodel.Listener{Name: name, Port: int32(port), Protocol: lbmodel.ProtocolHTTP,
		Rules: []lbmodel.Rule{{Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: name, Weight: 1}}}}}}})
}

func (w *meetingPlace) startNginx(servers []nginxServer) {
	w.Helper()
	for who, pair := range w.clients {
		key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		w.do(err)
		var chain bytes.Buffer
		for _, der := range pair.Certificate {
			w.do(pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
		}
		write(w, filepath.Join(w.dir, string(who)+".crt"), "%s", chain.Bytes())
		write(w, filepath.Join(w.dir, string(who)+".key"), "%s", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	}
	write(w, filepath.Join(w.dir, "roots.pem"), "%s", w.ca.Bundle())
	var text strings.Builder
	w.do(template.Must(template.New("nginx").Parse(nginxConfig)).Execute(&text, map[string]any{"Dir": w.dir, "Servers": servers}))
	write(w, filepath.Join(w.dir, "nginx.conf"), "%s", text.String())
	programs.Run(w.T, "nginx", w.binary, "-c", filepath.Join(w.dir, "nginx.conf"), "-e", filepath.Join(w.dir, "error.log"))
	w.Cleanup(func() {
		if said, err := os.ReadFile(filepath.Join(w.dir, "error.log")); err == nil && w.Failed() {
			w.Logf("nginx: %s", said)
		}
	})
	w.listens(nginxPorts + len(servers) - 1)
}

func (w *meetingPlace) startPlane(model lbmodel.Gateway) {
	w.Helper()
	keys := map[string]tls.Certificate{}
	for who, pair := range w.clients {
		keys[string(who)] = pair
	}
	plane := dataplane.New(dataplane.Config{Ports: dataplane.PortsExact})
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		w.do(plane.Shutdown(ctx))
	})
	w.do(plane.Program(w.Context(), []dataplane.Gateway{{Model: model, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Keys: keys}}))
}

// listens waits until somebody does.
func (w *meetingPlace) listens(port int) {
	w.Helper()
	eventually(w.T, func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return c.Close()
	})
}

func (w *meetingPlace) version() string {
	w.Helper()
	out, err := exec.CommandContext(w.Context(), w.binary, "-v").CombinedOutput()
	w.do(err)
	_, version, _ := strings.Cut(strings.TrimSpace(string(out)), ": ")
	return version
}
