package dataplane

import (
	"encoding/json/v2"
	"io"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// Entry is one line of the access log. It holds no query, header or body, which
// may be secret.
type Entry struct {
	Time     time.Time        `json:"time"`
	Owner    lbmodel.Owner    `json:"gateway"`
	Rule     string           `json:"rule,omitzero"`
	Pool     string           `json:"pool,omitzero"`
	Client   string           `json:"client"`
	Method   string           `json:"method"`
	Host     string           `json:"host"`
	Path     string           `json:"path"`
	Protocol string           `json:"protocol"`
	Status   int              `json:"status"` // 499: the client did not wait
	Bytes    int64            `json:"bytes"`  // of the answer's body
	Took     lbmodel.Duration `json:"took"`
	Attempts int              `json:"attempts,omitzero"`
	Cause    string           `json:"cause,omitzero"` // why the gateway answered itself
}

// LogTo is a Config.AccessLog that writes lines of JSON. Errors of the writer
// lose lines, not requests.
func LogTo(w io.Writer) func(Entry) {
	return func(e Entry) {
		line, err := json.Marshal(e)
		if err == nil {
			_, _ = w.Write(append(line, '\n'))
		}
	}
}

// accessLog hands entries to one goroutine. A reader that does not keep up loses
// entries, which is counted; it never slows a request. A nil one keeps nothing.
type accessLog struct {
	entries chan Entry
	over    chan struct{} // closed when the plane is
	tallies *tallies
	done    sync.WaitGroup
}

// logBuffer is how many entries may wait.
const logBuffer = 4096

func newAccessLog(to func(Entry), t *tallies) *accessLog {
	if to == nil {
		return nil
	}
	l := &accessLog{entries: make(chan Entry, logBuffer), over: make(chan struct{}), tallies: t}
	l.done.Go(func() { l.write(to) })
	return l
}

func (l *accessLog) write(to func(Entry)) {
	for {
		select {
		case e := <-l.entries:
			to(e)
		case <-l.over:
			for len(l.entries) > 0 {
				to(<-l.entries)
			}
			return
		}
	}
}

func (l *accessLog) add(x *exchange) {
	if l == nil {
		return
	}
	select {
	case l.entries <- x.entry():
	default:
		l.tallies.fail(DroppedLog)
	}
}

// close writes what waits. A request that its connection's end has caught before
// it began may still come: its entry is lost, like its answer.
func (l *accessLog) close() {
	if l != nil {
		close(l.over)
		l.done.Wait()
	}
}

func (x *exchange) entry() Entry {
	e := Entry{
		Time: x.started, Owner: x.port.gateway.owner, Client: x.in.RemoteAddr, Method: x.in.Method, Host: x.in.Host,
		Path: x.in.URL.EscapedPath(), Protocol: x.in.Proto, Status: x.status, Bytes: x.bytes,
		Took: lbmodel.Duration(time.Since(x.started)), Attempts: x.attempts,
	}
	if x.route != nil {
		e.Rule = x.route.name
	}
	if x.backend != nil && x.backend.pool != nil {
		e.Pool = x.backend.pool.ref.Pool
	}
	if x.cause != nil {
		e.Cause = x.cause.Error()
	}
	return e
}
