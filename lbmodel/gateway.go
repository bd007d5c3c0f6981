package lbmodel

import (
	"encoding/json"
	"time"
)

// Gateway is everything one off-cluster gateway should be, independent of any
// provider. Lists are in a canonical order (listeners by port then name, pools,
// trust and identities by name; rules in matching order), so equal gateways
// encode to equal bytes.
type Gateway struct {
	Owner       Owner             `json:"owner"`
	Addresses   []AddressRequest  `json:"addresses,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`      // Gateway.spec.infrastructure.labels
	Annotations map[string]string `json:"annotations,omitempty"` // Gateway.spec.infrastructure.annotations
	Listeners   []Listener        `json:"listeners,omitempty"`
	Pools       []Pool            `json:"pools,omitempty"`
	Trust       []Trust           `json:"trust,omitempty"`
	Identities  []Identity        `json:"identities,omitempty"`
	Settings    json.RawMessage   `json:"settings,omitempty"` // the provider's own section of GatewayParameters
	Deletion    Deletion          `json:"deletion,omitzero"`
	Later       []Wait            `json:"later,omitempty"` // what translation already knows must wait
}

// Deletion says what happens to cloud resources when the gateway goes.
type Deletion string

// The deletion policies of GatewayParameters; the zero value means Delete.
const (
	DeletionDelete  Deletion = "Delete"
	DeletionRetain  Deletion = "Retain"
	DeletionProtect Deletion = "Protect"
)

// AddressType is the kind of a requested or assigned address, in Gateway API's
// words, or a provider's own domain-prefixed type.
type AddressType string

// The address types of Gateway API.
const (
	AddressIP       AddressType = "IPAddress"
	AddressHostname AddressType = "Hostname"
	AddressNamed    AddressType = "NamedAddress"
)

// IPFamily is a version of the Internet Protocol, in the words of core Services.
type IPFamily string

// The IP families.
const (
	IPv4 IPFamily = "IPv4"
	IPv6 IPFamily = "IPv6"
)

// AddressRequest asks for one address. An empty Value means any of that type.
type AddressRequest struct {
	Type        AddressType `json:"type"`
	Family      IPFamily    `json:"family,omitzero"` // of an IPAddress; empty is either
	Value       string      `json:"value,omitzero"`
	Routability string      `json:"routability,omitzero"` // GEP-5093; empty is the provider's default
}

// Address is an address that a gateway really has.
type Address struct {
	Type        AddressType `json:"type"`
	Value       string      `json:"value"`
	Routability string      `json:"routability,omitzero"`
}

// Wait is something that is right but not yet: who waits, until when, why. A
// zero Until means until something changes that the engine will notice itself.
type Wait struct {
	ID    ID        `json:"id,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Why   string    `json:"why"`

	Reason WaitReason `json:"reason,omitzero"` // for programs; empty for what translation makes wait
}
