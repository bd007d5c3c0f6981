package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Operation is a change that takes time. APIs give it their own form.
type Operation struct {
	Name     string // operation-1733041200000-…, unique in the project
	ID       string // a number of 64 bits
	Type     string // insert, patch, delete, setUrlMap
	Host     string // of the service
	Scope    string // projects/p/global, projects/p/regions/r, projects/p/locations/l
	Target   Name
	TargetID string // the target's id; "" where the API has none
	User     string
	Request  string // the requestId
	Start    time.Time
	End      time.Time
	Err      *Error // how it ends, if badly
}

// Done tells whether it has ended.
func (o *Operation) Done(now time.Time) bool { return !o.End.After(now) }

// kept is how long Google remembers a requestId, as its documentation says at least.
const kept = 60 * time.Minute

// fortnight is how long Google keeps operations.
const fortnight = 14 * 24 * time.Hour

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

type request struct {
	digest    string
	operation *Operation
	at        time.Time
}

// Earlier is the operation that the same call has started before: calls with one
// requestId are one. It is nil for a call that is new. APIs ask before they look at
// anything else.
func (s *Store) Earlier(c *Call) (*Operation, error) {
	id := c.Query.Get("requestId")
	if id == "" {
		return nil, nil
	}
	if !uuid.MatchString(id) || id == "00000000-0000-0000-0000-000000000000" {
		return nil, Bad("Invalid value for field 'requestId': '%s'. Request ID must be a valid UUID other than the zero UUID.", id)
	}
	before, ok := s.requests[id]
	if !ok || c.Now.Sub(before.at) > kept {
		return nil, nil
	}
	if before.digest != digestOf(c) {
		return nil, Bad("Invalid value for field 'requestId': '%s'. The request ID has been used by a different request.", id)
	}
	return before.operation, nil
}

// Operation finds an operation by its name; nil if there is none.
func (s *Store) Operation(name string) *Operation { return s.operations[name] }

// Operations are those of a service in a scope, oldest first. Google keeps them for two
// weeks.
func (s *Store) Operations(host, scope string) []*Operation {
	var out []*Operation
	for _, o := range s.started {
		if o.Host == host && (scope == "" || o.Scope == scope) {
			out = append(out, o)
		}
	}
	return out
}

// Forget deletes an operation that has ended.
func (s *Store) Forget(o *Operation) {
	delete(s.operations, o.Name)
	for i, one := range s.started {
		if one == o {
			s.started = append(s.started[:i:i], s.started[i+1:]...)
			return
		}
	}
}

// start makes an operation, and remembers it.
func (s *Store) start(c *Call, change *Change) *Operation {
	scope := change.Name.Scope()
	took := s.Times.of(change.Name.Collection())
	o := &Operation{
		Name: "operation-" + strconv.FormatInt(c.Now.UnixMilli(), 10) + "-" + s.hex(13) + "-" + s.hex(8) + "-" + s.hex(8), ID: s.Number(),
		Type: change.Type, Host: c.API.Host, Scope: scope, Target: change.Name, User: c.Caller, Request: c.Query.Get("requestId"),
		Start: c.Now, End: c.Now.Add(took), Err: c.Fail,
	}
	if o.Err != nil && o.Err.Status == 0 {
		o.Err.Status = http.StatusServiceUnavailable
	}
	s.operations[o.Name] = o
	s.started = append(s.started, o)
	for c.Now.Sub(s.started[0].End) > fortnight {
		delete(s.requests, s.started[0].Request)
		s.Forget(s.started[0])
	}
	if o.Request != "" {
		s.requests[o.Request] = request{digestOf(c), o, c.Now}
	}
	return o
}

// Number is a name of 64 bits in decimal that no other resource has.
func (s *Store) Number() string {
	s.named++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("id"), s.named))
	return strconv.FormatUint(1e18+binary.BigEndian.Uint64(sum[:])%8e18, 10)
}

func (s *Store) hex(digits int) string {
	s.named++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("hex"), s.named))
	return hex.EncodeToString(sum[:])[:digits]
}
