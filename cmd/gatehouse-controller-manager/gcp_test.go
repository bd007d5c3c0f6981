package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestGoogleSettings: Google Cloud is opted into, and settings without it are a mistake.
func TestGoogleSettings(t *testing.T) {
	cases := []struct {
		name string
		args []string
		used bool
		want string // of the error; "" is none
	}{
		{"nothing", nil, false, ""},
		{"a project", []string{"--gcp-project=my-project"}, true, ""},
		{"another service account", []string{"--gcp-project=my-project", "--gcp-service-account=a@b.iam.gserviceaccount.com", "--gcp-quota-project=q"}, true, ""},
		{"a service account without a project", []string{"--gcp-service-account=a@b.iam.gserviceaccount.com"}, false, "project is empty"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var g google
			p := g.provider()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			p.AddFlags(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := p.Check()
			if got := p.Used(); got != tc.used || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("used %t and %v, want %t and %q", got, err, tc.used, tc.want)
			}
		})
	}
}
