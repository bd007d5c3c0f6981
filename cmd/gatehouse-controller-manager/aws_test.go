package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestAmazonSettings: AWS is opted into, and settings without it are a mistake.
func TestAmazonSettings(t *testing.T) {
	cases := []struct {
		name string
		args []string
		used bool
		want string // of the error; "" is none
	}{
		{"nothing", nil, false, ""},
		{"a region", []string{"--aws-region=eu-west-1"}, true, ""},
		{"a role", []string{"--aws-region=eu-west-1", "--aws-role=arn:aws:iam::1:role/r", "--aws-external-id=x"}, true, ""},
		{"a role without a region", []string{"--aws-role=arn:aws:iam::1:role/r"}, false, "region is empty"},
		{"an external ID without a role", []string{"--aws-region=eu-west-1", "--aws-external-id=x"}, true, "set role too"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var a amazon
			p := a.provider()
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
