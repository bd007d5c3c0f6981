package istio

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Inbound says what the pod accepts at the port. A Mesh that is not of this
// dialect is read anew.
func (d Dialect) Inbound(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) meshsync.Inbound {
	if pod == nil || port.Service == nil {
		return meshsync.Inbound{Membership: meshsync.MembershipUnknown, Otherwise: meshsync.Resets, Blocked: meshsync.ReasonIdentityUnknown}
	}
	r := d.reading(w, m, port, pod)
	r.read()
	return r.in
}

// Fix implements meshsync.Fixer.
func (d Dialect) Fix(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) *meshsync.Fix {
	if pod == nil || port.Service == nil {
		return nil
	}
	r := d.reading(w, m, port, pod)
	r.advise = true
	r.read()
	return r.in.Fix
}

func (d Dialect) reading(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) reading {
	s, ok := m.Settings.(Settings)
	if !ok {
		m = d.Mesh(w)
		s, _ = m.Settings.(Settings)
	}
	revision := m.Revision
	m, s, problem := d.seenBy(w, m, s, pod)
	r := reading{w: w, mesh: m, settings: s, revision: revision, problem: problem, port: port, pod: pod}
	r.in = meshsync.Inbound{Membership: meshsync.Meshed, Account: workload.Account(pod), MinVersion: s.MinVersion}
	return r
}

// reading is one pod's port while it is read.
type reading struct {
	w        meshsync.World
	mesh     meshsync.Mesh
	settings Settings
	revision string // that gateways know best
	problem  string // why nothing can be said
	port     meshsync.Port
	pod      *corev1.Pod
	advise   bool // the fix is asked for
	in       meshsync.Inbound
}

func (r *reading) read() {
	p := partOf(r.pod)
	if p == none {
		r.notMeshed(outside(r.w, r.revision, r.pod))
		return
	}
	r.in.Names = namesOf(r.mesh, r.port.Service, r.in.Account)
	switch {
	case r.problem != "":
		r.closed(r.problem)
	case len(r.in.Names) == 0:
		r.closed("nothing says whose certificate the pod has: it is of namespace " + r.pod.Namespace + ", and the Service of " + r.port.Service.Namespace)
	case r.port.Port.Protocol == corev1.ProtocolUDP:
		r.udp()
	case p == isGateway:
		r.gateway()
	case p == waypoint:
		r.tunnel(Strict, "a waypoint takes only the mesh's tunnel")
	default:
		r.workload(p)
	}
}

// workload reads a pod to which PeerAuthentications apply.
func (r *reading) workload(p part) {
	a := r.authentication()
	if a.problem != "" {
		r.closed(a.problem)
		return
	}
	switch p {
	case ambient:
		r.tunnel(a.mode, a.decides)
		if r.advise {
			r.in.Fix = padFix(r.port.Service)
		}
	case proxyless:
		r.proxyless(a)
	default:
		r.sidecar(a)
	}
}

func (r *reading) authentication() authentication {
	a := authentication{mode: r.settings.Default, decides: r.settings.Decides}
	if r.pod.Namespace == r.settings.Root {
		return a
	}
	return effective(a, policiesOf(r.w, r.pod.Namespace), r.pod.Labels, r.port.Target)
}

func (r *reading) sidecar(a authentication) {
	ports, declared := listenersOf(r.w, r.settings.Root, r.pod), true
	if ports != nil {
		_, declared = ports.ports[r.port.Target]
	}
	captured := captureOf(r.pod)
	problem := captured.problem
	if ports != nil && ports.problem != "" {
		problem = ports.problem
	}
	switch {
	case problem != "":
		r.closed(problem)
		return
	// A Sidecar's listener binds to its port where nothing is redirected.
	case !captured.has(r.port.Target) && (!captured.off || ports == nil || !declared):
		r.bypassed(captured.why(r.port.Target))
		return
	}
	proto, by := protocolOf(r.port.Port), declaredBy(r.port)
	if ports != nil {
		proto, by = ports.protocol(r.port.Target)
	}
	accepts(&r.in, a.mode, proto)
	r.in.Detail = "mode " + string(a.mode) + ": " + a.decides + unread(a.mode, proto, by)
	if r.advise {
		r.in.Fix = r.fix(a, proto, ports == nil)
		return
	}
	setHealth(&r.in, r.pod, r.port.Target, captured.has)
}

// unread says that, and why, the sidecar reads no HTTP where it ends TLS.
func unread(m Mode, p protocol, by string) string {
	switch {
	case m != Strict || p == isHTTP:
		return ""
	case p == isAuto:
		return "; no protocol is declared (" + by + "): the sidecar reads no HTTP of clients other than Istio's, and rules for HTTP of an AuthorizationPolicy never match"
	default:
		return "; the port is not declared as HTTP (" + by + ")"
	}
}

// tunnel is a pod whose proxy ends mutual TLS inside HBONE only (port 15008).
func (r *reading) tunnel(m Mode, decides string) {
	r.in.Blocked = meshsync.ReasonTunnelRequired
	r.in.Detail = "mutual TLS is taken inside the mesh's tunnel (HBONE) only; mode " + string(m) + ": " + decides
	r.in.Otherwise, r.in.Plain = meshsync.Passes, true
	if m == Strict {
		// ztunnel refuses who has no identity (istio_converted_static_strict).
		r.in.Otherwise, r.in.Plain = meshsync.Resets, false
	}
}

// proxyless is a gRPC application that ends TLS itself, as istiod tells it. It
// knows nothing between clear text and mutual TLS: with the label, which promises
// mutual TLS to Istio's clients, PERMISSIVE is STRICT, without it DISABLE.
func (r *reading) proxyless(a authentication) {
	r.in.Detail = "proxyless gRPC, mode " + string(a.mode) + ": " + a.decides
	strict := a.mode == Strict || a.mode == Permissive && r.pod.Labels[tlsModeLabel] == "istio"
	if strict {
		r.in.Otherwise = meshsync.Resets
		r.in.Chains = []meshsync.Chain{{Selects: []string{"h2"}, HTTP: true}}
	} else {
		r.in.Otherwise, r.in.Plain, r.in.Blocked = meshsync.Passes, true, meshsync.ReasonInboundDisabled
		if r.advise {
			r.in.Fix = r.fix(a, isHTTP, true)
		}
	}
	setHealth(&r.in, r.pod, r.port.Target, func(port int32) bool { return port == r.port.Target })
	if r.in.ProxyHealth {
		r.in.Health.Port = agentPort // there is no Envoy
	}
}

func (r *reading) udp() {
	r.in.Otherwise, r.in.Plain = meshsync.Passes, true
	r.in.Blocked = meshsync.ReasonUnmeshedProtocol
	r.in.Detail = "port " + portName(r.port.Port) + " is UDP, which Istio leaves alone"
}

// bypassed is a port of a pod in the mesh that the mesh has no part in.
func (r *reading) bypassed(why string) {
	r.notMeshed(fmt.Sprintf("port %d of the pod does not lead to its sidecar (%s)", r.port.Target, why),
		&meshsync.Fix{Say: "Have the sidecar capture port " + strconv.Itoa(int(r.port.Target)) + " (" + why + "), and restart the pods."})
}

func (r *reading) notMeshed(detail string, fix *meshsync.Fix) {
	r.in = meshsync.Inbound{
		Membership: meshsync.NotMeshed, Account: r.in.Account, Plain: true, Otherwise: meshsync.Passes,
		Blocked: meshsync.ReasonNotMeshed, Detail: detail, Fix: fix,
	}
}

// closed is a pod of which nothing can be said: nothing is sent to it.
func (r *reading) closed(detail string) {
	r.in.Names = nil
	r.in.Otherwise = meshsync.Resets
	r.in.Blocked = meshsync.ReasonIdentityUnknown
	r.in.Detail = detail
}

func portName(p corev1.ServicePort) string {
	if p.Name != "" {
		return p.Name
	}
	return strconv.Itoa(int(p.Port))
}
