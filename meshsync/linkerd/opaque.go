package linkerd

import (
	"fmt"
	"strings"

	"gatehouse.dev/meshsync/workload"
)

// opaque says why the proxy does not read a port's bytes; "" when it does. A
// Server decides; without one every list counts that a person made for the port.
func (a asked) opaque(srv *server) string {
	if srv != nil {
		if srv.Protocol != protocolOpaque {
			return ""
		}
		return fmt.Sprintf("Server %s/%s: the proxyProtocol of port %d is opaque", a.pod.Namespace, srv.Name, a.port.Target)
	}
	if why := a.opaqueByService(); why != "" {
		return why
	}
	text, where := a.opaqueOfPod()
	return a.listed(text, where, a.port.Target)
}

// opaqueOfPod is the list that a pod's own port is looked up in: its annotation
// stands in for the defaults and does not add to them. A pod without one may be
// older than the annotation: then what its proxy was started with counts.
func (a asked) opaqueOfPod() (text, where string) {
	if text, ok := a.pod.Annotations[annotationOpaque]; ok {
		return text, "the pods' annotation " + annotationOpaque
	}
	if text, ok := workload.Env(a.pod, workload.Container(a.pod, proxyContainer), envOpaque); ok {
		return text, envOpaque + " of the proxy"
	}
	if text, where, ok := a.annotated(annotationOpaque); ok {
		return text, where
	}
	return a.settings.Opaque, "proxy.opaquePorts"
}

// opaqueByService is what the Service says of its port. Clients of the mesh obey
// it, so it is no port of which HTTP is known.
func (a asked) opaqueByService() string {
	if a.port.Port.AppProtocol != nil && strings.EqualFold(*a.port.Port.AppProtocol, "linkerd.io/opaque") {
		return fmt.Sprintf("the Service's port %d has appProtocol linkerd.io/opaque", a.port.Port.Port)
	}
	if a.port.Service == nil {
		return ""
	}
	text, ok := a.port.Service.Annotations[annotationOpaque]
	if !ok {
		return ""
	}
	return a.listed(text, "the annotation "+annotationOpaque+" of the Service", a.port.Port.Port)
}

// listed says that a port is in a list, or that the list cannot be read: of two
// components of Linkerd one ignores a broken list and one its broken items, so
// nobody knows.
func (a asked) listed(text, where string, port int32) string {
	ports, err := workload.ParsePorts(text, func(name string) []int32 { return workload.PortsNamed(a.pod, name) })
	switch {
	case err != nil:
		return fmt.Sprintf("%s cannot be read: %v", where, err)
	case ports.Has(port):
		return fmt.Sprintf("%s has port %d: the proxy does not read its bytes, nor end TLS", where, port)
	default:
		return ""
	}
}
