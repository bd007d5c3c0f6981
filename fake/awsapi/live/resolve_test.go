package live_test

import (
	"errors"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/live"
)

// The DNS name of a load balancer leads to where its listeners are, in any case of its
// letters, and other names lead nowhere.
func TestNamesLeadToListeners(t *testing.T) {
	at := netip.MustParseAddr("127.0.0.9")
	l := live.Start(t.Context(), live.Config{API: awsapi.Config{Bind: func(string, int) []netip.AddrPort { return []netip.AddrPort{netip.AddrPortFrom(at, 0)} }}})
	t.Cleanup(func() { _ = l.Close(t.Context()) })
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	client := elb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")})
	lb, err := client.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("shop"), Subnets: []string{"subnet-00000000000000001", "subnet-00000000000000002"}})
	if err != nil {
		t.Fatal(err)
	}
	name := *lb.LoadBalancers[0].DNSName
	if got, err := l.Resolver().LookupHost(t.Context(), name); err == nil {
		t.Errorf("without a listener: %v, want no address", got)
	}
	if _, err := client.CreateListener(t.Context(), &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp,
		DefaultActions: []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("404")}}}}); err != nil {
		t.Fatal(err)
	}
	for _, asked := range []string{name, strings.ToUpper(name)} {
		got, err := l.Resolver().LookupNetIP(t.Context(), "ip", asked)
		if err != nil || len(got) != 1 || got[0].Unmap() != at {
			t.Errorf("%s is at %v, %v; want %s", asked, got, err, at)
		}
	}
	var unknown *net.DNSError
	if got, err := l.Resolver().LookupHost(t.Context(), "other.elb.amazonaws.com"); !errors.As(err, &unknown) || !unknown.IsNotFound {
		t.Errorf("another name is at %v, %v; want that it is not found", got, err)
	}
}
