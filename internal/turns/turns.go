// Package turns lets one call at a time have a name, such as that of an object which
// two calls must not make at once. A call that hangs holds up its name alone. It knows
// nothing of what is done in a turn. Start with [Turns].
package turns

import (
	"context"
	"sync"
)

// Turns are names of which each is held once at the most. The zero value is ready; all
// methods may be called concurrently.
type Turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the turn ends
}

// Take waits for a name's turn; release ends it. The only error is ctx's.
func (t *Turns) Take(ctx context.Context, name string) (release func(), err error) {
	for {
		release, busy := t.try(name)
		if busy == nil {
			return release, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *Turns) try(name string) (release func(), busy <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ch := t.taken[name]; ch != nil {
		return nil, ch
	}
	if t.taken == nil {
		t.taken = map[string]chan struct{}{}
	}
	ch := make(chan struct{})
	t.taken[name] = ch
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.taken, name)
		close(ch)
	}, nil
}
