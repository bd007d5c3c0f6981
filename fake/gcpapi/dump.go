package gcpapi

import (
	"gatehouse.dev/fake/calls"
	"gatehouse.dev/fake/gcpapi/store"
)

// Dump is what calls have made of the project, as canonical JSON by full resource names:
// the same resources made in the same order give the same text. What only tells when
// something was made, and in which order, is not in it, and no key. A project in which
// nothing is left gives [Empty].
func (s *Server) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]any{}
	v := s.store.Newest()
	for _, n := range v.Names() {
		if v.Given(n) {
			continue
		}
		o := store.Output(v, n, v.Get(n))
		for _, field := range []string{"id", "creationTimestamp", "createTime", "updateTime", "fingerprint", "labelFingerprint", "etag"} {
			delete(o, field)
		}
		out[string(n)] = o
	}
	return calls.Canonical(out)
}

// Empty is the dump of a project that holds nothing.
func Empty() string { return "{}" }

// Running is how many operations have not ended.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, now := 0, s.Clock.Now()
	for _, service := range s.services {
		for _, o := range s.store.Operations(service.API.Host, "") {
			if !o.Done(now) {
				n++
			}
		}
	}
	return n
}

// AdminPath is where the emulator's own state is, for other processes. No API of
// Google's has it.
const AdminPath = calls.AdminPath

// admin answers what is not Google's: GET state, GET calls, GET rates, DELETE calls, PUT
// faults.
func (s *Server) admin() calls.Admin {
	return calls.Admin{
		Show: map[string]func() string{
			"state": s.Dump,
			"calls": func() string { return calls.Canonical(s.Calls()) },
			"rates": func() string { return calls.Canonical(s.Used()) },
		},
		Forget: s.Forget, Spoil: calls.Spoiler[Call](s.SetFaults),
	}
}
