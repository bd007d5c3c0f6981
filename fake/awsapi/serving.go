package awsapi

import (
	"net/netip"

	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/serve"
)

// Refresh tells Serve what should be served now. Changes do it by themselves; whoever
// moves the clock does it too: load balancers come into service, and draining
// targets leave, by time.
func (s *Server) Refresh() {
	if s.Serve == nil {
		return
	}
	s.feeding.Lock()
	defer s.feeding.Unlock()
	s.Serve(s.Serving())
}

// Serving is what should be served now. Load balancers, listeners, rules, target
// groups and trust stores are named by their ARNs, security groups by their ids,
// targets by [elb.TargetName]. It holds private keys.
func (s *Server) Serving() serve.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := elb.Sources{Pair: s.acm.Pair, Bind: s.Bind, Bound: s.Bound, Reach: s.Reach, Groups: s.ec2.AllGroups()}
	if from.Bind == nil {
		from.Bind = func(string, int) []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0")} }
	}
	if from.Bound == nil {
		from.Bound = func(string, int) netip.AddrPort { return netip.AddrPort{} }
	}
	if from.Reach == nil {
		from.Reach = func(ip netip.Addr, port int) netip.AddrPort { return netip.AddrPortFrom(ip, uint16(port)) }
	}
	out := s.elb.Serving(from)
	out.Undocumented = s.UndocumentedTraffic
	return out
}

// Named finds the load balancer of a DNS name, in lower case.
func (s *Server) Named(dns string) (arn string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elb.Named(dns)
}
