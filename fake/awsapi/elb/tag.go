package elb

import (
	"maps"
	"slices"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// newTags checks the tags of a create.
func (s *Service) newTags(in []tag) (labels, error) {
	out := labels{}
	for _, t := range in {
		if _, twice := out[t.Key]; twice {
			return nil, refuse("DuplicateTagKeys", "Tag key '%s' is specified more than once", t.Key)
		}
		switch {
		case t.Key == "" || len(t.Key) > 128:
			return nil, breaks(t.Key, "tags.key", "have length between 1 and 128")
		case len(t.Value) > 256:
			return nil, breaks(t.Value, "tags.value", "have length less than or equal to 256")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return nil, invalid("Tag key '%s' is not valid: the prefix 'aws:' is reserved", t.Key)
		}
		out[t.Key] = t.Value
	}
	return out, s.fewTags(out)
}

func (s *Service) fewTags(all labels) error {
	if len(all) > s.limit(limitTags) {
		return refuse("TooManyTags", "The maximum number of tags per resource is '%d'", s.limit(limitTags))
	}
	return nil
}

// otherTags tells whether tags make an idempotent create another one.
func (s *Service) otherTags(old, next labels) bool {
	return s.Undocumented.TagsAreSettings && !maps.Equal(old, next)
}

// tagsOf are a resource's tags. put replaces them.
func (s *state) tagsOf(arn string) (tags labels, put func(labels), err error) {
	switch {
	case s.LoadBalancers.Get(arn) != nil:
		row := *s.LoadBalancers.Get(arn)
		return row.Tags, func(t labels) { row.Tags = t; s.LoadBalancers.Put(arn, row) }, nil
	case s.Listeners.Get(arn) != nil:
		row := *s.Listeners.Get(arn)
		return row.Tags, func(t labels) { row.Tags = t; s.Listeners.Put(arn, row) }, nil
	case s.Rules.Get(arn) != nil:
		row := *s.Rules.Get(arn)
		return row.Tags, func(t labels) { row.Tags = t; s.Rules.Put(arn, row) }, nil
	case s.TargetGroups.Get(arn) != nil:
		row := *s.TargetGroups.Get(arn)
		return row.Tags, func(t labels) { row.Tags = t; s.TargetGroups.Put(arn, row) }, nil
	case s.TrustStores.Get(arn) != nil:
		row := *s.TrustStores.Get(arn)
		return row.Tags, func(t labels) { row.Tags = t; s.TrustStores.Put(arn, row) }, nil
	}
	return nil, nil, s.unknown(arn)
}

// unknown is the error for an ARN that leads nowhere, by what it would lead to.
func (s *state) unknown(arn string) error {
	for part, code := range map[string]string{":loadbalancer/": "LoadBalancerNotFound", ":listener/": "ListenerNotFound",
		":listener-rule/": "RuleNotFound", ":targetgroup/": "TargetGroupNotFound", ":truststore/": "TrustStoreNotFound"} {
		if strings.Contains(arn, part) {
			return refuse(code, "Resource '%s' not found", arn)
		}
	}
	return invalid("'%s' is not a valid resource ARN", arn)
}

func checkResources(arns []string, most int) error {
	if len(arns) == 0 {
		return missing("resourceArns")
	}
	if len(arns) > most {
		return breaks(arns, "resourceArns", "have length less than or equal to %d", most)
	}
	return nil
}

func (s *Service) addTags(call *account.Call, in *addTags) (any, error) {
	more, err := s.newTags(in.Tags)
	if err != nil {
		return nil, err
	}
	return nothing{}, s.retag(call, in.ResourceArns, func(tags labels) error {
		maps.Copy(tags, more)
		return s.fewTags(tags)
	})
}

func (s *Service) removeTags(call *account.Call, in *removeTags) (any, error) {
	return nothing{}, s.retag(call, in.ResourceArns, func(tags labels) error {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
		return nil
	})
}

func (s *Service) retag(call *account.Call, arns []string, do func(labels) error) error {
	if err := checkResources(arns, 20); err != nil {
		return err
	}
	return s.change(call, func(now *state) error {
		for _, arn := range arns {
			old, put, err := now.tagsOf(arn)
			if err != nil {
				return err
			}
			next := labels{}
			maps.Copy(next, old)
			if err := do(next); err != nil {
				return err
			}
			put(next)
		}
		return nil
	})
}

func (s *Service) describeTags(call *account.Call, in *describeTags) (any, error) {
	if err := checkResources(in.ResourceArns, 20); err != nil {
		return nil, err
	}
	now, out := s.view(call), tagsOut{}
	for _, arn := range in.ResourceArns {
		tags, _, err := now.tagsOf(arn)
		if err != nil {
			return nil, err
		}
		one := tagDescription{ResourceArn: arn, Tags: []tag{}}
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			one.Tags = append(one.Tags, tag{key, tags[key]})
		}
		out.TagDescriptions = append(out.TagDescriptions, one)
	}
	return out, nil
}

// Tagged are the tags of every resource by ARN, as a read sees them.
func (s *Service) Tagged(call *account.Call) map[string]map[string]string {
	now, out := s.view(call), map[string]map[string]string{}
	for _, r := range now.LoadBalancers.All(nil) {
		out[r.LoadBalancerArn] = r.Tags
	}
	for _, r := range now.Listeners.All(nil) {
		out[r.ListenerArn] = r.Tags
	}
	for _, r := range now.Rules.All(nil) {
		out[r.RuleArn] = r.Tags
	}
	for _, r := range now.TargetGroups.All(nil) {
		out[r.TargetGroupArn] = r.Tags
	}
	for _, r := range now.TrustStores.All(nil) {
		out[r.TrustStoreArn] = r.Tags
	}
	return out
}
