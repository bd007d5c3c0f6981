package istio

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
)

// How a listener of the mesh's gateways takes TLS. Kubernetes' Gateway says it in
// an option of a listener that terminates, Istio's own in its mode.
const (
	terminateOption = "gateway.istio.io/tls-terminate-mode"

	istioMutual     = "ISTIO_MUTUAL" // the mesh's certificate, and clients of the mesh's roots
	istioSimple     = "ISTIO_SIMPLE" // the mesh's certificate, and any client
	passthrough     = "PASSTHROUGH"
	autoPassthrough = "AUTO_PASSTHROUGH" // of the mesh's own clients to where SNI says
)

// Pad is what a gateway of the mesh serves at one of its listeners.
type Pad struct {
	meshsync.Inbound
	// Forwards are the ALPN protocols of clients whose TLS is passed on, unread, to
	// the pods that its SNI names; nil is none. They are the mesh's own.
	Forwards []string
}

// PadOf says what a listener of a Gateway (of Kubernetes' API or of Istio's own)
// serves to clients of the outside; the pods are the gateway's own and have the
// names. section is the listener's name (of Istio's own: of the server, or its
// port's); "" is the first that ends the mesh's mutual TLS. A listener that is not
// there, and a Gateway that cannot be read, are closed.
//
// Unlike a sidecar, a gateway looks at SNI, takes any ALPN, and lets in clients of
// every trust domain whose root it trusts.
func PadOf(m meshsync.Mesh, object *unstructured.Unstructured, section string, account meshsync.Account) Pad {
	p := pad{mesh: m, in: meshsync.Inbound{Membership: meshsync.Meshed, Account: account}}
	listeners, err := readGateway(object)
	if err != nil {
		p.closed(gatewayName(object) + " cannot be read: " + err.Error())
		return Pad{Inbound: p.in}
	}
	l := pick(listeners, func(l listener) bool { return section == "" || section == l.name })
	if l == nil {
		p.closed(gatewayName(object) + " has no listener " + section)
		return Pad{Inbound: p.in}
	}
	return p.serve(gatewayName(object), *l)
}

// pad is a listener while it is read.
type pad struct {
	mesh meshsync.Mesh
	in   meshsync.Inbound
}

func (p *pad) serve(gateway string, l listener) Pad {
	p.in.Detail = gateway + ", listener " + l.name + ", tls mode " + l.mode
	p.in.Otherwise = meshsync.Resets
	p.in.MinVersion = "1.2" // what the mesh configuration demands is for sidecars
	p.in.Health, p.in.ProxyHealth = readiness(), true
	switch l.mode {
	case istioMutual, istioSimple:
		p.in.AnyClient, p.in.Unasked = l.mode == istioSimple, l.mode == istioSimple
		p.in.SNI = l.sni()
		p.in.Names = identities(p.mesh, p.in.Account)
		p.in.Chains = []meshsync.Chain{readsHTTP()}
		if !l.http {
			p.in.Chains = []meshsync.Chain{passesBytes()}
		}
	case passthrough:
		p.in.Otherwise, p.in.Blocked = meshsync.Passes, meshsync.ReasonOpaquePort
	case autoPassthrough:
		p.in.Blocked = meshsync.ReasonOpaquePort
		return Pad{Inbound: p.in, Forwards: Offers()}
	default:
		// Clear text, or TLS with a certificate of its own: no part of the mesh.
		p.in = meshsync.Inbound{
			Membership: meshsync.NotMeshed, Account: p.in.Account, Plain: true, Otherwise: meshsync.Passes,
			Blocked: meshsync.ReasonNotMeshed, Detail: p.in.Detail,
		}
	}
	return Pad{Inbound: p.in}
}

func (p *pad) closed(detail string) {
	p.in.Otherwise, p.in.Blocked, p.in.Detail = meshsync.Resets, meshsync.ReasonIdentityUnknown, detail
}

// gateway reads a pod of a gateway: the Gateways of its namespace that it serves,
// and of those the listener at the port. That is the Service's port, which
// Gateways name, or else the pod's own. Gateways of other namespaces that select
// the pod are not seen.
func (r *reading) gateway() {
	var all []listener
	for _, kind := range []struct {
		objects []*unstructured.Unstructured
		serves  func(*unstructured.Unstructured) bool
	}{
		{r.w.Objects(gateway, r.pod.Namespace), func(o *unstructured.Unstructured) bool { return o.GetName() == r.pod.Labels[gatewayNameLabel] }},
		{r.w.Objects(istioGateway, r.pod.Namespace), func(o *unstructured.Unstructured) bool { return selects(o, r.pod.Labels) }},
	} {
		for _, o := range kind.objects {
			if !kind.serves(o) {
				continue
			}
			found, err := readGateway(o)
			if err != nil {
				r.closed(gatewayName(o) + " cannot be read: " + err.Error())
				return
			}
			all = append(all, found...)
		}
	}
	r.land(all)
}

func (r *reading) land(all []listener) {
	l := pick(all, func(l listener) bool { return l.port == r.port.Port.Port })
	if l == nil {
		l = pick(all, func(l listener) bool { return l.port == r.port.Target })
	}
	if l == nil {
		r.closed("the pod is a gateway, and no Gateway of its namespace has a listener at port " + portName(r.port.Port))
		return
	}
	p := pad{mesh: r.mesh, in: r.in}
	r.in = p.serve(l.gateway, *l).Inbound
}

// pick is the first listener of those wanted, one for the mesh's mutual TLS before
// others.
func pick(listeners []listener, wanted func(listener) bool) *listener {
	var first *listener
	for i := range listeners {
		l := &listeners[i]
		switch {
		case !wanted(*l):
		case l.mode == istioMutual:
			return l
		case first == nil:
			first = l
		}
	}
	return first
}
