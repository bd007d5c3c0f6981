package awsapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/account"
)

// A load balancer takes two and a half minutes to come into service, of a time that
// the test moves.
func Example() {
	clock := account.NewManual(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
	emulator := awsapi.New(awsapi.Config{Clock: clock, Buckets: awsapi.Buckets(), Times: awsapi.Lifelike()})
	server := httptest.NewServer(emulator)
	defer server.Close()

	client := elb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")})
	ctx := context.Background()
	made, err := client.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{Name: aws.String("shop"),
		Subnets: []string{"subnet-00000000000000001", "subnet-00000000000000002"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.LoadBalancers[0].State.Code)

	clock.Advance(150 * time.Second)
	seen, err := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{"shop"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seen.LoadBalancers[0].State.Code)
	fmt.Println(emulator.Count(awsapi.ByAction))

	_, err = client.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn})
	fmt.Println(err, emulator.Dump() == awsapi.Empty())
	// Output:
	// provisioning
	// active
	// map[CreateLoadBalancer:1 DescribeLoadBalancers:1]
	// <nil> true
}
