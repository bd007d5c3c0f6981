package acm

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/v2"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// Config is what New needs.
type Config struct {
	Home account.Home
	IDs  *account.IDs
	// InUse are the ARNs of what a certificate serves.
	InUse func(arn string) []string
	// Unseen is how long other services don't know a new certificate yet.
	Unseen time.Duration
	// Certificates and Imports are quotas: certificates held, and imports in 365 days.
	// 0 is AWS's 2,500 and 5,000.
	Certificates, Imports int
	Keep                  time.Duration // how old a state a read may ask for
}

// Service is the emulated service.
type Service struct {
	Config
	past    account.History[state]
	imports []time.Time
}

type state struct{ Certificates account.Rows[row] }

// row is a certificate. Its key is in Pair, and nowhere else.
type row struct {
	ARN      string
	PEM      string            `json:"-"`
	Chain    string            `json:"-"`
	Pair     tls.Certificate   `json:"-"`
	Leaf     *x509.Certificate `json:"-"`
	Names    []string
	Serial   string
	NotAfter time.Time
	Tags     map[string]string
	Made     time.Time
	Imported time.Time
}

// New makes an empty service.
func New(config Config) *Service {
	config.Certificates, config.Imports = cmp.Or(config.Certificates, 2500), cmp.Or(config.Imports, 5000)
	return &Service{Config: config, past: account.History[state]{Keep: config.Keep}}
}

// Protocol is how the service is spoken to.
func Protocol() wire.Protocol { return wire.JSON{Service: "CertificateManager"} }

func (s *Service) change(call *account.Call, do func(*state) error) error {
	next := state{s.past.Now().Certificates.Fork()}
	if err := do(&next); err != nil {
		return err
	}
	s.past.Commit(call.Now, next)
	return nil
}

// view is what a read sees.
func (s *Service) view(call *account.Call) *state {
	return &state{s.past.View(call).Certificates.Fork()}
}

func (s *state) find(arn string) (*row, error) {
	if arn == "" {
		return nil, wire.Refuse("ValidationException", "1 validation error detected: Value null at 'certificateArn' failed to satisfy constraint: Member must not be null")
	}
	if r := s.Certificates.Get(arn); r != nil {
		return r, nil
	}
	return nil, wire.Refuse("ResourceNotFoundException", "Could not find certificate %s.", arn)
}

// Has tells other services whether they know a certificate at that time.
func (s *Service) Has(arn string, at time.Time) bool {
	now := s.past.Now()
	r := now.Certificates.Get(arn)
	return r != nil && !at.Before(r.Made.Add(s.Unseen))
}

// Pair is a certificate with its key, for those that serve with it.
func (s *Service) Pair(arn string) (tls.Certificate, bool) {
	now := s.past.Now()
	if r := now.Certificates.Get(arn); r != nil {
		return r.Pair, true
	}
	return tls.Certificate{}, false
}

// Tagged are the tags of every certificate by ARN, as a read sees them.
func (s *Service) Tagged(call *account.Call) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, r := range s.view(call).Certificates.All(nil) {
		out[r.ARN] = r.Tags
	}
	return out
}

// MarshalJSON writes the newest state, as a dump shows it: no key, and no PEM.
func (s *Service) MarshalJSON() ([]byte, error) {
	return json.Marshal(s.past.Now(), json.OmitZeroStructFields(true))
}

func (s *Service) deleteCertificate(call *account.Call, in *ofCertificate) (any, error) {
	return nil, s.change(call, func(now *state) error {
		if _, err := now.find(in.CertificateArn); err != nil {
			return err
		}
		if len(s.InUse(in.CertificateArn)) > 0 {
			return wire.Refuse("ResourceInUseException", "Certificate %s in account %s is in use.", in.CertificateArn, s.Home.Account)
		}
		now.Certificates.Delete(in.CertificateArn)
		return nil
	})
}

func (s *Service) getCertificate(call *account.Call, in *ofCertificate) (any, error) {
	r, err := s.view(call).find(in.CertificateArn)
	if err != nil {
		return nil, err
	}
	return getOut{r.PEM, r.Chain}, nil
}

// retag changes the tags of a certificate.
func (s *Service) retag(call *account.Call, arn string, do func(map[string]string)) (any, error) {
	return nil, s.change(call, func(now *state) error {
		old, err := now.find(arn)
		if err != nil {
			return err
		}
		next := *old
		next.Tags = map[string]string{}
		maps.Copy(next.Tags, old.Tags)
		if do(next.Tags); len(next.Tags) > 50 {
			return wire.Refuse("TooManyTagsException", "A certificate can have at most 50 tags.")
		}
		now.Certificates.Put(arn, next)
		return nil
	})
}

func (s *Service) addTags(call *account.Call, in *withTags) (any, error) {
	return s.retag(call, cmp.Or(in.CertificateArn, in.ResourceArn), func(tags map[string]string) {
		for _, t := range in.Tags {
			tags[t.Key] = t.Value
		}
	})
}

func (s *Service) removeTags(call *account.Call, in *withTags) (any, error) {
	return s.retag(call, in.CertificateArn, func(tags map[string]string) {
		for _, t := range in.Tags {
			if t.Value == "" || tags[t.Key] == t.Value {
				delete(tags, t.Key)
			}
		}
	})
}

func (s *Service) untag(call *account.Call, in *withTagKeys) (any, error) {
	return s.retag(call, in.ResourceArn, func(tags map[string]string) {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	})
}

func (s *Service) listTags(call *account.Call, in *ofCertificate) (any, error) {
	r, err := s.view(call).find(in.CertificateArn)
	if err != nil {
		return nil, err
	}
	out := tagsOut{Tags: []tagOut{}}
	for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
		out.Tags = append(out.Tags, tagOut{key, new(r.Tags[key])})
	}
	return out, nil
}

func (s *Service) listTagsForResource(call *account.Call, in *ofResource) (any, error) {
	return s.listTags(call, &ofCertificate{in.ResourceArn})
}

// Actions are everything that can be asked for.
func (s *Service) Actions() map[string]account.Action {
	return account.Table(
		account.Write("AddTagsToCertificate", Bucket, s.addTags),
		account.Write("DeleteCertificate", Bucket, s.deleteCertificate),
		account.Read("DescribeCertificate", Bucket, s.describeCertificate),
		account.Read("GetCertificate", Bucket, s.getCertificate),
		account.Write("ImportCertificate", Bucket, s.importCertificate),
		account.Read("ListCertificates", Bucket, s.listCertificates),
		account.Read("ListTagsForCertificate", Bucket, s.listTags),
		account.Read("ListTagsForResource", Bucket, s.listTagsForResource),
		account.Write("RemoveTagsFromCertificate", Bucket, s.removeTags),
		account.Write("TagResource", Bucket, s.addTags),
		account.Write("UntagResource", Bucket, s.untag),
	)
}

// Bucket is the token bucket of ACM. It has no size unless somebody gives it one.
const Bucket = "acm"
