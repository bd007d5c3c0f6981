package ec2calls_test

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/internal/ec2calls"
)

const vpc = "vpc-0a1b2c3d4e5f60718" // of the emulator's small world

func newClient(t *testing.T) *ec2calls.Client {
	t.Helper()
	server := httptest.NewServer(awsapi.New(awsapi.Config{}))
	t.Cleanup(server.Close)
	return ec2calls.New(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")})
}

func TestSubnets(t *testing.T) {
	c := newClient(t)
	cases := []struct {
		name string
		q    ec2calls.Query
		want int
	}{
		{"all", ec2calls.Query{}, 6},
		{"of the network", ec2calls.Query{VPC: vpc}, 6},
		{"of another", ec2calls.Query{VPC: "vpc-0000000000000000f"}, 0},
		{"by a tag and its value", ec2calls.Query{Tags: map[string]string{"kubernetes.io/role/elb": "1"}}, 3},
		{"by a tag with any value", ec2calls.Query{Tags: map[string]string{"kubernetes.io/role/elb": ""}}, 3},
		{"by a value that it has not", ec2calls.Query{Tags: map[string]string{"kubernetes.io/role/elb": "2"}}, 0},
		{"by ID", ec2calls.Query{IDs: []string{"subnet-00000000000000002"}}, 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, err := c.Subnets(t.Context(), tc.q)
			if err != nil || len(got) != tc.want {
				t.Fatalf("%d subnets, %v; want %d", len(got), err, tc.want)
			}
			for _, s := range got {
				if s.VPC != vpc || s.Zone == "" || s.Free == 0 || !s.IPv6 || len(s.Tags) == 0 {
					t.Errorf("%+v lacks something", s)
				}
			}
		})
	}
	if _, err := c.Subnets(t.Context(), ec2calls.Query{IDs: []string{"subnet-0000000000000000f"}}); err == nil {
		t.Error("one that is not there is no error")
	}
}

func TestRoutesAndRanges(t *testing.T) {
	c := newClient(t)
	routes, err := c.Routes(t.Context(), vpc)
	if err != nil {
		t.Fatal(err)
	}
	if !routes.Internet("subnet-00000000000000001") || routes.Internet("subnet-00000000000000004") {
		t.Error("a public subnet leads to the Internet, a private one does not")
	}
	network, err := c.VPC(t.Context(), vpc)
	if err != nil || !slices.Contains(network.CIDRs, "10.0.0.0/16") || !slices.Contains(network.CIDRs, "2001:db8:1200::/56") {
		t.Errorf("VPC() = %+v, %v", network, err)
	}
}

// TestGroups takes a security group through its life.
func TestGroups(t *testing.T) {
	c, ctx := newClient(t), t.Context()
	want := ec2calls.Group{Name: "edge", Description: "of a test", VPC: vpc, Tags: map[string]string{"team": "edge", "old": "1"}}
	id, err := c.CreateGroup(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	permissions := []ec2calls.Permission{
		{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8", Description: "clients"},
		{Protocol: "tcp", From: 80, To: 80, CIDR: "2001:db8::/32"},
		{Protocol: "udp", From: 53, To: 53, Group: id, Description: "itself"},
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"authorize", func() error { return c.Authorize(ctx, id, permissions) }},
		{"revoke", func() error { return c.Revoke(ctx, id, permissions[1:2]) }},
		{"tag", func() error { return c.Tag(ctx, id, map[string]string{"new": "2"}) }},
		{"untag", func() error { return c.Untag(ctx, id, []string{"old"}) }},
		{"untag nothing", func() error { return c.Untag(ctx, id, nil) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	want.ID, want.Tags = id, map[string]string{"team": "edge", "new": "2"}
	want.Ingress = []ec2calls.Permission{permissions[0], permissions[2]}
	got, err := c.Groups(ctx, ec2calls.Query{Name: "edge", Tags: map[string]string{"team": ""}})
	if diff := cmp.Diff([]ec2calls.Group{want}, got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	if err := c.DeleteGroup(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Groups(ctx, ec2calls.Query{IDs: []string{id}}); err == nil {
		t.Error("it is still there")
	}
}
