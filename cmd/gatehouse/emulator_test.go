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

// runFake runs an emulator on a free port until the test ends, and reads what it tells
// as JSON. It must end as any process is ended.
func runFake(t *testing.T, cloud string, told any) {
	t.Helper()
	out, in := io.Pipe()
	cmd := fakes(cli.Env{Out: in, Err: io.Discard, Getenv: os.Getenv})
	cmd.SetArgs([]string{cloud, "--listen", "127.0.0.1:0", "-o", "json"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("it does not end")
		}
	})
	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err == nil {
		err = json.Unmarshal(text[:n], told)
	}
	if err != nil {
		t.Fatalf("told %s: %v", text[:n], err)
	}
}

// answerOf is the body of a request that must be answered 200.
func answerOf(t *testing.T, r *http.Request) string {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s answers %d %s: %v", r.URL, response.StatusCode, body, err)
	}
	return string(body)
}

// Why: whoever starts it must learn how to reach it, and it must answer AWS's callers
// there.
func TestFakeAWSCommand(t *testing.T) {
	var told awsListening
	runFake(t, "aws", &told)
	if told.Region != "us-east-1" || len(told.Subnets) != 6 {
		t.Errorf("told %+v", told)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, told.Endpoint, strings.NewReader("Action=DescribeLoadBalancers&Version=2015-12-01"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261201/us-east-1/elasticloadbalancing/aws4_request, SignedHeaders=host, Signature=0")
	if body := answerOf(t, request); !strings.Contains(body, "<DescribeLoadBalancersResult>") {
		t.Errorf("it answers %s", body)
	}
}

// Why: likewise Google's, at the endpoint of each API.
func TestFakeGCPCommand(t *testing.T) {
	var told gcpListening
	runFake(t, "gcp", &told)
	if told.Project != "test-project" || len(told.Regions) != 2 {
		t.Errorf("told %+v", told)
	}
	for api, path := range map[string]string{"compute": "projects/test-project/global/healthChecks", "certificatemanager": "projects/test-project/locations/global/trustConfigs",
		"networksecurity": "projects/test-project/locations/global/backendAuthenticationConfigs", "networkservices": "projects/test-project/locations/global/tlsRoutes"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, told.Endpoints[api]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answerOf(t, request)
	}
}

// Why: an emulator that cannot listen says which flag is wrong.
func TestFakeListen(t *testing.T) {
	cmd := fakes(cli.Env{Out: io.Discard, Err: io.Discard, Getenv: os.Getenv})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs([]string{"gcp", "--listen", "nowhere"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("it ended with %v", err)
	}
}

// A value that a flag can't have is refused with those that it can.
func TestFakeFlags(t *testing.T) {
	for _, c := range []struct{ cloud, flag, want, why string }{
		{"aws", "--output=xml", "want text or json", "two formats"},
		{"aws", "--account=1", "want 12 digits", "as AWS has them"},
		{"aws", "--world=testdata/none.json", "--world testdata/none.json", "the file is not there"},
		{"aws", "--pace=fast", "want aws or none", "nothing between"},
		{"gcp", "--output=xml", "want text or json", "two formats"},
		{"gcp", "--project=Mine", "want 6 to 30 lower case letters", "as Google has them"},
		{"gcp", "--project-number=p", "want digits", "as Google has them"},
		{"gcp", "--world=testdata/none.json", "--world testdata/none.json", "the file is not there"},
		{"gcp", "--pace=fast", "want gcp or none", "nothing between"},
	} {
		t.Run(c.cloud+" "+c.flag, func(t *testing.T) {
			cmd := fakes(cli.Env{Out: io.Discard, Err: io.Discard, Getenv: os.Getenv})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs([]string{c.cloud, c.flag})
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q: %s", err, c.want, c.why)
			}
		})
	}
}

// The network of a file is the account's, or the project's. What is there of it is the
// reference's example.
func TestFakeWorld(t *testing.T) {
	aws := func(f emulatorFlags) (string, error) {
		config, err := (&fakeAWSFlags{emulatorFlags: f, account: "123456789012", region: "us-east-1", pace: "none"}).config()
		if err != nil {
			return "", err
		}
		return config.World.Instances[0].IP.String() + " " + config.World.Groups[0].Ingress[0].CIDR, nil
	}
	gcp := func(f emulatorFlags) (string, error) {
		config, err := (&fakeGCPFlags{emulatorFlags: f, project: "test-project", number: "1", pace: "none"}).config()
		if err != nil {
			return "", err
		}
		return config.World.Instances[0].Aliases[0], nil
	}
	file := filepath.Join(t.TempDir(), "world.json")
	for _, c := range []struct {
		name string
		read func(emulatorFlags) (string, error)
		text string
		got  string
		want string // a part of the error
	}{
		{"aws as documented", aws, `{"VPCs": [{"ID": "vpc-1", "CIDR": "10.0.0.0/16", "Internet": true}],
			"Subnets": [{"ID": "subnet-1", "VPC": "vpc-1", "Zone": "us-east-1a", "CIDR": "10.0.0.0/20", "Public": true}],
			"Instances": [{"ID": "i-1", "Subnet": "subnet-1", "IP": "10.0.0.10"}],
			"Groups": [{"ID": "sg-1", "Name": "open", "VPC": "vpc-1", "Ingress": [{"Protocol": "tcp", "From": 80, "To": 80, "CIDR": "0.0.0.0/0"}]}]}`, "10.0.0.10 0.0.0.0/0", ""},
		{"aws empty", aws, `{}`, "", "there is no VPC in it"},
		{"aws misspelt", aws, `{"Vpcs": []}`, "", "Vpcs"},
		{"gcp as documented", gcp, `{"Regions": {"us-east4": ["us-east4-a"]}, "Networks": ["default"],
			"Subnetworks": [{"Name": "nodes", "Region": "us-east4", "Range": "10.0.0.0/20"}, {"Name": "proxies", "Region": "us-east4", "Range": "10.1.0.0/23", "Purpose": "REGIONAL_MANAGED_PROXY"}],
			"Instances": [{"Name": "node-1", "Zone": "us-east4-a", "IP": "10.0.0.10", "Aliases": ["10.4.0.0/24"]}]}`, "10.4.0.0/24", ""},
		{"gcp empty", gcp, `{}`, "", "there is no region in it"},
		{"gcp misspelt", gcp, `{"regions": []}`, "", "regions"},
		{"gcp another region", gcp, `{"Regions": {"us-east4": ["us-east4-a"]}, "Subnetworks": [{"Name": "s", "Region": "us-east1", "Range": "10.0.0.0/20"}]}`, "", "region us-east1 of subnetwork s is not there"},
		{"gcp another network", gcp, `{"Regions": {"us-east4": ["us-east4-a"]}, "Instances": [{"Name": "n", "Zone": "us-east4-a", "IP": "10.0.0.2"}]}`, "", "network default of instance n is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := c.read(emulatorFlags{output: "text", world: file})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || got != c.got {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.got, c.want)
			}
		})
	}
}
