package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/live"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/internal/cli"
)

// fakeGCPFlags are those of `gatehouse fake gcp`.
type fakeGCPFlags struct {
	emulatorFlags

	project, number, pace string
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
			config, err := flags.config()
			if err != nil {
				return err
			}
			log := logOf(cmd, env)
			var project *live.Live
			return flags.run(cmd.Context(), log, func() emulator {
				project = live.Start(cmd.Context(), live.Config{API: config, Log: log})
				return project
			}, func(endpoint string) error { return flags.tell(env.Out, project.Server, endpoint) })
		},
	}
	add := cmd.Flags()
	add.StringVar(&flags.project, "project", "test-project", "the ID of the project that it is")
	add.StringVar(&flags.number, "project-number", "123456789012", "the number of the project that it is")
	add.StringVar(&flags.pace, "pace", "gcp", "gcp: its delays, quotas and calls a minute; none: everything at once, without limits")
	flags.addTo(cmd, "127.0.0.1:4588", "Regions, Networks, Subnetworks, Instances (default two regions with a node in each zone of one)")
	return cmd
}

var (
	projectID     = regexp.MustCompile(`^[a-z][-a-z0-9]{4,28}[a-z0-9]$`)
	projectNumber = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
)

// config is the project that the flags ask for.
func (f *fakeGCPFlags) config() (gcpapi.Config, error) {
	out := gcpapi.Config{Projects: []store.Project{{ID: f.project, Number: f.number}}}
	if err := checkOutput(f.output); err != nil {
		return out, err
	}
	switch {
	case !projectID.MatchString(f.project):
		return out, fmt.Errorf("--project %q: want 6 to 30 lower case letters, digits and -, with a letter first", f.project)
	case !projectNumber.MatchString(f.number):
		return out, fmt.Errorf("--project-number %q: want digits", f.number)
	case f.pace == "gcp":
		out.Times, out.Limits, out.Rates = gcpapi.Lifelike(), gcpapi.Quotas(), gcpapi.Rates()
	case f.pace != "none":
		return out, fmt.Errorf("--pace %q: want gcp or none", f.pace)
	}
	return out, f.readWorld(&out.World, func() error { return out.World.Check() })
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
	return f.print(out, now, fmt.Sprintf(`Google Cloud project %s is emulated at %s
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
		strings.Join(now.Regions, ", "), gcpapi.AdminPath+"state", gcpapi.AdminPath+"calls", gcpapi.AdminPath+"listeners"))
}
