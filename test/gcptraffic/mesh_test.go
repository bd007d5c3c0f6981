package gcptraffic

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/lbmodel"
)

// mesh is one of which a gateway's backends are members.
type mesh struct {
	proxy   inbound.Proxy
	health  lbmodel.HealthCheck // the proxy's own: a check shows no certificate
	gateway ca.Request          // who the gateway is
	pods    ca.Request          // who the pods are
	sni     string
}

// client is how the mesh's proxies name the gateway.
func (m mesh) client() string {
	if len(m.gateway.URIs) > 0 {
		return m.gateway.URIs[0]
	}
	return m.gateway.DNSNames[0]
}

func spiffeID(namespace, account string) ca.Request {
	return ca.Request{URIs: []string{"spiffe://cluster.local/ns/" + namespace + "/sa/" + account}}
}

func istio() mesh {
	return mesh{proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, health: lbmodel.HealthCheck{Protocol: "HTTP", Port: 15021, Path: "/healthz/ready"},
		gateway: spiffeID("edge", "shop"), pods: spiffeID("apps", "cart"), sni: "cart.apps.svc.cluster.local"}
}

// landingPad is where a load balancer lands that cannot reach pods: ambient ones take
// mutual TLS in tunnels only.
func landingPad() mesh {
	m := istio()
	m.proxy, m.pods = inbound.IstioGateway{Mode: inbound.IstioMutual}, spiffeID("istio-ingress", "pad")
	return m
}

func linkerd() mesh {
	named := func(who string) ca.Request {
		return ca.Request{DNSNames: []string{who + ".serviceaccount.identity.linkerd.cluster.local"}}
	}
	m := mesh{health: lbmodel.HealthCheck{Protocol: "HTTP", Port: 4191, Path: "/ready"}, gateway: named("shop.edge"), pods: named("cart.apps")}
	m.sni = m.pods.DNSNames[0]
	m.proxy = inbound.Linkerd{Identity: m.sni, Policy: inbound.AllAuthenticated}
	return m
}

// meshed is a world whose gateway leads to members of a mesh.
type meshed struct {
	*world
	mesh mesh
	ca   *ca.CA
	gw   lbmodel.Gateway
	pods []*inbound.Pod
}

// meshed makes a gateway of a flavour for a mesh, without pods.
func (w *world) meshed(flavour string, m mesh) *meshed {
	w.Helper()
	authority, err := ca.New(ca.Config{RootKey: ca.ECDSA})
	w.do(err)
	w.vault.mesh = authority
	x := &meshed{world: w, mesh: m, ca: authority, gw: gateway(flavour)}
	binding := lbmodel.Source{Kind: "MeshBinding", Name: "mesh"}
	identity := lbmodel.Identity{Name: "mesh", Source: binding, Issuer: "Mesh", KeyType: "ECDSA", DNSNames: m.gateway.DNSNames, Renew: lbmodel.RenewRule{Lifetime: lbmodel.Duration(24 * time.Hour)}}
	if len(m.gateway.URIs) > 0 {
		identity.SPIFFEID = m.gateway.URIs[0]
	}
	x.gw.Identities = []lbmodel.Identity{identity}
	x.gw.Trust = []lbmodel.Trust{{Name: "mesh", Source: binding}}
	x.trust(x.ca.Bundle())
	p := pool("cart", lbmodel.PoolHTTP1)
	p.Health = &m.health
	p.TLS = &lbmodel.BackendTLS{Source: binding, SNI: m.sni, Trust: "mesh", Identity: "mesh", Floor: lbmodel.TLSClientAndServer}
	for _, id := range m.pods.URIs {
		p.TLS.SANs = []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: id}}
	}
	x.gw.Pools = []lbmodel.Pool{p}
	x.gw.Listeners = []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Hostname: host,
		Rules: []lbmodel.Rule{rule("cart", prefix("/"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "cart", Weight: 1})})}}}
	return x
}

// trust is what the mesh publishes of its roots: whom the gateway trusts, and whose
// certificates it may have.
func (x *meshed) trust(bundle []byte) {
	x.Helper()
	roots, err := lbmodel.ParseRoots(bundle)
	x.do(err)
	x.gw.Trust = []lbmodel.Trust{{Name: "mesh", Source: x.gw.Trust[0].Source, Roots: roots}}
}

// obey has the gateway's certificate lead to the roots that the mesh says.
func (x *meshed) obey(bundle []byte) {
	x.Helper()
	roots, err := lbmodel.ParseRoots(bundle)
	x.do(err)
	one := x.gw.Identities[0]
	one.Renew.Authorities = nil
	for _, r := range roots {
		one.Renew.Authorities = append(one.Renew.Authorities, r.KeyID)
	}
	x.gw.Identities = []lbmodel.Identity{one}
}

// start runs a pod that is who it says, behind a proxy of the mesh.
func (x *meshed) start(who ca.Request, by *ca.CA) *inbound.Pod {
	x.Helper()
	leaf, err := by.Issue(who)
	x.do(err)
	n := len(x.pods) + 1
	p, err := inbound.Start(inbound.Config{Proxy: x.mesh.proxy, Leaf: leaf, Roots: x.ca.Roots(), App: inbound.App{Name: fmt.Sprint("cart-", n)}, Requests: 20})
	x.do(err)
	x.Cleanup(func() { _ = p.Close() })
	at := podAddress(n)
	x.place(net.JoinHostPort(at, strconv.Itoa(podPort)), p.Addr())
	if x.mesh.health.Port != 0 {
		x.place(net.JoinHostPort(at, strconv.Itoa(int(x.mesh.health.Port))), p.HealthAddr())
	}
	x.pods = append(x.pods, p)
	x.gw.Pools[0].Endpoints = append(x.gw.Pools[0].Endpoints, endpoint(at))
	return p
}

// Why: the promise of it all. Members take nobody but whom their CA has certified, and
// the gateway takes nobody but the Service's own account.
func TestMutualTLS(t *testing.T) {
	for _, c := range []struct {
		name, flavour string
		mesh          mesh
	}{
		{"Istio's sidecar, strict", "GlobalExternal", istio()},
		{"Istio's sidecar, strict", "RegionalExternal", istio()},
		{"Istio's sidecar, strict", "RegionalInternal", istio()},
		{"Istio's sidecar, strict", "CrossRegionInternal", istio()},
		{"ambient, by a landing pad", "RegionalExternal", landingPad()},
		{"Linkerd, authenticated only", "GlobalExternal", linkerd()},
		{"Linkerd, authenticated only", "RegionalInternal", linkerd()},
	} {
		t.Run(c.flavour+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t).meshed(c.flavour, c.mesh)
			p := x.start(c.mesh.pods, x.ca)
			x.bring(x.gw)
			client := x.client(x.gw.Owner, 80, nil)
			client.answers("/", `200 {"App":"cart-1"`)
			seen := p.Seen()
			if seen.Requests == 0 || seen.Clients[c.mesh.client()] == 0 || len(seen.Clients) != 1 || seen.Clear+seen.Passed > 0 {
				t.Errorf("the pod saw %+v, want mutual TLS with %s only", seen, c.mesh.client())
			}
			x.remove(x.gw.Owner)
		})
	}
}

// Why: whatever is wrong with one of the two, not a request gets through, in no form.
func TestNothingGetsThrough(t *testing.T) {
	strange, err := ca.New(ca.Config{Name: "strange", RootKey: ca.ECDSA})
	if err != nil {
		t.Fatal(err)
	}
	ambient := istio()
	ambient.proxy, ambient.health = inbound.Ambient{Mode: inbound.Strict}, lbmodel.HealthCheck{Protocol: "HTTP", Port: 15021, Path: "/healthz/ready"}
	for _, c := range []struct {
		name, flavour, details string
		mesh                   mesh
		spoil                  func(*meshed)
		pods                   ca.Request
		by                     *ca.CA // of the pod; nil is the mesh's
	}{
		{name: "another account's pod", details: "ssl_certificate_san_verification_failed", mesh: istio(), pods: spiffeID("apps", "other")},
		{name: "another trust domain's pod", details: "ssl_certificate_san_verification_failed", mesh: istio(), pods: ca.Request{URIs: []string{"spiffe://other.local/ns/apps/sa/cart"}}},
		{name: "another root's pod", details: "ssl_certificate_chain_verification_failed", mesh: istio(), pods: istio().pods, by: strange},
		{name: "Linkerd's pod of another name", mesh: linkerd(), pods: ca.Request{DNSNames: []string{"other.apps.serviceaccount.identity.linkerd.cluster.local"}}, details: "ssl_certificate_san_verification_failed"},
		{name: "an expired pod", details: "chain", mesh: istio(), pods: ca.Request{URIs: istio().pods.URIs, Life: time.Hour, Age: 2 * time.Hour}},
		{name: "a gateway of another trust domain", mesh: istio(), pods: istio().pods, spoil: func(x *meshed) { x.gw.Identities[0].SPIFFEID = "spiffe://other.local/ns/edge/sa/shop" }},
		{name: "a gateway of another root", mesh: istio(), pods: istio().pods, spoil: func(x *meshed) { x.vault.mesh = strange }},
		{name: "a gateway without a certificate", mesh: istio(), pods: istio().pods, spoil: func(x *meshed) {
			x.gw.Identities, x.gw.Pools[0].TLS.Identity, x.gw.Pools[0].TLS.Floor = nil, "", ""
		}},
		{name: "Linkerd without a certificate", mesh: linkerd(), pods: linkerd().pods, spoil: func(x *meshed) {
			x.gw.Identities, x.gw.Pools[0].TLS.Identity, x.gw.Pools[0].TLS.Floor = nil, "", ""
		}},
		{name: "a strict ambient pod itself", mesh: ambient, pods: istio().pods},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t).meshed("RegionalExternal", c.mesh)
			if c.by == nil {
				c.by = x.ca
			}
			p := x.start(c.pods, c.by)
			if c.spoil != nil {
				c.spoil(x)
			}
			x.bring(x.gw)
			client := x.client(x.gw.Owner, 80, nil)
			x.until(func() string { return "a handshake fails" }, func() bool {
				got, err := client.ask(t.Context(), "GET", "/")
				if err == nil && !strings.HasPrefix(got.text, "50") && !strings.HasPrefix(got.text, "403") {
					t.Fatalf("it is answered %q", got.text)
				}
				return p.Seen().Connections > 0
			})
			if _, err := client.ask(t.Context(), "GET", "/"); err != nil {
				t.Error(err)
			}
			if seen := p.Seen(); seen.Clear+seen.Passed > 0 || seen.Requests > seen.Forbidden {
				t.Errorf("the pod saw %+v", seen)
			}
			if c.details != "" && !strings.Contains(fmt.Sprint(x.details()), c.details) {
				t.Errorf("the load balancer says %v, want %s", x.details(), c.details)
			}
		})
	}
}
