// Package settings is the fake provider's own section of GatewayParameters. It
// is plain data with no imports of ours: the API embeds it, the provider reads
// it, and there is one definition. Start with [Settings].
//
// +kubebuilder:object:generate=true
package settings

// Settings configures the fake provider for the gateways of a class.
type Settings struct {
	// Location is the fake region that resources live in; unset is local.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9-]{0,30}$`
	Location string `json:"location,omitempty"`
	// AddressPool are the prefixes that gateway addresses are taken from, of either
	// IP family: with an IPv6 one, gateways can have IPv6 addresses. Unset is
	// 127.71.0.0/16, which needs no set-up on Linux.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	AddressPool []string `json:"addressPool,omitempty"`
	// AllowLoopbackEndpoints lets traffic go to loopback addresses. It is for
	// examples and tests whose backends run beside the gateway.
	// +optional
	AllowLoopbackEndpoints bool `json:"allowLoopbackEndpoints,omitempty"`
	// Network is the handle of an existing network of the fake cloud that the
	// gateway attaches to. It stays its operator's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Network string `json:"network,omitempty"`
	// NetworkIdleSeconds is how long the network keeps a silent connection. Unset
	// leaves the network's own value alone; every other field of it always is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	NetworkIdleSeconds int32 `json:"networkIdleSeconds,omitempty"`
	// Without are abilities that this fake shall not have, by feature name, to see
	// what a weaker provider would say.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	Without []string `json:"without,omitempty"`
}
