package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func (c *change) makeBalancer(ctx context.Context, want *LoadBalancer) (made, error) {
	subnets, err := c.subnetsOf(ctx, want)
	if err != nil {
		return made{}, err
	}
	groups, err := c.groupIDs(want)
	if err != nil {
		return made{}, err
	}
	t := want.tags(c.tags())
	out, err := c.calls.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		Name: &c.step.ID.Name, Type: types.LoadBalancerTypeEnum(want.Type), Scheme: types.LoadBalancerSchemeEnum(want.Scheme),
		IpAddressType: types.IpAddressType(want.IPAddressType), Subnets: subnets, SecurityGroups: groups, Tags: t.elb(),
	})
	if err != nil {
		return made{}, err
	}
	lb := &out.LoadBalancers[0]
	arn := aws.ToString(lb.LoadBalancerArn)
	c.memory.setTags(arn, t)
	if err := c.turnBalancer(ctx, arn, turns(want.Attributes, nil, nil)); err != nil {
		return made{}, err
	}
	spec := *want
	spec.VPC, spec.Subnets = aws.ToString(lb.VpcId), subnets
	c.memory.with(func() { c.memory.places[want.site.key()] = spec.VPC })
	return made{spec: &spec, handle: arn}, nil
}

// subnetsOf are the subnets of a load balancer, found if they are not named.
func (c *change) subnetsOf(ctx context.Context, want *LoadBalancer) ([]string, error) {
	if len(want.Subnets) > 0 {
		return want.Subnets, nil
	}
	found, err := c.subnets(ctx, want.VPC, want.site)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range found {
		out = append(out, s.ID)
	}
	return sorted(out), nil
}

// groupIDs are the security groups, ours and the operator's.
func (c *change) groupIDs(want *LoadBalancer) ([]string, error) {
	out := slices.Clone(want.ForeignGroups)
	for _, ref := range want.SecurityGroups {
		id, err := c.arn(ref)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, nil
}

func (c *change) turnBalancer(ctx context.Context, arn string, set map[string]string) error {
	if len(set) == 0 {
		return nil
	}
	in := &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &arn}
	for _, key := range sortedKeys(set) {
		in.Attributes = append(in.Attributes, types.LoadBalancerAttribute{Key: &key, Value: aws.String(set[key])})
	}
	_, err := c.calls.elb.ModifyLoadBalancerAttributes(ctx, in)
	return err
}

func (c *change) changeBalancer(ctx context.Context, want, have *LoadBalancer) (made, error) {
	arn, spec := c.there(), *want
	spec.VPC = have.VPC
	if err := c.moveBalancer(ctx, arn, &spec, have); err != nil {
		return made{}, err
	}
	if !slices.Equal(want.SecurityGroups, have.SecurityGroups) || !slices.Equal(want.ForeignGroups, have.ForeignGroups) {
		groups, err := c.groupIDs(want)
		if err != nil {
			return made{}, err
		}
		if _, err := c.calls.elb.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: &arn, SecurityGroups: groups}); err != nil {
			return made{}, err
		}
	}
	if err := c.turnBalancer(ctx, arn, turns(want.Attributes, have.Attributes, lbDefaults(want.Type))); err != nil {
		return made{}, err
	}
	if err := c.retag(ctx, arn, have.tags(c.tags()), want.tags(c.tags())); err != nil {
		return made{}, err
	}
	return made{spec: &spec}, nil
}

// moveBalancer brings a load balancer to its subnets, and to the kind of addresses
// that it is to have.
func (c *change) moveBalancer(ctx context.Context, arn string, want, have *LoadBalancer) error {
	var err error
	if want.Subnets, err = c.subnetsOf(ctx, want); err != nil {
		return err
	}
	switch {
	case !slices.Equal(want.Subnets, have.Subnets):
		_, err = c.calls.elb.SetSubnets(ctx, &elb.SetSubnetsInput{LoadBalancerArn: &arn, Subnets: want.Subnets, IpAddressType: types.IpAddressType(want.IPAddressType)})
	case want.IPAddressType != have.IPAddressType:
		_, err = c.calls.elb.SetIpAddressType(ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: &arn, IpAddressType: types.IpAddressType(want.IPAddressType)})
	}
	return err
}

// retag changes tags by as few calls as it takes.
func (c *change) retag(ctx context.Context, arn string, from, to tags) error {
	set, remove := from.change(to)
	if len(set) > 0 {
		if _, err := c.calls.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: set.elb()}); err != nil {
			return err
		}
	}
	if len(remove) > 0 {
		if _, err := c.calls.elb.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: remove}); err != nil {
			return err
		}
	}
	c.memory.retag(arn, set, remove)
	return nil
}

// awaitAddress looks whether a load balancer has come into service. Nothing else waits
// for that: listeners and rules are made meanwhile.
func (c *change) awaitAddress(ctx context.Context, want *Address) (made, error) {
	arn, err := c.arn(want.LoadBalancer)
	if err != nil {
		return made{}, err
	}
	out, err := c.calls.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil {
		return made{}, err
	}
	lb := &out.LoadBalancers[0]
	switch {
	case lb.State == nil || !isServing(lb.State.Code) && lb.State.Code != types.LoadBalancerStateEnumFailed:
		return made{}, c.pending(slower, "the load balancer is being provisioned, which takes AWS some minutes")
	case !isServing(lb.State.Code):
		return made{}, c.pending(slower, "AWS could not provision the load balancer: %s", aws.ToString(lb.State.Reason))
	}
	m := made{spec: want, handle: arn}
	if !want.Inner {
		m.facts.Addresses = addressesOf(lb)
	}
	return m, nil
}

func (c *change) makeListener(ctx context.Context, want *Listener) (made, error) {
	t := c.tags()
	in, err := sdkListener(want, c.arn, t)
	if err != nil {
		return made{}, err
	}
	out, err := c.calls.elb.CreateListener(ctx, in)
	if err != nil {
		return made{}, err
	}
	arn := aws.ToString(out.Listeners[0].ListenerArn)
	c.memory.setTags(arn, t)
	return made{spec: want, handle: arn}, nil
}

func (c *change) changeListener(ctx context.Context, want, have *Listener) (made, error) {
	in, err := sdkListenerChange(want, c.arn)
	if err != nil {
		return made{}, err
	}
	arn := c.there()
	in.ListenerArn = &arn
	if want.TrustStore == "" && have.TrustStore == "" {
		in.MutualAuthentication = nil
	}
	_, err = c.calls.elb.ModifyListener(ctx, in)
	return made{spec: want}, err
}

// addCertificate is idempotent by AWS's contract, and for one certificate at a time.
func (c *change) addCertificate(ctx context.Context, want *ListenerCertificate) (made, error) {
	listener, err := c.arn(want.Listener)
	if err != nil {
		return made{}, err
	}
	certificate, err := c.arn(want.Certificate)
	if err != nil {
		return made{}, err
	}
	_, err = c.calls.elb.AddListenerCertificates(ctx, &elb.AddListenerCertificatesInput{
		ListenerArn: &listener, Certificates: []types.Certificate{{CertificateArn: &certificate}},
	})
	if err != nil {
		return made{}, err
	}
	return made{spec: want, handle: string(pairHandle(listener, certificate))}, nil
}

func (c *change) makeRule(ctx context.Context, want *Rule) (made, error) {
	listener, err := c.arn(want.Listener)
	if err != nil {
		return made{}, err
	}
	actions, err := sdkActions(&want.Action, c.arn)
	if err != nil {
		return made{}, err
	}
	t := c.tags()
	out, err := c.calls.elb.CreateRule(ctx, &elb.CreateRuleInput{
		ListenerArn: &listener, Priority: &want.Priority, Conditions: sdkConditions(want.Conditions), Actions: actions,
		Transforms: sdkTransforms(want.Transforms), Tags: t.elb(),
	})
	if err != nil {
		return made{}, err
	}
	arn := aws.ToString(out.Rules[0].RuleArn)
	c.memory.setTags(arn, t)
	return made{spec: want, handle: arn}, nil
}

// changeRule changes a rule in place: what it looks at is its name.
func (c *change) changeRule(ctx context.Context, want, have *Rule) (made, error) {
	arn := c.there()
	if encode(want.Action) != encode(have.Action) || !slices.Equal(want.Transforms, have.Transforms) || encode(want.Conditions) != encode(have.Conditions) {
		actions, err := sdkActions(&want.Action, c.arn)
		if err != nil {
			return made{}, err
		}
		in := &elb.ModifyRuleInput{RuleArn: &arn, Actions: actions, Transforms: sdkTransforms(want.Transforms)}
		if len(want.Transforms) == 0 && len(have.Transforms) > 0 {
			in.ResetTransforms = aws.Bool(true) // an empty list would leave them
		}
		if encode(want.Conditions) != encode(have.Conditions) { // by somebody's hand
			in.Conditions = sdkConditions(want.Conditions)
		}
		if _, err := c.calls.elb.ModifyRule(ctx, in); err != nil {
			return made{}, err
		}
	}
	if want.Priority != have.Priority {
		_, err := c.calls.elb.SetRulePriorities(ctx, &elb.SetRulePrioritiesInput{
			RulePriorities: []types.RulePriorityPair{{RuleArn: &arn, Priority: &want.Priority}},
		})
		if err != nil {
			return made{}, err
		}
	}
	return made{spec: want}, nil
}
