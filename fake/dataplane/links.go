package dataplane

import (
	"context"
	"sync"

	"gatehouse.dev/lbmodel"
)

// links are all endpoints that some configuration uses, so that one which is
// still meant keeps its connections and its health.
type links struct {
	mu      sync.Mutex
	plane   *DataPlane
	live    map[linkKey]*liveLink
	used    map[linkKey]bool // by the configuration being compiled
	context context.Context  //nolint:containedctx // a link lives longer than the call that makes it
	stop    context.CancelFunc
	running sync.WaitGroup // checks and mirrors
}

// liveLink is a link with its health check.
type liveLink struct {
	*link
	check *lbmodel.HealthCheck
	stop  context.CancelFunc
}

func newLinks(d *DataPlane) *links {
	l := &links{plane: d, live: map[linkKey]*liveLink{}, used: map[linkKey]bool{}}
	l.context, l.stop = context.WithCancel(context.Background())
	return l
}

// use marks a link as meant, making it when there is none.
func (l *links) use(key linkKey, d *dialer, check *lbmodel.HealthCheck) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[key] = true
	e, ok := l.live[key]
	if !ok {
		e = &liveLink{link: newLink(key, d)}
		l.live[key] = e
	}
	l.watch(e, check)
	return e.link
}

// watch starts, replaces or ends a link's active check.
func (l *links) watch(e *liveLink, check *lbmodel.HealthCheck) {
	if sameCheck(e.check, check) {
		return
	}
	if e.stop != nil {
		e.stop()
	}
	e.check, e.stop = check, nil
	e.checked.Store(nil)
	if check == nil {
		return
	}
	v := new(verdict)
	e.checked.Store(v)
	ctx, stop := context.WithCancel(l.context)
	e.stop = stop
	l.running.Go(func() { l.plane.watchHealth(ctx, newChecker(e.link, *check), v) })
}

func sameCheck(a, b *lbmodel.HealthCheck) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// sweep retires the links that nobody marked since the last sweep.
func (l *links) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, e := range l.live {
		if l.used[key] {
			continue
		}
		delete(l.live, key)
		if e.stop != nil {
			e.stop()
		}
		e.retire()
	}
	clear(l.used)
}

// close ends all checks and idle connections.
func (l *links) close() {
	l.stop()
	l.sweep()
	l.running.Wait()
}

// Health is what is known of every endpoint that takes traffic: by its pool's
// active check where it has one, else by whether it accepted connections.
func (d *DataPlane) Health() map[PoolRef]map[lbmodel.Target]lbmodel.Health {
	d.links.mu.Lock()
	defer d.links.mu.Unlock()
	out := map[PoolRef]map[lbmodel.Target]lbmodel.Health{}
	for key, e := range d.links.live {
		ref := PoolRef{key.owner, key.pool}
		if out[ref] == nil {
			out[ref] = map[lbmodel.Target]lbmodel.Health{}
		}
		out[ref][key.target] = e.health()
	}
	return out
}
