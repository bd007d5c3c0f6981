package meshsync

import (
	"gatehouse.dev/lbmodel"
)

// Verdict is what comes of a gateway that would reach a group of pods.
type Verdict struct {
	Membership Membership
	Path       Path
	Reason     Reason // "" unless Blocked
	Detail     string // for a person: names what decides, and the missing ability
	TLS        lbmodel.TLSLevel
	Losses     []Loss
	Fix        *Fix

	// OwnTLS says that the application's own TLS stands: what its BackendTLSPolicy
	// says is programmed as without a mesh, with Hop.Minimum as its Floor. TLS is
	// empty then, since only who calls knows what it reaches.
	OwnTLS bool

	// What to program, when Direct. BackendTLS has no Trust and no Identity: who
	// calls knows their names, and TLS says which of them to fill in. nil is clear
	// text (or OwnTLS).
	Protocol   lbmodel.PoolProtocol
	BackendTLS *lbmodel.BackendTLS
	ClientKeys []string // see Inbound
	Port       int32    // see Inbound
	Health     *lbmodel.HealthCheck
}

// Hop is what a gateway wants of the connection.
type Hop struct {
	Protocol lbmodel.PoolProtocol // as without a mesh
	// Minimum is the level below which nothing is programmed: the binding's for
	// pods that are members, the class's own floor for those that are none.
	Minimum lbmodel.TLSLevel
	// Selected says that the binding's selector names the backend: it must be
	// mutual TLS whatever Minimum is, and losing a sidecar is no permission.
	Selected bool
	// OwnTLS says that the application asks for TLS of its own (BackendTLSPolicy).
	OwnTLS bool
	// Roots is how many roots the mesh has, for the provider's limit.
	Roots int
	// Anonymous says that the gateway has no client certificate (issuer None).
	Anonymous bool
	// ClientKey is the type of its key (see KeyECDSA); "" is not known, and fits.
	ClientKey string
}

// Fix is a change that somebody can make.
type Fix struct {
	Say  string // one sentence
	YAML string // what to apply; "" when it is no object
}

// Group is pods of one Service port that are reached alike.
type Group struct {
	// Key tells the groups of a port apart and is stable: it depends on what the
	// pods accept, not on which pods there are. The group of pods that are no
	// members has the key "".
	Key      string
	Inbound  Inbound // Names are those of all accounts in it; Account is set if it is one
	Accounts []Account
	Pods     []string // names, sorted
	Said     string   // the pod whose Detail the Inbound has: who asks a Fixer asks about it
}
