package ec2calls

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Subnet is a part of a virtual network, in one zone.
type Subnet struct {
	ID, VPC, Zone string
	Free          int  // IPv4 addresses that nobody has
	IPv6          bool // it has a range
	Tags          map[string]string
}

// Query chooses subnets or security groups. Empty fields choose nothing away.
type Query struct {
	IDs  []string // one that is not there is an error
	VPC  string
	Name string            // of security groups
	Tags map[string]string // all of them; an empty value is any value
	// LetsIn chooses security groups with a rule for another one's members, by its ID.
	LetsIn string
}

func (q Query) filters() []types.Filter {
	var out filters
	out.add("vpc-id", q.VPC)
	out.add("group-name", q.Name)
	out.add("ip-permission.group-id", q.LetsIn)
	out.addTags(q.Tags)
	return out
}

// Subnets are those that the query chooses, by ID [API_DescribeSubnets].
func (c *Client) Subnets(ctx context.Context, q Query) ([]Subnet, error) {
	var out []Subnet
	pages := ec2.NewDescribeSubnetsPaginator(c.api, &ec2.DescribeSubnetsInput{SubnetIds: q.IDs, Filters: q.filters()})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Subnets {
			out = append(out, Subnet{ID: aws.ToString(s.SubnetId), VPC: aws.ToString(s.VpcId), Zone: aws.ToString(s.AvailabilityZone),
				Free: int(aws.ToInt32(s.AvailableIpAddressCount)), IPv6: len(s.Ipv6CidrBlockAssociationSet) > 0, Tags: readTags(s.Tags)})
		}
	}
	slices.SortFunc(out, func(a, b Subnet) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Routes say which subnets of a virtual network lead to the Internet.
type Routes struct {
	explicit map[string]bool // by subnet
	main     bool
}

// Internet says whether a subnet has a route to an internet gateway: by its own route
// table, or by the network's main one when it has none.
func (r Routes) Internet(subnet string) bool {
	if leads, own := r.explicit[subnet]; own {
		return leads
	}
	return r.main
}

// Routes reads the route tables of a virtual network [API_DescribeRouteTables].
func (c *Client) Routes(ctx context.Context, vpc string) (Routes, error) {
	out := Routes{explicit: map[string]bool{}}
	pages := ec2.NewDescribeRouteTablesPaginator(c.api, &ec2.DescribeRouteTablesInput{Filters: Query{VPC: vpc}.filters()})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Routes{}, err
		}
		for _, table := range page.RouteTables {
			out.add(table)
		}
	}
	return out, nil
}

func (r *Routes) add(table types.RouteTable) {
	leads := slices.ContainsFunc(table.Routes, func(route types.Route) bool {
		return strings.HasPrefix(aws.ToString(route.GatewayId), "igw-")
	})
	for _, a := range table.Associations {
		if aws.ToBool(a.Main) {
			r.main = leads
		}
		if id := aws.ToString(a.SubnetId); id != "" {
			r.explicit[id] = leads
		}
	}
}

// VPC is a virtual network.
type VPC struct {
	ID    string
	CIDRs []string // IPv4 and IPv6
}

// VPC reads one virtual network [API_DescribeVpcs].
func (c *Client) VPC(ctx context.Context, id string) (VPC, error) {
	out, err := c.api.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	if err != nil {
		return VPC{}, err
	}
	vpc := VPC{ID: id}
	for _, v := range out.Vpcs {
		for _, a := range v.CidrBlockAssociationSet {
			vpc.CIDRs = append(vpc.CIDRs, aws.ToString(a.CidrBlock))
		}
		for _, a := range v.Ipv6CidrBlockAssociationSet {
			vpc.CIDRs = append(vpc.CIDRs, aws.ToString(a.Ipv6CidrBlock))
		}
	}
	return vpc, nil
}
