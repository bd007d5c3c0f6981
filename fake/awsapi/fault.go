package awsapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/wire"
)

// FaultKind is how a call goes wrong.
type FaultKind string

// The kinds of faults.
const (
	Throttle  FaultKind = "Throttle"  // refused as throttled; no token is taken
	Refuse    FaultKind = "Refuse"    // refused with Status, Code and Message; no effect
	CutBefore FaultKind = "CutBefore" // no effect, and the connection is cut
	CutAfter  FaultKind = "CutAfter"  // takes effect, and the connection is cut before the reply
	Slow      FaultKind = "Slow"      // as it should be, but only after Delay
	Stale     FaultKind = "Stale"     // a read answers as before the last change
)

func (k FaultKind) known() bool {
	return slices.Contains([]FaultKind{Throttle, Refuse, CutBefore, CutAfter, Slow, Stale}, k)
}

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
	Delay   time.Duration `json:"-"` // real time, before any effect; with every kind
}

func (f *Fault) fits(c *Call) bool {
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
