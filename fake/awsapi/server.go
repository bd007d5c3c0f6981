package awsapi

import (
	"strings"
	"sync"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/acm"
	"gatehouse.dev/fake/awsapi/ec2"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/fake/awsapi/s3"
	"gatehouse.dev/fake/awsapi/sts"
	"gatehouse.dev/fake/awsapi/tagging"
	"gatehouse.dev/fake/awsapi/wire"
	"gatehouse.dev/fake/calls"
)

// The services, as signatures name them.
const (
	ELB     = "elasticloadbalancing"
	ACM     = "acm"
	EC2     = "ec2"
	S3      = "s3"
	STS     = "sts"
	Tagging = "tagging"
)

// endpoint is one service.
type endpoint struct {
	name     string
	protocol wire.Protocol
	actions  map[string]account.Action
	throttle wire.Error // how it says that there were too many calls
}

// Server is an AWS account in one region. It is an http.Handler, and safe for
// concurrent use: calls take effect one after the other.
type Server struct {
	Config
	home      account.Home
	endpoints map[string]endpoint

	mu     sync.Mutex // guards everything below, and the services
	ids    account.IDs
	meter  *account.Meter
	faults calls.Faults[Call, Fault]
	log    calls.Log[Call]
	elb    *elb.Service
	acm    *acm.Service
	ec2    *ec2.Service
	s3     *s3.Service
	sts    *sts.Service

	feeding sync.Mutex // one Serve at a time, each with the newest state
}

// New makes an empty account.
func New(config Config) *Server {
	config = config.filled()
	s := &Server{Config: config, home: account.Home{Account: config.Account, Region: config.Region}, meter: account.NewMeter(config.Buckets)}
	keep := config.Times.Read + config.Times.TagIndex // the oldest state that a read may ask for
	s.sts = sts.New(sts.Config{Home: s.home, IDs: &s.ids})
	s.s3 = s3.New(s3.Config{Home: s.home, IDs: &s.ids, Keep: keep})
	s.acm = acm.New(acm.Config{Home: s.home, IDs: &s.ids, Keep: keep, Unseen: config.Times.Certificate,
		Certificates: config.Limits["certificates"], Imports: config.Limits["certificate-imports-per-year"],
		InUse: func(arn string) []string { return s.elb.UsesCertificate(arn) }})
	s.ec2 = ec2.New(ec2.Config{Home: s.home, IDs: &s.ids, Keep: keep, World: config.World, Interfaces: s.interfaces,
		Rules: config.Limits["rules-per-security-group"]})
	s.elb = elb.New(elb.Config{Home: s.home, Clock: config.Clock, IDs: &s.ids, Network: s.ec2, Object: s.s3.Read, Observed: config.Observed,
		Certificate: s.certificate, Limits: elbLimits(config.Limits), Times: config.Times.Times, Undocumented: config.Undocumented, Keep: keep})
	s.endpoints = s.services()
	return s
}

func (s *Server) services() map[string]endpoint {
	index := tagging.New(tagging.Config{Tagged: s.tagged, Behind: s.Times.TagIndex})
	slow := wire.Error{Status: 400, Code: "ThrottlingException", Message: "Rate exceeded"}
	return map[string]endpoint{
		ELB:     {ELB, elb.Protocol(), s.elb.Actions(), slow},
		ACM:     {ACM, acm.Protocol(), s.acm.Actions(), slow},
		EC2:     {EC2, ec2.Protocol(), s.ec2.Actions(), wire.Error{Status: 503, Code: "RequestLimitExceeded", Message: "Request limit exceeded."}},
		S3:      {S3, s3.Protocol(), s.s3.Actions(), wire.Error{Status: 503, Code: "SlowDown", Message: "Please reduce your request rate."}},
		STS:     {STS, sts.Protocol(), s.sts.Actions(), wire.Error{Status: 400, Code: "Throttling", Message: "Rate exceeded"}},
		Tagging: {Tagging, tagging.Protocol(), index.Actions(), wire.Error{Status: 400, Code: "ThrottledException", Message: "Rate exceeded"}},
	}
}

// elbLimits are the limits that load balancers know.
func elbLimits(all map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range all {
		switch name {
		case "rules-per-security-group", "certificates", "certificate-imports-per-year":
		default:
			out[name] = n
		}
	}
	return out
}

// certificate tells whether load balancers know a certificate. IAM's are believed:
// there is no IAM here.
func (s *Server) certificate(arn string) bool {
	return strings.HasPrefix(arn, "arn:aws:iam::"+s.home.Account+":server-certificate/") || s.acm.Has(arn, s.Clock.Now())
}

// interfaces are the load balancers' network interfaces, as EC2 knows them.
func (s *Server) interfaces(now time.Time) []ec2.Interface {
	var out []ec2.Interface
	for _, i := range s.elb.Interfaces(now) {
		out = append(out, ec2.Interface{ID: i.ID, VPC: i.VPC, Subnet: i.Subnet, Zone: i.Zone, IP: i.IP, Description: i.Description, Groups: i.Groups})
	}
	return out
}

// tagged are the tags of the whole account.
func (s *Server) tagged(call *account.Call) map[string]map[string]string {
	out := s.elb.Tagged(call)
	for arn, tags := range s.acm.Tagged(call) {
		out[arn] = tags
	}
	for _, g := range s.ec2.AllGroups() {
		out[s.home.ARN("ec2", "security-group/"+g.ID)] = g.Tags
	}
	return out
}

// Force gives a registered target a health, whatever the checks say; state "" lets
// the checks speak again. A port of 0 is the group's.
func (s *Server) Force(group, target string, port int, state, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elb.Force(&account.Call{Home: s.home, Now: s.Clock.Now()}, group, target, port, state, reason)
}

// Tokens is how many tokens a bucket holds.
func (s *Server) Tokens(bucket string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.Tokens(s.Clock.Now(), bucket)
}

// Refill fills all buckets, as after a time without calls.
func (s *Server) Refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter = account.NewMeter(s.Buckets)
}

// Drain empties a bucket, as other users of the account would.
func (s *Server) Drain(bucket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter.Drain(s.Clock.Now(), bucket)
}
