package cloud

import (
	"gatehouse.dev/providers"
)

// ProviderName is the last part of the controller name gatehouse.dev/fake.
const ProviderName = "fake"

// Provider is the fake cloud's providers.Provider: a client of one [Cloud]. It
// remembers nothing between calls, so a new one can take over at any time.
type Provider struct {
	cloud *Cloud
	keys  providers.Keyring
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Marker   = (*Provider)(nil)
)

// NewProvider makes a client of a cloud. Keys come from the keyring when a
// certificate is applied; nil is for clients that only plan.
func NewProvider(c *Cloud, keys providers.Keyring) *Provider {
	return &Provider{cloud: c, keys: keys}
}
