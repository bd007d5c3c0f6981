package kuma

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Inbound implements meshsync.Dialect.
func (d Dialect) Inbound(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) meshsync.Inbound {
	in := meshsync.Inbound{Membership: meshsync.NotMeshed, Account: workload.Account(pod), Plain: true, Otherwise: meshsync.Passes}
	if in.Detail = notMember(w, pod); in.Detail != "" {
		return in
	}
	in.Membership = meshsync.Meshed
	s, _ := m.Settings.(settings)
	if mesh := meshOf(w, pod); mesh != s.Mesh {
		in.Plain, in.Otherwise = false, meshsync.Resets
		in.Blocked = meshsync.ReasonIdentityUnknown
		in.Detail = fmt.Sprintf("the pods are members of Kuma's mesh %q, and the binding is to %q", mesh, s.Mesh)
		return in
	}
	labels := dataplaneLabels(pod, s.Mesh)
	ids := s.identitiesFor(labels)
	in.Names = s.names(port, pod, labels, ids)
	if why := bypassed(pod, port.Target); why != "" {
		in.Blocked, in.Detail = meshsync.ReasonInboundDisabled, why
		return withHealth(in, pod, port.Target)
	}
	if len(ids) == 0 && !s.Backend {
		in.Blocked = meshsync.ReasonInboundDisabled
		in.Detail = fmt.Sprintf("mesh %s has no CA backend, and no MeshIdentity selects the pods: mutual TLS is off", s.Mesh)
		return withHealth(in, pod, port.Target)
	}
	own := policiesIn(w, pod.Namespace, s.Mesh)
	for i := range own {
		own[i].Own = true
	}
	if pod.Namespace == m.Namespace {
		own = nil // they are among the control plane's
	}
	p := effective(slices.Concat(s.Policies, own), pod, port.Target, labels)
	return withHealth(s.mode(in, p, ids, port), pod, port.Target)
}

// Fix implements meshsync.Fixer: it is for an inbound that is Permissive.
func (d Dialect) Fix(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) *meshsync.Fix {
	if d.Inbound(w, m, port, pod).Blocked != meshsync.ReasonPermissiveInbound {
		return nil
	}
	return strictly(or(d.MeshName, defaultMesh), port, pod)
}

// mode is what the inbound's mode makes of it: a policy's comes first; an identity
// is strict by itself; last is the mode of the CA backend.
func (s settings) mode(in meshsync.Inbound, p policy, ids []identity, port meshsync.Port) meshsync.Inbound {
	in.MinVersion = "1.2"
	if p.Min == "TLS13" {
		in.MinVersion = "1.3"
	}
	open, where := s.Permissive && len(ids) == 0, "the CA backend of Mesh "+s.Mesh
	if p.Mode != "" {
		open, where = p.Mode == permissive, p.Where
	}
	chain := meshsync.Chain{HTTP: isHTTP(port)}
	if !open {
		in.Chains, in.Plain, in.Otherwise = []meshsync.Chain{chain}, false, meshsync.Resets
		return in
	}
	chain.Offer = []string{alpn}
	in.Chains = []meshsync.Chain{chain}
	in.Blocked = meshsync.ReasonPermissiveInbound
	in.Detail = where + " makes the inbound Permissive: only clients that offer ALPN kuma have their TLS ended"
	return in
}

// isHTTP says whether the proxy reads HTTP: only where the Service says so.
func isHTTP(port meshsync.Port) bool {
	protocol := ""
	if port.Port.AppProtocol != nil {
		protocol = *port.Port.AppProtocol
	}
	if port.Service != nil {
		key := strconv.Itoa(int(port.Port.Port)) + suffixProtocol
		protocol = or(protocol, port.Service.Annotations[key])
	}
	return slices.Contains([]string{"http", "http2", "grpc"}, strings.ToLower(protocol))
}

// bypassed says why connections to a port do not pass the proxy; "" when they do.
func bypassed(pod *corev1.Pod, port int32) string {
	if v, ok := pod.Annotations[keyGateway]; ok && v != "disabled" {
		return fmt.Sprintf("the annotation %s makes the pods a gateway, whose inbound is not the mesh's", keyGateway)
	}
	if pod.Annotations[keyTransparent] == "disabled" {
		return fmt.Sprintf("the annotation %s is disabled: connections to the pods bypass the proxy", keyTransparent)
	}
	text := pod.Annotations[keyExclude]
	ports, err := workload.ParsePorts(text, nil)
	switch {
	case err != nil:
		return fmt.Sprintf("the annotation %s cannot be read: %v", keyExclude, err)
	case ports.Has(port):
		return fmt.Sprintf("the annotation %s has port %d: its connections bypass the proxy", keyExclude, port)
	case isProbes(pod, port):
		return fmt.Sprintf("port %d is where Kuma answers probes", port)
	default:
		return ""
	}
}

// isProbes says that a port is where the injector points probes at.
func isProbes(pod *corev1.Pod, port int32) bool {
	text := strconv.Itoa(int(port))
	return text == or(pod.Annotations[keyProbePort], "9001") || text == or(pod.Annotations[keyVirtualPort], "9000")
}

// withHealth takes the application's probe where it needs no certificate: as the
// injector rewrote it, or past a proxy that lets clear text through.
func withHealth(in meshsync.Inbound, pod *corev1.Pod, port int32) meshsync.Inbound {
	probe := workload.Probe(pod, port, container)
	if probe != nil && (in.Plain || bypassed(pod, probe.Port) != "") {
		in.Health = probe
		return in
	}
	in.Health, in.ProxyHealth = workload.ProbeOf(pod, container), true
	return in
}
