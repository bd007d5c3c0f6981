package elb

import (
	"slices"
	"time"

	"gatehouse.dev/fake/awsapi/account"
)

// Interface is a network interface that a load balancer holds. While it is there,
// its security groups are in use.
type Interface struct {
	ID, VPC, Subnet, Zone, IP, Description string
	Groups                                 []string
	// Until is when it goes, for interfaces whose load balancer is gone.
	Until time.Time `json:",omitzero"`
}

// linger keeps the interfaces of a load balancer that is gone for a while.
func (s *state) linger(nodes []Interface, until, now time.Time) {
	for _, old := range s.Interfaces.All(nil) {
		if !old.Until.After(now) {
			s.Interfaces.Delete(old.ID)
		}
	}
	for _, n := range nodes {
		n.Until = until
		s.Interfaces.Put(n.ID, n)
	}
}

// Interfaces are the network interfaces of all load balancers, those included that
// linger on after their load balancer.
func (s *Service) Interfaces(now time.Time) []Interface {
	state := s.past.Now()
	var out []Interface
	for _, lb := range state.LoadBalancers.All(nil) {
		out = append(out, lb.Nodes...)
	}
	for _, old := range state.Interfaces.All(nil) {
		if old.Until.After(now) {
			out = append(out, *old)
		}
	}
	return out
}

// edit replaces a load balancer.
func (s *Service) edit(call *account.Call, arn string, do func(*lbRow) error) error {
	return s.change(call, func(now *state) error {
		old, err := now.lb(arn)
		if err != nil {
			return err
		}
		next := *old
		if err := do(&next); err != nil {
			return err
		}
		now.LoadBalancers.Put(arn, next)
		return nil
	})
}

func (s *Service) setSecurityGroups(call *account.Call, in *setSecurityGroups) (any, error) {
	var out securityGroupsOut
	err := s.edit(call, in.LoadBalancerArn, func(r *lbRow) error {
		switch {
		case r.Type == network && len(r.SecurityGroups) == 0 && len(in.SecurityGroups) > 0:
			return refuse("InvalidConfigurationRequest", "Security groups cannot be added to a network load balancer that was created without any")
		case len(in.SecurityGroups) == 0 && r.Type == application:
			return invalid("At least one security group must be specified")
		}
		groups, err := s.groups(r.loadBalancer, in.SecurityGroups)
		if err != nil {
			return err
		}
		r.SecurityGroups = groups
		if in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic != "" {
			r.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic = in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic
		}
		r.Nodes = slices.Clone(r.Nodes)
		for i := range r.Nodes {
			r.Nodes[i].Groups = groups
		}
		out = securityGroupsOut{r.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic, groups}
		return nil
	})
	return out, err
}

func (s *Service) setSubnets(call *account.Call, in *setSubnets) (any, error) {
	var out subnetsOut
	err := s.edit(call, in.LoadBalancerArn, func(r *lbRow) error {
		if in.IpAddressType != "" {
			r.IpAddressType = in.IpAddressType
		}
		zones, vpc, err := s.place(r.loadBalancer, in.Subnets, in.SubnetMappings)
		switch {
		case err != nil:
			return err
		case vpc != r.VpcId:
			return refuse("InvalidConfigurationRequest", "The subnets must belong to VPC '%s'", r.VpcId)
		}
		r.AvailabilityZones = zones
		r.Nodes = s.nodes(r.loadBalancer)
		out = subnetsOut{zones, r.EnablePrefixForIpv6SourceNat, r.IpAddressType}
		return nil
	})
	return out, err
}

func (s *Service) setIPAddressType(call *account.Call, in *setIPAddressType) (any, error) {
	err := s.edit(call, in.LoadBalancerArn, func(r *lbRow) error {
		if err := oneOf(in.IpAddressType, "ipAddressType", ipv4, dualstack, dualstackOnly6); err != nil {
			return err
		}
		if in.IpAddressType == dualstackOnly6 && (r.Type != application || r.Scheme != internetFacing) {
			return invalid("The IP address type '%s' is only supported for internet-facing application load balancers", in.IpAddressType)
		}
		r.IpAddressType = in.IpAddressType
		for _, z := range r.AvailabilityZones {
			subnet, _ := s.Network.FindSubnet(z.SubnetId)
			if err := s.fits(r.loadBalancer, subnet); err != nil {
				return err
			}
		}
		return nil
	})
	return ipTypeOut{in.IpAddressType}, err
}

func (s *Service) modifyIPPools(call *account.Call, in *modifyIPPools) (any, error) {
	var out ipPoolsOut
	err := s.edit(call, in.LoadBalancerArn, func(r *lbRow) error {
		if in.IpamPools != nil {
			r.IpamPools = in.IpamPools
		}
		if slices.Contains(in.RemoveIpamPools, ipv4) {
			r.IpamPools = nil
		}
		out.IpamPools = r.IpamPools
		return nil
	})
	return out, err
}

func (r *lbRow) capacity(now time.Time) capacityOut {
	out := capacityOut{MinimumLoadBalancerCapacity: r.Capacity, DecreaseRequestsRemaining: new(2), LastModifiedTime: &now}
	if r.Capacity == nil {
		return out
	}
	for _, z := range r.AvailabilityZones {
		units := float64(r.Capacity.CapacityUnits) / float64(len(r.AvailabilityZones))
		out.CapacityReservationState = append(out.CapacityReservationState,
			zonalCapacity{z.ZoneName, &units, &lbState{Code: "provisioned"}})
	}
	return out
}

func (s *Service) describeCapacityReservation(call *account.Call, in *ofLoadBalancer) (any, error) {
	row, err := s.view(call).lb(in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	return row.capacity(row.CreatedTime), nil
}

func (s *Service) modifyCapacityReservation(call *account.Call, in *modifyCapacityReservation) (any, error) {
	var out capacityOut
	err := s.edit(call, in.LoadBalancerArn, func(r *lbRow) error {
		if r.Capacity = in.MinimumLoadBalancerCapacity; deref(in.ResetCapacityReservation, false) {
			r.Capacity = nil
		}
		out = r.capacity(call.Now)
		return nil
	})
	return out, err
}
