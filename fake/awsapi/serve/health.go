package serve

import (
	"cmp"
	"sync"
	"time"
)

// The reason codes of TargetHealth that are used here.
const (
	reasonInitial      = "Elb.InitialHealthChecking"
	reasonRegistration = "Elb.RegistrationInProgress"
	reasonFailed       = "Target.FailedHealthChecks"
	reasonMismatch     = "Target.ResponseCodeMismatch"
	reasonTimeout      = "Target.Timeout"
	reasonDraining     = "Target.DeregistrationInProgress"
	reasonNotInUse     = "Target.NotInUse"
	reasonDisabled     = "Target.HealthCheckDisabled"
)

// health is what checks say of a link. The first pass makes a target healthy;
// later it takes as many in a row as the check says.
type health struct {
	mu           sync.Mutex
	state        State
	reason, text string
	good, bad    int32
	since        time.Time     // of state
	unwell       chan struct{} // closed while the target is unhealthy
}

func (h *health) init() {
	h.state, h.reason, h.text = StateInitial, reasonRegistration, "Target registration is in progress"
	h.unwell = make(chan struct{})
}

// note counts one result; changed says whether the state did. A reason of "" is a
// pass.
func (h *health) note(c *check, now time.Time, reason, text string) (state State, changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.state
	if reason == "" {
		h.good, h.bad = h.good+1, 0
	} else {
		h.good, h.bad = 0, h.bad+1
	}
	switch {
	case reason == "" && (before == StateInitial || h.good >= c.healthy):
		h.set(StateHealthy, "", "", now)
	case reason != "" && (h.bad >= c.unhealthy || before == StateUnhealthy):
		h.set(StateUnhealthy, reason, text, now)
	case before == StateInitial:
		h.reason, h.text = reasonInitial, "Initial health checks in progress"
	}
	return h.state, h.state != before
}

// set is for callers that hold mu.
func (h *health) set(s State, reason, text string, now time.Time) {
	if s != h.state {
		h.since = now
		switch {
		case s == StateUnhealthy:
			close(h.unwell)
		case h.state == StateUnhealthy:
			h.unwell = make(chan struct{})
		}
	}
	h.state, h.reason, h.text = s, reason, text
}

// force sets what no check decided.
func (h *health) force(s State, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason := ""
	if s == StateUnhealthy {
		reason = reasonFailed
	}
	h.set(s, reason, "", now)
}

// reset begins anew, when a target's checks begin.
func (h *health) reset(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.good, h.bad = 0, 0
	h.set(StateInitial, reasonRegistration, "Target registration is in progress", now)
}

func (h *health) now() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

// alarm is closed when the target is, or becomes, unhealthy.
func (h *health) alarm() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unwell
}

// describe is the target's health as the API would tell it.
func (m *member) describe(g *group, now time.Time) TargetHealth {
	out := TargetHealth{Group: g.Name, Target: m.ID}
	switch {
	case m.State == StateDraining:
		out.State, out.Reason, out.Description = StateDraining, reasonDraining, "Target deregistration is in progress"
	case m.State == StateUnavailable || m.State == "" && g.Health.Disabled:
		out.State, out.Reason, out.Description = StateUnavailable, reasonDisabled, "Health checks are disabled for this target group"
	case m.State != "":
		out.State = m.State
	case !g.used:
		out.State, out.Reason, out.Description = StateUnused, reasonNotInUse, "Target group is not configured to receive traffic from the load balancer"
	default:
		h := &m.link.health
		h.mu.Lock()
		defer h.mu.Unlock()
		out.State, out.Reason, out.Description = h.state, h.reason, h.text
		if h.state == StateUnhealthy && g.network && g.attributes.keepUnwell && now.Before(h.since.Add(g.attributes.unwellDrain)) {
			out.State = StateUnhealthyDraining
		}
	}
	return out
}

// Health is what is known of every target of the applied Config, by group and
// target in Config's order.
func (s *Server) Health() []TargetHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	var out []TargetHealth
	for _, g := range s.state.ordered {
		for _, m := range g.members {
			out = append(out, m.describe(g, now))
		}
	}
	return out
}

// check is a HealthCheck with its defaults, for one target.
type check struct {
	protocol           Protocol
	address, host      string
	path, matcher      string
	grpc, proxyHeader  bool
	interval, timeout  time.Duration
	healthy, unhealthy int32
}

// newCheck fills the defaults in. They differ between the kinds.
func newCheck(g *group, t *Target, u *Undocumented) check {
	h := g.Health
	c := check{
		protocol:    cmp.Or(h.Protocol, defaultCheckProtocol(g)),
		path:        cmp.Or(h.Path, "/"),
		matcher:     h.Matcher,
		grpc:        g.Version == VersionGRPC,
		proxyHeader: g.network && g.attributes.proxyHeader,
		interval:    cmp.Or(h.Interval, 30*time.Second),
		healthy:     cmp.Or(h.Healthy, 5),
		unhealthy:   cmp.Or(h.Unhealthy, 2),
	}
	c.timeout = cmp.Or(h.Timeout, defaultTimeout(g, c.protocol, u))
	switch {
	case c.grpc:
		c.path, c.matcher = cmp.Or(h.Path, "/AWS.ALB/healthcheck"), cmp.Or(h.Matcher, "12")
	case g.network:
		c.matcher = cmp.Or(h.Matcher, "200-399")
	default:
		c.matcher = cmp.Or(h.Matcher, "200")
	}
	address := t.Address
	if h.Port != 0 && t.LoadBalancer == "" {
		address = t.Check
		if !address.IsValid() {
			address = portOf(t.Address, h.Port)
		}
	}
	c.address = address.String()
	c.host = checkHost(t, address, c.protocol)
	return c
}

func defaultCheckProtocol(g *group) Protocol {
	switch {
	case !g.network:
		return HTTP
	case g.Type == TargetALB:
		return HTTP
	default:
		return TCP
	}
}

func defaultTimeout(g *group, p Protocol, u *Undocumented) time.Duration {
	switch {
	case !g.network && u.HealthTimeout == Guide:
		return 5 * time.Second
	case p == HTTP:
		return 6 * time.Second
	default:
		return 10 * time.Second
	}
}
