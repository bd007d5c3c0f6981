package awsapi

import "gatehouse.dev/fake/calls"

// Dump is what calls have made of the account, as canonical JSON: the same resources
// made in the same order give the same text. An account in which nothing is left
// gives [Empty]. No key, certificate or object is in it.
func (s *Server) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return calls.Canonical(map[string]any{ELB: s.elb, ACM: s.acm, EC2: s.ec2, S3: s.s3})
}

// Empty is the dump of an account that holds nothing.
func Empty() string { return New(Config{}).Dump() }

// AdminPath is where the emulator's own state is, for other processes. AWS has no
// bucket of that name.
const AdminPath = calls.AdminPath

// admin answers what is not AWS's: GET state, GET calls, DELETE calls, PUT faults.
func (s *Server) admin() calls.Admin {
	return calls.Admin{
		Show:   map[string]func() string{"state": s.Dump, "calls": func() string { return calls.Canonical(s.Calls()) }},
		Forget: s.Forget, Spoil: calls.Spoiler[Call](s.SetFaults),
	}
}
