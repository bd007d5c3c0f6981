package aws

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
)

// sweep asks the index of tags, once in the life of a process, for listeners and rules of
// ours in load balancers of others': of a gateway that is not there any more nobody says which ones
// it held. The index may be behind, so it is asked for what is old, and what it names is
// read where it is.
func (o *observer) sweep(ctx context.Context) error {
	swept := false
	o.memory.with(func() { swept = o.memory.swept })
	if swept || o.owner.Name != "" {
		return nil
	}
	err := o.indexed(ctx, []string{"elasticloadbalancing:listener-rule/app", "elasticloadbalancing:listener/app", "elasticloadbalancing:listener/net"}, func(arn string, _ tags) {
		if balancer := balancerOfPart(arn); balancer != "" {
			o.memory.with(func() { o.memory.strays[balancer] = true })
		}
	})
	if err == nil {
		o.memory.with(func() { o.memory.swept = true })
	}
	return err
}

// indexed tells of everything of the cluster's of some types, by the index of tags.
func (o *observer) indexed(ctx context.Context, kinds []string, tell func(arn string, t tags)) error {
	pages := resourcegroupstaggingapi.NewGetResourcesPaginator(o.calls.tagging, &resourcegroupstaggingapi.GetResourcesInput{
		ResourceTypeFilters: kinds, ResourcesPerPage: aws.Int32(100),
		TagFilters: []tagtypes.TagFilter{{Key: aws.String(tagCluster), Values: []string{o.owner.Cluster}}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.ResourceTagMappingList {
			t := tags{}
			for _, one := range r.Tags {
				t[aws.ToString(one.Key)] = aws.ToString(one.Value)
			}
			tell(aws.ToString(r.ResourceARN), t)
		}
	}
	return nil
}

// balancerOfPart is the load balancer that the ARN of a listener or a rule names:
// …:listener/app/NAME/ID/LISTENER, …:listener-rule/app/NAME/ID/LISTENER/RULE.
func balancerOfPart(arn string) string {
	head, rest, ok := strings.Cut(arn, ":listener")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 5 {
		return ""
	}
	return head + ":loadbalancer/" + strings.Join(parts[1:4], "/")
}

// noteBuckets remembers where the bundles of a class would lie: a process may have ended
// between a bundle and its trust store, and the gateway gone meanwhile.
func (p *Provider) noteBuckets(raw json.RawMessage) {
	s, findings := readSettings(raw)
	if s.Trust == nil || len(findings) > 0 || s.Region != p.calls.region {
		return
	}
	p.memory.with(func() { p.memory.buckets[bundlePlace{s.Trust.Bucket, s.Trust.Prefix}.location()] = true })
}
