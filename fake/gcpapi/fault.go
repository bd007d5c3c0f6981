package gcpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/store"
)

// FaultKind is how a call goes wrong.
type FaultKind string

// The kinds of faults.
const (
	Refuse    FaultKind = "Refuse"    // refused with Status, Reason and Message; no effect
	Throttle  FaultKind = "Throttle"  // refused as too many calls of its group; none is counted
	CutBefore FaultKind = "CutBefore" // no effect, and the connection is cut
	CutAfter  FaultKind = "CutAfter"  // takes effect, and the connection is cut before the reply
	Slow      FaultKind = "Slow"      // as it should be, but only after Delay
	Fail      FaultKind = "Fail"      // accepted, and the operation ends with Status, Reason and Message; no effect
	NotReady  FaultKind = "NotReady"  // what it makes can't be referred to for the time of Window after its operation
	Stale     FaultKind = "Stale"     // a read answers as before the last change
)

var kinds = []FaultKind{Refuse, Throttle, CutBefore, CutAfter, Slow, Fail, NotReady, Stale}

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
	Delay   time.Duration `json:"-"` // real time, before any effect; with every kind
	Window  time.Duration `json:"-"` // of NotReady, of the project's clock
}

func (f *Fault) fits(c *Call) bool {
	_, verb, _ := strings.Cut(c.Method[max(0, strings.LastIndexByte(c.Method, '.')):], ".")
	return (strings.HasPrefix(c.Method, f.Method) || verb == f.Method) && strings.Contains(c.Target, f.Target) && strings.Contains(c.Caller, f.Caller)
}

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

// faults is a list of faults with how often each has fitted.
type faults struct {
	list []Fault
	seen []int
}

// take is the fault of a call; its Kind is "" for none.
func (f *faults) take(c *Call) Fault {
	for i := range f.list {
		one := &f.list[i]
		if !one.fits(c) {
			continue
		}
		f.seen[i]++
		n := f.seen[i] - one.Skip
		if n > 0 && (one.Times == 0 || n <= one.Times) {
			return *one
		}
	}
	return Fault{}
}

// SetFaults replaces the faults; none ends them.
func (s *Server) SetFaults(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults{list, make([]int, len(list))}
}

func (k FaultKind) known() bool { return slices.Contains(kinds, k) }
