// Package providers is the border to the clouds: the small interface that a
// provider implements, and [Account], the one portable type over it that paces,
// retries, remembers and runs plans for all of them.
//
// A provider says what it can do (Compiler) and does one step at a time (Cloud).
// It never retries, never decides an order and never sees Kubernetes. A provider
// that can keep notes with its objects is a [Marker] too. The laws that every
// provider keeps are tests in providertest. Start with [Provider].
package providers

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"time"

	"gatehouse.dev/lbmodel"
)

// Provider is one kind of load balancer in one account. Its Specs may implement
// what lbmodel knows beside Spec: Slotted, Explained, Sourced, Renewing and Standing.
type Provider interface {
	Compiler
	Cloud
}

// Compiler turns a gateway into the provider's own resources. All its methods
// are pure and need no credentials.
type Compiler interface {
	// Offers says what a gateway with these settings can have. Findings are
	// mistakes in the settings.
	Offers(settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding)
	// Compile makes the resources of a restricted gateway: its own, and those
	// that it shares with other gateways of the account and location.
	Compile(lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding)
	// Endpoints is the part of Compile of an owner's gateway with these settings
	// that a change of a pool's endpoints can change, and nothing else: the fast
	// path. Endpoints may be the gateway's own or shared, in one resource or in
	// several; each has the ID and the hold that Compile gives it.
	Endpoints(owner lbmodel.Owner, pool lbmodel.Pool, settings json.RawMessage) lbmodel.Graph
	// Place makes the history-dependent choices: it keeps have's value where that
	// still satisfies want (rule priorities, the live leaf of an identity,
	// server-chosen values), picks free numbers around foreign resources, and
	// copies the fields of Adopted objects that are not ours. With an empty have
	// it is canonical.
	Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding)
}

// Cloud does the calls.
type Cloud interface {
	// Observe reads everything owned by owner, the shared resources, and the named
	// foreign ones. An owner with a zero Name means the whole cluster, in bulk.
	// What it returns is canonical: exactly the fields that Specs state, server
	// defaults normalised, digests set.
	Observe(ctx context.Context, owner lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error)
	// Apply does one step. It is idempotent: a step whose effect is already there
	// succeeds. It returns what the resource now is, also beside a Pending error;
	// a Delete that succeeded returns the zero Resource. Errors carry a code.
	Apply(ctx context.Context, owner lbmodel.Owner, step lbmodel.Step, resolve Resolve) (lbmodel.Resource, error)
}

// Resolve looks up what a resource now is, to get the handle of a need.
type Resolve func(lbmodel.ID) (lbmodel.Resource, bool)

// Keyring makes or reads the key of an identity. An identity with a Leaf asks for
// exactly that leaf; without one a new leaf is issued. It is called from Apply
// only; what it returns goes into the cloud and nowhere else.
type Keyring func(context.Context, lbmodel.Identity) (tls.Certificate, error)
