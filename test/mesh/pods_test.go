package mesh

import (
	"fmt"
	"net/netip"
	"strings"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
)

// The ports of pods.
const (
	appPort = 8080
	// A proxy closes a connection after so many requests, so that there are
	// handshakes all the time and not only where the gateway begins anew.
	requestsEach = 20
)

// pod is a workload: its proxy on a socket, and its object in the files.
type pod struct {
	*inbound.Pod
	w       *world
	name    string
	host    string
	role    role
	anchors []byte            // of Linkerd: what it was injected with
	labels  map[string]string // beside app
	gone    bool              // from the endpoints
}

// role is what a pod is to its mesh.
type role struct {
	proxy       inbound.Proxy
	annotations string // of the object, in flow style
	labels      string
	container   string // of the proxy; "" is none
	health      uint16 // the port of the proxy that is asked for its health
	environment bool   // it holds the roots of its injection
	account     string // "" is cart
}

func (r role) serviceAccount() string {
	if r.account == "" {
		return "cart"
	}
	return r.account
}

// plain is a pod outside of any mesh.
func plain() role { return role{proxy: inbound.Plain{}} }

// start runs a pod in a role; it is in the files from the next write on.
func (w *world) start(name string, r role) *pod {
	w.Helper()
	w.hosts++
	p := &pod{w: w, name: name, host: w.site.address(w.hosts), role: r, labels: map[string]string{}, anchors: w.ca.Bundle()}
	var err error
	p.Pod, err = inbound.Start(inbound.Config{
		Proxy: r.proxy, Leaf: w.leaf(ca.Request{}, r), Roots: w.ca.Roots(), App: inbound.App{Name: name},
		Listen: netip.AddrPortFrom(netip.MustParseAddr(p.host), appPort), Now: w.clock.now, Watch: w.seen.watch, Requests: requestsEach, Health: r.health,
	})
	w.do(err)
	w.pods = append(w.pods, p)
	return p
}

// leaf is one for pods in a role.
func (w *world) leaf(r ca.Request, of role) (out leafKey) {
	w.Helper()
	if r.URIs == nil && r.DNSNames == nil {
		r = w.mesh.names(r, of.serviceAccount())
	}
	if r.Life == 0 {
		r.Life = w.mesh.leafLife
	}
	pair, err := w.ca.Issue(r)
	w.do(err)
	w.made.add(pair)
	return pair
}

// become changes what a pod is, and its object with it.
func (p *pod) become(r role) {
	p.role = r
	p.Become(r.proxy)
}

// end ends a pod for good.
func (p *pod) end() { p.w.do(p.Close()) }

// yaml is the pod's object.
func (p *pod) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: apps\n", p.name)
	labels := "app: cart"
	if p.role.labels != "" {
		labels += ", " + p.role.labels
	}
	for k, v := range p.labels {
		labels += fmt.Sprintf(", %s: %q", k, v)
	}
	fmt.Fprintf(&b, "  labels: {%s}\n  annotations: {%s}\n", labels, p.role.annotations)
	fmt.Fprintf(&b, "spec:\n  serviceAccountName: %s\n  containers:\n  - name: app\n    ports: [{containerPort: %d}]\n", p.role.serviceAccount(), appPort)
	if p.role.container != "" {
		fmt.Fprintf(&b, "  - name: %s\n", p.role.container)
	}
	if p.role.environment {
		fmt.Fprintf(&b, "    env:\n    - name: LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS\n      value: |\n%s", indent(p.anchors, 8))
	}
	fmt.Fprintf(&b, "status: {podIP: %s}\n", p.host)
	return b.String()
}

// slice is the EndpointSlice of all pods that are ready.
func (w *world) slice() string {
	var b strings.Builder
	b.WriteString(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart, namespace: apps, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
`)
	for _, p := range w.pods {
		if !p.gone {
			fmt.Fprintf(&b, "- {addresses: [%s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: apps, name: %s}}\n", p.host, p.name)
		}
	}
	return b.String()
}

func indent(text []byte, by int) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(strings.Repeat(" ", by) + line)
	}
	return b.String()
}
