package gcpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/fake/calls"
	"gatehouse.dev/fake/gcpapi/store"
)

// Call is an entry of the call log. Of what a request carried it holds a digest, and the
// name of what it is about.
type Call struct {
	Number     int       `json:"number"` // from 1
	At         time.Time `json:"at"`
	Method     string    `json:"method"` // compute.backendServices.patch; "unknown" for one that is not emulated
	Permission string    `json:"permission,omitzero"`
	// Uses are the permissions that IAM wants besides, for what the call has a resource
	// newly refer to: compute.backendServices.use.
	Uses      []string `json:"uses,omitzero"`
	Target    string   `json:"target"` // projects/p/global/backendServices/b
	Writes    bool     `json:"writes,omitzero"`
	Group     string   `json:"group,omitzero"`  // the quota group, with the region after a slash
	Caller    string   `json:"caller,omitzero"` // the user agent
	RequestID string   `json:"requestId,omitzero"`
	// Digest is of query and body, in an order that does not depend on the caller's, and
	// without the requestId: calls with equal digests ask for the same.
	Digest    string    `json:"digest"`
	Operation string    `json:"operation,omitzero"` // that it started, or asked for
	Status    int       `json:"status,omitzero"`    // of HTTP; 0 while it is done, and for one that was cut
	Reason    string    `json:"reason,omitzero"`    // of the error; "" for success
	Fault     FaultKind `json:"fault,omitzero"`
}

// entry is a call as it is logged.
func (s *Server) entry(c *store.Call, to *store.Service) Call {
	out := Call{Method: c.Method.ID, Permission: Permission(c.Method), Target: c.Name().Path(), Writes: !c.Method.Reads(), Group: s.rate(c, to),
		Caller: c.Caller, RequestID: c.Query.Get("requestId"), Digest: digest(c)}
	if c.ID == "" {
		out.Target = c.Member(madeID(c)).Path()
	}
	if c.Collection == "operations" {
		out.Operation = c.ID
	}
	return out
}

// madeID is the name that a call wants to give, as compute or as other APIs are told;
// "" if it makes nothing.
func madeID(c *store.Call) string {
	if name := store.Text(c.Body, "name"); name != "" && c.API.Name == "compute" {
		return name
	}
	for key, values := range c.Query {
		if m := c.Method.Query[key]; m != nil && len(key) > 2 && key[len(key)-2:] == "Id" && key != "requestId" {
			return values[0]
		}
	}
	return ""
}

// digest is of what a call asks for.
func digest(c *store.Call) string {
	query := maps.Clone(c.Query)
	query.Del("requestId")
	text, err := json.Marshal([]any{c.Method.ID, c.Name(), query, c.Body}, json.Deterministic(true))
	if err != nil {
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (s *Server) begin(entry *Call) (int, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.faults.Take(entry)
	entry.Number, entry.At, entry.Fault = s.log.Next(), s.Clock.Now(), fault.Kind
	s.log.Add(*entry)
	return entry.Number, fault
}

func (s *Server) end(number int, out outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.log.At(number)
	if entry == nil {
		return // dropped, or forgotten
	}
	for _, n := range out.uses {
		if use := Use(n); !slices.Contains(entry.Uses, use) {
			entry.Uses = append(entry.Uses, use)
		}
	}
	switch {
	case out.err != nil:
		entry.Status, entry.Reason = out.err.Status, out.err.Reason
	case out.body != nil:
		entry.Status = 200
		if entry.Writes {
			entry.Operation = store.Name(store.Text(out.body, "name")).ID()
		}
	}
}

// Calls are the calls so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.All()
}

// Forget empties the call log.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Forget()
}

// Count counts calls by what a key says of them; a key of "" leaves a call out.
func (s *Server) Count(key func(Call) string) map[string]int {
	return calls.Count(s.Calls(), key)
}

// ByMethod is a key for Count: the method's ID.
func ByMethod(c Call) string { return c.Method }

// ByCaller is a key for Count: the user agent.
func ByCaller(c Call) string { return c.Caller }

// ByGroup is a key for Count: the quota group.
func ByGroup(c Call) string { return c.Group }

// ByPermission is a key for Count: the permission of IAM.
func ByPermission(c Call) string { return c.Permission }

// Writes is a key for Count: the method's ID of calls that change something.
func Writes(c Call) string {
	if !c.Writes {
		return ""
	}
	return c.Method
}
