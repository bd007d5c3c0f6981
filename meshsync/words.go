package meshsync

import "slices"

// Membership says whether pods take part in a mesh. Truth is per pod: what is
// injected counts, not what a namespace's label asks for.
type Membership string

// The memberships.
const (
	Meshed            Membership = "Meshed"
	NotMeshed         Membership = "NotMeshed"
	Mixed             Membership = "Mixed"   // some pods are, some are not; only of a whole Service
	MembershipUnknown Membership = "Unknown" // the pod behind an address is not known
)

// Path is how a gateway reaches a group of pods.
type Path string

// The paths.
const (
	Direct     Path = "Direct"     // the gateway's own connection ends in the pod's proxy
	LandingPad Path = "LandingPad" // through a gateway of the mesh
	Blocked    Path = "Blocked"    // not at all
)

// Reason is why a path is Blocked: the reasons of gatehouse.dev/BackendTLS.
type Reason string

// The reasons, worst first: where several hold for one route, the first is told.
const (
	ReasonNotMeshed         Reason = "NotMeshed"         // selected as a member, and is none
	ReasonIdentityUnknown   Reason = "IdentityUnknown"   // nobody knows whose certificate to expect
	ReasonMixedIdentities   Reason = "MixedIdentities"   // one server name is sent, and the pods have several
	ReasonPermissiveInbound Reason = "PermissiveInbound" // TLS of others than the mesh's own clients is not ended
	ReasonInboundDisabled   Reason = "InboundDisabled"   // mutual TLS is switched off at the port
	ReasonTunnelRequired    Reason = "TunnelRequired"    // mutual TLS only inside the mesh's tunnel (HBONE)
	ReasonOpaquePort        Reason = "OpaquePort"        // the proxy passes the port's bytes on unread
	ReasonDoubleTLS         Reason = "DoubleTLS"         // the application asks for TLS of its own on a port that the mesh ends
	ReasonUnmeshedProtocol  Reason = "UnmeshedProtocol"  // the mesh does not carry it: UDP
	ReasonClientCertificate Reason = "ClientCertificateUnsupported"
	ReasonPrivateRoots      Reason = "PrivateRootsUnsupported"
	ReasonSNI               Reason = "SNIUnsupported"
	ReasonSAN               Reason = "SANUnsupported"
	ReasonTooManySANs       Reason = "TooManySANs"
	ReasonTooManyRoots      Reason = "TooManyRoots"
	ReasonALPN              Reason = "ALPNUnsupported" // the proxy negotiates no HTTP/2, and the provider cannot do without
	ReasonTLS13             Reason = "TLS13Unsupported"
	ReasonBelowMinimum      Reason = "BelowMinimum"
	ReasonNotAllowed        Reason = "NotAllowed" // a policy of the mesh refuses the gateway
	ReasonProbeFailed       Reason = "ProbeFailed"
)

// reasons are all of them in the order of the constants.
var reasons = []Reason{
	ReasonNotMeshed, ReasonIdentityUnknown, ReasonMixedIdentities, ReasonPermissiveInbound, ReasonInboundDisabled,
	ReasonTunnelRequired, ReasonOpaquePort, ReasonDoubleTLS, ReasonUnmeshedProtocol, ReasonClientCertificate,
	ReasonPrivateRoots, ReasonSNI, ReasonSAN, ReasonTooManySANs, ReasonTooManyRoots, ReasonALPN, ReasonTLS13,
	ReasonBelowMinimum, ReasonNotAllowed, ReasonProbeFailed,
}

// rank is less for what is worse. A reason that is not ours, and none, come last.
func (r Reason) rank() int {
	if i := slices.Index(reasons, r); i >= 0 {
		return i
	}
	return len(reasons)
}

// worse is the worse of two reasons, one of which may be "".
func worse(a, b Reason) Reason {
	if a == "" || b != "" && b.rank() < a.rank() {
		return b
	}
	return a
}

// Loss is what a Direct path does without.
type Loss string

// The losses.
const (
	LossL7Policy       Loss = "L7Policy"       // the proxy sees bytes: its HTTP policy and telemetry are gone
	LossHTTP2          Loss = "HTTP2"          // HTTP/1.1 is spoken where HTTP/2 was asked for
	LossAppHealth      Loss = "AppHealth"      // health is the proxy's, not the application's
	LossClientIdentity Loss = "ClientIdentity" // the mesh does not learn who the gateway is
)
