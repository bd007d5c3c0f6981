package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// Check is one thing that was looked at.
type Check struct {
	Name, Detail string
	State        State
}

// State is how a check came out.
type State uint8

// The states. Unproven is what nobody can say without doing it, or without AWS.
const (
	Fine State = iota
	Doubtful
	Failed
	Unproven
)

// examination gathers checks.
type examination struct {
	*Provider
	checks []Check
}

func (e *examination) add(state State, name, detail string, args ...any) {
	e.checks = append(e.checks, Check{Name: name, State: state, Detail: fmt.Sprintf(detail, args...)})
}

// Examine says whether the account can be worked with: credentials, permissions to
// read, and for each of these provider sections of GatewayParameters its network and
// its bucket; quotas; and what stays unproven. It changes nothing.
func (p *Provider) Examine(ctx context.Context, sections []json.RawMessage) []Check {
	e := &examination{Provider: p}
	e.add(Fine, "region", "%s", p.Region())
	if !e.credentials(ctx) {
		return e.checks // nothing else can come out well
	}
	e.permissions(ctx)
	e.quotas(ctx)
	for _, raw := range sections {
		e.section(ctx, raw)
	}
	if len(sections) == 0 {
		e.add(Unproven, "network", "no settings were given: -f FILES looks at their subnets, security groups and buckets")
	}
	e.unproven(sections)
	return e.checks
}

func (e *examination) credentials(ctx context.Context) bool {
	number, caller, err := e.Account(ctx)
	if err != nil {
		e.add(Failed, "credentials", "%v; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached", err)
		return false
	}
	e.add(Fine, "credentials", "account %s as %s", number, caller)
	if base := e.calls.elb.Options().BaseEndpoint; base != nil {
		e.add(Doubtful, "endpoint", "%s answers instead of AWS; unset AWS_ENDPOINT_URL to reach AWS", *base)
	}
	return true
}

// permissions makes one harmless request of each kind that needs no name.
func (e *examination) permissions(ctx context.Context) {
	few := aws.Int32(1)
	for _, try := range []struct {
		action string
		do     func() error
	}{
		{"elasticloadbalancing:DescribeLoadBalancers", func() error {
			_, err := e.calls.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{PageSize: few})
			return err
		}},
		{"elasticloadbalancing:DescribeTargetGroups", func() error {
			_, err := e.calls.elb.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{PageSize: few})
			return err
		}},
		{"elasticloadbalancing:DescribeTrustStores", func() error {
			_, err := e.calls.elb.DescribeTrustStores(ctx, &elb.DescribeTrustStoresInput{PageSize: few})
			return err
		}},
		{"acm:ListCertificates", func() error {
			_, err := e.calls.acm.ListCertificates(ctx, &acm.ListCertificatesInput{MaxItems: few})
			return err
		}},
		{"tag:GetResources", func() error {
			_, err := e.calls.tagging.GetResources(ctx, &resourcegroupstaggingapi.GetResourcesInput{ResourcesPerPage: few})
			return err
		}},
		{"ec2:DescribeSubnets", func() error { _, err := e.calls.ec2.Subnets(ctx, ec2calls.Query{}); return err }},
		{"ec2:DescribeSecurityGroups", func() error { _, err := e.calls.ec2.Groups(ctx, ec2calls.Query{}); return err }},
		{"ec2:DescribeRouteTables", func() error { _, err := e.calls.ec2.Routes(ctx, ""); return err }},
	} {
		if err := try.do(); err != nil {
			e.add(Failed, "permission "+try.action, "%v; deploy/aws-iam-policy.json has what is needed", codeError("", noID, err))
		} else {
			e.add(Fine, "permission "+try.action, "")
		}
	}
	e.add(Unproven, "permissions to change", "AWS tells them only to who does it; deploy/aws-iam-policy.json has what is needed")
}

// crowded is the part of a quota from which on it is told, in percent.
const crowded = 80

func (e *examination) quotas(ctx context.Context) {
	if err := e.ReadLimits(ctx); err != nil {
		e.add(Failed, "permission elasticloadbalancing:DescribeAccountLimits", "%v; without it quotas are not known before they are reached, and nothing is done", err)
		return
	}
	if _, err := e.Observe(ctx, lbmodel.Owner{}, nil); err != nil {
		e.add(Doubtful, "quotas", "what is used of them cannot be counted: %v", err)
		return
	}
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	for _, name := range []string{limitApplications, limitNetworks, limitGroups, limitStores} {
		most, used := e.limits.most[name], e.limits.used[name]
		state := Fine
		if 100*used >= crowded*most {
			state = Doubtful
		}
		e.add(state, "quota "+name, "%d of %d used", used, most)
	}
}

// section looks at what one section of settings finds.
func (e *examination) section(ctx context.Context, raw json.RawMessage) {
	s, findings := readSettings(raw)
	for _, f := range append(findings, e.elsewhere(raw)...) {
		e.add(Failed, "settings", "%s", f.Detail)
	}
	if len(findings) > 0 {
		return
	}
	e.subnets(ctx, &s)
	if s.Trust != nil {
		e.bucket(ctx, s.Trust.Bucket)
	}
	for _, id := range append(s.SecurityGroups, s.TargetSecurityGroups...) {
		if _, err := e.calls.ec2.Groups(ctx, ec2calls.Query{IDs: []string{id}}); err != nil {
			e.add(Failed, "security group "+id, "%v", codeError("", noID, err))
		}
	}
}

func (e *examination) subnets(ctx context.Context, s *settings.Settings) {
	found, err := e.findSubnets(ctx, s.VPC, site{scheme: s.Scheme, subnets: s.Subnets, tags: s.SubnetTags})
	if err != nil {
		e.add(Failed, "subnets", "%v", codeError("", noID, err))
		return
	}
	zones := map[string]bool{}
	var texts []string
	for _, one := range found {
		zones[one.Zone] = true
		texts = append(texts, one.ID+" ("+one.Zone+")")
		if one.Free < fewestFree {
			e.add(Doubtful, "subnet "+one.ID, "%d addresses are free, and a load balancer wants %d", one.Free, fewestFree)
		}
	}
	if len(zones) < 2 && s.Flavour != settings.Network {
		e.add(Failed, "subnets", "%s: an Application Load Balancer needs two zones; name more in aws.subnets, or tag them", strings.Join(texts, ", "))
		return
	}
	e.add(Fine, "subnets", "%s, in %s", strings.Join(texts, ", "), found[0].VPC)
}

func (e *examination) bucket(ctx context.Context, name string) {
	out, err := e.calls.s3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &name})
	switch {
	case err != nil:
		e.add(Failed, "bucket "+name, "%v; it is for the roots that clients are verified by, see aws.trust", codeError("", noID, err))
	case out.Status != s3types.BucketVersioningStatusEnabled:
		e.add(Failed, "bucket "+name, "it is not versioned: a trust store that reads roots while they are replaced needs it; turn versioning on")
	default:
		e.add(Fine, "bucket "+name, "versioned")
	}
}

// unproven is what rests on AWS's documentation, or on the operator's word.
func (e *examination) unproven(sections []json.RawMessage) {
	e.add(Unproven, "AWS itself", "this provider was tested with AWS's SDKs against an emulator that was written by AWS's documentation, and not in an AWS account")
	seen := map[settings.Assumption]bool{}
	for _, raw := range sections {
		s, _ := readSettings(raw)
		for _, a := range s.Assume {
			if !seen[a] {
				e.add(Unproven, "assumption "+string(a), "the settings vouch for it, and AWS's documentation is silent")
			}
			seen[a] = true
		}
	}
}
