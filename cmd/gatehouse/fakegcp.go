package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/internal/cli"
)

// fakeGCPFlags are those of `gatehouse fake gcp`.
type fakeGCPFlags struct {
	listen, project, number, pace, world, output string
}

func fakeGCP(env cli.Env) *cobra.Command {
	var flags fakeGCPFlags
	cmd := &cobra.Command{
		Use:   "gcp",
		Short: "Run a Google Cloud project without Google Cloud: load balancers, certificates, trust",
		Long: `Answers the APIs of Compute Engine (what load balancers need of it), Certificate Manager,
Network Security and Network Services on this machine, in JSON, with Google's operations,
fingerprints, errors, quotas and delays. Google's Go clients, and whatever else can be
told another endpoint, can use it: what they must be told is printed. Its load balancers
really serve, on loopback addresses.

Any token is let in: it is for tests, and listens where you say. Everything is in memory,
and gone at the end.`,
		Example: `  gatehouse fake gcp --listen 127.0.0.1:4588
  curl http://127.0.0.1:4588/compute/v1/projects/test-project/global/healthChecks`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level := slog.LevelWarn
			if n, err := cmd.Flags().GetCount("verbose"); err == nil { // the root's flag
				level -= slog.Level(4 * n)
			}
			return flags.run(cmd.Context(), env, slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level})))
		},
	}
	add := cmd.Flags()
	add.StringVar(&flags.listen, "listen", "127.0.0.1:4588", "address and port; port 0 is any free one")
	add.StringVar(&flags.project, "project", "test-project", "the ID of the project that it is")
	add.StringVar(&flags.number, "project-number", "123456789012", "the number of the project that it is")
	add.StringVar(&flags.pace, "pace", "gcp", "gcp: its delays, quotas and calls a minute; none: everything at once, without limits")
	add.StringVar(&flags.world, "world", "", "file of the network, as JSON: Regions, Networks, Subnetworks, Instances (default two regions with a node in each zone of one)")
	add.StringVarP(&flags.output, "output", "o", "text", "text or json: how to print where it listens")
	return cmd
}

var (
	projectID     = regexp.MustCompile(`^[a-z][-a-z0-9]{4,28}[a-z0-9]$`)
	projectNumber = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
)

// config is the project that the flags ask for.
func (f *fakeGCPFlags) config() (gcpapi.Config, error) {
	out := gcpapi.Config{Projects: []store.Project{{ID: f.project, Number: f.number}}}
	switch {
	case f.output != "text" && f.output != "json":
		return out, fmt.Errorf("--output %q: want text or json", f.output)
	case !projectID.MatchString(f.project):
		return out, fmt.Errorf("--project %q: want 6 to 30 lower case letters, digits and -, with a letter first", f.project)
	case !projectNumber.MatchString(f.number):
		return out, fmt.Errorf("--project-number %q: want digits", f.number)
	case f.pace == "gcp":
		out.Times, out.Limits, out.Rates = gcpapi.Lifelike(), gcpapi.Quotas(), gcpapi.Rates()
	case f.pace != "none":
		return out, fmt.Errorf("--pace %q: want gcp or none", f.pace)
	}
	if f.world == "" {
		return out, nil
	}
	text, err := os.ReadFile(f.world)
	if err == nil {
		err = json.Unmarshal(text, &out.World, json.RejectUnknownMembers(true))
	}
	if err == nil {
		err = out.World.Check()
	}
	if err != nil {
		return out, fmt.Errorf("--world %s: %w", f.world, err)
	}
	return out, nil
}

func (f *fakeGCPFlags) run(ctx context.Context, env cli.Env, log *slog.Logger) error {
	config, err := f.config()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	project := live.Start(ctx, live.Config{API: config, Log: log})
	// Calls that lose their reply on purpose end in a panic that net/http knows.
	server := &http.Server{Handler: project, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	told := f.tell(env.Out, project.Server, "http://"+listener.Addr().String())
	if told == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
		}
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(told, err, server.Shutdown(over), project.Close(over))
}

// gcpListening is what -o json prints.
type gcpListening struct {
	Endpoint  string            `json:"endpoint"`
	Project   string            `json:"project"`
	Regions   []string          `json:"regions"`
	Endpoints map[string]string `json:"endpoints"` // of each API, as clients take them
}

// tell says in one piece how to use it.
func (f *fakeGCPFlags) tell(out io.Writer, project *gcpapi.Server, endpoint string) error {
	now := gcpListening{Endpoint: endpoint, Project: f.project, Regions: slices.Sorted(maps.Keys(project.World.Regions)), Endpoints: map[string]string{
		"compute": endpoint + "/compute/v1/", "certificatemanager": endpoint + "/certificatemanager/v1/",
		"networksecurity": endpoint + "/networksecurity/v1/", "networkservices": endpoint + "/networkservices/v1/"}}
	if f.output == "json" {
		text, err := json.Marshal(now, jsontext.WithIndent("  "), json.Deterministic(true))
		if err == nil {
			_, err = fmt.Fprintln(out, string(text))
		}
		return err
	}
	_, err := fmt.Fprintf(out, `Google Cloud project %s is emulated at %s
Google's Go clients take option.WithEndpoint(%q) for Compute Engine's REST
clients, and %q, …/networksecurity, …/networkservices for the
others, with option.WithoutAuthentication(). gcloud and Terraform need:

  export CLOUDSDK_CORE_PROJECT=%s GOOGLE_CLOUD_PROJECT=%s
  export CLOUDSDK_AUTH_ACCESS_TOKEN=test GOOGLE_OAUTH_ACCESS_TOKEN=test
  export CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=%s GOOGLE_COMPUTE_CUSTOM_ENDPOINT=%s
  export CLOUDSDK_API_ENDPOINT_OVERRIDES_CERTIFICATEMANAGER=%s/certificatemanager/ GOOGLE_CERTIFICATE_MANAGER_CUSTOM_ENDPOINT=%s
  export CLOUDSDK_API_ENDPOINT_OVERRIDES_NETWORKSECURITY=%s/networksecurity/ GOOGLE_NETWORK_SECURITY_CUSTOM_ENDPOINT=%s
  export CLOUDSDK_API_ENDPOINT_OVERRIDES_NETWORKSERVICES=%s/networkservices/ GOOGLE_NETWORK_SERVICES_CUSTOM_ENDPOINT=%s

Its regions are %s, its network is default.
What it holds is at %s, its calls at %s, its listeners at %s
`, now.Project, endpoint, endpoint, endpoint+"/certificatemanager", now.Project, now.Project, now.Endpoints["compute"], now.Endpoints["compute"],
		endpoint, now.Endpoints["certificatemanager"], endpoint, now.Endpoints["networksecurity"], endpoint, now.Endpoints["networkservices"],
		strings.Join(now.Regions, ", "), gcpapi.AdminPath+"state", gcpapi.AdminPath+"calls", gcpapi.AdminPath+"listeners")
	return err
}
