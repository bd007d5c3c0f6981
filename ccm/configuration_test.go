package ccm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// plain is a provider's section with one setting.
type plain struct {
	Region string `json:"region,omitempty"`
}

// plainProviders are alpha, which has settings and a flag, and beta without any.
func plainProviders() ([]Provider, *plain) {
	p := &plain{}
	alpha := Provider{
		Name: "alpha", Settings: p,
		AddFlags: func(set *pflag.FlagSet) { set.StringVar(&p.Region, "alpha-region", "", "") },
		Check: func() error {
			if p.Region == "atlantis" {
				return errors.New("region: atlantis is under water: choose another")
			}
			return nil
		},
	}
	return []Provider{alpha, {Name: "beta"}}, p
}

// configured reads a file (none if it is empty) and flags.
func configured(t *testing.T, file string, args ...string) (settings, *plain, error) {
	t.Helper()
	all, p := plainProviders()
	var f flags
	f.addFlags(pflag.NewFlagSet("test", pflag.ContinueOnError), all)
	if file != "" {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--gatehouse-config", path)
	}
	command := pflag.NewFlagSet("command", pflag.ContinueOnError) // has them among others, as the framework's does
	command.AddFlagSet(f.FlagSet)
	if err := command.Parse(args); err != nil {
		return settings{}, p, err
	}
	s, err := f.configuration(all)
	return s, p, err
}

const head = "apiVersion: config.gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"

// TestMistakes holds that what cannot be meant is refused with the field's name:
// a manager that ignores a typo runs with a setting that nobody chose.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, file string
		args       []string
		want       string
	}{
		{name: "unknown field", file: head + "worker: 3", want: `unknown field "worker"`},
		{name: "unknown field inside", file: head + "audit: {pth: /x}", want: `unknown field "audit.pth"`},
		{name: "field in other case", file: head + "Workers: 3", want: `unknown field "Workers"`},
		{name: "field twice", file: head + "workers: 3\nworkers: 4", want: `key "workers" already set`},
		{name: "no version", file: "kind: GatehouseConfiguration", want: `apiVersion: "" is not known: want config.gatehouse.dev/v1alpha1`},
		{name: "another version", file: "apiVersion: config.gatehouse.dev/v2\nkind: GatehouseConfiguration", want: `apiVersion: "config.gatehouse.dev/v2" is not known`},
		{name: "another kind", file: "apiVersion: config.gatehouse.dev/v1alpha1\nkind: Configuration", want: `kind: "Configuration" is not known: want GatehouseConfiguration`},
		{name: "no object", file: "- a", want: "it is no object with apiVersion"},
		{name: "no YAML", file: "a: [", want: "yaml"},
		{name: "bad duration", file: head + "driftInterval: 5 minutes", want: `driftInterval (--gatehouse-drift-interval): "5 minutes" is no duration above zero`},
		{name: "duration without unit", file: head + "drainTimeout: 20", want: "Configuration.drainTimeout of type string"},
		{name: "no time", file: head + "drainTimeout: 0s", want: `drainTimeout (--gatehouse-drain-timeout): "0s" is no duration above zero`},
		{name: "wrong type", file: head + "workers: many", want: "Configuration.workers of type int"},
		{name: "no workers", file: head + "workers: 0", want: "workers (--concurrent-gateway-syncs): 0 is too few: want at least 1"},
		{name: "empty audit logs", file: head + "audit: {maxSizeMiB: 0}", want: "audit.maxSizeMiB (--gatehouse-audit-log-max-size): 0 is too small"},
		{name: "no finished audit logs", file: head + "audit: {keep: 0}", want: "audit.keep (--gatehouse-audit-log-keep): 0 is too few"},
		{name: "unknown provider", file: head + "providers: {gamma: {}}", want: `providers: "gamma" is not one of this manager's providers: alpha, beta`},
		{name: "unknown provider of Services", file: head + "services: {defaultProvider: gamma}", want: `services.defaultProvider (--gatehouse-service-default-provider): "gamma" is not one of`},
		{name: "parameters of an unknown provider", file: head + "services: {parameters: {gamma: {namespace: a, name: b}}}", want: `services.parameters: "gamma" is not one of`},
		{name: "parameters without a name", file: head + "services: {parameters: {alpha: {namespace: a}}}", want: `services.parameters.alpha: namespace "a" and name "" do not name`},
		{name: "unknown field of a provider", file: head + "providers: {alpha: {regoin: x}}", want: `providers.alpha: unknown field "regoin"`},
		{name: "section of a provider without settings", file: head + "providers: {beta: {a: b}}", want: "providers.beta: this provider has no settings"},
		{name: "what a provider does not accept", file: head + "providers: {alpha: {region: atlantis}}", want: "providers.alpha: region: atlantis is under water"},
		{name: "a flag's duration", args: []string{"--gatehouse-drift-interval=soon"}, want: `invalid argument "soon" for "--gatehouse-drift-interval"`},
		{name: "a flag's value", args: []string{"--concurrent-gateway-syncs=0"}, want: "flags: workers (--concurrent-gateway-syncs): 0 is too few"},
		{name: "a file that is not there", args: []string{"--gatehouse-config=/nowhere.yaml"}, want: "--gatehouse-config /nowhere.yaml: open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := configured(t, c.file, c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestMistakesAllAtOnce holds that one start shows everything that is wrong.
func TestMistakesAllAtOnce(t *testing.T) {
	_, _, err := configured(t, head+"workers: -1\ndriftInterval: x\nproviders: {gamma: {}}")
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"workers", "driftInterval", "providers"} {
		if !strings.Contains(err.Error(), field+":") && !strings.Contains(err.Error(), field+" (") {
			t.Errorf("error does not name %s: %v", field, err)
		}
	}
}

// TestFlagsOverrideTheFile holds the order: defaults, file, flags that are given.
func TestFlagsOverrideTheFile(t *testing.T) {
	file := head + "clusterName: prod\nworkers: 7\ndriftInterval: 1m\naudit: {path: /file}\nproviders: {alpha: {region: north}}"
	for _, c := range []struct {
		name, file string
		args       []string
		want       Configuration
		region     string
		drift      time.Duration
		why        string
	}{
		{
			name: "nothing", want: Defaults(), drift: 5 * time.Minute, why: "a manager needs no file",
		},
		{
			name: "file", file: file, region: "north", drift: time.Minute, why: "what the file leaves out has its default",
			want: Configuration{Workers: 7, ClusterName: "prod", DriftInterval: "1m", DrainTimeout: "20s", Audit: Audit{Path: "/file", MaxSizeMiB: 100, Keep: 5}},
		},
		{
			name: "both", file: file, args: []string{"--concurrent-gateway-syncs=4", "--alpha-region=south", "--gatehouse-audit-log="}, region: "south", drift: time.Minute,
			why:  "a flag counts even where it says the default or nothing",
			want: Configuration{Workers: 4, ClusterName: "prod", DriftInterval: "1m", DrainTimeout: "20s", Audit: Audit{MaxSizeMiB: 100, Keep: 5}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p, err := configured(t, c.file, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			c.want.APIVersion, c.want.Kind = ConfigAPIVersion, ConfigKind
			s.Providers = nil // sections, which are read into the providers' own
			if diff := cmp.Diff(c.want, s.Configuration); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			if p.Region != c.region || s.drift != c.drift {
				t.Errorf("region %q, drift %s; want %q, %s: %s", p.Region, s.drift, c.region, c.drift, c.why)
			}
		})
	}
}

// TestClusterName holds that a name which somebody chose wins over the framework's
// default, and a flag over the file.
func TestClusterName(t *testing.T) {
	for _, c := range []struct{ name, file, flag, want, why string }{
		{name: "flag", flag: "prod", want: "prod", why: "the flag is the framework's own"},
		{name: "file", file: "prod", flag: "kubernetes", want: "prod", why: "the flag's default is nobody's choice"},
		{name: "both", file: "test", flag: "prod", want: "prod", why: "flags override"},
		{name: "neither", flag: "kubernetes", want: "kubernetes", why: "then it is called as stock controllers call it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (settings{Configuration: Configuration{ClusterName: c.file}}).cluster(c.flag); got != c.want {
				t.Errorf("cluster %q, want %q: %s", got, c.want, c.why)
			}
		})
	}
}
