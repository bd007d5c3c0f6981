package tagging

import (
	"encoding/json/v2"
	"maps"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// Config is what New needs.
type Config struct {
	// Tagged are the tags of every resource of the account by ARN, as a read sees them.
	Tagged func(*account.Call) map[string]map[string]string
	// Behind is how far the index lags behind the resources.
	Behind time.Duration
}

// Service is the emulated service.
type Service struct{ Config }

// New makes a service.
func New(config Config) *Service { return &Service{config} }

// MarshalJSON writes nothing: the tags are their resources'.
func (s *Service) MarshalJSON() ([]byte, error) { return json.Marshal(struct{}{}) }

type (
	getResources struct {
		ExcludeCompliantResources *bool
		IncludeComplianceDetails  *bool
		PaginationToken           string
		ResourceARNList           []string
		ResourceTypeFilters       []string
		ResourcesPerPage          *int
		TagFilters                []filter
		TagsPerPage               *int
	}
	filter struct {
		Key    string
		Values []string
	}
	resources struct {
		PaginationToken        string
		ResourceTagMappingList []mapping
	}
	mapping struct {
		ComplianceDetails any `cbor:",omitempty"`
		ResourceARN       string
		Tags              []tag
	}
	tag struct {
		Key   string
		Value *string // also an empty one is told
	}

	getKeys   struct{ PaginationToken string }
	getValues struct{ Key, PaginationToken string }
	keys      struct {
		PaginationToken string
		TagKeys         []string
	}
	values struct {
		PaginationToken string
		TagValues       []string
	}
)

// kind is a resource's type as filters name it: service, or service:type.
func kind(arn string) (service, full string) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return "", ""
	}
	name := parts[5]
	if at := strings.IndexAny(name, "/:"); at >= 0 {
		name = name[:at]
	}
	return parts[2], parts[2] + ":" + name
}

func (in *getResources) passes(arn string, tags map[string]string) bool {
	service, full := kind(arn)
	if len(in.ResourceTypeFilters) > 0 && !slices.Contains(in.ResourceTypeFilters, service) && !slices.Contains(in.ResourceTypeFilters, full) &&
		!slices.ContainsFunc(in.ResourceTypeFilters, func(f string) bool {
			return strings.HasPrefix(f, full+"/") && strings.Contains(arn, f[len(service)+1:])
		}) {
		return false
	}
	if len(in.ResourceARNList) > 0 && !slices.Contains(in.ResourceARNList, arn) {
		return false
	}
	for _, f := range in.TagFilters {
		value, ok := tags[f.Key]
		if !ok || len(f.Values) > 0 && !slices.Contains(f.Values, value) {
			return false
		}
	}
	return len(tags) > 0 // what was never tagged is not in the index
}

// index is what the index knows: what was true a while ago.
func (s *Service) index(call *account.Call) map[string]map[string]string {
	then := *call
	then.Lag += s.Behind
	return s.Tagged(&then)
}

func (s *Service) getResources(call *account.Call, in *getResources) (any, error) {
	size := 100
	if in.ResourcesPerPage != nil {
		size = *in.ResourcesPerPage
	}
	tooMany := slices.ContainsFunc(in.TagFilters, func(f filter) bool { return len(f.Values) > 20 })
	if size < 1 || size > 100 || len(in.TagFilters) > 50 || tooMany {
		return nil, wire.Refuse("InvalidParameterException", "ResourcesPerPage must be from 1 to 100, with at most 50 tag filters of at most 20 values")
	}
	all := s.index(call)
	var found []mapping
	for _, arn := range slices.Sorted(maps.Keys(all)) {
		if in.passes(arn, all[arn]) {
			one := mapping{ResourceARN: arn, Tags: []tag{}}
			for _, key := range slices.Sorted(maps.Keys(all[arn])) {
				one.Tags = append(one.Tags, tag{key, new(all[arn][key])})
			}
			found = append(found, one)
		}
	}
	page, next, ok := account.Page(found, in.PaginationToken, size)
	if !ok {
		return nil, wire.Refuse("PaginationTokenExpiredException", "The pagination token is not valid")
	}
	return resources{next, append([]mapping{}, page...)}, nil
}

func (s *Service) getKeys(call *account.Call, _ *getKeys) (any, error) {
	seen := map[string]bool{}
	for _, tags := range s.index(call) {
		for key := range tags {
			seen[key] = true
		}
	}
	return keys{TagKeys: append([]string{}, slices.Sorted(maps.Keys(seen))...)}, nil
}

func (s *Service) getValues(call *account.Call, in *getValues) (any, error) {
	seen := map[string]bool{}
	for _, tags := range s.index(call) {
		if value, ok := tags[in.Key]; ok {
			seen[value] = true
		}
	}
	return values{TagValues: append([]string{}, slices.Sorted(maps.Keys(seen))...)}, nil
}

// Actions are everything that can be asked for.
func (s *Service) Actions() map[string]account.Action {
	return account.Table(
		account.Read("GetResources", Bucket, s.getResources),
		account.Read("GetTagKeys", Bucket, s.getKeys),
		account.Read("GetTagValues", Bucket, s.getValues),
	)
}

// Bucket is the token bucket of the API. It has no size unless somebody gives it one.
const Bucket = "tagging"
