package sts

import (
	"encoding/json/v2"
	"net/http"
	"regexp"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// Config is what New needs.
type Config struct {
	Home account.Home
	IDs  *account.IDs
}

// Service is the emulated service.
type Service struct {
	Config
	issued map[string]session // by access key id
}

type session struct {
	ARN, ID string
	Until   time.Time
}

// New makes a service that has issued nothing.
func New(config Config) *Service { return &Service{Config: config, issued: map[string]session{}} }

// Protocol is how the service is spoken to.
func Protocol() wire.Protocol {
	return wire.XML{Dialect: wire.Query, Namespace: "https://sts.amazonaws.com/doc/2011-06-15/"}
}

// Issued tells whether a key was issued here, and until when it is good.
func (s *Service) Issued(key string) (until time.Time, ok bool) {
	one, ok := s.issued[key]
	return one.Until, ok
}

// MarshalJSON writes nothing: keys that were issued are not an account's state.
func (s *Service) MarshalJSON() ([]byte, error) { return json.Marshal(struct{}{}) }

func (s *Service) getCallerIdentity(call *account.Call, _ *struct{}) (any, error) {
	if one, ok := s.issued[call.Key]; ok {
		return identity{s.Home.Account, one.ARN, one.ID}, nil
	}
	return identity{s.Home.Account, "arn:aws:iam::" + s.Home.Account + ":user/gatehouse", "AIDA" + strings.Repeat("A", 16)}, nil
}

var roleARN = regexp.MustCompile(`^arn:aws:iam::([0-9]{12}):role/(?:.*/)?([^/]+)$`)

// issue makes temporary keys for a role.
func (s *Service) issue(call *account.Call, role, name string, seconds *int) (assumed, error) {
	parts := roleARN.FindStringSubmatch(role)
	length := 3600
	if seconds != nil {
		length = *seconds
	}
	switch {
	case parts == nil:
		return assumed{}, wire.Refuse("ValidationError", "%s is invalid", role)
	case len(name) < 2 || len(name) > 64:
		return assumed{}, wire.Refuse("ValidationError", "1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must have length between 2 and 64", name)
	case length < 900 || length > 43200:
		return assumed{}, wire.Refuse("ValidationError", "1 validation error detected: Value '%d' at 'durationSeconds' failed to satisfy constraint: Member must have value between 900 and 43200", length)
	}
	key := "ASIA" + strings.ToUpper(s.IDs.Hex(16))
	one := session{ARN: "arn:aws:sts::" + parts[1] + ":assumed-role/" + parts[2] + "/" + name, ID: "AROA" + strings.ToUpper(s.IDs.Hex(16)) + ":" + name,
		Until: call.Now.Add(time.Duration(length) * time.Second)}
	s.issued[key] = one
	return assumed{AssumedRoleUser: user{one.ARN, one.ID},
		Credentials: credentials{AccessKeyId: key, Expiration: one.Until, SecretAccessKey: s.IDs.Hex(40), SessionToken: s.IDs.Hex(64)}}, nil
}

func (s *Service) assumeRole(call *account.Call, in *assumeRole) (any, error) {
	out, err := s.issue(call, in.RoleArn, in.RoleSessionName, in.DurationSeconds)
	out.SourceIdentity = in.SourceIdentity
	return out, err
}

func (s *Service) assumeWithToken(call *account.Call, in *assumeWithToken) (any, error) {
	if in.WebIdentityToken == "" {
		return nil, &wire.Error{Status: http.StatusBadRequest, Code: "InvalidIdentityToken", Message: "No web identity token was given"}
	}
	out, err := s.issue(call, in.RoleArn, in.RoleSessionName, in.DurationSeconds)
	out.Provider, out.Audience = in.ProviderId, "sts.amazonaws.com"
	return out, err
}

// Actions are everything that can be asked for.
func (s *Service) Actions() map[string]account.Action {
	return account.Table(
		account.Write("AssumeRole", Bucket, s.assumeRole),
		account.Write("AssumeRoleWithWebIdentity", Bucket, s.assumeWithToken),
		account.Read("GetCallerIdentity", Bucket, s.getCallerIdentity),
	)
}

// Bucket is the token bucket of STS. It has no size unless somebody gives it one.
const Bucket = "sts"
