package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// Fault makes calls go wrong, for tests of whoever calls. The first one that fits a
// call decides.
type Fault struct {
	// Owner is whose objects the call is about; empty fields are anybody's. Calls
	// about nobody's (lists, and what gateways share) have no owner but the cluster.
	Owner lbmodel.Owner `json:"owner,omitzero"`
	Call  string        `json:"call,omitzero"` // how the call's name begins: Create, UpdateRule, ListObjects; "" is any
	Kind  FaultKind     `json:"kind"`

	Code       cloud.FaultCode  `json:"code,omitzero"`       // of Refuse; ServiceUnavailable
	Message    string           `json:"message,omitzero"`    // of Refuse; "injected"
	RetryAfter lbmodel.Duration `json:"retryAfter,omitzero"` // of Refuse, with Throttled
	Times      int              `json:"times,omitzero"`      // how many calls; 0 is all, for ever
}

// FaultKind is how a call goes wrong.
type FaultKind string

// The kinds of faults.
const (
	Refuse    FaultKind = "Refuse"    // fails and has no effect
	LoseReply FaultKind = "LoseReply" // takes effect, and the connection is cut before the reply
	Hang      FaultKind = "Hang"      // has no effect, and no reply until the caller gives up (a minute at most)
	Stale     FaultKind = "Stale"     // a read answers as before the last writes
	Reorder   FaultKind = "Reorder"   // a list comes in another order
)

// native are the cloud's own kinds.
func (k FaultKind) native() (cloud.FaultKind, bool) {
	kinds := map[FaultKind]cloud.FaultKind{Refuse: cloud.Refuse, LoseReply: cloud.LoseReply, Hang: cloud.Hang, Stale: cloud.Stale, Reorder: cloud.Reorder}
	out, ok := kinds[k]
	return out, ok
}

// errCut marks a reply that shall be lost.
var errCut = errors.New("the connection is cut")

// faults is a cloud.Interceptor that follows a list of Faults.
type faults struct {
	mu   sync.Mutex
	list []Fault
	left []int // calls that each may still spoil; negative is all
}

// set replaces the list.
func (f *faults) set(list []Fault) error {
	left := make([]int, len(list))
	for i, one := range list {
		if _, ok := one.Kind.native(); !ok || one.Times < 0 {
			return refuse(cloud.InvalidArgument, "fault %d: kind %q, times %d: want one of Refuse, LoseReply, Hang, Stale, Reorder, and no negative count", i, one.Kind, one.Times)
		}
		left[i] = cmp.Or(one.Times, -1)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list, f.left = list, left
	return nil
}

// Before implements cloud.Interceptor.
func (f *faults) Before(call cloud.Call) cloud.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if f.left[i] != 0 && f.list[i].fits(call) {
			f.left[i] = max(-1, f.left[i]-1)
			return f.list[i].native()
		}
	}
	return cloud.Fault{}
}

// After implements cloud.Interceptor.
func (f *faults) After(cloud.Call) {}

func (f *Fault) fits(call cloud.Call) bool {
	same := func(want, is string) bool { return want == "" || want == is }
	o := call.Owner
	return strings.HasPrefix(call.Name, f.Call) && same(f.Owner.Cluster, o.Cluster) && same(f.Owner.Kind, o.Kind) &&
		same(f.Owner.Namespace, o.Namespace) && same(f.Owner.Name, o.Name) && same(f.Owner.UID, o.UID)
}

func (f *Fault) native() cloud.Fault {
	kind, _ := f.Kind.native()
	err := refuse(cmp.Or(f.Code, cloud.ServiceDown), "%s", cmp.Or(f.Message, "injected"))
	err.RetryAfter = time.Duration(f.RetryAfter)
	if f.Kind == LoseReply {
		err.Err = fmt.Errorf("injected: %w", errCut)
	}
	return cloud.Fault{Kind: kind, Error: err}
}
