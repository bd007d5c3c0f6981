package consul

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

// Inbound implements meshsync.Dialect.
func (d Dialect) Inbound(w meshsync.World, m meshsync.Mesh, port meshsync.Port, pod *corev1.Pod) meshsync.Inbound {
	in := meshsync.Inbound{Membership: meshsync.NotMeshed, Account: workload.Account(pod), Plain: true, Otherwise: meshsync.Passes}
	if in.Detail = notMember(pod); in.Detail != "" {
		return in
	}
	s, _ := m.Settings.(settings)
	svc, why := serviceAt(pod, port)
	entry := entryOf(w, s, pod.Namespace, svc.name)
	transparent := pod.Annotations[keyTransparent] == "enabled"

	in.Membership, in.Otherwise, in.MinVersion = meshsync.Meshed, meshsync.Resets, s.MinVersion
	in.Plain = !transparent || entry.permissive // of the application's port itself
	in = withHealth(in, pod, port.Target)
	in.Names = s.names(pod, svc.name)
	switch {
	case why != "":
		in.Blocked, in.Detail = meshsync.ReasonInboundDisabled, why
	case len(in.Names) == 0:
		in.Blocked, in.Fix = meshsync.ReasonIdentityUnknown, domainFix(s)
		in.Detail = "the trust domain of Consul's CA is not known, so the name in the proxies' certificates is not"
	default:
		in.Port = publicPort + svc.index
		in.Chains = []meshsync.Chain{entry.chain()}
		if entry.permissive {
			in.Detail = "mutualTLSMode permissive: TLS to the application's own port is not the mesh's, so the public listener is used"
		}
	}
	return in
}

// served is a service that a pod's sidecar serves, and which of several.
type served struct {
	name  string
	index int32
}

// serviceAt is the service that a port belongs to, or why it is none's: a public
// listener leads to the one port of its service.
func serviceAt(pod *corev1.Pod, port meshsync.Port) (served, string) {
	name := ""
	if port.Service != nil {
		name = port.Service.Name
	}
	ports := split(pod.Annotations[keyPort])
	if len(ports) > 1 { // several services: the annotations are parallel, and Services named as they are
		names := split(pod.Annotations[keyService])
		for i, text := range ports {
			if i < len(names) && leadsTo(pod, text, port.Target) {
				return served{names[i], int32(i)}, ""
			}
		}
		return served{name: name}, fmt.Sprintf("the annotation %s has no service at port %d", keyPort, port.Target)
	}
	if given := split(pod.Annotations[keyService]); len(given) == 1 {
		name = given[0]
	}
	if len(ports) == 1 && !leadsTo(pod, ports[0], port.Target) {
		return served{name: name}, fmt.Sprintf("the sidecar serves port %s (annotation %s) and not %d", ports[0], keyPort, port.Target)
	}
	return served{name: name}, ""
}

// split cuts a list at its commas; an empty text has no items.
func split(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// leadsTo says whether a port by number or name is the target.
func leadsTo(pod *corev1.Pod, text string, target int32) bool {
	return text == strconv.Itoa(int(target)) || slices.Contains(workload.PortsNamed(pod, text), target)
}

// names are whom the sidecar's certificate names; none when they cannot be known.
func (s settings) names(pod *corev1.Pod, service string) []lbmodel.SAN {
	if s.Domain == "" || service == "" {
		return nil
	}
	return []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: s.id(or(pod.Annotations[keyNamespace], "default"), service)}}
}

// entry is what configuration entries say of a service.
type entry struct {
	protocol   string
	permissive bool
}

// entryOf reads the service's own defaults over those of all.
func entryOf(w meshsync.World, s settings, namespace, service string) entry {
	e := entry{protocol: "tcp"}
	namespaces := slices.Compact(slices.Sorted(slices.Values([]string{s.Namespace, "default", namespace})))
	for _, ns := range namespaces {
		for _, o := range w.Objects(proxyDefaults, ns) {
			e.read(workload.Text(o, "spec", "config", "protocol"), workload.Text(o, "spec", "mutualTLSMode"))
		}
	}
	for _, ns := range namespaces {
		for _, o := range w.Objects(serviceDefaults, ns) {
			if o.GetName() == service {
				e.read(workload.Text(o, "spec", "protocol"), workload.Text(o, "spec", "mutualTLSMode"))
			}
		}
	}
	return e
}

func (e *entry) read(protocol, mode string) {
	if protocol != "" {
		e.protocol = strings.ToLower(protocol)
	}
	if mode != "" {
		e.permissive = mode != "strict"
	}
}

// chain is the public listener's only one.
func (e entry) chain() meshsync.Chain {
	switch e.protocol {
	case "http":
		return meshsync.Chain{Selects: []string{"http/1.1"}, HTTP: true}
	case "http2", "grpc":
		return meshsync.Chain{Selects: []string{"h2", "http/1.1"}, HTTP: true}
	default:
		return meshsync.Chain{}
	}
}

// Where the injector points probes at: listeners of the proxy that lead to the
// probed path and no other.
const (
	firstProbe = 20300
	lastProbe  = 20599
)

// withHealth takes the application's probe where it needs no certificate, else that
// of the sidecar.
func withHealth(in meshsync.Inbound, pod *corev1.Pod, port int32) meshsync.Inbound {
	proxies := sidecars(pod)
	probe := workload.Probe(pod, port, proxies...)
	if probe != nil && (in.Plain || probe.Port >= firstProbe && probe.Port <= lastProbe) {
		in.Health = probe
		return in
	}
	in.Health, in.ProxyHealth = workload.ProbeOf(pod, proxies[0]), true
	return in
}
