package infrastructure

import (
	"context"
	"errors"
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"k8s.io/client-go/dynamic"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// ErrNameTaken says that an object that is not the Gateway's has a name that we
// need. It stays as it is; rename it, or do without the Gateway's Service.
var ErrNameTaken = errors.New("the name is taken")

// Config is what Services need.
type Config struct {
	Client dynamic.Interface
	// Current is the last known version of a Service or EndpointSlice, typed or
	// unstructured, whole and shared. What it does not know is read. Nil knows
	// nothing.
	Current func(translate.Key) (any, bool)
	// Wrote is told of every write that the API server accepted. Nil is nobody.
	Wrote func(translate.Key)
}

// Services keeps the Services of gateways. It is safe for use by several
// goroutines, one for each Gateway.
type Services struct{ config Config }

// New makes them.
func New(c Config) *Services { return &Services{c} }

// Sync makes a Gateway's Service and EndpointSlices what they should be for the
// model that is served and the addresses that it has. A Gateway that is being
// deleted has none. Errors are ErrNameTaken and those of the API server; each
// object is tried.
func (s *Services) Sync(ctx context.Context, gateway *gwv1.Gateway, model lbmodel.Gateway, addresses []lbmodel.Address) error {
	if gateway.DeletionTimestamp != nil {
		return s.Remove(ctx, gateway)
	}
	return s.ensure(ctx, gateway, objectsOf(gateway, model, addresses))
}

// Remove takes away what Sync made, as for a Gateway that another controller
// serves now.
func (s *Services) Remove(ctx context.Context, gateway *gwv1.Gateway) error {
	return s.ensure(ctx, gateway, nil)
}

// ensure makes the objects of a Gateway those that are wanted and removes the rest.
func (s *Services) ensure(ctx context.Context, gateway *gwv1.Gateway, want map[translate.Key]content) error {
	var failed []error
	for _, key := range keysOf(gateway) {
		if err := s.settle(ctx, gateway, key, want[key]); err != nil {
			failed = append(failed, fmt.Errorf("%s of Gateway %s/%s: %w", key, gateway.Namespace, gateway.Name, err))
		}
	}
	return errors.Join(failed...)
}
