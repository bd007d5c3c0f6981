package events

import (
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"gatehouse.dev/lbmodel"
)

// The bounds of what is told and of what is remembered.
const (
	again   = 20 * time.Minute // until a failure that lasts is told of again
	longest = 1024             // bytes of a message, the API's limit for a note
	most    = 4096             // objects that are remembered
)

// pace is how often one reason may come for one object: some at once, then one
// in a while.
type pace struct {
	burst float64
	every time.Duration
}

func paceOf(row Row) pace {
	if row.Type == corev1.EventTypeWarning {
		return pace{3, again}
	}
	return pace{10, 6 * time.Minute}
}

// Doing is what was being done when something failed.
type Doing string

// The doings.
const (
	Applying Doing = "Applying"
	Deleting Doing = "Deleting"
)

// Events tells of changes. It is safe for use by several goroutines.
type Events struct {
	recorder record.EventRecorder
	rows     map[Reason]Row
	now      func() time.Time
	pem      *regexp.Regexp

	mu   sync.Mutex
	told map[string]*history // by UID
}

// history is what was told about one object.
type history struct {
	last    said
	lasting map[Reason]said // what was told of a state that nothing has ended since
	tokens  map[Reason]tokens
	touched time.Time
}

type said struct {
	reason  Reason
	message string
	at      time.Time
}

// tokens are how many events of a reason may still come.
type tokens struct {
	left float64
	at   time.Time
}

// New makes Events over a recorder, which sends them.
func New(recorder record.EventRecorder) *Events {
	e := &Events{
		recorder: recorder, now: time.Now, rows: map[Reason]Row{}, told: map[string]*history{},
		pem: regexp.MustCompile(`(?s)-----BEGIN [^-]*-----.*?(-----END [^-]*-----|$)`),
	}
	for _, row := range Reasons() {
		e.rows[row.Reason] = row
	}
	return e
}

// Tell tells of something that happened to an object, unless it is what was told
// last, or there is too much of it. Of a state that lasts, whatever else is told
// meanwhile, it tells again only after something that ends it. A reason that is not in the table is not told
// of: people and machines know the table.
func (e *Events) Tell(about *corev1.ObjectReference, reason Reason, message string) {
	row, known := e.rows[reason]
	message = e.clean(message)
	if !known || !e.due(about, row, message) {
		return
	}
	e.recorder.Event(about, row.Type, string(reason), message)
}

// Failed tells of an error, with the reason that fits the object and the error.
// Errors that pass by themselves, such as throttling, are not told of on a Gateway,
// unless a cloud that does not answer keeps it from going; a Service has no conditions
// for them, so there all are.
func (e *Events) Failed(about *corev1.ObjectReference, doing Doing, err error) {
	reason := failure(err)
	switch {
	case about.Kind == "Service" && doing == Deleting:
		reason = DeleteLoadBalancerFailed
	case about.Kind == "Service":
		reason = SyncLoadBalancerFailed
	case doing == Deleting && (reason != "" || lbmodel.CodeOf(err) == lbmodel.CodeUnavailable):
		reason = DeletionBlocked
	}
	if reason != "" {
		e.Tell(about, reason, err.Error())
	}
}

// Forget drops what was told about an object that is gone.
func (e *Events) Forget(about *corev1.ObjectReference) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.told, string(about.UID))
}

// due decides, and takes note of what is told.
func (e *Events) due(about *corev1.ObjectReference, row Row, message string) bool {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.history(string(about.UID), now)
	before := h.last
	if row.Reason.lasts() {
		before = h.lasting[row.Reason]
	}
	h.end(row.Reason.ends())
	repeated := before.reason == row.Reason && before.message == message
	if repeated && (row.Type == corev1.EventTypeNormal || now.Sub(before.at) < again) {
		return false
	}
	if !h.take(row, now) {
		return false
	}
	h.last = said{row.Reason, message, now}
	if row.Reason.lasts() {
		h.lasting[row.Reason] = h.last
	}
	return true
}

// end forgets states, so that they are news when they come again.
func (h *history) end(states []Reason) {
	for _, r := range states {
		delete(h.lasting, r)
	}
}

func (e *Events) history(uid string, now time.Time) *history {
	h, ok := e.told[uid]
	if !ok {
		if len(e.told) >= most {
			e.sweep(now)
		}
		h = &history{lasting: map[Reason]said{}, tokens: map[Reason]tokens{}}
		e.told[uid] = h
	}
	h.touched = now
	return h
}

// sweep drops the objects about which nothing happened for an hour, and all if
// there is no such.
func (e *Events) sweep(now time.Time) {
	for uid, h := range e.told {
		if now.Sub(h.touched) > time.Hour {
			delete(e.told, uid)
		}
	}
	if len(e.told) >= most {
		clear(e.told)
	}
}

// take is a token bucket.
func (h *history) take(row Row, now time.Time) bool {
	p := paceOf(row)
	t, ok := h.tokens[row.Reason]
	if !ok {
		t = tokens{left: p.burst, at: now}
	}
	t.left = min(p.burst, t.left+float64(now.Sub(t.at))/float64(p.every))
	t.at = now
	enough := t.left >= 1
	if enough {
		t.left--
	}
	h.tokens[row.Reason] = t
	return enough
}

// clean cuts a message to what an event may hold.
func (e *Events) clean(message string) string {
	message = e.pem.ReplaceAllString(strings.ToValidUTF8(message, "?"), "(PEM)")
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest-len("…")], "") + "…"
	}
	return message
}
