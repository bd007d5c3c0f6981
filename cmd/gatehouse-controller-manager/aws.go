package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"gatehouse.dev/ccm"
	"gatehouse.dev/providers/aws"
)

// amazon is the provider of AWS's load balancers, gatehouse.dev/aws, of one region.
type amazon struct {
	// Region is where the load balancers live; empty is that this process has none of
	// AWS's.
	Region string `json:"region,omitempty"`
	// Profile of the shared configuration files; empty is the environment's.
	Profile string `json:"profile,omitempty"`
	// Role is a role's ARN to assume with the credentials that are found.
	Role string `json:"role,omitempty"`
	// ExternalID is what the role's trust policy may ask for.
	ExternalID string `json:"externalID,omitempty"`
	// Endpoint answers for all services instead of AWS's own.
	Endpoint string `json:"endpoint,omitempty"`
}

func (a *amazon) provider() ccm.Provider {
	return ccm.Provider{Name: aws.ProviderName, Settings: a, AddFlags: a.addFlags, Used: a.used, Check: a.check, Open: a.open}
}

func (a *amazon) addFlags(set *pflag.FlagSet) {
	set.StringVar(&a.Region, "aws-region", "", "Region of AWS's load balancers (gatehouse.dev/aws), such as eu-west-1. Empty is none of AWS's.")
	set.StringVar(&a.Profile, "aws-profile", "", "Profile of the shared AWS configuration files. Empty is AWS_PROFILE.")
	set.StringVar(&a.Role, "aws-role", "", "ARN of a role to assume with the credentials that are found.")
	set.StringVar(&a.ExternalID, "aws-external-id", "", "External ID that the trust policy of --aws-role asks for.")
	set.StringVar(&a.Endpoint, "aws-endpoint", "", "URL that answers for all services of AWS, as gatehouse fake aws does. Empty is AWS_ENDPOINT_URL, or AWS.")
}

func (a *amazon) used() bool { return a.Region != "" }

func (a *amazon) check() error {
	if a.Region == "" && (a.Profile != "" || a.Role != "" || a.Endpoint != "") {
		return errors.New("region is empty, so that profile, role and endpoint mean nothing: set it, or leave them out")
	}
	if a.ExternalID != "" && a.Role == "" {
		return errors.New("externalID is for a role: set role too, or leave it out")
	}
	return nil
}

func (a *amazon) open(ctx context.Context, o ccm.Options) (ccm.Backend, error) {
	p, err := aws.Open(ctx, aws.Config{
		Region: a.Region, Profile: a.Profile, Role: a.Role, ExternalID: a.ExternalID, Endpoint: a.Endpoint, Keyring: o.Keyring,
	})
	if err != nil {
		return ccm.Backend{}, err
	}
	return ccm.Backend{Provider: p, CallTimeout: aws.CallTimeout}, nil
}
