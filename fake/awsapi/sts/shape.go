package sts

import "time"

// The shapes of the API, as they are on the wire.

type identity struct{ Account, Arn, UserId string }

type (
	assumeRole struct {
		DurationSeconds         *int
		ExternalId              string
		MinimumSessionTokenSize *int
		Policy                  string
		PolicyArns              []policy
		ProvidedContexts        []context
		RoleArn                 string
		RoleSessionName         string
		SerialNumber            string
		SourceIdentity          string
		Tags                    []tag
		TokenCode               string
		TransitiveTagKeys       []string
	}
	assumeWithToken struct {
		DurationSeconds         *int
		MinimumSessionTokenSize *int
		Policy                  string
		PolicyArns              []policy
		ProviderId              string
		RoleArn                 string
		RoleSessionName         string
		WebIdentityToken        string
	}
	policy struct {
		ARN string `wire:"arn"`
	}
	context struct{ ContextAssertion, ProviderArn string }
	tag     struct{ Key, Value string }
)

type assumed struct {
	AssumedRoleUser             user
	Audience                    string
	Credentials                 credentials
	PackedPolicySize            *int
	Provider                    string
	SessionTokenSize            *int
	SessionTokenUtilization     *int
	SourceIdentity              string
	SubjectFromWebIdentityToken string
}

type user struct{ Arn, AssumedRoleId string }

type credentials struct {
	AccessKeyId     string
	Expiration      time.Time
	SecretAccessKey string
	SessionToken    string
}
