package aws

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"gatehouse.dev/fake/awsapi"
)

// checkOf is what an examination says of something, "" for nothing.
func checkOf(checks []Check, name string) string {
	for _, c := range checks {
		if strings.HasPrefix(c.Name, name) {
			return fmt.Sprint(c.State, " ", c.Detail)
		}
	}
	return ""
}

func TestExamine(t *testing.T) {
	everywhere := json.RawMessage(`{"region":"us-east-1","scheme":"internet-facing","assume":["PathRegexCaseSensitive"]}`)
	cases := []struct {
		name     string
		config   awsapi.Config
		settings []json.RawMessage
		check    string
		want     string // state and a part of the text
	}{
		{"all well", awsapi.Config{}, []json.RawMessage{everywhere}, "subnets", "0 subnet-00000000000000001 (us-east-1a)"},
		{"whose it is", awsapi.Config{}, nil, "credentials", "0 account 123456789012"},
		{"not AWS", awsapi.Config{}, nil, "endpoint", "1 http://aws.test"},
		{"unknown keys", awsapi.Config{Keys: []string{"AKIDOTHER"}}, nil, "credentials", "2 "},
		{"a permission is missing", awsapi.Config{Permit: func(_, _, action string) bool { return action != "ListCertificates" }}, nil,
			"permission acm:ListCertificates", "2 "},
		{"no subnets with the tags", awsapi.Config{}, []json.RawMessage{json.RawMessage(`{"region":"us-east-1","subnetTags":{"team":"edge"}}`)}, "subnets", "2 "},
		{"one zone", awsapi.Config{}, []json.RawMessage{json.RawMessage(`{"region":"us-east-1","subnets":["subnet-00000000000000001"]}`)}, "subnets", "2 "},
		{"no bucket", awsapi.Config{}, []json.RawMessage{json.RawMessage(`{"region":"us-east-1","trust":{"bucket":"roots"}}`)}, "bucket roots", "2 "},
		{"another region", awsapi.Config{}, []json.RawMessage{json.RawMessage(`{"region":"eu-west-1"}`)}, "settings", "2 aws.region: is eu-west-1"},
		{"a group that is not there", awsapi.Config{}, []json.RawMessage{json.RawMessage(`{"region":"us-east-1","securityGroups":["sg-0123"]}`)}, "security group sg-0123", "2 "},
		{"quotas", awsapi.Config{Limits: map[string]int{limitGroups: 0}}, nil, "quota target-groups", "1 0 of 0"},
		{"what is assumed", awsapi.Config{}, []json.RawMessage{everywhere}, "assumption PathRegexCaseSensitive", "3 "},
		{"what was never tried", awsapi.Config{}, nil, "AWS itself", "3 "},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w := newEmulator(t, tc.config)
			checks := w.provider(nil).Examine(t.Context(), tc.settings)
			if got := checkOf(checks, tc.check); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s: %q, want %q; all: %v", tc.check, got, tc.want, checks)
			}
			for _, c := range w.api.Calls() {
				if c.Writes {
					t.Errorf("it has changed something: %s", c.Action)
				}
			}
		})
	}
}

func TestExamineBucket(t *testing.T) {
	w := newEmulator(t, awsapi.Config{})
	p := w.provider(nil)
	if _, err := p.calls.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("roots")}); err != nil {
		t.Fatal(err)
	}
	settings := []json.RawMessage{json.RawMessage(`{"region":"us-east-1","trust":{"bucket":"roots"}}`)}
	if got := checkOf(p.Examine(t.Context(), settings), "bucket roots"); !strings.HasPrefix(got, "2 it is not versioned") {
		t.Errorf("a bucket without versions: %q", got)
	}
}
