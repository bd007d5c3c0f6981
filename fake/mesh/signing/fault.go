package signing

import (
	"context"
	"errors"
	"time"
)

// afterDeadline is how much longer than its caller a call hangs.
const afterDeadline = 250 * time.Millisecond

// Fault is a way in which a CA breaks. The first three are no answer, the others a
// wrong one.
type Fault string

// The faults.
const (
	Refuse      Fault = "Refuse"      // the caller is turned away
	Unavailable Fault = "Unavailable" // nobody is there
	Hang        Fault = "Hang"        // no answer, until the caller gives up
	WrongKey    Fault = "WrongKey"    // the leaf is for another key
	WrongName   Fault = "WrongName"   // the leaf names somebody else
	Expired     Fault = "Expired"     // the leaf's life is over
	Stranger    Fault = "Stranger"    // a CA signed that is not in the bundle
	Garbage     Fault = "Garbage"     // the chain is no certificate
	NoRoots     Fault = "NoRoots"     // the roots are left out of an answer that should have them
	RootTwice   Fault = "RootTwice"   // the chain holds the root (istio #39001)
)

// What becomes of a call that gets no answer.
var (
	ErrRefused     = errors.New("the CA refuses the caller")
	ErrUnavailable = errors.New("the CA is unavailable")
)

// Break has the next calls fail; with calls zero all, until Mend.
func (d *Desk) Break(f Fault, calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.left = f, calls
}

// Mend ends the fault.
func (d *Desk) Mend() { d.Break("", 0) }

// Gate is the fault of this call. Where that means no answer it is an error:
// ErrRefused, ErrUnavailable, or the context's once it has ended.
func (d *Desk) Gate(ctx context.Context) (Fault, error) {
	switch f := d.next(); f {
	case Refuse:
		return f, ErrRefused
	case Unavailable:
		return f, ErrUnavailable
	case Hang:
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			// gRPC tells servers the caller's deadline. Who hangs does not keep it.
			time.Sleep(afterDeadline)
		}
		return f, ctx.Err()
	default:
		return f, nil
	}
}

func (d *Desk) next() Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fault
	if d.left > 0 {
		if d.left--; d.left == 0 {
			d.fault = ""
		}
	}
	return f
}
