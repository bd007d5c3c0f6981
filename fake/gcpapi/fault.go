package gcpapi

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"gatehouse.dev/fake/calls"
	"gatehouse.dev/fake/gcpapi/store"
)

// FaultKind is how a call goes wrong.
type FaultKind = calls.Kind

// The kinds of faults.
const (
	Refuse              = calls.Refuse    // refused with Status, Reason and Message; no effect
	Throttle            = calls.Throttle  // refused as too many calls of its group; none is counted
	CutBefore           = calls.CutBefore // no effect, and the connection is cut
	CutAfter            = calls.CutAfter  // takes effect, and the connection is cut before the reply
	Slow                = calls.Slow      // as it should be, but only after Delay
	Fail      FaultKind = "Fail"          // accepted, and the operation ends with Status, Reason and Message; no effect
	NotReady  FaultKind = "NotReady"      // what it makes can't be referred to for the time of Window after its operation
	Stale               = calls.Stale     // a read answers as before the last change
)

// Fault spoils calls. The first one that fits a call decides.
type Fault struct {
	Method string    `json:"method,omitzero"` // how the method's ID begins (compute.urlMaps.), or its verb (patch); "" is any
	Target string    `json:"target,omitzero"` // a part of the name of what it is about; "" is any
	Caller string    `json:"caller,omitzero"` // a part of the user agent; "" is any
	Kind   FaultKind `json:"kind"`
	Skip   int       `json:"skip,omitzero"`  // how many calls that fit are left alone first
	Times  int       `json:"times,omitzero"` // how many are spoilt then; 0 is all, for ever

	Status  int           `json:"status,omitzero"` // of Refuse and Fail; 503
	Reason  string        `json:"reason,omitzero"` // of Refuse and Fail; backendError
	Message string        `json:"message,omitzero"`
	Delay   time.Duration `json:"delay,omitzero"`  // real time, before any effect; with every kind
	Window  time.Duration `json:"window,omitzero"` // of NotReady, of the project's clock
}

// Fits implements [calls.Fault].
func (f Fault) Fits(c *Call) bool {
	_, verb, _ := strings.Cut(c.Method[max(0, strings.LastIndexByte(c.Method, '.')):], ".")
	return (strings.HasPrefix(c.Method, f.Method) || verb == f.Method) && strings.Contains(c.Target, f.Target) && strings.Contains(c.Caller, f.Caller)
}

// Turn implements [calls.Fault].
func (f Fault) Turn() (skip, times int) { return f.Skip, f.Times }

// Check implements [calls.Fault].
func (f Fault) Check() error { return f.Kind.Check(append(calls.Kinds(), Fail, NotReady)) }

func (f Fault) injected() *store.Error {
	return &store.Error{Status: cmp.Or(f.Status, http.StatusServiceUnavailable), Reason: cmp.Or(f.Reason, store.BackendError), Message: cmp.Or(f.Message, "Backend Error")}
}

// refusal is the error that the fault makes a call answer with, if it does.
func (f Fault) refusal(group string, project store.Project) *store.Error {
	switch f.Kind {
	case Throttle:
		return tooMany(cmp.Or(group, "requests"), project, 0)
	case Refuse:
		return f.injected()
	}
	return nil
}

// mark tells a call what is to go wrong while it is done.
func (f Fault) mark(c *store.Call) {
	switch f.Kind {
	case Fail:
		c.Fail = f.injected()
	case NotReady:
		c.NotReady = f.Window
	case Stale:
		c.Stale = true
	}
}

// SetFaults replaces the faults; none ends them.
func (s *Server) SetFaults(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = calls.NewFaults[Call](list)
}
