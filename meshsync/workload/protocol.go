package workload

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Protocol is what a Service's port says the application speaks.
type Protocol string

// The protocols.
const (
	Unsaid Protocol = ""
	HTTP   Protocol = "HTTP"  // HTTP/1.1, WebSocket included
	HTTP2  Protocol = "HTTP2" // HTTP/2, gRPC included
	Bytes  Protocol = "Bytes" // anything else over TCP
	UDP    Protocol = "UDP"
)

// ProtocolOf reads a port's appProtocol, in any case. Other words than those of
// HTTP are protocols that nobody here reads.
func ProtocolOf(port corev1.ServicePort) Protocol {
	if port.Protocol == corev1.ProtocolUDP {
		return UDP
	}
	if port.AppProtocol == nil {
		return Unsaid
	}
	switch strings.ToLower(*port.AppProtocol) {
	case "":
		return Unsaid
	case "http", "https", "http/1.1", "kubernetes.io/ws", "kubernetes.io/wss", "ws", "wss":
		return HTTP
	case "http2", "h2c", "kubernetes.io/h2c", "grpc", "grpcs", "kubernetes.io/grpc":
		return HTTP2
	default:
		return Bytes
	}
}
