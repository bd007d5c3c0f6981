package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"gatehouse.dev/providers"
)

// errNoRegion says what to do.
var errNoRegion = errors.New("no region is known: set AWS_REGION, or region in the profile of the AWS configuration file")

// CallTimeout is how long one call of an Account may take. A look at an account with
// thousands of target groups, within AWS's buckets, takes minutes; each of its requests
// has a limit of its own.
const CallTimeout = 5 * time.Minute

// answerWithin is how long AWS may take to begin an answer.
const answerWithin = 30 * time.Second

// Open is Load for who will work with the account: it paces requests, unless the
// configuration has a pacer, and asks for the account's quotas, which is one call.
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

// Load makes a provider of what the configuration says and of what AWS's own tools
// would find: AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL, AWS_CA_BUNDLE, keys of the
// environment, the shared files with their roles and sources, a web identity, the
// container's or the instance's role. AWS_MAX_ATTEMPTS counts, and AWS_RETRY_MODE does
// not: what may be tried again is no matter of taste here (see retry.go). For roles of
// profiles and of web identities the SDK asks STS where AWS_ENDPOINT_URL_STS says, and
// not where AWS_ENDPOINT_URL does.
//
// It makes no call to the account. Credentials are asked for by the first request, and
// again whenever they run out.
func Load(ctx context.Context, c Config) (*Provider, error) {
	base, err := config.LoadDefaultConfig(ctx, c.options()...)
	if err != nil {
		return nil, fmt.Errorf("AWS's configuration: %w", err)
	}
	if base.Region == "" {
		return nil, errNoRegion
	}
	if c.Role != "" {
		base.Credentials = c.assume(base)
	}
	return newProvider(c, base), nil
}

// options are what overrides the environment and the files.
func (c Config) options() []func(*config.LoadOptions) error {
	var out []func(*config.LoadOptions) error
	if c.Region != "" {
		out = append(out, config.WithRegion(c.Region))
	}
	if c.Profile != "" {
		out = append(out, config.WithSharedConfigProfile(c.Profile))
	}
	if c.Credentials != nil {
		out = append(out, config.WithCredentialsProvider(c.Credentials))
	}
	if c.Endpoint != "" {
		out = append(out, config.WithBaseEndpoint(c.Endpoint))
	}
	if c.HTTP != nil {
		return append(out, config.WithHTTPClient(c.HTTP))
	}
	return append(out, config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout = answerWithin
	})))
}

// assume makes the credentials those of the role.
func (c Config) assume(base aws.Config) aws.CredentialsProvider {
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(base), c.Role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = appID
		if c.ExternalID != "" {
			o.ExternalID = &c.ExternalID
		}
	}))
}
