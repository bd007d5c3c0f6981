package main

import (
	"context"
	"encoding/json/v2"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/internal/cli"
)

// Why: whoever starts it must learn how to reach it, it must answer AWS's callers
// there, and end as any process is ended.
func TestFakeAWSCommand(t *testing.T) {
	out, in := io.Pipe()
	cmd := fakes(cli.Env{Out: in, Err: io.Discard, Getenv: os.Getenv})
	cmd.SetArgs([]string{"aws", "--listen", "127.0.0.1:0", "-o", "json"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	var told awsListening
	if err := json.Unmarshal(text[:n], &told); err != nil || told.Region != "us-east-1" || len(told.Subnets) != 6 {
		t.Fatalf("told %s: %v", text[:n], err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, told.Endpoint, strings.NewReader("Action=DescribeLoadBalancers&Version=2015-12-01"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261201/us-east-1/elasticloadbalancing/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !strings.Contains(string(body), "<DescribeLoadBalancersResult>") {
		t.Errorf("it answers %s: %v", body, err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}

// A value that a flag can't have is refused with those that it can.
func TestFakeAWSFlags(t *testing.T) {
	for _, c := range []struct{ name, flag, want, why string }{
		{"output", "--output=xml", "want text or json", "two formats"},
		{"account", "--account=1", "want 12 digits", "as AWS has them"},
		{"world", "--world=testdata/none.json", "--world testdata/none.json", "the file is not there"},
		{"pace", "--pace=fast", "want aws or none", "nothing between"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := fakes(cli.Env{Out: io.Discard, Err: io.Discard, Getenv: os.Getenv})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs([]string{"aws", c.flag})
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q: %s", err, c.want, c.why)
			}
		})
	}
}

// The network of a file is the account's.
func TestFakeAWSWorld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "world.json")
	for _, c := range []struct {
		name, text, want, why string
	}{
		{"as documented", `{"VPCs": [{"ID": "vpc-1", "CIDR": "10.0.0.0/16", "Internet": true}],
			"Subnets": [{"ID": "subnet-1", "VPC": "vpc-1", "Zone": "us-east-1a", "CIDR": "10.0.0.0/20", "Public": true}],
			"Instances": [{"ID": "i-1", "Subnet": "subnet-1", "IP": "10.0.0.10"}],
			"Groups": [{"ID": "sg-1", "Name": "open", "VPC": "vpc-1", "Ingress": [{"Protocol": "tcp", "From": 80, "To": 80, "CIDR": "0.0.0.0/0"}]}]}`, "", "the reference's example"},
		{"empty", `{}`, "there is no VPC in it", "nothing can be made there"},
		{"misspelt", `{"Vpcs": []}`, "Vpcs", "it would be without effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			flags := fakeAWSFlags{account: "123456789012", region: "us-east-1", pace: "none", output: "text", world: file}
			config, err := flags.config()
			if c.want == "" {
				if err != nil || config.World.Instances[0].IP.String() != "10.0.0.10" || config.World.Groups[0].Ingress[0].To != 80 {
					t.Errorf("read as %+v: %v: %s", config.World, err, c.why)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q: %s", err, c.want, c.why)
			}
		})
	}
}
