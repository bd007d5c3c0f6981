package serve

import (
	"hash/maphash"
	"net/netip"
	"sync"
)

// flows are the connections of Network Load Balancers, so that Apply can end
// those that are no longer wanted.
type flows struct {
	mu   sync.Mutex
	open map[*flow]bool
}

// flow is one of them.
type flow struct {
	socket   socketKey
	group    string
	unwanted chan struct{} // closed when the group's weight became 0
	once     sync.Once
}

func (f *flows) add(socket socketKey, group string) *flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[*flow]bool{}
	}
	added := &flow{socket: socket, group: group, unwanted: make(chan struct{})}
	f.open[added] = true
	return added
}

func (f *flows) remove(old *flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, old)
}

// review ends the flows whose group has a weight of 0 now.
func (f *flows) review(next *state) {
	if next.u.NetworkZeroWeight != Closed {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for open := range f.open {
		if front := next.fronts[open.socket]; front != nil && front.drops(open.group) {
			open.once.Do(func() { close(open.unwanted) })
		}
	}
}

// drops says whether the listener gives a group no share any more.
func (f *front) drops(group string) bool {
	zero := false
	for _, a := range f.actions {
		if a.forward == nil || len(a.forward.Groups) < 2 {
			continue
		}
		weight, ok := a.forward.weight(group)
		if ok && weight > 0 {
			return false
		}
		zero = zero || ok
	}
	return zero
}

// sourcePoint is where a client's address falls among the weights, in [0, 2³²).
func sourcePoint(client netip.Addr) uint64 {
	return maphash.Comparable(sourceSeed, client) >> 32
}
