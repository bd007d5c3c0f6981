package tagging_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	rgt "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/schemas"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/account"
)

// The index finds resources by tag and type in both protocols, page by page, and
// only after its lag.
func TestIndex(t *testing.T) {
	clock := account.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	server := httptest.NewServer(awsapi.New(awsapi.Config{Clock: clock, Times: awsapi.Times{TagIndex: 10 * time.Second}}))
	t.Cleanup(server.Close)
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	lbs := elasticloadbalancingv2.NewFromConfig(cfg)
	for _, name := range []string{"a", "b", "c"} {
		if _, err := lbs.CreateTargetGroup(t.Context(), &elasticloadbalancingv2.CreateTargetGroupInput{Name: &name, Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80),
			VpcId: aws.String("vpc-0a1b2c3d4e5f60718"), Tags: []elbtypes.Tag{{Key: aws.String("cluster"), Value: aws.String("one")}, {Key: aws.String("name"), Value: &name}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, why string
		client    *rgt.Client
	}{
		{"cbor", "the SDK's default", rgt.NewFromConfig(cfg)},
		{"json", "older SDKs, and the AWS CLI", rgt.NewFromConfig(cfg, func(o *rgt.Options) {
			o.Protocol = awsjson.New11(schemas.ResourceGroupsTaggingAPI_20170126)
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			find := func(filters ...types.TagFilter) int {
				n := 0
				pages := rgt.NewGetResourcesPaginator(c.client, &rgt.GetResourcesInput{ResourceTypeFilters: []string{"elasticloadbalancing:targetgroup"}, TagFilters: filters, ResourcesPerPage: aws.Int32(2)})
				for pages.HasMorePages() {
					page, err := pages.NextPage(t.Context())
					if err != nil {
						t.Fatalf("%v: %s", err, c.why)
					}
					n += len(page.ResourceTagMappingList)
				}
				return n
			}
			one := types.TagFilter{Key: aws.String("cluster"), Values: []string{"one", "two"}}
			if c.name == "cbor" {
				if got := find(one); got != 0 {
					t.Errorf("%d are found before the lag", got)
				}
				clock.Advance(10 * time.Second)
			}
			if all, some := find(one), find(one, types.TagFilter{Key: aws.String("name"), Values: []string{"b"}}); all != 3 || some != 1 {
				t.Errorf("found %d and %d, want 3 and 1", all, some)
			}
		})
	}
}

// Keys that STS issued are let in until they expire.
func TestTemporaryKeys(t *testing.T) {
	clock := account.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	server := httptest.NewServer(awsapi.New(awsapi.Config{Clock: clock, Keys: []string{"AKID"}}))
	t.Cleanup(server.Close)
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	out, err := sts.NewFromConfig(cfg).AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::123456789012:role/gatehouse"), RoleSessionName: aws.String("gw")})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Credentials = credentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	lbs := elasticloadbalancingv2.NewFromConfig(cfg)
	if _, err := lbs.DescribeLoadBalancers(t.Context(), nil); err != nil {
		t.Errorf("new keys: %v", err)
	}
	who, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Arn != "arn:aws:sts::123456789012:assumed-role/gatehouse/gw" {
		t.Errorf("who: %v, %v", who, err)
	}
	clock.Advance(2 * time.Hour)
	if _, err := lbs.DescribeLoadBalancers(t.Context(), nil); err == nil {
		t.Error("keys that have expired are let in")
	}
}
