package ec2

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// values are what a resource offers to filters, by the filters' names.
type values map[string][]string

// tagged adds what filters on tags look at.
func (v values) tagged(tags map[string]string) values {
	v["tag-key"] = slices.Collect(maps.Keys(tags))
	for key, value := range tags {
		v["tag:"+key] = []string{value}
	}
	return v
}

// matches tells whether a resource passes all filters. Values may hold * and ?.
func (v values) matches(filters []filter) (bool, error) {
	for _, f := range filters {
		have, known := v[f.Name]
		if !known && !strings.HasPrefix(f.Name, "tag:") {
			return false, wire.Refuse("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		}
		if !slices.ContainsFunc(have, func(value string) bool {
			return slices.ContainsFunc(f.Values, func(pattern string) bool { return glob(pattern, value) })
		}) {
			return false, nil
		}
	}
	return true, nil
}

// glob matches as EC2's filters do. A slash is a character like others.
func glob(pattern, value string) bool {
	hide := strings.NewReplacer("/", "\x00", "[", `\[`)
	ok, err := path.Match(hide.Replace(pattern), strings.ReplaceAll(value, "/", "\x00"))
	return err == nil && ok
}

// found is a resource with its id.
type found[T any] struct {
	id    string
	shape T
	values
}

// pick filters resources, refuses ids that are not there, and cuts a page.
func pick[T any](all []found[T], ids []string, unknown string, filters []filter, in paging) ([]T, string, error) {
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(f found[T]) bool { return f.id == id }) {
			return nil, "", wire.Refuse(unknown, "The ID '%s' does not exist", id)
		}
	}
	out := []T{}
	for _, f := range all {
		ok, err := f.matches(filters)
		if err != nil {
			return nil, "", err
		}
		if ok && (len(ids) == 0 || slices.Contains(ids, f.id)) {
			out = append(out, f.shape)
		}
	}
	size := 1000
	if in.MaxResults != nil {
		if size = *in.MaxResults; size < 5 || size > 1000 {
			return nil, "", wire.Refuse("InvalidParameterValue", "Value ( %s ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.", strconv.Itoa(size))
		}
	}
	page, next, ok := account.Page(out, in.NextToken, size)
	if !ok {
		return nil, "", wire.Refuse("InvalidParameterValue", "Unable to parse pagination token")
	}
	return page, next, nil
}

// dry refuses what was only to be tried.
func dry(flag *bool) error {
	if flag == nil || !*flag {
		return nil
	}
	return &wire.Error{Status: http.StatusPreconditionFailed, Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set."}
}

func tagsOf(tags map[string]string) []tag {
	out := []tag{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{key, tags[key]})
	}
	return out
}
