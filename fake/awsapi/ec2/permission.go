package ec2

import (
	"net/netip"
	"slices"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// direction is ingress or egress of a group.
type direction struct {
	egress bool
	of     func(*Group) *[]Rule
}

func ingress() direction { return direction{false, func(g *Group) *[]Rule { return &g.Ingress }} }
func egress() direction  { return direction{true, func(g *Group) *[]Rule { return &g.Egress }} }

type authorized struct {
	Return bool      `wire:"return"`
	Rules  []ruleOut `wire:"securityGroupRuleSet"`
}

func (s *Service) authorize(way direction) func(*account.Call, *permissions) (any, error) {
	return func(call *account.Call, in *permissions) (any, error) {
		if err := dry(in.DryRun); err != nil {
			return nil, err
		}
		out := authorized{Return: true}
		return &out, s.edit(call, in, func(now *state, g *Group) error {
			given, err := s.rules(now, g, in)
			if err != nil {
				return err
			}
			rules := way.of(g)
			for _, r := range given {
				if slices.ContainsFunc(*rules, r.same) {
					return wire.Refuse("InvalidPermission.Duplicate", "the specified rule \"peer: %s, %s, from port: %d, to port: %d, ALLOW\" already exists",
						r.CIDR+r.Group+r.PrefixList, strings.ToUpper(r.Protocol), r.From, r.To)
				}
				r.ID = s.ruleID()
				*rules = append(*rules, r)
				out.Rules = append(out.Rules, s.ruleOut(g.ID, r, way))
			}
			if len(*rules) > s.Rules {
				return wire.Refuse("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
			}
			return nil
		})
	}
}

func (s *Service) revoke(way direction) func(*account.Call, *permissions) (any, error) {
	return func(call *account.Call, in *permissions) (any, error) {
		if err := dry(in.DryRun); err != nil {
			return nil, err
		}
		return returned{true}, s.edit(call, in, func(now *state, g *Group) error {
			rules := way.of(g)
			for _, id := range in.SecurityGroupRuleIDs {
				if !slices.ContainsFunc(*rules, func(r Rule) bool { return r.ID == id }) {
					return wire.Refuse("InvalidSecurityGroupRuleId.NotFound", "The security group rule ID '%s' does not exist", id)
				}
				*rules = slices.DeleteFunc(*rules, func(r Rule) bool { return r.ID == id })
			}
			if len(in.SecurityGroupRuleIDs) > 0 {
				return nil
			}
			given, err := s.rules(now, g, in)
			if err != nil {
				return err
			}
			for _, r := range given {
				if !slices.ContainsFunc(*rules, r.same) {
					return wire.Refuse("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
				}
				*rules = slices.DeleteFunc(*rules, r.same)
			}
			return nil
		})
	}
}

// same tells whether two rules allow the same: descriptions don't matter.
func (r Rule) same(other Rule) bool {
	r.ID, r.Description, other.ID, other.Description = "", "", "", ""
	return r == other
}

// edit changes a copy of the group that a call names.
func (s *Service) edit(call *account.Call, in *permissions, do func(*state, *Group) error) error {
	return s.change(call, func(now *state) error {
		old, err := now.groupBy(in.GroupID, in.GroupName)
		if err != nil {
			return err
		}
		next := *old
		next.Ingress, next.Egress = slices.Clone(old.Ingress), slices.Clone(old.Egress)
		if err := do(now, &next); err != nil {
			return err
		}
		now.Groups.Put(next.ID, next)
		return nil
	})
}

// rules are the rules that a call gives, in either of its forms.
func (s *Service) rules(now *state, g *Group, in *permissions) ([]Rule, error) {
	given := in.IPPermissions
	if in.IPProtocol != "" {
		given = append(slices.Clone(given), permission{FromPort: in.FromPort, ToPort: in.ToPort, IPProtocol: in.IPProtocol, IPRanges: []ipRange{{CidrIP: in.CidrIP}}})
	}
	var out []Rule
	for _, p := range given {
		base, err := portsOf(p)
		if err != nil {
			return nil, err
		}
		ends, err := s.ends(now, g, p, base)
		if err != nil {
			return nil, err
		}
		out = append(out, ends...)
	}
	if len(out) == 0 {
		return nil, wire.Refuse("MissingParameter", "Either 'ipPermissions' or 'securityGroupRuleIds' should be provided.")
	}
	return out, nil
}

// portsOf is a rule's protocol and ports.
func portsOf(p permission) (Rule, error) {
	numbers := map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": "-1"}
	out := Rule{Protocol: strings.ToLower(p.IPProtocol), From: -1, To: -1}
	if name, ok := numbers[out.Protocol]; ok {
		out.Protocol = name
	}
	if p.FromPort != nil {
		out.From = *p.FromPort
	}
	if p.ToPort != nil {
		out.To = *p.ToPort
	}
	switch out.Protocol {
	case "-1":
		out.From, out.To = -1, -1
	case "tcp", "udp":
		if out.From < 0 || out.To > 65535 || out.From > out.To {
			return out, wire.Refuse("InvalidParameterValue", "Invalid value '%d-%d' for portRange. Must specify both from and to ports with TCP/UDP.", out.From, out.To)
		}
	case "":
		return out, wire.Refuse("MissingParameter", "The request must contain the parameter ipProtocol")
	}
	return out, nil
}

// ends are the rules of one permission, one for each other end.
func (s *Service) ends(now *state, g *Group, p permission, base Rule) ([]Rule, error) {
	var out []Rule
	add := func(end Rule, words string) {
		end.Protocol, end.From, end.To, end.Description = base.Protocol, base.From, base.To, words
		out = append(out, end)
	}
	for _, r := range p.IPRanges {
		add(Rule{CIDR: r.CidrIP}, r.Description)
	}
	for _, r := range p.IPv6Ranges {
		add(Rule{CIDR: r.CidrIpv6}, r.Description)
	}
	for _, r := range out {
		prefix, err := netip.ParsePrefix(r.CIDR)
		if err != nil || prefix.Masked() != prefix {
			return nil, wire.Refuse("InvalidParameterValue", "CIDR block %s is malformed", r.CIDR)
		}
	}
	for _, r := range p.PrefixListIDs {
		add(Rule{PrefixList: r.PrefixListID}, r.Description)
	}
	for _, r := range p.Groups {
		other, err := now.groupBy(r.GroupID, r.GroupName)
		switch {
		case err != nil:
			return nil, err
		case other.VPC != g.VPC:
			return nil, wire.Refuse("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
		}
		add(Rule{Group: other.ID}, r.Description)
	}
	return out, nil
}

func (s *Service) ruleOut(group string, r Rule, way direction) ruleOut {
	out := ruleOut{ID: r.ID, Group: group, Owner: s.Home.Account, Egress: new(way.egress), Protocol: r.Protocol, From: new(r.From), To: new(r.To),
		List: r.PrefixList, Description: r.Description}
	switch {
	case strings.Contains(r.CIDR, ":"):
		out.IPv6 = r.CIDR
	default:
		out.CIDR = r.CIDR
	}
	if r.Group != "" {
		out.Referenced = &groupRef{ID: r.Group}
	}
	return out
}

// Actions are everything that can be asked for.
func (s *Service) Actions() map[string]account.Action {
	return account.Table(
		account.Write("AuthorizeSecurityGroupEgress", BucketMutate, s.authorize(egress())),
		account.Write("AuthorizeSecurityGroupIngress", BucketMutate, s.authorize(ingress())),
		account.Write("CreateSecurityGroup", BucketMutate, s.createSecurityGroup),
		account.Write("CreateTags", BucketMutate, s.createTags),
		account.Write("DeleteSecurityGroup", BucketMutate, s.deleteSecurityGroup),
		account.Write("DeleteTags", BucketMutate, s.deleteTags),
		account.Read("DescribeAvailabilityZones", BucketDescribe, s.describeAvailabilityZones),
		account.Read("DescribeInstances", BucketDescribe, s.describeInstances),
		account.Read("DescribeInternetGateways", BucketDescribe, s.describeInternetGateways),
		account.Read("DescribeNetworkInterfaces", BucketDescribe, s.describeNetworkInterfaces),
		account.Read("DescribeRouteTables", BucketDescribe, s.describeRouteTables),
		account.Read("DescribeSecurityGroups", BucketDescribe, s.describeSecurityGroups),
		account.Read("DescribeSubnets", BucketDescribe, s.describeSubnets),
		account.Read("DescribeVpcs", BucketDescribe, s.describeVPCs),
		account.Write("RevokeSecurityGroupEgress", BucketMutate, s.revoke(egress())),
		account.Write("RevokeSecurityGroupIngress", BucketMutate, s.revoke(ingress())),
	)
}

// The token buckets of EC2. They have no size unless somebody gives them one.
const (
	BucketDescribe = "ec2-describe"
	BucketMutate   = "ec2-mutating"
)
