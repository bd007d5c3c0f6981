package aws

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
)

// sweep asks the index of tags, once in the life of a process, for rules of ours in load
// balancers of others': of a gateway that is not there any more nobody says which ones
// it held. The index may be behind, so it is asked for what is old, and what it names is
// read where it is.
func (o *observer) sweep(ctx context.Context) error {
	swept := false
	o.memory.with(func() { swept = o.memory.swept })
	if swept || o.owner.Name != "" {
		return nil
	}
	err := o.indexed(ctx, "elasticloadbalancing:listener-rule/app", func(arn string, _ tags) {
		if balancer := balancerOfRule(arn); balancer != "" {
			o.memory.with(func() { o.memory.strays[balancer] = true })
		}
	})
	if err == nil {
		o.memory.with(func() { o.memory.swept = true })
	}
	return err
}

// indexed tells of everything of the cluster's of a type, by the index of tags.
func (o *observer) indexed(ctx context.Context, kind string, tell func(arn string, t tags)) error {
	pages := resourcegroupstaggingapi.NewGetResourcesPaginator(o.calls.tagging, &resourcegroupstaggingapi.GetResourcesInput{
		ResourceTypeFilters: []string{kind}, ResourcesPerPage: aws.Int32(100),
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

// balancerOfRule is the load balancer that a rule's ARN names:
// …:listener-rule/app/NAME/ID/LISTENER/RULE.
func balancerOfRule(arn string) string {
	head, rest, ok := strings.Cut(arn, ":listener-rule/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 3 {
		return ""
	}
	return head + ":loadbalancer/" + strings.Join(parts[:3], "/")
}
