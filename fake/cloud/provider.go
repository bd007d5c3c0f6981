package cloud

import (
	"context"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// ProviderName is the last part of the controller name gatehouse.dev/fake.
const ProviderName = "fake"

// API is the service as its clients see it, and all that a [Provider] uses of it.
// A [Cloud] is one in this process; package remote has a client of one in another.
// Errors are *CallError, or the context's.
type API interface {
	Reader
	Writer
}

// Reader is the part of the API that changes nothing.
type Reader interface {
	Get(context.Context, lbmodel.Handle) (Object, error)
	Find(ctx context.Context, kind, location, name string) (Object, error)
	List(context.Context, ListRequest) (Page, error)
}

// Writer is the part of the API that changes objects.
type Writer interface {
	Create(context.Context, CreateRequest) (Object, error)
	Update(context.Context, UpdateRequest) (Object, error)
	Delete(context.Context, lbmodel.Handle) error
	Mark(ctx context.Context, h lbmodel.Handle, dropped time.Time) (Object, error)
}

// Provider is the fake cloud's providers.Provider: a client of one cloud. It
// remembers nothing between calls, so a new one can take over at any time.
type Provider struct {
	cloud API
	keys  providers.Keyring
}

var (
	_ API                = (*Cloud)(nil)
	_ providers.Provider = (*Provider)(nil)
	_ providers.Marker   = (*Provider)(nil)

	_ providers.HealthReader = (*Provider)(nil)
)

// NewProvider makes a client of a cloud. Keys come from the keyring when a
// certificate is applied; nil is for clients that only plan.
func NewProvider(c API, keys providers.Keyring) *Provider {
	return &Provider{cloud: c, keys: keys}
}
