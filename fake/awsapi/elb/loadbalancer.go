package elb

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/account"
)

// The types and schemes of load balancers.
const (
	application    = "application"
	network        = "network"
	internetFacing = "internet-facing"
	internal       = "internal"
	ipv4           = "ipv4"
	dualstack      = "dualstack"
	dualstackOnly6 = "dualstack-without-public-ipv4"
)

const service = "elasticloadbalancing"

func lbNotFound(arn string) error {
	return refuse("LoadBalancerNotFound", "Load balancer '%s' not found", arn)
}

// lb finds a load balancer to change or to read.
func (s *state) lb(arn string) (*lbRow, error) {
	if arn == "" {
		return nil, missing("loadBalancerArn")
	}
	if row := s.LoadBalancers.Get(arn); row != nil {
		return row, nil
	}
	if !strings.Contains(arn, ":loadbalancer/") {
		return nil, invalid("'%s' is not a valid load balancer ARN", arn)
	}
	return nil, lbNotFound(arn)
}

func (s *Service) createLoadBalancer(call *account.Call, in *createLoadBalancer) (any, error) {
	in.Type, in.Scheme = cmp.Or(in.Type, application), cmp.Or(in.Scheme, internetFacing)
	in.IpAddressType = cmp.Or(in.IpAddressType, ipv4)
	tags, err := s.newTags(in.Tags)
	if err != nil {
		return nil, err
	}
	if err := checkLoadBalancer(in); err != nil {
		return nil, err
	}
	var out loadBalancer
	err = s.change(call, func(now *state) error {
		next, err := s.plan(in)
		if err != nil {
			return err
		}
		same := now.LoadBalancers.All(func(r *lbRow) bool { return r.LoadBalancerName == in.Name })
		if len(same) > 0 {
			if !sameLoadBalancer(same[0].loadBalancer, next) || s.otherTags(same[0].Tags, tags) {
				return refuse("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", in.Name)
			}
			out = same[0].shape(call.Now)
			return nil
		}
		name := map[string]string{application: limitALBs, network: limitNLBs}[in.Type]
		have := len(now.LoadBalancers.All(func(r *lbRow) bool { return r.Type == in.Type }))
		if err := s.full(name, have, "TooManyLoadBalancers", "The maximum number of load balancers has been reached"); err != nil {
			return err
		}
		row := s.found(call, next)
		row.Tags = tags
		out = now.LoadBalancers.Put(row.LoadBalancerArn, row).shape(call.Now)
		return nil
	})
	return loadBalancersOut{LoadBalancers: []loadBalancer{out}}, err
}

// sameLoadBalancer tells whether a create means what is there already.
func sameLoadBalancer(old, next loadBalancer) bool {
	places := func(lb loadBalancer) []string {
		var out []string
		for _, z := range lb.AvailabilityZones {
			out = append(out, z.SubnetId)
		}
		slices.Sort(out)
		return out
	}
	return old.Type == next.Type && old.Scheme == next.Scheme && old.IpAddressType == next.IpAddressType &&
		slices.Equal(places(old), places(next)) &&
		slices.Equal(slices.Sorted(slices.Values(old.SecurityGroups)), slices.Sorted(slices.Values(next.SecurityGroups)))
}

// found makes a load balancer that is new: its names, its state, its interfaces.
func (s *Service) found(call *account.Call, lb loadBalancer) lbRow {
	kind := map[string]string{application: "app", network: "net"}[lb.Type]
	id := s.IDs.Hex(16)
	lb.LoadBalancerArn = s.Home.ARN(service, "loadbalancer/"+kind+"/"+lb.LoadBalancerName+"/"+id)
	lb.CreatedTime = call.Now
	prefix := ""
	if lb.Scheme == internal {
		prefix = "internal-"
	}
	if lb.Type == application {
		lb.DNSName = prefix + lb.LoadBalancerName + "-" + s.IDs.Number() + "." + s.Home.Region + ".elb.amazonaws.com"
		lb.CanonicalHostedZoneId = "Z35SXDOTRQ7X7K"
	} else {
		lb.DNSName = lb.LoadBalancerName + "-" + id + ".elb." + s.Home.Region + ".amazonaws.com"
		lb.CanonicalHostedZoneId = "Z26RNL4JYFTOTI"
	}
	attributes := maps.Clone(lbDefaults(lb.Type))
	if lb.Scheme == internal {
		attributes["ipv6.deny_all_igw_traffic"] = "true"
	}
	row := lbRow{loadBalancer: lb, Attributes: attributes, Ready: call.Now.Add(s.Times.Provisioning)}
	row.Nodes = s.nodes(row.loadBalancer)
	return row
}

// shape is the load balancer as it is described at that time.
func (r *lbRow) shape(now time.Time) loadBalancer {
	out := r.loadBalancer
	out.State = &lbState{Code: "active"}
	if now.Before(r.Ready) {
		out.State.Code = "provisioning"
	}
	return out
}

func (s *Service) describeLoadBalancers(call *account.Call, in *describeLoadBalancers) (any, error) {
	if len(in.LoadBalancerArns) > 0 && len(in.Names) > 0 {
		return nil, invalid("Load balancer names and load balancer ARNs cannot be specified at the same time")
	}
	if len(in.LoadBalancerArns) > 20 {
		return nil, breaks(in.LoadBalancerArns, "loadBalancerArns", "have length less than or equal to 20")
	}
	now := s.view(call)
	for _, arn := range in.LoadBalancerArns {
		if _, err := now.lb(arn); err != nil {
			return nil, err
		}
	}
	found := now.LoadBalancers.All(func(r *lbRow) bool {
		return wanted(in.LoadBalancerArns, r.LoadBalancerArn) && wanted(in.Names, r.LoadBalancerName)
	})
	if len(found) < len(in.Names) {
		return nil, refuse("LoadBalancerNotFound", "Load balancers '[%s]' not found", strings.Join(in.Names, ", "))
	}
	out, next, err := page(found, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	shapes := make([]loadBalancer, len(out))
	for i, r := range out {
		shapes[i] = r.shape(call.Now)
	}
	return loadBalancersOut{shapes, next}, nil
}

// wanted tells whether a filter lets a value through; no filter lets all.
func wanted(filter []string, value string) bool {
	return len(filter) == 0 || slices.Contains(filter, value)
}

func (s *Service) deleteLoadBalancer(call *account.Call, in *ofLoadBalancer) (any, error) {
	if in.LoadBalancerArn == "" {
		return nil, missing("loadBalancerArn")
	}
	return nothing{}, s.change(call, func(now *state) error {
		row := now.LoadBalancers.Get(in.LoadBalancerArn)
		if row == nil {
			return nil // as documented: deleting what is gone succeeds
		}
		if row.Attributes["deletion_protection.enabled"] == "true" {
			return refuse("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", in.LoadBalancerArn)
		}
		for _, g := range now.TargetGroups.All(func(g *groupRow) bool { return g.TargetType == "alb" }) {
			for _, t := range g.Targets {
				if t.Id == in.LoadBalancerArn && t.Draining.IsZero() {
					return refuse("ResourceInUse", "Load balancer '%s' is currently registered with target group '%s'", in.LoadBalancerArn, g.TargetGroupArn)
				}
			}
		}
		for _, l := range now.listenersOf(in.LoadBalancerArn) {
			now.dropListener(l)
		}
		now.LoadBalancers.Delete(in.LoadBalancerArn)
		now.linger(row.Nodes, call.Now.Add(s.Times.Linger), call.Now)
		now.relink(call.Now)
		return nil
	})
}
