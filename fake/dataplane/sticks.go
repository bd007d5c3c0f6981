package dataplane

import (
	"net/netip"
	"sync"
	"time"
)

// sticks remember which endpoint a client had last, for persistence by client
// address with an end: a Service's sessionAffinity ClientIP. They outlive
// configurations.
type sticks struct {
	mu   sync.Mutex
	last map[stickKey]stick
}

type stickKey struct {
	pool   PoolRef
	client netip.Addr
}

type stick struct {
	token string // of the link
	until time.Time
}

// maxSticks bound the memory that clients can take; above it some are forgotten
// and fall back to their hash.
const maxSticks = 1 << 16

// get is the client's endpoint, and keeps it for another while.
func (s *sticks) get(key stickKey, idle time.Duration) (string, bool) {
	if idle == 0 {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have, ok := s.last[key]
	if !ok || time.Now().After(have.until) {
		return "", false
	}
	s.last[key] = stick{have.token, time.Now().Add(idle)}
	return have.token, true
}

func (s *sticks) put(key stickKey, token string, idle time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= maxSticks {
		s.forget()
	}
	s.last[key] = stick{token, time.Now().Add(idle)}
}

// forget drops what has ended among some of them, and one in any case: a map is
// read in no order.
func (s *sticks) forget() {
	const look = 64
	now, looked := time.Now(), 0
	for key, have := range s.last {
		if looked == 0 || now.After(have.until) {
			delete(s.last, key)
		}
		if looked++; looked == look {
			return
		}
	}
}
