package cloud

import (
	"context"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Call is one call to the service, as the log keeps it.
type Call struct {
	Number int    // from 1, in the order of arrival
	Name   string // verb and kind, as CreateRule; ListObjects for lists
	Write  bool   // it can change something
	Object string // the name or handle that it was about, or a location
	// Owner is whose object it is about: what a create is tagged with, or what the
	// handle's object is. Zero when that is nobody, or not known before the call.
	Owner lbmodel.Owner
}

// Interceptor sees every call and may spoil it. Its methods may be called
// concurrently.
type Interceptor interface {
	// Before is asked before a call is carried out.
	Before(Call) Fault
	// After is told that a call took effect, before its reply is sent.
	After(Call)
}

// Fault is what shall become of a call. The zero value is nothing: it works.
type Fault struct {
	Kind  FaultKind
	Error *CallError // of Refuse and LoseReply
}

// FaultKind is how a call goes wrong.
type FaultKind uint8

// The kinds of faults.
const (
	Works     FaultKind = iota
	Refuse              // fails with Error and has no effect
	LoseReply           // takes effect, then fails with Error
	Hang                // has no effect; no reply until the context ends
	Stale               // a read answers as before the last writes; a write works
	Reorder             // a page of a list comes in another order; other calls work
)

// logLimit is how many calls the log keeps.
const logLimit = 4096

// calls counts, logs and spoils calls. Cloud.mu guards it.
type calls struct {
	number      int
	counts      map[string]int
	log         []Call
	interceptor Interceptor
}

func (c *calls) arrive(call Call) (Call, Interceptor) {
	c.number++
	call.Number = c.number
	c.counts[call.Name]++
	if len(c.log) >= 2*logLimit {
		c.log = slices.Clone(c.log[logLimit:])
	}
	c.log = append(c.log, call)
	return call, c.interceptor
}

// Intercept makes an interceptor see every call from now on; nil ends that.
func (c *Cloud) Intercept(i Interceptor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.interceptor = i
}

// Calls counts the calls made so far by name.
func (c *Cloud) Calls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls.counts)
}

// Log is the last calls, at least 4096 of them, oldest first.
func (c *Cloud) Log() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls.log)
}

// do carries a call out under whatever the interceptor makes of it. The effect
// runs with the lock held, and reads from the state that it is given.
func (c *Cloud) do(ctx context.Context, call Call, effect func(seen *state) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	if o := c.state.objects[lbmodel.Handle(call.Object)]; o != nil {
		call.Owner = o.Tags.Owner
	}
	call, interceptor := c.calls.arrive(call)
	c.mu.Unlock()
	var fault Fault
	if interceptor != nil {
		fault = interceptor.Before(call)
	}
	switch fault.Kind {
	case Refuse:
		return fault.err()
	case Hang:
		<-ctx.Done()
		return ctx.Err()
	}
	if err := c.carryOut(effect, fault.Kind); err != nil {
		return err
	}
	if interceptor != nil {
		interceptor.After(call)
	}
	if fault.Kind == LoseReply {
		return fault.err()
	}
	return nil
}

// err is the error of a fault; without one the service is down.
func (f Fault) err() error {
	if f.Error == nil {
		return refuse(ServiceDown, "the connection was lost")
	}
	return f.Error
}

// carryOut runs an effect under the lock, and returns once it is durable.
func (c *Cloud) carryOut(effect func(seen *state) error, fault FaultKind) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return refuse(ServiceDown, "the cloud is closed")
	}
	seen := &c.state
	switch fault {
	case Stale:
		seen = c.past()
	case Reorder:
		other := c.state
		other.reordered, seen = true, &other
	}
	err := effect(seen)
	written := c.written
	c.mu.Unlock()
	if err != nil || c.disk == nil {
		return err
	}
	return c.disk.sync(written)
}

// Throttle is the error of a call that came too soon.
func Throttle(after time.Duration) *CallError {
	return &CallError{Code: Throttled, Message: "slow down", RetryAfter: after}
}
