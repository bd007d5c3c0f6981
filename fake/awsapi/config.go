package awsapi

import (
	"cmp"
	"net/netip"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/ec2"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/serve"
)

// Config says what the account is like. Its zero value is an account in us-east-1
// with a small network, without throttling, in which everything happens at once.
type Config struct {
	Account string // 12 digits
	Region  string
	Clock   account.Clock // nil is the wall clock
	World   ec2.World     // without a VPC: ec2.Small
	// Keys are the access key ids that are let in, besides those that STS issued;
	// none lets everybody in.
	Keys []string
	// Permit tells whether callers may do something, as an IAM policy would; nil lets
	// them do everything. Services and actions are called as in the call log.
	Permit func(key, service, action string) bool
	// Buckets are the token buckets by name; one without a size is bottomless.
	// [Buckets] has those that AWS documents.
	Buckets map[string]account.Bucket
	// Limits replaces quotas, by their names in DescribeAccountLimits, and by
	// "rules-per-security-group", "certificates" and "certificate-imports-per-year".
	Limits       map[string]int
	Times        Times
	Undocumented elb.Undocumented
	// Serve is told what should be served, after every change of it. It must not
	// call the server back.
	Serve func(serve.Config)
	// Bind says where a listener is really bound; nil is any port of 127.0.0.1.
	Bind func(loadBalancer string, port int) []netip.AddrPort
	// Bound says where a listener has been bound, for load balancers that are targets
	// of others; nil, or the zero value, is nowhere.
	Bound func(loadBalancer string, port int) netip.AddrPort
	// Reach says where a target really listens; nil is where it says.
	Reach func(ip netip.Addr, port int) netip.AddrPort
	// Observed is what the serving part sees of a target's health; nil, or false,
	// leaves it to the clock.
	Observed func(group, target string, port int) (state, reason, description string, ok bool)
	// UndocumentedTraffic takes a side where AWS does not say how traffic is treated.
	UndocumentedTraffic serve.Undocumented
}

// Times are how long things take.
type Times struct {
	elb.Times
	Read        time.Duration // how far reads lag behind writes
	TagIndex    time.Duration // how far the tagging API lags besides
	Certificate time.Duration // until load balancers know a new certificate
}

// Lifelike are times as one sees them with AWS.
func Lifelike() Times {
	return Times{
		Times: elb.Times{Provisioning: 150 * time.Second, Initial: 30 * time.Second, TrustStore: 10 * time.Second,
			Linger: 60 * time.Second, Freeing: 5 * time.Second, Reference: 2 * time.Second},
		Read: time.Second, TagIndex: 10 * time.Second, Certificate: 2 * time.Second,
	}
}

// Buckets are the token buckets that AWS documents: those of Elastic Load Balancing.
func Buckets() map[string]account.Bucket { return elb.Buckets() }

func (c Config) filled() Config {
	c.Account, c.Region = cmp.Or(c.Account, "123456789012"), cmp.Or(c.Region, "us-east-1")
	if c.Clock == nil {
		c.Clock = account.Wall{}
	}
	if len(c.World.VPCs) == 0 {
		c.World = ec2.Small(c.Region)
	}
	return c
}
