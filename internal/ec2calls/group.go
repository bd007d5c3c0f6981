package ec2calls

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Group is a security group.
type Group struct {
	ID, Name, Description, VPC string
	Tags                       map[string]string
	Ingress                    []Permission
}

// Permission lets one peer in. Exactly one of CIDR, Group and PrefixList is set.
type Permission struct {
	Protocol    string // tcp, udp, …; -1 is all
	From, To    int32  // ports
	CIDR        string // IPv4 or IPv6
	Group       string // a security group's ID
	PrefixList  string
	Description string
}

// Groups are the security groups that the query chooses [API_DescribeSecurityGroups].
func (c *Client) Groups(ctx context.Context, q Query) ([]Group, error) {
	var out []Group
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.api, &ec2.DescribeSecurityGroupsInput{GroupIds: q.IDs, Filters: q.filters()})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.SecurityGroups {
			out = append(out, Group{ID: aws.ToString(g.GroupId), Name: aws.ToString(g.GroupName), Description: aws.ToString(g.Description),
				VPC: aws.ToString(g.VpcId), Tags: readTags(g.Tags), Ingress: readPermissions(g.IpPermissions)})
		}
	}
	return out, nil
}

// CreateGroup makes a security group with these tags, which lets everything out and
// nobody in, and returns its ID [API_CreateSecurityGroup]. It is not idempotent: a
// name that is taken in the virtual network is InvalidGroup.Duplicate.
func (c *Client) CreateGroup(ctx context.Context, g Group) (string, error) {
	in := &ec2.CreateSecurityGroupInput{GroupName: &g.Name, Description: &g.Description, VpcId: &g.VPC}
	if len(g.Tags) > 0 {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: writeTags(g.Tags)}}
	}
	out, err := c.api.CreateSecurityGroup(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.GroupId), nil
}

// DeleteGroup deletes a security group [API_DeleteSecurityGroup]. While anything uses
// it, that is DependencyViolation.
func (c *Client) DeleteGroup(ctx context.Context, id string) error {
	_, err := c.api.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
	return err
}

// Authorize lets peers into a security group, all or none
// [API_AuthorizeSecurityGroupIngress]. One that is in already is
// InvalidPermission.Duplicate, whatever its description.
func (c *Client) Authorize(ctx context.Context, id string, permissions []Permission) error {
	_, err := c.api.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id, IpPermissions: writePermissions(permissions)})
	return err
}

// Revoke takes permissions away again [API_RevokeSecurityGroupIngress]. One that is
// not there is InvalidPermission.NotFound.
func (c *Client) Revoke(ctx context.Context, id string, permissions []Permission) error {
	_, err := c.api.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: writePermissions(permissions)})
	return err
}

// Tag sets tags of a resource and leaves its others alone [API_CreateTags].
func (c *Client) Tag(ctx context.Context, id string, tags map[string]string) error {
	_, err := c.api.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: writeTags(tags)})
	return err
}

// Untag takes tags away, whatever their values [API_DeleteTags]. No keys is no
// request: to EC2 it would mean all tags.
func (c *Client) Untag(ctx context.Context, id string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	in := &ec2.DeleteTagsInput{Resources: []string{id}}
	for _, key := range keys {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key)})
	}
	_, err := c.api.DeleteTags(ctx, in)
	return err
}

// readPermissions makes one permission of every peer.
func readPermissions(from []types.IpPermission) []Permission {
	var out []Permission
	for _, p := range from {
		base := Permission{Protocol: aws.ToString(p.IpProtocol), From: aws.ToInt32(p.FromPort), To: aws.ToInt32(p.ToPort)}
		add := func(cidr, group, list, description *string) {
			one := base
			one.CIDR, one.Group, one.PrefixList = aws.ToString(cidr), aws.ToString(group), aws.ToString(list)
			one.Description = aws.ToString(description)
			out = append(out, one)
		}
		for _, r := range p.IpRanges {
			add(r.CidrIp, nil, nil, r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			add(r.CidrIpv6, nil, nil, r.Description)
		}
		for _, r := range p.UserIdGroupPairs {
			add(nil, r.GroupId, nil, r.Description)
		}
		for _, r := range p.PrefixListIds {
			add(nil, nil, r.PrefixListId, r.Description)
		}
	}
	return out
}

// writePermissions is one entry for each peer: EC2 takes what it merges on reading.
func writePermissions(from []Permission) []types.IpPermission {
	out := make([]types.IpPermission, 0, len(from))
	for _, p := range from {
		one := types.IpPermission{IpProtocol: aws.String(p.Protocol), FromPort: aws.Int32(p.From), ToPort: aws.Int32(p.To)}
		var description *string
		if p.Description != "" {
			description = aws.String(p.Description)
		}
		switch {
		case p.Group != "":
			one.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: aws.String(p.Group), Description: description}}
		case p.PrefixList != "":
			one.PrefixListIds = []types.PrefixListId{{PrefixListId: aws.String(p.PrefixList), Description: description}}
		case strings.Contains(p.CIDR, ":"):
			one.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: aws.String(p.CIDR), Description: description}}
		default:
			one.IpRanges = []types.IpRange{{CidrIp: aws.String(p.CIDR), Description: description}}
		}
		out = append(out, one)
	}
	return out
}
