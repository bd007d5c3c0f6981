package live

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// The states of an endpoint, as the API has them.
const (
	healthy   = "HEALTHY"
	unhealthy = "UNHEALTHY"
)

// health is what checks say of endpoints, by backend service, group and endpoint.
type health struct {
	all sync.Map // linkKey without address and protocol: string
}

func (h *health) key(k linkKey) linkKey {
	return linkKey{service: k.service, group: k.group, endpoint: k.endpoint}
}

func (h *health) set(k linkKey, state string) { h.all.Store(h.key(k), state) }

func (h *health) forget(k linkKey) { h.all.Delete(h.key(k)) }

// observed is for the API: an endpoint that nobody has looked at is UNHEALTHY.
func (h *health) observed(group, service store.Name, e store.Object) (string, bool) {
	host := store.Text(e, "ipAddress")
	if host == "" {
		host = store.Text(e, "fqdn")
	}
	name := host + ":" + strconv.Itoa(int(number(e, "port")))
	state, ok := h.all.Load(linkKey{service: serve.Ref(service.Path()), group: group.Path(), endpoint: name})
	if !ok {
		return unhealthy, true
	}
	text, _ := state.(string)
	return text, true
}

// watch is the check of one link.
type watch struct {
	mu      sync.Mutex
	check   *check
	address string
	unseen  atomic.Bool
	state   atomic.Value // string
	end     context.CancelFunc
}

// usable says whether an endpoint gets new traffic, as far as its health goes. Without a
// check everybody does.
func (w *watch) usable() bool {
	state, checked := w.state.Load().(string)
	return !checked || state == healthy || state == ""
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end()
		w.end = nil
	}
	w.check = nil
	w.state.Store("")
}

// watch begins a link's check, or goes on with the one that is running.
func (l *Live) watch(s *service, m *member) {
	w := &m.link.watch
	w.unseen.Store(m.unseen)
	if s.check == nil {
		w.stop()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.check != nil && *w.check == *s.check && w.address == m.probe {
		return
	}
	if w.end != nil {
		w.end()
	}
	if state, _ := w.state.Load().(string); state == "" {
		w.state.Store(unhealthy)
	}
	ctx, cancel := context.WithCancel(l.life)
	w.check, w.address, w.end = s.check, m.probe, cancel
	probe := *s.check
	probe.address, probe.ip = m.probe, m.host
	l.running.Go(func() { l.follow(ctx, m.link, probe) })
}

// follow checks an endpoint until ctx is over.
func (l *Live) follow(ctx context.Context, k *link, c check) {
	every := c.interval
	if l.config.CheckEvery > 0 {
		every = l.config.CheckEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	run := 0 // results in a row that disagree with the state
	for {
		passed := !k.watch.unseen.Load() && c.probe(ctx) == nil
		if ctx.Err() != nil {
			return
		}
		run = l.note(k, &c, passed, run)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// note counts a result, and tells how many in a row disagree with the state.
func (l *Live) note(k *link, c *check, passed bool, run int) int { //nolint:revive // a result
	state, _ := k.watch.state.Load().(string)
	if passed == (state == healthy) {
		l.health.set(k.key, state)
		return 0
	}
	run++
	switch {
	case passed && run >= c.healthyAfter:
		state, run = healthy, 0
	case !passed && run >= c.unhealthyAfter:
		state, run = unhealthy, 0
	}
	k.watch.state.Store(state)
	l.health.set(k.key, state)
	return run
}
