// Package gcpcalls is the few requests of Google Cloud that load balancers need. It
// stands between Google's own clients (compute/apiv1, certificatemanager,
// networksecurity, and networkservices, of which only the discovery client has TLS
// routes), whose compilation takes minutes, and whoever uses some dozens of their
// thousands of methods. All speak REST through one http.Client.
//
// Objects go in and come out as JSON, by the paths that the APIs give them, such as
// projects/p/global/backendServices/b: who asks has a type of what it owns, and Google's
// messages have hundreds of fields besides. What Google's clients cannot say is asked for
// by a plain request of the same http.Client: a PATCH of Compute's that clears a field
// needs a null, which compute/apiv1 never writes.
//
// Requests are tried again in one place, the transport (see [NewTransport]): Google's
// clients repeat reads only and are told not to, since two layers multiply, and a
// change may be repeated only where it carries a requestId, by which Compute knows it
// again. Every change of Compute's carries one. A change of another API whose reply was
// lost is for the caller to look after.
//
// It decides nothing and remembers only operations that it stopped waiting for. Start
// with [Client].
package gcpcalls

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/api/option"
)

// Config says how a Client gets to Google Cloud.
type Config struct {
	// HTTP makes the requests: with credentials, pace and retries; required.
	HTTP *http.Client
	// Endpoint answers for all APIs instead of Google's own, such as
	// http://127.0.0.1:4567.
	Endpoint string
	// Patience is how long Wait waits for an operation; zero is 30 seconds. The real
	// clock counts.
	Patience time.Duration
	// Seed makes request IDs differ from those of other processes: equal ones would be
	// taken for one request. It is required where changes are made.
	Seed string
}

// Client makes the requests. It is safe for concurrent use.
type Client struct {
	http     *http.Client
	binder   *binder
	base     string
	patience time.Duration
	seed     string
	made     atomic.Uint64 // request IDs
	table    map[string]methods
	asked    operations

	mu   sync.Mutex
	open map[string]*Operation // by the path they are about
}

// Object is the JSON of one object, as the API has it.
type Object = jsontext.Value

// New makes a client. It makes no call.
func New(ctx context.Context, c Config) (*Client, error) {
	out := &Client{
		base:     cmp.Or(strings.TrimRight(c.Endpoint, "/"), "https://compute.googleapis.com"),
		patience: cmp.Or(c.Patience, 30*time.Second), seed: c.Seed, table: map[string]methods{}, open: map[string]*Operation{},
	}
	out.http, out.binder = bound(c.HTTP)
	options := []option.ClientOption{option.WithHTTPClient(out.http)}
	if c.Endpoint != "" {
		options = append(options, option.WithEndpoint(strings.TrimRight(c.Endpoint, "/")))
	}
	for _, add := range []func(context.Context, ...option.ClientOption) error{
		out.addCompute, out.addProxies, out.addRegional, out.addCertificates, out.addSecurity, out.addServices, out.addOperations,
	} {
		if err := add(ctx, options...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	out, err := c.do(ctx, "get", call{path: path})
	return out.object, err
}

// List reads all objects of a collection, such as projects/p/zones/z/networkEndpointGroups,
// or of a collection in all scopes, projects/p/aggregated/backendServices. The filter is
// the API's; "" is none.
func (c *Client) List(ctx context.Context, collection, filter string) ([]Object, error) {
	out, err := c.do(ctx, "list", call{path: collection + "/", filter: filter})
	return out.list, err
}

// Insert makes an object; its name is the path's.
func (c *Client) Insert(ctx context.Context, path string, body []byte) (*Operation, error) {
	return c.change(ctx, "insert", call{path: path, body: body})
}

// Patch changes the fields that the body has, and clears those that are null in it. Of
// an object in a location a field that is changed is changed as a whole, and one that is
// cleared has its zero value.
func (c *Client) Patch(ctx context.Context, path string, body []byte) (*Operation, error) {
	return c.change(ctx, "patch", call{path: path, body: body})
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, path string) (*Operation, error) {
	return c.change(ctx, "delete", call{path: path})
}

// Do is a change by a verb of its own, such as setTarget or attachNetworkEndpoints.
func (c *Client) Do(ctx context.Context, path, verb string, body []byte) (*Operation, error) {
	return c.change(ctx, verb, call{path: path, body: body})
}

// AskAll is a read by a verb of its own that answers a list: listNetworkEndpoints.
func (c *Client) AskAll(ctx context.Context, path, verb string, body []byte) ([]Object, error) {
	out, err := c.do(ctx, verb, call{path: path, body: body})
	return out.list, err
}

func (c *Client) change(ctx context.Context, verb string, what call) (*Operation, error) {
	out, err := c.do(ctx, verb, what)
	return out.operation, err
}

// do finds the method and calls it.
func (c *Client) do(ctx context.Context, verb string, what call) (result, error) {
	at, err := placeOf(what.path)
	if err != nil {
		return result{}, err
	}
	method := c.table[at.key()][verb]
	if method == nil {
		return result{}, &Error{Method: at.collection + "." + verb, Path: what.path, Reason: ReasonNoMethod, Message: "no such method"}
	}
	what.place, what.verb = at, verb
	what.id = c.requestID(verb, what.path, what.body)
	ctx, end := c.binder.begin(ctx)
	defer end()
	out, err := method(ctx, what)
	if err != nil {
		return result{}, nativeError(at.collection+"."+verb, strings.TrimSuffix(what.path, "/"), err)
	}
	if out.operation != nil {
		out.operation.Path, out.operation.method = what.path, at.collection+"."+verb
	}
	return out, nil
}
