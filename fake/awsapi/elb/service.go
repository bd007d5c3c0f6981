package elb

import (
	"encoding/json/v2"
	"net/netip"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/ec2"
	"gatehouse.dev/fake/awsapi/wire"
)

// Config is what New needs.
type Config struct {
	Home    account.Home
	Clock   account.Clock
	IDs     *account.IDs
	Network Network
	// Certificate tells whether ACM or IAM holds a certificate.
	Certificate func(arn string) bool
	// Object reads an S3 object; version "" is the newest. ok is false if it isn't there.
	Object func(bucket, key, version string) (content []byte, ok bool)
	// Observed is what the serving part sees of a target's health; nil, or false,
	// leaves it to the clock. Reason and description follow AWS's.
	Observed func(group, target string, port int) (state, reason, description string, ok bool)
	// Limits replaces defaults by their names in DescribeAccountLimits.
	Limits map[string]int
	Times  Times
	// Undocumented takes a side where AWS's documents don't.
	Undocumented Undocumented
	Keep         time.Duration // how old a state a read may ask for
}

// Network is what the service asks of EC2.
type Network interface {
	FindVPC(id string) (ec2.VPC, bool)
	FindSubnet(id string) (ec2.Subnet, bool)
	FindInstance(id string) (ec2.Instance, bool)
	FindGroup(id string) (ec2.Group, bool)
	SubnetAt(vpc string, ip netip.Addr) (ec2.Subnet, bool)
}

// Times are how long things take. Zero is at once.
type Times struct {
	Provisioning time.Duration // of a new load balancer
	Initial      time.Duration // of a target, until its first check has passed
	TrustStore   time.Duration // CREATING
	Linger       time.Duration // of a deleted load balancer's network interfaces
	Freeing      time.Duration // how long a target group stays in use after its last rule went
	Reference    time.Duration // how long a new listener or target group is not yet found by writes
}

// Undocumented are the sides to take where AWS's documents take none, or two.
type Undocumented struct {
	TagsAreSettings   bool // an idempotent create with other tags is refused as a duplicate
	UnusedDrain       bool // a target of an unused group drains too, instead of going at once
	DrainingFree      bool // a draining target does not count against quotas
	MissingGroupFails bool // deleting a target group that is not there is refused
	HeaderNameCounts  bool // the name of a header counts as a value of its condition
	ThreePerCondition bool // a condition has three values at most, whatever the quota of its rule
}

// Service is the emulated service.
type Service struct {
	Config
	past account.History[state]
}

// New makes an empty one.
func New(config Config) *Service {
	return &Service{Config: config, past: account.History[state]{Keep: config.Keep}}
}

// Protocol is how the service is spoken to.
func Protocol() wire.Protocol {
	return wire.XML{Dialect: wire.Query, Namespace: "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"}
}

// change runs a change, which is kept if it is not refused.
func (s *Service) change(call *account.Call, do func(*state) error) error {
	next := s.past.Now().fork()
	if err := do(next); err != nil {
		return err
	}
	s.past.Commit(call.Now, *next)
	return nil
}

// view is what a read sees.
func (s *Service) view(call *account.Call) *state { return s.past.View(call).fork() }

// MarshalJSON writes the newest state, as a dump shows it.
func (s *Service) MarshalJSON() ([]byte, error) {
	now := s.past.Now()
	now.Interfaces = account.Rows[Interface]{} // they go by themselves
	return json.Marshal(now, json.OmitZeroStructFields(true))
}

// fresh tells whether something was made so lately that writes don't find it yet.
func (s *Service) fresh(call *account.Call, made time.Time) bool {
	return call.Now.Before(made.Add(s.Times.Reference))
}

// page cuts a list as every Describe action does.
func page[T any](all []T, marker string, size *int) ([]T, string, error) {
	const most = 400
	n := most
	if size != nil {
		n = *size
	}
	if n < 1 || n > most {
		return nil, "", breaks(n, "pageSize", "have value between 1 and %d", most)
	}
	out, next, ok := account.Page(all, marker, n)
	if !ok {
		return nil, "", invalid("Marker '%s' is invalid", marker)
	}
	return out, next, nil
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
