package meshsync

import "gatehouse.dev/lbmodel"

// Inbound is what a pod accepts at one port, as far as its mesh is concerned.
// Pods that accept the same are reached alike.
type Inbound struct {
	Membership Membership
	Account    Account

	// Names are whom the proxy's certificate names: any one of them is in it.
	Names []lbmodel.SAN
	// SNI is the server name without which the proxy does not end TLS; "" is any.
	SNI string
	// Port is where the proxy ends TLS, if that is not the port itself.
	Port int32

	// Chains are the ways in which the proxy ends mutual TLS, the first that fits
	// is taken. None: it never does, and Blocked says why.
	Chains []Chain
	// Otherwise is what becomes of a client that no chain fits.
	Otherwise Otherwise
	// Plain says that clear text reaches the application.
	Plain bool
	// Blocked is why a client of the outside that fits no chain, or offers ALPN as
	// everybody does, has no mutual TLS.
	Blocked Reason
	// Detail says the same to a person, naming the object and field that decide.
	Detail string
	// Fix is what to change so that it becomes Direct. A dialect that is a Fixer leaves
	// it to whoever asks for a verdict.
	Fix *Fix

	// AnyClient says that a client without a certificate is let in too.
	AnyClient bool
	// Unasked says that the proxy asks no client for a certificate, so that it never
	// learns who the gateway is; AnyClient is then set too.
	Unasked    bool
	MinVersion string   // "1.2", "1.3"; "" is any
	ClientKeys []string // key types of client certificates that verify; nil is all: see KeyECDSA

	// Health is how a load balancer, which shows no certificate in its probes, sees
	// whether the pod answers; nil is a TCP connection to the port.
	Health *lbmodel.HealthCheck
	// ProxyHealth says that Health asks the proxy and not the application.
	ProxyHealth bool
}

// The key types of client certificates.
const (
	KeyECDSA   = "ECDSA"
	KeyRSA     = "RSA"
	KeyEd25519 = "Ed25519"
)

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

// Chain is one way in which a proxy ends TLS. Groups are told apart by its JSON.
type Chain struct {
	// Offer are ALPN protocols of which the client must offer one; nil takes
	// whatever it offers, or nothing.
	Offer []string `json:"offer,omitempty"`
	// Selects are the ALPN protocols that the proxy negotiates, its favourite
	// first; nil: it negotiates none.
	Selects []string `json:"selects,omitempty"`
	// HTTP says that the proxy reads HTTP; otherwise the bytes inside TLS go to the
	// application as they are.
	HTTP bool `json:"http,omitzero"`
}

// Otherwise is what a proxy does with TLS that it does not end.
type Otherwise string

// What a proxy does otherwise.
const (
	Resets Otherwise = "Resets" // closes the connection
	Passes Otherwise = "Passes" // passes the TLS on to the application
)
