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

// Why: whoever starts it must learn how to reach it, it must answer Google's callers
// there, and end as any process is ended.
func TestFakeGCPCommand(t *testing.T) {
	out, in := io.Pipe()
	cmd := fakes(cli.Env{Out: in, Err: io.Discard, Getenv: os.Getenv})
	cmd.SetArgs([]string{"gcp", "--listen", "127.0.0.1:0", "-o", "json"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	var told gcpListening
	if err := json.Unmarshal(text[:n], &told); err != nil || told.Project != "test-project" || len(told.Regions) != 2 {
		t.Fatalf("told %s: %v", text[:n], err)
	}
	for api, path := range map[string]string{"compute": "projects/test-project/global/healthChecks", "certificatemanager": "projects/test-project/locations/global/trustConfigs",
		"networksecurity": "projects/test-project/locations/global/backendAuthenticationConfigs", "networkservices": "projects/test-project/locations/global/tlsRoutes"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, told.Endpoints[api]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d %s: %v", api, response.StatusCode, body, err)
		}
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
func TestFakeGCPFlags(t *testing.T) {
	for _, c := range []struct{ name, flag, want, why string }{
		{"output", "--output=xml", "want text or json", "two formats"},
		{"project", "--project=Mine", "want 6 to 30 lower case letters", "as Google has them"},
		{"number", "--project-number=p", "want digits", "as Google has them"},
		{"world", "--world=testdata/none.json", "--world testdata/none.json", "the file is not there"},
		{"pace", "--pace=fast", "want gcp or none", "nothing between"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := fakes(cli.Env{Out: io.Discard, Err: io.Discard, Getenv: os.Getenv})
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs([]string{"gcp", c.flag})
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q: %s", err, c.want, c.why)
			}
		})
	}
}

// The network of a file is the project's.
func TestFakeGCPWorld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "world.json")
	for _, c := range []struct {
		name, text, want, why string
	}{
		{"as documented", `{"Regions": {"us-east4": ["us-east4-a"]}, "Networks": ["default"],
			"Subnetworks": [{"Name": "nodes", "Region": "us-east4", "Range": "10.0.0.0/20"}, {"Name": "proxies", "Region": "us-east4", "Range": "10.1.0.0/23", "Purpose": "REGIONAL_MANAGED_PROXY"}],
			"Instances": [{"Name": "node-1", "Zone": "us-east4-a", "IP": "10.0.0.10", "Aliases": ["10.4.0.0/24"]}]}`, "", "the reference's example"},
		{"empty", `{}`, "there is no region in it", "nothing can be made there"},
		{"misspelt", `{"regions": []}`, "regions", "it would be without effect"},
		{"another region", `{"Regions": {"us-east4": ["us-east4-a"]}, "Subnetworks": [{"Name": "s", "Region": "us-east1", "Range": "10.0.0.0/20"}]}`, "region us-east1 of subnetwork s is not there", "nobody could find it"},
		{"another network", `{"Regions": {"us-east4": ["us-east4-a"]}, "Instances": [{"Name": "n", "Zone": "us-east4-a", "IP": "10.0.0.2"}]}`, "network default of instance n is not there", "it is the default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			flags := fakeGCPFlags{project: "test-project", number: "1", pace: "none", output: "text", world: file}
			config, err := flags.config()
			if c.want == "" {
				if err != nil || config.World.Instances[0].Aliases[0] != "10.4.0.0/24" {
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
