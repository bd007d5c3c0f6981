package gcp

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json/v2"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
)

// settle makes the environment one without Google Cloud, and then as a test wants it.
func settle(t *testing.T, environment map[string]string) string {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GOOGLE_") || strings.HasPrefix(name, "CLOUDSDK_") || strings.HasPrefix(name, "GCLOUD_") || name == EndpointVariable {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for name, value := range environment {
		t.Setenv(name, value)
	}
	return home
}

// write makes a file and the folders that it is in.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serviceAccountKey is a key file whose tokens come from a URL.
func serviceAccountKey(t *testing.T, tokens string) string {
	key := must2(rsa.GenerateKey(rand.Reader, 2048))(t)
	der := must2(x509.MarshalPKCS8PrivateKey(key))(t)
	text := must2(json.Marshal(map[string]string{
		"type": "service_account", "project_id": "key-project", "client_email": "me@key-project.iam.gserviceaccount.com", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}))(t)
	return write(t, filepath.Join(t.TempDir(), "key.json"), string(text))
}

// TestLoadFindsTheProject: who has a working gcloud needs to tell us nothing.
func TestLoadFindsTheProject(t *testing.T) {
	clear := map[string]string{EndpointVariable: "http://127.0.0.1:1"}
	with := func(more ...string) map[string]string {
		out := map[string]string{EndpointVariable: clear[EndpointVariable]}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	cases := []struct {
		name        string
		environment map[string]string
		config      Config
		files       map[string]string // of gcloud's folder
		want        string            // "" is an error that says what to do
	}{
		{"said", with("GOOGLE_CLOUD_PROJECT", "of-environment"), Config{Project: "said"}, nil, "said"},
		{"of the environment", with("GOOGLE_CLOUD_PROJECT", "of-environment"), Config{}, nil, "of-environment"},
		{"of gcloud's environment", with("CLOUDSDK_CORE_PROJECT", "of-gcloud"), Config{}, nil, "of-gcloud"},
		{"of gcloud's active configuration", with(), Config{}, map[string]string{
			"active_config": "work\n", "configurations/config_default": "[core]\nproject = other\n", "configurations/config_work": "[compute]\nproject = no\n[core]\naccount = me\nproject = at-work\n",
		}, "at-work"},
		{"of gcloud's configuration by name", with("CLOUDSDK_ACTIVE_CONFIG_NAME", "default"), Config{}, map[string]string{
			"active_config": "work\n", "configurations/config_default": "[core]\nproject = other\n"}, "other"},
		{"of nobody", with(), Config{}, nil, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			home := settle(t, tc.environment)
			for name, text := range tc.files {
				write(t, filepath.Join(home, ".config", "gcloud", name), text)
			}
			p, err := Load(t.Context(), tc.config)
			switch {
			case tc.want == "" && (err == nil || !strings.Contains(err.Error(), "gcloud config set project")):
				t.Errorf("%v, want what to do", err)
			case tc.want != "" && (err != nil || p.Project() != tc.want):
				t.Errorf("%v, %v; want %s", p, err, tc.want)
			}
		})
	}
}

// TestLoadFindsCredentials: Application Default Credentials, of which a token comes with
// every request, and the project if nothing else says it.
func TestLoadFindsCredentials(t *testing.T) {
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"secret-token","token_type":"Bearer","expires_in":3600}`))
	}))
	defer tokens.Close()
	var seen http.Header
	api := gcpapi.New(gcpapi.Config{Projects: []store.Project{{ID: "key-project", Number: "1"}}, Admit: func(token string) bool { return token == "secret-token" }})
	settle(t, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": serviceAccountKey(t, tokens.URL), "GOOGLE_CLOUD_QUOTA_PROJECT": "paying"})
	p, err := Load(t.Context(), Config{HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
		seen = r.Header
		return api.RoundTrip(r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	if p.Project() != "key-project" {
		t.Errorf("project %q, want the key's", p.Project())
	}
	if _, err := p.calls.List(t.Context(), "projects/key-project/global/urlMaps", ""); err != nil {
		t.Error(err)
	}
	if seen.Get("X-Goog-User-Project") != "paying" || seen.Get("User-Agent") != userAgent {
		t.Errorf("requests say %v", seen)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTokensAreRefused: nothing is sent, and what is told says what to do.
func TestTokensAreRefused(t *testing.T) {
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
	}))
	defer tokens.Close()
	settle(t, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": serviceAccountKey(t, tokens.URL)})
	p, err := Load(t.Context(), Config{HTTP: roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent without a token")
		return nil, http.ErrHandlerTimeout
	})})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Observe(t.Context(), lbmodel.Owner{Cluster: "c"}, nil)
	if lbmodel.CodeOf(err) != lbmodel.CodeDenied || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("%v, want Denied and what to do", err)
	}
}

// TestNoTokenInTheClear: an endpoint without TLS gets none, and one with TLS does.
func TestNoTokenInTheClear(t *testing.T) {
	settle(t, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": filepath.Join(t.TempDir(), "none")})
	if _, err := Load(t.Context(), Config{Project: testProject, Endpoint: "http://127.0.0.1:1"}); err != nil {
		t.Errorf("in the clear: %v", err)
	}
	if _, err := Load(t.Context(), Config{Project: testProject, Endpoint: "https://gcp.test"}); err == nil {
		t.Error("with TLS it asks for no credentials")
	}
	if _, err := Load(t.Context(), Config{Project: testProject}); err == nil || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("Google's own: %v, want what to do", err)
	}
}
