package dataplane

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/lbmodel"
)

// Trouble is a backend that could not be reached, believed or understood, or that
// answers again. The clients read a plain 502; this is for whoever runs the
// gateway, so it says which backend and why, and holds no key and nothing that was
// sent.
type Trouble struct {
	Owner    lbmodel.Owner
	Pool     string
	Backend  string // the endpoints' group, such as apps/shop:80; the pool's name where it has none
	Endpoint lbmodel.Target
	Reason   Reason
	Detail   string // a sentence about the backend ("its certificate …"), with the way out where there is one
	Over     bool   // what was told before is over; Reason and Detail are empty
	More     int    // troubles of other backends that were not told since the last one, for there were too many
}

// String is a line for people.
func (t Trouble) String() string {
	text := fmt.Sprintf("backend %s at %s: %s", t.Backend, t.Endpoint, t.Detail)
	if t.Over {
		text = fmt.Sprintf("backend %s at %s answers again", t.Backend, t.Endpoint)
	}
	if t.More > 0 {
		text += fmt.Sprintf(" (and %d more like it, not shown)", t.More)
	}
	return text
}

// The bounds of what is told.
const (
	troubleAgain  = time.Minute      // between two tellings of one reason of one endpoint that works in between
	troubleWindow = 10 * time.Second // in which a data plane tells
	troubleBurst  = 20               // at most so many
)

// troubles tells, one at a time and not too many.
type troubles struct {
	to func(Trouble)

	mu    sync.Mutex
	since time.Time // the window's beginning
	told  int       // in it
	kept  int       // not told since the last one that was
}

// newTroubles writes to the log where nobody else wants to know.
func newTroubles(c *Config) *troubles {
	if c.Trouble != nil {
		return &troubles{to: c.Trouble}
	}
	return &troubles{to: func(t Trouble) {
		level := slog.LevelWarn
		if t.Over {
			level = slog.LevelInfo
		}
		c.Log.Log(context.Background(), level, t.String(), slog.Any("gateway", t.Owner), slog.String("reason", string(t.Reason)))
	}}
}

// tell says whether it was told: what was not may be told later.
func (t *troubles) tell(what Trouble, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.since) >= troubleWindow {
		t.since, t.told = now, 0
	}
	if t.told >= troubleBurst {
		t.kept++
		return false
	}
	t.told++
	what.More, t.kept = t.kept, 0
	t.to(what)
	return true
}

// complaints are what was told about one link.
type complaints struct {
	open atomic.Bool // something was told since the link last worked
	mu   sync.Mutex
	told map[Reason]complaint
}

type complaint struct {
	at   time.Time
	over bool
}

// due says whether a reason is new, or has come back after a while.
func (c *complaints) due(reason Reason, now time.Time) bool {
	before, known := c.told[reason]
	return !known || before.over && now.Sub(before.at) >= troubleAgain
}

// complain tells why a link failed, unless that is known.
func (d *DataPlane) complain(l *link, err error) {
	reason, detail := diagnose(err, l.dial)
	c, now := &l.complaints, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.due(reason, now) {
		return
	}
	about := l.trouble()
	about.Reason, about.Detail = reason, detail
	if !d.troubles.tell(about, now) {
		return
	}
	if c.told == nil {
		c.told = map[Reason]complaint{}
	}
	c.told[reason] = complaint{at: now}
	c.open.Store(true)
}

// relent takes note that a link works, and says so where trouble was told.
func (d *DataPlane) relent(l *link) {
	c := &l.complaints
	if !c.open.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open.CompareAndSwap(true, false) {
		return
	}
	for reason, was := range c.told {
		c.told[reason] = complaint{at: was.at, over: true}
	}
	about := l.trouble()
	about.Over = true
	d.troubles.tell(about, time.Now())
}

func (l *link) trouble() Trouble {
	return Trouble{Owner: l.key.owner, Pool: l.key.pool, Backend: l.dial.backend, Endpoint: l.key.target}
}
