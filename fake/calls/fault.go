package calls

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
	"time"
)

// Kind is how a call goes wrong.
type Kind string

// The kinds of faults that every emulator has.
const (
	Refuse    Kind = "Refuse"    // refused with an error of the caller's choice; no effect
	Throttle  Kind = "Throttle"  // refused as too many calls; none is counted
	CutBefore Kind = "CutBefore" // no effect, and the connection is cut
	CutAfter  Kind = "CutAfter"  // takes effect, and the connection is cut before the reply
	Slow      Kind = "Slow"      // as it should be, but only after a delay
	Stale     Kind = "Stale"     // a read answers as before the last change
)

// Kinds are those that every emulator has.
func Kinds() []Kind { return []Kind{Refuse, Throttle, CutBefore, CutAfter, Slow, Stale} }

// Check refuses a kind that is not one of some.
func (k Kind) Check(of []Kind) error {
	if slices.Contains(of, k) {
		return nil
	}
	return fmt.Errorf("kind %q: want one of %v", k, of)
}

// Fault says which calls (C) go wrong; how, is the emulator's.
type Fault[C any] interface {
	Fits(c *C) bool
	// Turn is how many calls that fit are left alone first, and how many are spoilt then;
	// 0 is all, for ever.
	Turn() (skip, times int)
	// Check finds what no fault can be.
	Check() error
}

// Faults are faults with how often each has fitted. The zero value has none.
type Faults[C any, F Fault[C]] struct {
	list []F
	seen []int
}

// NewFaults are faults of which none has fitted yet.
func NewFaults[C any, F Fault[C]](list []F) Faults[C, F] {
	return Faults[C, F]{list, make([]int, len(list))}
}

// Take is the fault of a call, the first one that fits and whose turn it is; the zero
// value for none.
func (f *Faults[C, F]) Take(c *C) F {
	for i, one := range f.list {
		if !one.Fits(c) {
			continue
		}
		f.seen[i]++
		skip, times := one.Turn()
		if n := f.seen[i] - skip; n > 0 && (times == 0 || n <= times) {
			return one
		}
	}
	var none F
	return none
}

// read reads a list of faults as JSON. Times are written as 1.5s.
func read[C any, F Fault[C]](from io.Reader) ([]F, error) {
	var list []F
	durations := json.UnmarshalFromFunc(func(in *jsontext.Decoder, out *time.Duration) error {
		var text string
		err := json.UnmarshalDecode(in, &text)
		if err == nil {
			*out, err = time.ParseDuration(text)
		}
		return err
	})
	if err := json.UnmarshalRead(from, &list, json.RejectUnknownMembers(true), json.WithUnmarshalers(durations)); err != nil {
		return nil, err
	}
	for i, f := range list {
		if err := f.Check(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i, err)
		}
	}
	return list, nil
}

// Spoiler reads faults and sets them.
func Spoiler[C any, F Fault[C]](set func(...F)) func(io.Reader) error {
	return func(from io.Reader) error {
		list, err := read[C, F](from)
		if err == nil {
			set(list...)
		}
		return err
	}
}

// Pause waits, in real time: an emulator's own clock is the test's to move. It ends
// early with the context.
func Pause(ctx context.Context, delay time.Duration) {
	if delay <= 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
