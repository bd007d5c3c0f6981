package lbmodel

// Pool is a set of endpoints that are spoken to in one way.
type Pool struct {
	Name        string       `json:"name"`  // unique in the gateway and stable
	Group       string       `json:"group"` // pools of one Group have the same endpoints, in every gateway of the cluster
	Source      Source       `json:"source"`
	Protocol    PoolProtocol `json:"protocol"`
	Health      *HealthCheck `json:"health,omitzero"`
	TLS         *BackendTLS  `json:"tls,omitzero"`
	Persistence *Persistence `json:"persistence,omitzero"` // XBackend's and Service's; a rule's comes first
	// Endpoints may be of both IP families. A client is then sent to those of the
	// family that it came by, as long as there is one.
	//
	// Endpoints are nil while unknown (files without EndpointSlices: "known after
	// apply", existing targets stay) and empty when there are none.
	Endpoints []Endpoint `json:"endpoints"`
}

// PoolProtocol is what the gateway speaks to a pool's endpoints; TLS is apart.
type PoolProtocol string

// The pool protocols.
const (
	PoolHTTP1     PoolProtocol = "HTTP1"
	PoolH2C       PoolProtocol = "H2C"   // HTTP/2 with prior knowledge, no TLS
	PoolHTTP2     PoolProtocol = "HTTP2" // HTTP/2 over TLS
	PoolWebSocket PoolProtocol = "WebSocket"
	PoolGRPC      PoolProtocol = "GRPC" // over HTTP/2, with or without TLS
	PoolTCP       PoolProtocol = "TCP"
	PoolUDP       PoolProtocol = "UDP"
)

// Endpoint is where one backend process listens. Exactly one of Address (an IP
// address) and FQDN is set.
type Endpoint struct {
	Address     string `json:"address,omitzero"`
	FQDN        string `json:"fqdn,omitzero"`
	Port        int32  `json:"port"`
	Zone        string `json:"zone,omitzero"`
	Node        string `json:"node,omitzero"`
	Instance    string `json:"instance,omitzero"` // the node's providerID, for targets by instance
	Pod         Source `json:"pod,omitzero"`
	Ready       bool   `json:"ready,omitzero"`
	Serving     bool   `json:"serving,omitzero"`
	Terminating bool   `json:"terminating,omitzero"`
}

// Usable says whether new traffic may go to the endpoint: it is ready, or (when
// nothing is ready) still serving while it terminates is decided by the caller.
func (e Endpoint) Usable() bool { return e.Ready && !e.Terminating }

// HealthCheck is how a provider finds out whether an endpoint answers.
type HealthCheck struct {
	Source    Source   `json:"source,omitzero"`
	Protocol  string   `json:"protocol"` // HTTP, HTTPS, GRPC, TCP
	Port      int32    `json:"port,omitzero"`
	Path      string   `json:"path,omitzero"`
	Host      string   `json:"host,omitzero"`
	Service   string   `json:"service,omitzero"` // gRPC health service name
	Interval  Duration `json:"interval,omitzero"`
	Timeout   Duration `json:"timeout,omitzero"`
	Healthy   int32    `json:"healthy,omitzero"`   // successes in a row
	Unhealthy int32    `json:"unhealthy,omitzero"` // failures in a row
}

// TLSLevel ranks how well a backend hop is protected.
type TLSLevel string

// The levels, weakest first. Passthrough is a listener's mode, not a level.
const (
	TLSNone            TLSLevel = "None"
	TLSUnverified      TLSLevel = "Unverified"
	TLSServerOnly      TLSLevel = "ServerOnly"
	TLSClientAndServer TLSLevel = "ClientAndServer"
)

// AtLeast says whether l protects as well as floor does. An unknown level
// protects nothing.
func (l TLSLevel) AtLeast(floor TLSLevel) bool { return l.rank() >= floor.rank() }

func (l TLSLevel) rank() int {
	switch l {
	case TLSUnverified:
		return 1
	case TLSServerOnly:
		return 2
	case TLSClientAndServer:
		return 3
	default:
		return 0
	}
}

// BackendTLS is the TLS of the gateway's own hop to a pool.
type BackendTLS struct {
	Source     Source   `json:"source"` // the BackendTLSPolicy, XBackend or MeshBinding
	SNI        string   `json:"sni,omitzero"`
	SANs       []SAN    `json:"sans,omitempty"`      // any one must be in the certificate; none means SNI must be
	Trust      string   `json:"trust,omitzero"`      // name of a Gateway.Trust; empty verifies nothing (level Unverified)
	Identity   string   `json:"identity,omitzero"`   // name of a Gateway.Identities entry to present
	Floor      TLSLevel `json:"floor,omitzero"`      // nothing below is programmed
	MinVersion string   `json:"minVersion,omitzero"` // "1.2", "1.3"
	ALPN       []string `json:"alpn,omitempty"`      // offered; nil is what the pool's protocol needs
	NoALPN     bool     `json:"noALPN,omitzero"`     // offer none (some mesh proxies negotiate none)
}

// Level is the protection this configuration gives.
func (t *BackendTLS) Level() TLSLevel {
	switch {
	case t == nil:
		return TLSNone
	case t.Trust == "":
		return TLSUnverified
	case t.Identity == "":
		return TLSServerOnly
	default:
		return TLSClientAndServer
	}
}

// SAN is a subject alternative name that a backend's certificate must have.
type SAN struct {
	Kind  SANKind `json:"kind"`
	Value string  `json:"value"`
}

// SANKind is the type of a subject alternative name.
type SANKind string

// The kinds that BackendTLSPolicy knows.
const (
	SANDNS SANKind = "DNS"
	SANURI SANKind = "URI"
)
