package aws

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// What a Spec calls something and what AWS does: references are ARNs there. A handler
// of references fails when the thing is not there (yet).
type (
	arnOf func(Ref) (string, error)
	refOf func(kind, arn string) Ref
)

// sdkActions are an action as AWS takes it.
func sdkActions(a *Action, arn arnOf) ([]types.Action, error) {
	switch {
	case a.Fixed != nil:
		out := &types.FixedResponseActionConfig{StatusCode: aws.String(strconv.Itoa(a.Fixed.Status))}
		if a.Fixed.Body != "" {
			out.MessageBody = &a.Fixed.Body
		}
		if a.Fixed.ContentType != "" {
			out.ContentType = &a.Fixed.ContentType
		}
		return []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: out}}, nil
	case a.Redirect != nil:
		r := a.Redirect
		return []types.Action{{Type: types.ActionTypeEnumRedirect, RedirectConfig: &types.RedirectActionConfig{
			StatusCode: types.RedirectActionStatusCodeEnum("HTTP_" + strconv.Itoa(r.Status)), Protocol: &r.Protocol,
			Host: &r.Host, Port: &r.Port, Path: &r.Path, Query: &r.Query,
		}}}, nil
	}
	forward := &types.ForwardActionConfig{}
	for _, s := range a.Forward {
		group, err := arn(s.Group)
		if err != nil {
			return nil, err
		}
		forward.TargetGroups = append(forward.TargetGroups, types.TargetGroupTuple{TargetGroupArn: &group, Weight: aws.Int32(s.Weight)})
	}
	return []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: forward}}, nil
}

// specAction reads an action. What we would never write is no action at all, so that
// it differs from whatever is wanted.
func specAction(all []types.Action, ref refOf) Action {
	if len(all) != 1 {
		return Action{}
	}
	a := &all[0]
	switch {
	case a.Type == types.ActionTypeEnumFixedResponse && a.FixedResponseConfig != nil:
		return specFixed(a.FixedResponseConfig)
	case a.Type == types.ActionTypeEnumRedirect && a.RedirectConfig != nil:
		return specRedirect(a.RedirectConfig)
	case a.Type == types.ActionTypeEnumForward:
		return specForward(a, ref)
	}
	return Action{}
}

func specFixed(f *types.FixedResponseActionConfig) Action {
	out := &Fixed{Body: aws.ToString(f.MessageBody)}
	out.Status, _ = strconv.Atoi(aws.ToString(f.StatusCode)) // 0 is wanted by nobody
	if out.Body != "" {
		out.ContentType = aws.ToString(f.ContentType)
	}
	return Action{Fixed: out}
}

func specRedirect(r *types.RedirectActionConfig) Action {
	or := func(s *string, unset string) string {
		if s == nil {
			return unset
		}
		return *s
	}
	out := &Redirect{Protocol: or(r.Protocol, "#{protocol}"), Host: or(r.Host, "#{host}"), Port: or(r.Port, "#{port}"),
		Path: or(r.Path, "/#{path}"), Query: or(r.Query, "#{query}")}
	out.Status, _ = strconv.Atoi(string(r.StatusCode[min(len("HTTP_"), len(r.StatusCode)):])) // likewise
	return Action{Redirect: out}
}

// specForward reads a forward, in either form that AWS has for one group.
func specForward(a *types.Action, ref refOf) Action {
	f := a.ForwardConfig
	if f == nil {
		if a.TargetGroupArn == nil {
			return Action{}
		}
		return Action{Forward: []Share{{Group: ref(KindTargetGroup, *a.TargetGroupArn), Weight: 1}}}
	}
	if s := f.TargetGroupStickinessConfig; s != nil && aws.ToBool(s.Enabled) {
		return Action{} // we never make clients stick to a group
	}
	var out Action
	for _, g := range f.TargetGroups {
		weight := int32(1)
		if g.Weight != nil {
			weight = *g.Weight
		}
		out.Forward = append(out.Forward, Share{Group: ref(KindTargetGroup, aws.ToString(g.TargetGroupArn)), Weight: weight})
	}
	return out
}

// sdkConditions are conditions as AWS takes them.
func sdkConditions(all []Condition) []types.RuleCondition {
	out := make([]types.RuleCondition, 0, len(all))
	for _, c := range all {
		one := types.RuleCondition{Field: aws.String(c.Field)}
		switch c.Field {
		case fieldHost:
			one.HostHeaderConfig = &types.HostHeaderConditionConfig{Values: c.Values, RegexValues: c.Regex}
		case fieldPath:
			one.PathPatternConfig = &types.PathPatternConditionConfig{Values: c.Values, RegexValues: c.Regex}
		case fieldHeader:
			one.HttpHeaderConfig = &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String(c.Header), Values: c.Values, RegexValues: c.Regex}
		case fieldMethod:
			one.HttpRequestMethodConfig = &types.HttpRequestMethodConditionConfig{Values: c.Values}
		case fieldSource:
			one.SourceIpConfig = &types.SourceIpConditionConfig{Values: c.Values}
		}
		out = append(out, one)
	}
	return out
}

// specConditions reads conditions. AWS shows values in the field's own part and, of
// some fields, once more beside it.
func specConditions(all []types.RuleCondition) []Condition {
	out := make([]Condition, 0, len(all))
	for _, c := range all {
		one := Condition{Field: aws.ToString(c.Field), Values: c.Values, Regex: c.RegexValues}
		switch {
		case c.HostHeaderConfig != nil:
			one.Values, one.Regex = c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues
		case c.PathPatternConfig != nil:
			one.Values, one.Regex = c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues
		case c.HttpHeaderConfig != nil:
			one.Header = aws.ToString(c.HttpHeaderConfig.HttpHeaderName)
			one.Values, one.Regex = c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues
		case c.HttpRequestMethodConfig != nil:
			one.Values = c.HttpRequestMethodConfig.Values
		case c.SourceIpConfig != nil:
			one.Values = c.SourceIpConfig.Values
		}
		out = append(out, one)
	}
	return out
}

// sdkTransforms are transforms as AWS takes them.
func sdkTransforms(all []Transform) []types.RuleTransform {
	out := make([]types.RuleTransform, 0, len(all))
	for _, t := range all {
		one := types.RuleTransform{Type: types.TransformTypeEnum(t.Type)}
		rewrites := []types.RewriteConfig{{Regex: aws.String(t.Regex), Replace: aws.String(t.Replace)}}
		if t.Type == rewriteHost {
			one.HostHeaderRewriteConfig = &types.HostHeaderRewriteConfig{Rewrites: rewrites}
		} else {
			one.UrlRewriteConfig = &types.UrlRewriteConfig{Rewrites: rewrites}
		}
		out = append(out, one)
	}
	return out
}

func specTransforms(all []types.RuleTransform) []Transform {
	var out []Transform
	for _, t := range all {
		var rewrites []types.RewriteConfig
		switch {
		case t.HostHeaderRewriteConfig != nil:
			rewrites = t.HostHeaderRewriteConfig.Rewrites
		case t.UrlRewriteConfig != nil:
			rewrites = t.UrlRewriteConfig.Rewrites
		}
		for _, r := range rewrites {
			out = append(out, Transform{Type: string(t.Type), Regex: aws.ToString(r.Regex), Replace: aws.ToString(r.Replace)})
		}
	}
	return out
}

// specRule reads a rule of a listener.
func specRule(r *types.Rule, listener Ref, ref refOf) *Rule {
	priority, _ := strconv.Atoi(aws.ToString(r.Priority)) // the default rule is read with its listener
	return &Rule{
		Listener: listener, Priority: int32(priority), Conditions: specConditions(r.Conditions),
		Transforms: specTransforms(r.Transforms), Action: specAction(r.Actions, ref),
	}
}
