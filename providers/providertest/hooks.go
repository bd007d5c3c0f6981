package providertest

import (
	"sync"

	"gatehouse.dev/lbmodel"
)

// counter is a Hook that counts calls and lets some of them fail.
type counter struct {
	mu     sync.Mutex
	calls  int
	writes []string
	fault  func(n int, c Call) Fault // n counts from 0; nil lets everything work
	after  func(Call)                // nil does nothing
}

// Before implements Hook.
func (k *counter) Before(c Call) Fault {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.calls
	k.calls++
	if c.Write {
		k.writes = append(k.writes, c.Name)
	}
	if k.fault == nil {
		return Fault{}
	}
	return k.fault(n, c)
}

// After implements Hook.
func (k *counter) After(c Call) {
	if k.after != nil {
		k.after(c)
	}
}

func (k *counter) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

func (k *counter) written() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.writes
}

// dieAt is a process that ends at call n: nothing after it is heard of. With how
// LoseReply the call takes effect first.
func dieAt(n int, how FaultKind) *counter {
	return &counter{fault: func(i int, _ Call) Fault {
		switch {
		case i < n:
			return Fault{}
		case i == n:
			return Fault{Kind: how, Code: lbmodel.CodeUnavailable}
		default:
			return Fault{Kind: Refuse, Code: lbmodel.CodeDenied}
		}
	}}
}
