package translate

import (
	"fmt"
	"strings"

	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"gatehouse.dev/lbmodel"
)

// app is what a backend says it speaks.
type app uint8

const (
	appUnsaid app = iota // nothing, or a word that we do not know
	appHTTP              // HTTP/1.1
	appH2C               // HTTP/2 in clear text
	appHTTP2             // HTTP/2 over TLS
	appGRPC
	appWebSocket
	appTCP
	appUnsupported
)

// said is a backend's protocol, and whether it speaks it over TLS.
type said struct {
	app app
	tls bool
}

// saidByService reads Service.spec.ports[].appProtocol: the Kubernetes standard
// protocols (KEP-3726) and the IANA names that people use, in any case. Other
// words say nothing to us and are ignored, as GEP-1911 leaves them to whoever
// knows them.
func saidByService(appProtocol string) said {
	switch strings.ToLower(appProtocol) {
	case "http":
		return said{app: appHTTP}
	case "https":
		return said{appHTTP, true}
	case "kubernetes.io/h2c", "h2c":
		return said{app: appH2C}
	case "http2":
		return said{app: appHTTP2, tls: true}
	case "kubernetes.io/ws", "ws":
		return said{app: appWebSocket}
	case "kubernetes.io/wss", "wss":
		return said{appWebSocket, true}
	case "grpc", "kubernetes.io/grpc":
		return said{app: appGRPC}
	case "grpcs":
		return said{appGRPC, true}
	default:
		return said{}
	}
}

func saidByXBackend(p *gwxv1alpha1.BackendProtocol) said {
	switch deref(p, "") {
	case "":
		return said{}
	case gwxv1alpha1.BackendProtocolHTTP, gwxv1alpha1.BackendProtocolHTTP11:
		return said{app: appHTTP}
	case gwxv1alpha1.BackendProtocolHTTP2:
		return said{appHTTP2, true}
	case gwxv1alpha1.BackendProtocolH2C:
		return said{app: appH2C}
	case gwxv1alpha1.BackendProtocolGRPC:
		return said{app: appGRPC}
	case gwxv1alpha1.BackendProtocolWSS:
		return said{appWebSocket, true}
	case gwxv1alpha1.BackendProtocolTCP:
		return said{app: appTCP}
	default:
		return said{app: appUnsupported}
	}
}

// serviceProtocol is what a use speaks to a Service's port. Only a connection of
// our own can be the wrong one to a port that wants TLS: the client's bytes are
// the client's business.
func serviceProtocol(u backendUse, appProtocol string, tls hopTLS) (lbmodel.PoolProtocol, string) {
	s := saidByService(appProtocol)
	protocol, unfit := s.poolProtocol(u.from.kind, tls)
	if unfit == "" && s.tls && !bool(tls) && u.ownHop() {
		unfit = fmt.Sprintf("appProtocol %s wants TLS, and no BackendTLSPolicy says how to verify it; it is never reached in plain text", appProtocol)
	}
	if unfit != "" {
		return "", unfit
	}
	return protocol, ""
}

// hopTLS says whether our hop to the backend uses TLS.
type hopTLS bool

// poolProtocol is what a route of a kind speaks to the backend, or why it can't.
func (s said) poolProtocol(kind string, tls hopTLS) (lbmodel.PoolProtocol, string) {
	switch kind {
	case KindHTTPRoute:
		return s.httpProtocol(tls)
	case KindGRPCRoute:
		return s.grpcProtocol()
	case KindUDPRoute:
		if s.app != appUnsaid {
			return "", "a UDPRoute cannot speak the protocol that the backend names"
		}
		return lbmodel.PoolUDP, ""
	default:
		return lbmodel.PoolTCP, ""
	}
}

// httpProtocol turns clear-text HTTP/2 into HTTP/2 over TLS where a policy asks
// for TLS, which says more about the backend than its appProtocol.
func (s said) httpProtocol(tls hopTLS) (lbmodel.PoolProtocol, string) {
	switch s.app {
	case appUnsaid, appHTTP:
		return lbmodel.PoolHTTP1, ""
	case appWebSocket:
		return lbmodel.PoolWebSocket, ""
	case appH2C, appGRPC, appHTTP2:
		if tls || s.app == appHTTP2 {
			return lbmodel.PoolHTTP2, ""
		}
		return lbmodel.PoolH2C, ""
	default:
		return "", "an HTTPRoute cannot speak the protocol that the backend names"
	}
}

// grpcProtocol never falls back to HTTP/1.1, which gRPC cannot cross.
func (s said) grpcProtocol() (lbmodel.PoolProtocol, string) {
	switch s.app {
	case appUnsaid, appGRPC, appH2C, appHTTP2:
		return lbmodel.PoolGRPC, ""
	case appHTTP:
		if s.tls {
			return lbmodel.PoolGRPC, "" // "https" says TLS, not which HTTP
		}
		return "", "a GRPCRoute needs HTTP/2, and the backend says HTTP/1.1"
	default:
		return "", "a GRPCRoute cannot speak the protocol that the backend names"
	}
}
