package aws

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse.dev/fake/awsapi"
)

// settle makes the environment one without AWS, and then as a test wants it.
func settle(t *testing.T, environment map[string]string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", nowhere)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, value := range environment {
		t.Setenv(name, value)
	}
}

// TestLoadFindsWhatAWSsToolsFind: who has a working AWS CLI needs to tell us nothing.
func TestLoadFindsWhatAWSsToolsFind(t *testing.T) {
	api := awsapi.New(awsapi.Config{Keys: []string{"AKIDENVIRONMENT", "AKIDPROFILE"}})
	server := httptest.NewServer(api)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config")
	text := "[profile work]\nregion = us-east-1\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = s\n" +
		"[profile edge]\nregion = us-east-1\nrole_arn = arn:aws:iam::123456789012:role/profile\nsource_profile = work\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name        string
		environment map[string]string
		config      Config
		caller      string // a part of its ARN
	}{
		{"environment", map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDENVIRONMENT", "AWS_SECRET_ACCESS_KEY": "s"}, Config{}, "123456789012"},
		{"profile by the environment", map[string]string{"AWS_CONFIG_FILE": file, "AWS_PROFILE": "work"}, Config{}, "123456789012"},
		{"profile by the flag", map[string]string{"AWS_CONFIG_FILE": file}, Config{Profile: "work"}, "123456789012"},
		{"profile with a role", map[string]string{"AWS_CONFIG_FILE": file}, Config{Profile: "edge"}, "assumed-role/profile"},
		{"role by the flag", map[string]string{"AWS_CONFIG_FILE": file, "AWS_PROFILE": "work"},
			Config{Role: "arn:aws:iam::123456789012:role/gatehouse", ExternalID: "x"}, "assumed-role/gatehouse"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			settle(t, tc.environment)
			t.Setenv("AWS_ENDPOINT_URL", server.URL)
			t.Setenv("AWS_ENDPOINT_URL_STS", server.URL) // the SDK asks no other for the roles of profiles
			p, err := Load(t.Context(), tc.config)
			if err != nil {
				t.Fatal(err)
			}
			number, caller, err := p.Account(t.Context())
			if err != nil || number != "123456789012" || !strings.Contains(caller, tc.caller) || p.Region() != "us-east-1" {
				t.Errorf("Account() = %q, %q, %v in %q; want %q in us-east-1", number, caller, err, p.Region(), tc.caller)
			}
		})
	}
}

func TestLoadPutsBucketsInThePath(t *testing.T) {
	settle(t, map[string]string{"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_S3": "http://storage.test"})
	p, err := Load(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.calls.s3.Options().UsePathStyle {
		t.Error("an endpoint of one's own has no DNS for buckets")
	}
	settle(t, map[string]string{"AWS_REGION": "us-east-1"})
	if p, err = Load(t.Context(), Config{}); err != nil || p.calls.s3.Options().UsePathStyle {
		t.Errorf("AWS's own has, and asks for it: %v", err)
	}
}

func TestLoadNeedsARegion(t *testing.T) {
	settle(t, nil)
	if _, err := Load(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v, want what to set", err)
	}
	if p, err := Load(t.Context(), Config{Region: "eu-west-1"}); err != nil || p.Region() != "eu-west-1" {
		t.Errorf("with one: %v", err)
	}
}
