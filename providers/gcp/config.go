package gcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/impersonate"

	"gatehouse.dev/providers"
)

const (
	// userAgent is how audit logs and the emulator's call log tell our calls from others'.
	userAgent = "gatehouse"
	// cloudPlatform is what tokens are for: IAM says what of it is allowed.
	cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"
	// EndpointVariable is the environment's Endpoint.
	EndpointVariable = "GATEHOUSE_GCP_ENDPOINT"
)

// errNoProject says what to do.
var errNoProject = errors.New("no project is known: set gcp.project of GatewayParameters or GOOGLE_CLOUD_PROJECT, or gcloud config set project PROJECT")

// CallTimeout is how long one call of an Account may take: a look at a project with
// thousands of network endpoint groups, within Google's quotas, takes minutes. Each
// operation is waited for no longer than Config.Patience.
const CallTimeout = 5 * time.Minute

// answerWithin is how long Google may take to begin an answer: a wait for an operation
// has two minutes.
const answerWithin = 150 * time.Second

// Open is Load for who will work with the project: it paces requests, unless the
// configuration has a pacer, and asks for the project's quotas.
func Open(ctx context.Context, c Config) (*Provider, error) {
	if c.Pacer == nil {
		c.Pacer = NewPacer(providers.Clock{})
	}
	p, err := Load(ctx, c)
	if err != nil {
		return nil, err
	}
	return p, p.ReadLimits(ctx)
}

// Load makes a provider of what the configuration says and of what Google's own tools
// would find. Credentials are Application Default ones: GOOGLE_APPLICATION_CREDENTIALS
// (a key, or a configuration of Workload Identity Federation), those of gcloud auth
// application-default login, or the metadata server's, which are GKE's Workload Identity.
// GOOGLE_IMPERSONATE_SERVICE_ACCOUNT and gcloud's setting of that name act as another, and
// GOOGLE_CLOUD_QUOTA_PROJECT has requests counted elsewhere. The project is
// GOOGLE_CLOUD_PROJECT's, gcloud's, or that of the credentials.
//
// It makes no call to the project. Tokens are asked for by the first request, and again
// whenever they run out.
func Load(ctx context.Context, c Config) (*Provider, error) {
	c.Endpoint = cmp.Or(c.Endpoint, os.Getenv(EndpointVariable))
	c.ServiceAccount = cmp.Or(c.ServiceAccount, os.Getenv("GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"), configured("auth", "impersonate_service_account"))
	c.QuotaProject = cmp.Or(c.QuotaProject, os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT"))
	c.Project = cmp.Or(c.Project, os.Getenv("GOOGLE_CLOUD_PROJECT"), os.Getenv("GCLOUD_PROJECT"), configured("core", "project"))
	if err := c.authenticate(ctx); err != nil {
		return nil, err
	}
	if c.Project == "" {
		return nil, errNoProject
	}
	return New(c)
}

// authenticate finds credentials, unless the endpoint is one that must not see any.
func (c *Config) authenticate(ctx context.Context) (err error) {
	if c.Credentials == nil && c.inTheClear() {
		return nil
	}
	if c.Credentials == nil {
		c.Credentials, err = credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{cloudPlatform}})
		if err != nil {
			return fmt.Errorf("no credentials for Google Cloud: %w; log in with gcloud auth application-default login, "+
				"set GOOGLE_APPLICATION_CREDENTIALS, or run where a service account is attached", err)
		}
	}
	if c.Project == "" {
		if c.Project, err = c.Credentials.ProjectID(ctx); err != nil {
			return fmt.Errorf("%w (the credentials' own: %w)", errNoProject, err)
		}
	}
	if c.QuotaProject == "" {
		// One that cannot be read is none: requests count against the project then.
		c.QuotaProject, _ = c.Credentials.QuotaProjectID(ctx)
	}
	if c.ServiceAccount == "" {
		return nil
	}
	c.Credentials, err = impersonate.NewCredentials(&impersonate.CredentialsOptions{
		TargetPrincipal: c.ServiceAccount, Scopes: []string{cloudPlatform}, Credentials: c.Credentials,
	})
	if err != nil {
		return fmt.Errorf("acting as %s: %w", c.ServiceAccount, err)
	}
	return nil
}

// inTheClear says whether requests to the endpoint could be read on their way.
func (c *Config) inTheClear() bool {
	at, err := url.Parse(c.Endpoint)
	return c.Endpoint != "" && err == nil && at.Scheme == "http"
}

// newTransport sends one attempt.
func newTransport() http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // somebody has replaced it, and knows why
	}
	own := base.Clone()
	own.ResponseHeaderTimeout = answerWithin
	own.MaxIdleConnsPerHost = 32 // waits for operations, side by side
	return own
}

// sign is what every attempt says of who makes it.
func (c Config) sign(r *http.Request) error {
	r.Header.Set("User-Agent", userAgent)
	if c.QuotaProject != "" {
		r.Header.Set("X-Goog-User-Project", c.QuotaProject)
	}
	if c.Credentials == nil {
		return nil
	}
	token, err := c.Credentials.Token(r.Context())
	if err != nil {
		return noToken{err}
	}
	r.Header.Set("Authorization", cmp.Or(token.Type, "Bearer")+" "+token.Value)
	return nil
}

// noToken is a request that was not made, for want of a token.
type noToken struct{ err error }

// Error implements error.
func (n noToken) Error() string {
	return "no token: " + n.err.Error() + "; log in again (gcloud auth application-default login), or see that the credentials are valid and may act as the service account"
}

// Unwrap implements errors.Unwrap.
func (n noToken) Unwrap() error { return n.err }

// configured is a property of gcloud's: of the environment, and else of the active
// configuration [sdk/docs/configurations]. "" is unset.
func configured(section, property string) string {
	if value := os.Getenv("CLOUDSDK_" + strings.ToUpper(section+"_"+property)); value != "" {
		return value
	}
	home := os.Getenv("CLOUDSDK_CONFIG")
	if home == "" {
		base, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(base, ".config", "gcloud")
	}
	name := os.Getenv("CLOUDSDK_ACTIVE_CONFIG_NAME")
	if name == "" {
		text, err := os.ReadFile(filepath.Join(home, "active_config"))
		if err != nil {
			return "" // gcloud was never used here
		}
		name = strings.TrimSpace(string(text))
	}
	text, err := os.ReadFile(filepath.Join(home, "configurations", "config_"+filepath.Base(name)))
	if err != nil {
		return ""
	}
	return propertyIn(text, section, property)
}

// propertyIn finds a value in an INI file.
func propertyIn(text []byte, section, property string) string {
	at := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if name, ok := strings.CutPrefix(line, "["); ok {
			at = strings.TrimSuffix(name, "]")
		}
		if key, value, ok := strings.Cut(line, "="); ok && at == section && strings.TrimSpace(key) == property {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
