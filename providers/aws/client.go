package aws

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/providers"
)

// Config says whose account a provider works in and how it gets there. What is
// empty is found as AWS's own tools find it: in the environment, in the shared
// configuration and credentials files, from a web identity, the container or the
// instance (see [Load]).
type Config struct {
	Region  string // such as eu-west-1
	Profile string // of the shared configuration files
	// Endpoint answers for all services instead of AWS's own, such as
	// http://127.0.0.1:4566. AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE> do the
	// same.
	Endpoint string

	Role       string // ARN of a role to assume with the credentials that were found
	ExternalID string // that the role's trust policy asks for
	// Credentials are used instead of any that could be found.
	Credentials aws.CredentialsProvider

	HTTP *http.Client // nil is the SDK's

	// Pacer is asked before every attempt of every request, under the names that
	// [Paced] gives them; nil holds nothing back. [NewPacer] has AWS's buckets.
	Pacer providers.Pacer
	// Keyring makes or reads the keys of certificates; nil is for clients that only
	// plan.
	Keyring providers.Keyring
	Now     func() time.Time // nil is time.Now
}

// Provider is one AWS account in one region. It makes no second try of its own: the
// SDK tries a request again whose answer says that nothing was done, and an Account
// tries a step again. Of the cloud it remembers only what does not change.
type Provider struct {
	Compiler
	calls clients
	keys  providers.Keyring
	now   func() time.Time

	limits limits
	memory *memory
	http   aws.HTTPClient // for links that AWS has signed
}

// clients are the services. All share one pacer.
type clients struct {
	elb     *elb.Client
	acm     *acm.Client
	s3      *s3.Client
	ec2     *ec2calls.Client
	tagging *resourcegroupstaggingapi.Client
	sts     *sts.Client
	region  string
}

// New makes a provider of exactly what the configuration says, and looks for nothing
// else: Region and Credentials are required. It makes no call.
func New(c Config) *Provider {
	base := aws.Config{Region: c.Region, Credentials: c.Credentials}
	if c.Endpoint != "" {
		base.BaseEndpoint = &c.Endpoint
	}
	if c.HTTP != nil {
		base.HTTPClient = c.HTTP
	}
	return newProvider(c, base)
}

// newProvider ties the services together.
func newProvider(c Config, base aws.Config) *Provider {
	base.AppID = appID
	if base.Retryer == nil {
		base.Retryer = newRetryer
	}
	base.APIOptions = append(base.APIOptions, pacing{c.Pacer}.addTo)
	if c.Now == nil {
		c.Now = time.Now
	}
	if base.HTTPClient == nil {
		base.HTTPClient = awshttp.NewBuildableClient()
	}
	// Names of buckets in the host need DNS that answers for them all: an endpoint of
	// one's own seldom has it.
	pathStyle := func(o *s3.Options) { o.UsePathStyle = base.BaseEndpoint != nil || o.BaseEndpoint != nil }
	return &Provider{
		keys: c.Keyring,
		now:  c.Now,

		memory: newMemory(),
		http:   base.HTTPClient,
		calls: clients{
			elb:     elb.NewFromConfig(base),
			acm:     acm.NewFromConfig(base),
			s3:      s3.NewFromConfig(base, pathStyle),
			ec2:     ec2calls.New(base),
			tagging: resourcegroupstaggingapi.NewFromConfig(base),
			sts:     sts.NewFromConfig(base),
			region:  base.Region,
		},
	}
}

// appID is how CloudTrail and the emulator's call log tell our calls from others'.
const appID = "gatehouse"

// Region is where the provider's load balancers are.
func (p *Provider) Region() string { return p.calls.region }

// Account asks whose account it is: its 12 digits and the caller's ARN.
func (p *Provider) Account(ctx context.Context) (number, caller string, err error) {
	out, err := p.calls.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", "", codeError("GetCallerIdentity", noID, err)
	}
	return aws.ToString(out.Account), aws.ToString(out.Arn), nil
}
