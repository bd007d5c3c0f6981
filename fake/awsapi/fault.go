package awsapi

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/wire"
	"gatehouse.dev/fake/calls"
)

// FaultKind is how a call goes wrong.
type FaultKind = calls.Kind

// The kinds of faults.
const (
	Throttle  = calls.Throttle  // refused as throttled; no token is taken
	Refuse    = calls.Refuse    // refused with Status, Code and Message; no effect
	CutBefore = calls.CutBefore // no effect, and the connection is cut
	CutAfter  = calls.CutAfter  // takes effect, and the connection is cut before the reply
	Slow      = calls.Slow      // as it should be, but only after Delay
	Stale     = calls.Stale     // a read answers as before the last change
)

// Fault spoils calls. The first one that fits a call decides.
type Fault struct {
	Service string    `json:"service,omitzero"` // "" is any
	Action  string    `json:"action,omitzero"`  // how the action's name begins; "" is any
	Caller  string    `json:"caller,omitzero"`  // a part of the user agent, or the access key id; "" is any
	Kind    FaultKind `json:"kind"`
	Skip    int       `json:"skip,omitzero"`  // how many calls that fit are left alone first
	Times   int       `json:"times,omitzero"` // how many are spoilt then; 0 is all, for ever

	Status  int           `json:"status,omitzero"` // of Refuse; 503
	Code    string        `json:"code,omitzero"`   // of Refuse; ServiceUnavailable
	Message string        `json:"message,omitzero"`
	Delay   time.Duration `json:"delay,omitzero"` // real time, before any effect; with every kind
}

// Turn implements [calls.Fault].
func (f Fault) Turn() (skip, times int) { return f.Skip, f.Times }

// Check implements [calls.Fault].
func (f Fault) Check() error { return f.Kind.Check(calls.Kinds()) }

// Fits implements [calls.Fault].
func (f Fault) Fits(c *Call) bool {
	return (f.Service == "" || f.Service == c.Service) && strings.HasPrefix(c.Action, f.Action) &&
		(f.Caller == "" || f.Caller == c.Key || strings.Contains(c.Caller, f.Caller))
}

// refusal is the error that the fault makes a call answer with, if it does.
func (f Fault) refusal(to endpoint) *wire.Error {
	switch f.Kind {
	case Throttle:
		return &to.throttle
	case Refuse:
		return &wire.Error{Status: cmp.Or(f.Status, http.StatusServiceUnavailable), Code: cmp.Or(f.Code, "ServiceUnavailable"), Message: cmp.Or(f.Message, "injected")}
	}
	return nil
}

// SetFaults replaces the faults; none ends them.
func (s *Server) SetFaults(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = calls.NewFaults[Call](list)
}
