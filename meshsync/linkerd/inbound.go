package linkerd

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// asked is one question to the dialect: a pod that is a member, and a port.
type asked struct {
	world    meshsync.World
	settings settings
	port     meshsync.Port
	pod      *corev1.Pod
}

// inboundOf asks in the order in which a connection meets things: the redirection
// into the proxy, the tunnel's own port, the port's protocol, the proxy's name.
func inboundOf(a asked) meshsync.Inbound {
	srv := serverOf(a.world, a.pod, a.port.Target)
	p := a.policyAt(srv)
	in := meshsync.Inbound{
		Membership: meshsync.Meshed,
		Account:    workload.Account(a.pod),
		MinVersion: "1.3",
		ClientKeys: []string{meshsync.KeyECDSA},
	}
	in.Health, in.ProxyHealth = a.health(srv)
	name, known := nameOf(a.pod, a.settings)
	if known { // also of a port that is blocked: why it is, is then the only reason
		in.SNI, in.Names = name, []lbmodel.SAN{{Kind: lbmodel.SANDNS, Value: name}}
	}
	switch bypassed, opaque := a.bypassed(), a.opaque(srv); {
	case bypassed != "":
		in = letting(in, meshsync.Passes)
		in.Blocked, in.Detail = meshsync.ReasonInboundDisabled, bypassed
	case a.port.Target == portTunnel:
		in = letting(in, meshsync.Resets)
		in.Blocked = meshsync.ReasonTunnelRequired
		in.Detail = fmt.Sprintf("port %d is Linkerd's own: it takes only clients of the mesh", portTunnel)
	case opaque != "":
		in = letting(in, p.others())
		in.Blocked, in.Detail = meshsync.ReasonOpaquePort, opaque
	case a.onlyHTTP2(srv):
		in = letting(in, p.others())
		in.Blocked = meshsync.ReasonALPN
		in.Detail = fmt.Sprintf("Server %s/%s: proxyProtocol %s reads nothing but HTTP/2, and the Service's port does not say that it is", a.pod.Namespace, srv.Name, srv.Protocol)
	case !known:
		in = letting(in, p.others())
		in.Blocked = meshsync.ReasonIdentityUnknown
		in.Detail = fmt.Sprintf("the environment of %s does not say the proxy's own name, that of the pod's account (%s)", proxyContainer, envName)
	default:
		in = letting(in, p.others())
		in.Chains = []meshsync.Chain{{HTTP: srv == nil || srv.Protocol != protocolTLS}}
		if !p.anybody() && p != allAuthenticated {
			in.Detail = a.where(srv) + " is " + string(p) + ". " + p.says()
		}
	}
	return in
}

// letting is what becomes of clients that show the proxy no certificate: clear
// text and TLS that is not for the proxy pass or are refused alike.
func letting(in meshsync.Inbound, others meshsync.Otherwise) meshsync.Inbound {
	in.Otherwise = others
	in.Plain = others == meshsync.Passes
	in.AnyClient = in.Plain
	return in
}

// onlyHTTP2 says that a Server has the proxy take every connection for HTTP/2,
// while the Service's port does not say that gateways should speak it.
func (a asked) onlyHTTP2(srv *server) bool {
	return srv != nil && (srv.Protocol == protocolHTTP2 || srv.Protocol == protocolGRPC) &&
		workload.ProtocolOf(a.port.Port) != workload.HTTP2
}

// bypassed says why a port's connections do not pass the proxy; "" when they do.
func (a asked) bypassed() string {
	if a.port.Target == portAdmin || a.port.Target == portControl {
		return fmt.Sprintf("port %d is the proxy's own and has no TLS", a.port.Target)
	}
	if v, ok := workload.Env(a.pod, workload.Container(a.pod, proxyContainer), envDisabled); ok && v != "" {
		return "the proxy was injected without an identity (" + envDisabled + ")"
	}
	text, where := a.skipped()
	ports, err := workload.ParsePorts(text, nil)
	switch {
	case err != nil:
		return fmt.Sprintf("%s cannot be read: %v", where, err)
	case ports.Has(a.port.Target):
		return fmt.Sprintf("%s has port %d: its connections bypass the proxy", where, a.port.Target)
	default:
		return ""
	}
}

// skipped is the list of ports that bypass the proxy, and where it is: what the
// redirection was made with, else (with the CNI plugin) the annotation.
func (a asked) skipped() (text, where string) {
	if c := workload.Container(a.pod, initContainer); c != nil {
		return argument(c.Args, "--inbound-ports-to-ignore"), "--inbound-ports-to-ignore of the container " + initContainer
	}
	if text, where, ok := a.annotated(annotationSkip); ok {
		return text, where
	}
	return a.settings.Skip, "proxyInit.ignoreInboundPorts"
}

// argument is the value of a flag, "--name value" or "--name=value"; the last
// counts.
func argument(args []string, name string) string {
	value := ""
	for i, arg := range args {
		if arg == name && i+1 < len(args) {
			value = args[i+1]
		}
		if text, ok := strings.CutPrefix(arg, name+"="); ok {
			value = text
		}
	}
	return value
}

// annotated is an annotation of the pod, else of its namespace: the injector copies
// the one to the other.
func (a asked) annotated(key string) (text, where string, ok bool) {
	if text, ok := a.pod.Annotations[key]; ok {
		return text, "the pods' annotation " + key, true
	}
	if ns := a.world.Namespace(a.pod.Namespace); ns != nil {
		text, ok := ns.Annotations[key]
		return text, "the annotation " + key + " of namespace " + ns.Name, ok
	}
	return "", "", false
}

// policyAt is the policy of the port: a Server's own comes before all defaults.
func (a asked) policyAt(srv *server) policy {
	if srv != nil {
		return srv.Policy
	}
	if text, _, ok := a.annotated(annotationPolicy); ok {
		return parsePolicy(text)
	}
	return a.settings.Policy
}

func (a asked) where(srv *server) string {
	if srv != nil {
		return fmt.Sprintf("accessPolicy of Server %s/%s", a.pod.Namespace, srv.Name)
	}
	if _, where, ok := a.annotated(annotationPolicy); ok {
		return where
	}
	return "proxy.defaultInboundPolicy"
}
