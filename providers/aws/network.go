package aws

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
)

// fewestFree is how many addresses a load balancer needs in a subnet [userguide:
// subnets of Application Load Balancers].
const fewestFree = 8

// key is what two sites have in common that lead to one virtual network.
func (s site) key() string { return encode([]any{s.scheme, s.subnets, s.tags}) }

// placeOf remembers the virtual network of a load balancer by how its subnets were
// found, so that nobody needs to ask for it.
func (o *observer) placeOf(lb *elbtypes.LoadBalancer, t tags) {
	spec := specBalancer(lb, nil, t, o.ref)
	o.memory.with(func() {
		o.memory.places[site{scheme: spec.Scheme, tags: spec.SubnetTags}.key()] = spec.VPC
		o.memory.places[site{scheme: spec.Scheme, subnets: spec.Subnets}.key()] = spec.VPC
	})
}

// vpc is the virtual network of a site, which costs a call once.
func (p *Provider) vpc(ctx context.Context, named string, at site) (string, error) {
	if named != "" {
		return named, nil
	}
	var known string
	p.memory.with(func() { known = p.memory.places[at.key()] })
	if known != "" {
		return known, nil
	}
	subnets, err := p.subnets(ctx, "", at)
	if err != nil {
		return "", err
	}
	p.memory.with(func() { p.memory.places[at.key()] = subnets[0].VPC })
	return subnets[0].VPC, nil
}

// subnetsFor is how long subnets that were found are taken for what would be found: a
// plan asks for them several times at once.
const subnetsFor = time.Minute

// foundSubnets are subnets, and when they were looked for.
type foundSubnets struct {
	subnets []ec2calls.Subnet
	at      time.Time
}

// subnets are those of a site. One look is made at a time.
func (p *Provider) subnets(ctx context.Context, vpc string, at site) ([]ec2calls.Subnet, error) {
	if err := p.memory.look(ctx); err != nil {
		return nil, err
	}
	defer p.memory.looked()
	key := vpc + at.key()
	var known foundSubnets
	p.memory.with(func() { known = p.memory.subnets[key] })
	if now := p.now(); len(known.subnets) > 0 && now.Sub(known.at) < subnetsFor {
		return known.subnets, nil
	}
	all, err := p.findSubnets(ctx, vpc, at)
	if err == nil && len(all) == 0 {
		err = lbmodel.Errorf(lbmodel.CodeInvalid, "DescribeSubnets", noID, "none of the subnets %v is there", at.subnets)
	}
	if err == nil {
		p.memory.with(func() { p.memory.subnets[key] = foundSubnets{all, p.now()} })
	}
	return all, err
}

// findSubnets are the subnets that a load balancer is to stand in: those that are
// named, those with the tags, or those whose routes fit the scheme; of these one in
// each zone.
func (p *Provider) findSubnets(ctx context.Context, vpc string, at site) ([]ec2calls.Subnet, error) {
	if len(at.subnets) > 0 {
		return p.calls.ec2.Subnets(ctx, ec2calls.Query{IDs: at.subnets})
	}
	all, err := p.calls.ec2.Subnets(ctx, ec2calls.Query{VPC: vpc, Tags: at.tags})
	if err != nil {
		return nil, err
	}
	if len(at.tags) == 0 {
		if all, err = p.byRoutes(ctx, all, at.scheme); err != nil {
			return nil, err
		}
	}
	networks := map[string]bool{}
	for _, s := range all {
		networks[s.VPC] = true
	}
	switch {
	case len(all) == 0:
		return nil, lbmodel.Errorf(lbmodel.CodeInvalid, "DescribeSubnets", noID,
			"no subnet fits: none has the tags %v, or leads to an internet gateway as the scheme %s asks; name aws.subnets", at.tags, at.scheme)
	case len(networks) > 1:
		return nil, lbmodel.Errorf(lbmodel.CodeInvalid, "DescribeSubnets", noID,
			"subnets of several virtual networks fit: %s; name aws.vpc or aws.subnets", strings.Join(slices.Sorted(maps.Keys(networks)), ", "))
	}
	return onePerZone(all), nil
}

// byRoutes are the subnets that lead to an internet gateway where the scheme asks for
// it, and else those that do not.
func (p *Provider) byRoutes(ctx context.Context, all []ec2calls.Subnet, scheme string) ([]ec2calls.Subnet, error) {
	routes := map[string]ec2calls.Routes{}
	var out []ec2calls.Subnet
	for _, s := range all {
		if _, known := routes[s.VPC]; !known {
			of, err := p.calls.ec2.Routes(ctx, s.VPC)
			if err != nil {
				return nil, err
			}
			routes[s.VPC] = of
		}
		if routes[s.VPC].Internet(s.ID) == (scheme == schemePublic) {
			out = append(out, s)
		}
	}
	return out, nil
}

// onePerZone chooses, in each zone, the first subnet by ID that has room.
func onePerZone(all []ec2calls.Subnet) []ec2calls.Subnet {
	zones := map[string]ec2calls.Subnet{}
	for _, s := range all {
		old, taken := zones[s.Zone]
		if !taken || old.Free < fewestFree && s.Free >= fewestFree {
			zones[s.Zone] = s
		}
	}
	out := slices.Collect(maps.Values(zones))
	slices.SortFunc(out, func(a, b ec2calls.Subnet) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// cidrs are the ranges of a virtual network.
type cidrs []netip.Prefix

func (c cidrs) hold(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err != nil || slices.ContainsFunc(c, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// ranges are those of a virtual network. They hardly ever change, so that they are
// read once.
func (p *Provider) ranges(ctx context.Context, vpc string) (cidrs, error) {
	if err := p.memory.look(ctx); err != nil {
		return nil, err
	}
	defer p.memory.looked()
	var known cidrs
	p.memory.with(func() { known = p.memory.ranges[vpc] })
	if known != nil {
		return known, nil
	}
	read, err := p.calls.ec2.VPC(ctx, vpc)
	if err != nil {
		return nil, err
	}
	known = cidrs{}
	for _, text := range read.CIDRs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			known = append(known, prefix)
		}
	}
	p.memory.with(func() { p.memory.ranges[vpc] = known })
	return known, nil
}
