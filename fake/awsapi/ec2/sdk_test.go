package ec2_test

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/elb"
)

const vpc = "vpc-0a1b2c3d4e5f60718"

type world struct {
	*testing.T
	*awsapi.Server
	clock *account.Manual
	ec2   *ec2.Client
	elb   *elasticloadbalancingv2.Client
}

func newWorld(t *testing.T, config awsapi.Config) *world {
	t.Helper()
	w := &world{T: t, clock: account.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))}
	config.Clock = w.clock
	w.Server = awsapi.New(config)
	server := httptest.NewServer(w.Server)
	t.Cleanup(server.Close)
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	w.ec2, w.elb = ec2.NewFromConfig(cfg), elasticloadbalancingv2.NewFromConfig(cfg)
	return w
}

func codeOf(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (w *world) group(name string) string {
	w.Helper()
	out, err := w.ec2.CreateSecurityGroup(w.Context(), &ec2.CreateSecurityGroupInput{GroupName: &name, Description: aws.String("d"), VpcId: aws.String(vpc),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String(name)}}}}})
	if err != nil {
		w.Fatal(err)
	}
	return *out.GroupId
}

func (w *world) remove(group string) string {
	_, err := w.ec2.DeleteSecurityGroup(w.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &group})
	return codeOf(err)
}

// A security group goes only when no interface, also of a load balancer that is gone,
// and no other group's rule holds it.
func TestDependencies(t *testing.T) {
	w := newWorld(t, awsapi.Config{Times: awsapi.Times{Times: elb.Times{Linger: time.Minute}}})
	front, back := w.group("front"), w.group("back")
	allow := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &back, IpPermissions: []types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(1), ToPort: aws.Int32(65535),
		UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &front, Description: aws.String("from the front")}}}}}
	if _, err := w.ec2.AuthorizeSecurityGroupIngress(t.Context(), allow); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ec2.AuthorizeSecurityGroupIngress(t.Context(), allow); codeOf(err) != "InvalidPermission.Duplicate" {
		t.Errorf("the same rule twice: %v", err)
	}
	lb, err := w.elb.CreateLoadBalancer(t.Context(), &elasticloadbalancingv2.CreateLoadBalancerInput{Name: aws.String("shop"), SecurityGroups: []string{front},
		Subnets: []string{"subnet-00000000000000001", "subnet-00000000000000002"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.remove(front); got != "DependencyViolation" {
		t.Errorf("a group that a load balancer has: %q", got)
	}
	cards, err := w.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{{Name: aws.String("group-id"), Values: []string{front}}, {Name: aws.String("description"), Values: []string{"ELB app/shop/*"}}}})
	if err != nil || len(cards.NetworkInterfaces) != 2 || *cards.NetworkInterfaces[0].RequesterId != "amazon-elb" {
		t.Errorf("its interfaces are %+v: %v", cards, err)
	}
	if _, err := w.elb.DeleteLoadBalancer(t.Context(), &elasticloadbalancingv2.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(59 * time.Second)
	if got := w.remove(front); got != "DependencyViolation" {
		t.Errorf("the interfaces linger: %q", got)
	}
	w.clock.Advance(time.Second)
	if got := w.remove(front); got != "DependencyViolation" {
		t.Errorf("another group's rule names it: %q", got)
	}
	if _, err := w.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &back, IpPermissions: allow.IpPermissions}); err != nil {
		t.Fatal(err)
	}
	if w.remove(front) != "" || w.remove(back) != "" || w.Dump() != awsapi.Empty() {
		t.Errorf("left is %s", w.Dump())
	}
	if got := w.remove(front); got != "InvalidGroup.NotFound" {
		t.Errorf("what is gone: %q", got)
	}
}

// Rules are described together where only their other end differs, and are counted
// one by one.
func TestRules(t *testing.T) {
	w := newWorld(t, awsapi.Config{Limits: map[string]int{"rules-per-security-group": 3}})
	group := w.group("front")
	ranges := func(cidrs ...string) *ec2.AuthorizeSecurityGroupIngressInput {
		one := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443)}
		for _, c := range cidrs {
			one.IpRanges = append(one.IpRanges, types.IpRange{CidrIp: &c})
		}
		return &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{one}}
	}
	out, err := w.ec2.AuthorizeSecurityGroupIngress(t.Context(), ranges("10.0.0.0/8", "192.168.0.0/16"))
	if err != nil || len(out.SecurityGroupRules) != 2 {
		t.Fatalf("%+v: %v", out, err)
	}
	if _, err := w.ec2.AuthorizeSecurityGroupIngress(t.Context(), ranges("172.16.0.0/12", "100.64.0.0/10")); codeOf(err) != "RulesPerSecurityGroupLimitExceeded" {
		t.Errorf("four rules: %v", err)
	}
	if _, err := w.ec2.AuthorizeSecurityGroupIngress(t.Context(), ranges("10.0.0.1/8")); codeOf(err) != "InvalidParameterValue" {
		t.Errorf("a CIDR with host bits: %v", err)
	}
	described, err := w.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{{Name: aws.String("tag:owner"), Values: []string{"fro*"}}}})
	if err != nil || len(described.SecurityGroups) != 1 {
		t.Fatalf("%+v: %v", described, err)
	}
	g := described.SecurityGroups[0]
	if len(g.IpPermissions) != 1 || len(g.IpPermissions[0].IpRanges) != 2 || len(g.IpPermissionsEgress) != 1 || *g.Tags[0].Value != "front" {
		t.Errorf("described as %+v", g)
	}
	if _, err := w.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, SecurityGroupRuleIds: []string{*out.SecurityGroupRules[0].SecurityGroupRuleId}}); err != nil {
		t.Error(err)
	}
	if _, err := w.ec2.AuthorizeSecurityGroupIngress(t.Context(), ranges("172.16.0.0/12", "100.64.0.0/10")); err != nil {
		t.Errorf("three rules: %v", err)
	}
}

// The network is found as a controller looks for it.
func TestNetwork(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	subnets, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: aws.String("tag:kubernetes.io/role/elb"), Values: []string{"", "1"}}, {Name: aws.String("vpc-id"), Values: []string{vpc}}}})
	if err != nil || len(subnets.Subnets) != 3 || *subnets.Subnets[0].AvailableIpAddressCount != 4091 {
		t.Errorf("public subnets are %+v: %v", subnets, err)
	}
	tables, err := w.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{{Name: aws.String("association.subnet-id"), Values: []string{*subnets.Subnets[0].SubnetId}}}})
	if err != nil || len(tables.RouteTables) != 1 || *tables.RouteTables[0].Routes[1].GatewayId == "local" {
		t.Errorf("their route table is %+v: %v", tables, err)
	}
	vpcs, err := w.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{vpc}})
	if err != nil || *vpcs.Vpcs[0].CidrBlock != "10.0.0.0/16" || len(vpcs.Vpcs[0].Ipv6CidrBlockAssociationSet) != 1 {
		t.Errorf("the VPC is %+v: %v", vpcs, err)
	}
	zones, err := w.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
	if err != nil || len(zones.AvailabilityZones) != 3 || *zones.AvailabilityZones[2].ZoneName != "us-east-1c" {
		t.Errorf("zones are %+v: %v", zones, err)
	}
	machines, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-00000000000000001"}})
	if err != nil || machines.Reservations[0].Instances[0].State.Name != types.InstanceStateNameRunning || len(machines.Reservations[0].Instances[0].NetworkInterfaces) != 1 {
		t.Errorf("instances are %+v: %v", machines, err)
	}
	for _, c := range []struct {
		name, want, why string
		in              *ec2.DescribeSubnetsInput
	}{
		{"id", "InvalidSubnetID.NotFound", "it is not there", &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-1"}}},
		{"filter", "InvalidParameterValue", "EC2 has no such filter", &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: aws.String("colour"), Values: []string{"red"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := w.ec2.DescribeSubnets(t.Context(), c.in); codeOf(err) != c.want {
				t.Errorf("got %v, want %s: %s", err, c.want, c.why)
			}
		})
	}
	tag := []types.Tag{{Key: aws.String("used"), Value: aws.String("yes")}}
	if _, err := w.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*subnets.Subnets[0].SubnetId}, Tags: tag}); err != nil {
		t.Error(err)
	}
	again, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{"used"}}}})
	if err != nil || len(again.Subnets) != 1 || len(again.Subnets[0].Tags) != 2 {
		t.Errorf("tagged are %+v: %v", again, err)
	}
}
