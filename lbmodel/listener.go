package lbmodel

// Protocol is what a listener speaks to its clients, in Gateway API's words.
type Protocol string

// The listener protocols.
const (
	ProtocolHTTP  Protocol = "HTTP"
	ProtocolHTTPS Protocol = "HTTPS"
	ProtocolTLS   Protocol = "TLS"
	ProtocolTCP   Protocol = "TCP"
	ProtocolUDP   Protocol = "UDP"
)

// Listener is one port, protocol and hostname of a gateway, with what it does
// with the traffic. Several listeners may share a port; then the most specific
// hostname takes a request, and only that listener's rules are asked
// (listener isolation). Rules serve HTTP and HTTPS; SNI serves TLS; Forward
// serves TCP and UDP.
type Listener struct {
	Name     string   `json:"name"` // unique in the gateway; a ListenerSet's entry is namespace/set/name
	Source   Source   `json:"source"`
	Port     int32    `json:"port"`
	Protocol Protocol `json:"protocol"`
	Hostname string   `json:"hostname,omitzero"` // lower case; "" is any, "*.a.test" any depth below a.test
	// SourceRanges are the only client addresses that are served, as prefixes in
	// the form of [ParseRange]; none is everybody. A list without a prefix of the
	// client's family admits no client of that family.
	SourceRanges []string `json:"sourceRanges,omitempty"`

	TLS     *FrontendTLS `json:"tls,omitzero"`
	Rules   []Rule       `json:"rules,omitempty"`  // HTTP and HTTPS, first match wins
	SNI     []SNIRule    `json:"sni,omitempty"`    // TLS, first match wins
	Forward *Forward     `json:"forward,omitzero"` // TCP and UDP
	Route   Source       `json:"route,omitzero"`   // the route that Forward came from
}

// TLSMode says who ends the TLS session of a listener.
type TLSMode string

// The TLS modes of Gateway API.
const (
	TLSTerminate   TLSMode = "Terminate"
	TLSPassthrough TLSMode = "Passthrough"
)

// FrontendTLS is the TLS of the clients' side.
type FrontendTLS struct {
	Mode         TLSMode           `json:"mode"`
	Certificates []string          `json:"certificates,omitempty"` // names of Gateway.Identities, the first is served without SNI
	Validation   *ClientValidation `json:"validation,omitzero"`
	Options      map[string]string `json:"options,omitempty"` // listener.tls.options, for the provider
}

// ClientValidation asks the listener's clients for a certificate.
type ClientValidation struct {
	Trust    string `json:"trust"`             // name of a Gateway.Trust
	Insecure bool   `json:"insecure,omitzero"` // AllowInsecureFallback: a missing or bad certificate still gets through
}

// SNIRule forwards TLS connections by the name in their ClientHello: as they are
// on a passthrough listener, decrypted on a terminating one.
type SNIRule struct {
	Source   Source  `json:"source"`
	Hostname string  `json:"hostname,omitzero"`
	Forward  Forward `json:"forward"`
}
