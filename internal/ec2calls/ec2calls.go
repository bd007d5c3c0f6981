// Package ec2calls is the few requests of EC2 that load balancers need: what a
// network looks like, and security groups. It stands between EC2's own package, whose
// compilation takes minutes, and whoever uses a dozen of its eight hundred requests.
//
// It decides nothing, remembers nothing, and tries nothing again that its
// configuration does not. Errors are the SDK's. Start with [Client].
package ec2calls

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Client makes the requests. It is safe for concurrent use.
type Client struct{ api *ec2.Client }

// New makes a client.
func New(c aws.Config) *Client { return &Client{api: ec2.NewFromConfig(c)} }

// filters are those that a description must pass. A tag without a value passes with
// any.
type filters []types.Filter

func (f *filters) add(name string, values ...string) {
	values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	if len(values) > 0 {
		*f = append(*f, types.Filter{Name: &name, Values: values})
	}
}

func (f *filters) addTags(tags map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if tags[key] == "" {
			f.add("tag-key", key)
			continue
		}
		f.add("tag:"+key, tags[key])
	}
}

func readTags(from []types.Tag) map[string]string {
	out := make(map[string]string, len(from))
	for _, t := range from {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

func writeTags(from map[string]string) []types.Tag {
	var out []types.Tag
	for _, key := range slices.Sorted(maps.Keys(from)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(from[key])})
	}
	return out
}
