package istio

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
)

// protocol is what a sidecar takes a port's bytes for.
type protocol string

const (
	isHTTP protocol = "HTTP"
	isTCP  protocol = "TCP"
	// isAuto is a port that nobody declares: the sidecar looks at the first bytes of
	// clear text, and at the ALPN of TLS, which only Istio's own clients use to say
	// that they speak HTTP.
	isAuto protocol = "AUTO"
	isUDP  protocol = "UDP"
)

// wellKnown are ports whose servers speak first: to wait for a client's first
// bytes would break them.
var wellKnown = []int32{25, 53, 3306, 27017}

// protocolOf is the protocol of a Service's port: its appProtocol, or the name up
// to the first hyphen; of a port that says nothing known, TCP if it is well known.
func protocolOf(port corev1.ServicePort) protocol {
	if port.Protocol == corev1.ProtocolUDP {
		return isUDP
	}
	name := port.Name
	if port.AppProtocol != nil {
		name = *port.AppProtocol
		switch name {
		case "kubernetes.io/h2c", "kubernetes.io/ws":
			return isHTTP
		case "kubernetes.io/wss":
			return isTCP
		}
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "grpc-web") {
		return isHTTP
	}
	name, _, _ = strings.Cut(name, "-")
	p := parseProtocol(name)
	if p == isAuto && portIn(wellKnown, port.Port) {
		return isTCP
	}
	return p
}

// parseProtocol reads one of Istio's own names of protocols, in lower case.
func parseProtocol(name string) protocol {
	switch name {
	case "http", "http2", "grpc", "grpc-web", "http_proxy":
		return isHTTP
	case "tcp", "tls", "https", "mongo", "mysql", "redis":
		return isTCP
	case "udp":
		return isTCP // on a TCP port it is a mistake, which Istio reads as bytes
	default:
		return isAuto
	}
}

// declaredBy names the field that decides a protocol, for a person.
func declaredBy(port meshsync.Port) string {
	field := "port " + portName(port.Port)
	switch {
	case port.Port.AppProtocol != nil:
		field += ", field appProtocol: " + *port.Port.AppProtocol
	case port.Port.Name != "":
		field += ", by its name"
	}
	return "Service " + port.Service.Namespace + "/" + port.Service.Name + ", " + field
}

func portIn(ports []int32, port int32) bool {
	for _, p := range ports {
		if p == port {
			return true
		}
	}
	return false
}
