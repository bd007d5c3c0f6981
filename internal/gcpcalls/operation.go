package gcpcalls

import (
	"context"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"math/rand/v2"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/proto"
)

// Operation is a change that Google has accepted.
type Operation struct {
	Path string // of what it is about
	Name string

	method  string
	poll    func(context.Context) (done bool, err error)
	instant bool // poll does not wait for the end, so that it is too early for it at first
	rested  bool
	done    bool
	err     error // how it ended
}

// ErrRunning says that an operation goes on, and that nobody waits for it any more.
var ErrRunning = errors.New("the operation is still running")

// operations ask for how operations are.
type operations struct {
	global  *compute.GlobalOperationsClient
	regions *compute.RegionOperationsClient
	zones   *compute.ZoneOperationsClient
}

func (c *Client) addOperations(ctx context.Context, options ...option.ClientOption) (err error) {
	if c.asked.global, err = compute.NewGlobalOperationsRESTClient(ctx, options...); err != nil {
		return err
	}
	if c.asked.regions, err = compute.NewRegionOperationsRESTClient(ctx, options...); err != nil {
		return err
	}
	c.asked.zones, err = compute.NewZoneOperationsRESTClient(ctx, options...)
	return err
}

// of makes an Operation of what Compute answered.
func (o *operations) of(what call, got *computepb.Operation) *Operation {
	out := &Operation{Name: got.GetName()}
	method := what.collection + "." + what.verb
	ended := func(op *computepb.Operation) (bool, error) {
		if op.GetStatus() != computepb.Operation_DONE {
			return false, nil
		}
		return true, operationError(method, what.path, op)
	}
	out.done, out.err = ended(got)
	out.poll = func(ctx context.Context) (bool, error) {
		op, err := o.wait(ctx, what.place, got.GetName())
		if err != nil {
			return false, err
		}
		return ended(op)
	}
	return out
}

// wait is operations.wait: it answers when the operation is done, or after two minutes
// at the most [compute/docs/reference/rest/v1/globalOperations/wait].
func (o *operations) wait(ctx context.Context, at place, name string) (*computepb.Operation, error) {
	switch at.scope {
	case "regions":
		return o.regions.Wait(ctx, &computepb.WaitRegionOperationRequest{Project: at.project, Region: at.location, Operation: name}, once())
	case "zones":
		return o.zones.Wait(ctx, &computepb.WaitZoneOperationRequest{Project: at.project, Zone: at.location, Operation: name}, once())
	default:
		return o.global.Wait(ctx, &computepb.WaitGlobalOperationRequest{Project: at.project, Operation: name}, once())
	}
}

// longRunning is an operation of the APIs of locations.
type longRunning interface {
	Name() string
	Done() bool
}

// starting is a method of theirs that ends with an object.
func starting[R any, P message[R], T proto.Message, O interface {
	longRunning
	Poll(context.Context, ...gax.CallOption) (T, error)
}](f func(context.Context, P, ...gax.CallOption) (O, error)) method {
	return func(ctx context.Context, c call) (result, error) {
		req, err := fill(P(new(R)), c)
		if err != nil {
			return result{}, err
		}
		op, err := f(ctx, req, once())
		if err != nil {
			return result{}, err
		}
		return result{operation: running(op, func(ctx context.Context) error {
			_, err := op.Poll(ctx, once())
			return err
		})}, nil
	}
}

// ending is a method of theirs that ends with nothing.
func ending[R any, P message[R], O interface {
	longRunning
	Poll(context.Context, ...gax.CallOption) error
}](f func(context.Context, P, ...gax.CallOption) (O, error)) method {
	return func(ctx context.Context, c call) (result, error) {
		req, err := fill(P(new(R)), c)
		if err != nil {
			return result{}, err
		}
		op, err := f(ctx, req, once())
		if err != nil {
			return result{}, err
		}
		return result{operation: running(op, func(ctx context.Context) error { return op.Poll(ctx, once()) })}, nil
	}
}

// running makes an Operation. One that is done already is asked, which is no call, how
// it ended.
func running(op longRunning, poll func(context.Context) error) *Operation {
	out := &Operation{Name: op.Name(), instant: true}
	out.poll = func(ctx context.Context) (bool, error) {
		err := poll(ctx)
		return op.Done(), err
	}
	if op.Done() {
		out.done, out.err = true, poll(context.Background())
	}
	return out
}

// Pauses between two looks at an operation: Compute answers when it is done, the others
// at once. Those last for seconds, and each look is one of the few requests a minute that
// Certificate Manager grants.
const (
	firstPause = time.Second
	maxPause   = 5 * time.Second
)

// Wait waits until an operation has ended, and returns how: nil, an *Error, or
// ErrRunning when patience has. Settle goes on waiting.
func (c *Client) Wait(ctx context.Context, op *Operation) error {
	if op.done {
		return c.ended(op)
	}
	patience, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if op.instant && !op.rested {
			op.rested = true // who comes back later has waited
			if !rest(patience, pause) {
				return c.leave(ctx, op)
			}
		}
		done, err := op.poll(patience)
		switch {
		case done:
			op.done, op.err = true, err
			return c.ended(op)
		case patience.Err() != nil:
			return c.leave(ctx, op)
		case err != nil:
			c.keep(op)
			return nativeError(op.method, op.Path, err)
		}
		if !rest(patience, pause) {
			return c.leave(ctx, op)
		}
	}
}

// rest waits, a little longer than told so that who began together parts; false is that
// the context ended first.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause + rand.N(pause/8))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended forgets an operation and says how it ended.
func (c *Client) ended(op *Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[op.Path] == op {
		delete(c.open, op.Path)
	}
	if op.err == nil {
		return nil
	}
	err := nativeError(op.method, op.Path, op.err)
	if e, ok := errors.AsType[*Error](err); ok && e.Operation == "" {
		e.Operation = op.Name
	}
	return err
}

// leave remembers an operation that goes on.
func (c *Client) leave(ctx context.Context, op *Operation) error {
	c.keep(op)
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrRunning
}

func (c *Client) keep(op *Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[op.Path] = op
}

// Settle waits on for the operation about a path that Wait gave up, if there is one; nil
// is that there is none, or that it ended well.
func (c *Client) Settle(ctx context.Context, path string) error {
	c.mu.Lock()
	op := c.open[path]
	c.mu.Unlock()
	if op == nil {
		return nil
	}
	return c.Wait(ctx, op)
}

// Read decodes an object; numbers may be texts, as Google writes those of 64 bits.
func Read(o Object, into any) error {
	return jsonv2.Unmarshal(o, into, jsontext.AllowDuplicateNames(false))
}
