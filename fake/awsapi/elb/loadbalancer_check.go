package elb

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/fake/awsapi/ec2"
)

var nameChars = regexp.MustCompile(`^[a-zA-Z0-9-]*$`)

// checkName keeps the rules of load balancers' and target groups' names.
func checkName(what, name string) error {
	switch {
	case name == "":
		return missing("name")
	case len(name) > 32:
		return invalid("%s name '%s' cannot be longer than '32' characters", what, name)
	case !nameChars.MatchString(name):
		return invalid("%s name '%s' can only contain characters that are alphanumeric characters or hyphens(-)", what, name)
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return invalid("%s name '%s' cannot begin or end with '-'", what, name)
	}
	return nil
}

// oneOf refuses a value outside an enumeration.
func oneOf(value, field string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return breaks(value, field, "satisfy enum value set: [%s]", strings.Join(allowed, ", "))
}

func checkLoadBalancer(in *createLoadBalancer) error {
	err := then(
		func() error { return checkName("Load balancer", in.Name) },
		func() error { return oneOf(in.Type, "type", application, network, "gateway") },
		func() error { return oneOf(in.Scheme, "scheme", internetFacing, internal) },
		func() error { return oneOf(in.IpAddressType, "ipAddressType", ipv4, dualstack, dualstackOnly6) },
	)
	switch {
	case err != nil:
		return err
	case in.Type == "gateway":
		return refuse("OperationNotPermitted", "Gateway Load Balancers are not emulated")
	case strings.HasPrefix(in.Name, "internal-"):
		return invalid("Load balancer name '%s' cannot begin with 'internal-'", in.Name)
	case len(in.Subnets) > 0 && len(in.SubnetMappings) > 0:
		return invalid("Subnets and subnet mappings cannot be specified at the same time")
	case in.IpAddressType == dualstackOnly6 && (in.Type != application || in.Scheme != internetFacing):
		return invalid("The IP address type '%s' is only supported for internet-facing application load balancers", in.IpAddressType)
	}
	return nil
}

// plan is the load balancer that a create asks for, without its names.
func (s *Service) plan(in *createLoadBalancer) (loadBalancer, error) {
	out := loadBalancer{LoadBalancerName: in.Name, Type: in.Type, Scheme: in.Scheme, IpAddressType: in.IpAddressType,
		CustomerOwnedIpv4Pool: in.CustomerOwnedIpv4Pool, IpamPools: in.IpamPools}
	if in.Type == network {
		out.EnablePrefixForIpv6SourceNat = cmp.Or(in.EnablePrefixForIpv6SourceNat, "off")
	}
	var err error
	if out.AvailabilityZones, out.VpcId, err = s.place(out, in.Subnets, in.SubnetMappings); err != nil {
		return out, err
	}
	out.SecurityGroups, err = s.groups(out, in.SecurityGroups)
	return out, err
}

// place finds the zones of a load balancer's subnets, and their VPC.
func (s *Service) place(lb loadBalancer, subnets []string, mappings []subnetMapping) ([]zone, string, error) {
	for _, id := range subnets {
		mappings = append(mappings, subnetMapping{SubnetId: id})
	}
	zones, vpc := []zone{}, ""
	seen := map[string]bool{}
	for _, m := range mappings {
		subnet, ok := s.Network.FindSubnet(m.SubnetId)
		if !ok {
			return nil, "", refuse("SubnetNotFound", "The subnet ID '%s' does not exist", m.SubnetId)
		}
		if err := s.fits(lb, subnet); err != nil {
			return nil, "", err
		}
		switch {
		case vpc != "" && vpc != subnet.VPC:
			return nil, "", refuse("InvalidConfigurationRequest", "All subnets must belong to the same VPC")
		case seen[subnet.Zone]:
			return nil, "", refuse("InvalidConfigurationRequest", "A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		}
		vpc, seen[subnet.Zone] = subnet.VPC, true
		zones = append(zones, zone{SubnetId: subnet.ID, ZoneName: subnet.Zone, LoadBalancerAddresses: addresses(m)})
	}
	if lb.Type == application && len(zones) < 2 {
		return nil, "", invalid("At least two subnets in two different Availability Zones must be specified")
	}
	if len(zones) == 0 {
		return nil, "", invalid("At least one subnet must be specified")
	}
	slices.SortFunc(zones, func(a, b zone) int { return strings.Compare(a.ZoneName, b.ZoneName) })
	return zones, vpc, nil
}

func addresses(m subnetMapping) []address {
	if m.AllocationId == "" && m.PrivateIPv4Address == "" && m.IPv6Address == "" {
		return []address{}
	}
	return []address{{AllocationId: m.AllocationId, PrivateIPv4Address: m.PrivateIPv4Address, IPv6Address: m.IPv6Address}}
}

// fits refuses a subnet that a load balancer can't stand in.
func (s *Service) fits(lb loadBalancer, subnet ec2.Subnet) error {
	vpc, _ := s.Network.FindVPC(subnet.VPC)
	switch {
	case lb.Scheme == internetFacing && !vpc.Internet:
		return refuse("InvalidSubnet", "VPC %s has no internet gateway", subnet.VPC)
	case lb.IpAddressType != ipv4 && !subnet.IPv6.IsValid():
		return invalid("You must specify subnets with an associated IPv6 CIDR block.")
	case lb.Type == application && subnet.Free < 8:
		return refuse("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least 8 free IP addresses in each subnet.", subnet.ID)
	}
	return nil
}

// groups are a load balancer's security groups: an Application Load Balancer
// without any gets the VPC's default one.
func (s *Service) groups(lb loadBalancer, ids []string) ([]string, error) {
	if len(ids) > s.limit(limitGroupsOnLB) {
		return nil, refuse("InvalidConfigurationRequest", "The maximum number of security groups per load balancer is '%d'", s.limit(limitGroupsOnLB))
	}
	for _, id := range ids {
		group, ok := s.Network.FindGroup(id)
		switch {
		case !ok:
			return nil, refuse("InvalidSecurityGroup", "The security group '%s' does not exist", id)
		case group.VPC != lb.VpcId:
			return nil, refuse("InvalidConfigurationRequest", "One or more security groups are invalid: '%s' is not in VPC '%s'", id, lb.VpcId)
		}
	}
	if len(ids) > 0 || lb.Type == network {
		return ids, nil
	}
	group, _ := s.Network.FindGroup(ec2.DefaultGroup(lb.VpcId))
	return []string{group.ID}, nil
}

// nodes are the network interfaces of a load balancer, one a zone.
func (s *Service) nodes(lb loadBalancer) []Interface {
	kind := strings.TrimPrefix(lb.LoadBalancerArn, s.Home.ARN(service, "loadbalancer/"))
	var out []Interface
	for i, z := range lb.AvailabilityZones {
		subnet, _ := s.Network.FindSubnet(z.SubnetId)
		out = append(out, Interface{ID: "eni-0" + s.IDs.Hex(16), VPC: lb.VpcId, Subnet: z.SubnetId, Zone: z.ZoneName,
			IP: pick(subnet.CIDR, len(kind)*7+i+20), Groups: lb.SecurityGroups, Description: "ELB " + kind})
	}
	return out
}

// pick is an address inside a subnet.
func pick(in netip.Prefix, n int) string {
	at := in.Addr()
	for range n {
		at = at.Next()
	}
	return at.String()
}
