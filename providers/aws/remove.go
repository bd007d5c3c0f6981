package aws

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
)

// remove deletes what the step names. What goes with something else that the plan
// deletes costs no call. What is still in use is Pending: no worker waits for it.
func (c *change) remove(ctx context.Context) error {
	err := c.drop(ctx)
	switch {
	case err == nil || isMissing(err):
		if noteKey(c.step.ID) == tagDropped { // else the handle is that of what it is in
			c.memory.forget(c.there())
		}
		c.limits.made(c.step.Have.Spec, -1)
		return nil
	case hasCode(err, "ResourceInUse", "ResourceInUseException", "DependencyViolation", "TrustStoreInUse"):
		return c.pending(slower, "it is still in use: %w", err)
	}
	return err
}

func (c *change) drop(ctx context.Context) error {
	arn := c.there()
	switch have := c.step.Have.Spec.(type) {
	case *LoadBalancer:
		_, err := c.calls.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
		return err
	case *Address:
		return nil // it goes with its load balancer
	case *Listener:
		return c.unless(have.LoadBalancer, func() error {
			_, err := c.calls.elb.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: &arn})
			return err
		})
	case *ListenerCertificate:
		return c.unless(have.Listener, func() error { return c.removeCertificate(ctx) })
	case *Rule:
		return c.unless(have.Listener, func() error {
			_, err := c.calls.elb.DeleteRule(ctx, &elb.DeleteRuleInput{RuleArn: &arn})
			return err
		})
	case *TargetGroup:
		return c.dropGroup(ctx, arn)
	case *Targets:
		return c.dropTargets(ctx, have, arn)
	case *SecurityGroup:
		return c.calls.ec2.DeleteGroup(ctx, arn)
	default:
		return c.dropMore(ctx, arn)
	}
}

func (c *change) dropMore(ctx context.Context, arn string) error {
	switch have := c.step.Have.Spec.(type) {
	case *SecurityGroupRule:
		into, from, protocol := accessFrom(c.step.Have.Handle)
		return c.calls.ec2.Revoke(ctx, into, []ec2calls.Permission{accessOf(from, protocol)})
	case *Certificate:
		_, err := c.calls.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: &arn})
		return err
	case *TrustStore:
		return c.dropStore(ctx, arn)
	case *TrustBundle:
		return c.dropBundle(ctx, bundlePlace{have.Bucket, have.Key})
	}
	return c.alien()
}

// unless does something unless what it is in goes too.
func (c *change) unless(parent Ref, do func() error) error {
	in, known := c.resolve(parent.id())
	if known && c.leaves(string(in.Handle)) {
		return nil
	}
	return do()
}

// leaves says whether the last plan deletes an ARN, or the load balancer of a listener.
func (c *change) leaves(arn string) (going bool) {
	balancer := arn
	if head, rest, ok := strings.Cut(arn, ":listener/"); ok {
		balancer = head + ":loadbalancer/" + rest[:max(0, strings.LastIndexByte(rest, '/'))]
	}
	c.memory.with(func() {
		_, self := c.memory.leaving[arn]
		_, whole := c.memory.leaving[balancer]
		going = self || whole
	})
	return going
}

func (c *change) removeCertificate(ctx context.Context) error {
	listener, certificate := pairOf(c.step.Have.Handle)
	_, err := c.calls.elb.RemoveListenerCertificates(ctx, &elb.RemoveListenerCertificatesInput{
		ListenerArn: &listener, Certificates: []types.Certificate{{CertificateArn: &certificate}},
	})
	return err
}

// dropGroup deletes a target group. While a listener that leads to it is on its way out
// AWS is not asked: it would refuse.
func (c *change) dropGroup(ctx context.Context, arn string) error {
	waits := false
	c.memory.with(func() {
		for _, user := range c.memory.usedBy[arn] {
			_, going := c.memory.leaving[user]
			waits = waits || going
		}
	})
	if waits {
		return c.pending(soon, "the load balancer, or the listener, that uses it goes first")
	}
	_, err := c.calls.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: &arn})
	return err
}

// dropTargets takes everybody out of a group that stays, and a load balancer out of one
// that goes too: it could not be deleted while it is a target.
func (c *change) dropTargets(ctx context.Context, have *Targets, arn string) error {
	behind := len(have.Targets) > 0 && have.Targets[0].LoadBalancer != ""
	if c.leaves(arn) && !behind {
		return nil
	}
	return c.deregister(ctx, arn, have.Targets)
}

// dropStore deletes a trust store and, before it, the bundle that it has read: only the
// store's tags say where that lies, should this process end in between. A store needs
// its bundle no more once it has read it.
func (c *change) dropStore(ctx context.Context, arn string) error {
	var at bundlePlace
	if t, _ := c.memory.tagsOf(arn); t.unpack(&at) {
		if err := c.dropBundle(ctx, at); err != nil && !isMissing(err) {
			return err
		}
	}
	_, err := c.calls.elb.DeleteTrustStore(ctx, &elb.DeleteTrustStoreInput{TrustStoreArn: &arn})
	return err
}

// dropBundle deletes a bundle with all its versions: in a bucket that keeps them a
// delete alone hides it.
func (c *change) dropBundle(ctx context.Context, have bundlePlace) error {
	pages := s3.NewListObjectVersionsPaginator(c.calls.s3, &s3.ListObjectVersionsInput{Bucket: &have.Bucket, Prefix: &have.Key})
	var versions []*string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, v := range page.Versions {
			versions = append(versions, only(have.Key, v.Key, v.VersionId)...)
		}
		for _, m := range page.DeleteMarkers {
			versions = append(versions, only(have.Key, m.Key, m.VersionId)...)
		}
	}
	for _, v := range versions {
		if _, err := c.calls.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &have.Bucket, Key: &have.Key, VersionId: v}); err != nil {
			return err
		}
	}
	return nil
}

// only is a version of just that key: lists are of all keys that begin so.
func only(key string, of, version *string) []*string {
	if aws.ToString(of) != key {
		return nil
	}
	return []*string{version}
}

// Place implements providers.Compiler. It notes which load balancers, listeners and
// target groups are not wanted any more: what is in them goes with them.
func (p *Provider) Place(want, have lbmodel.Graph, now time.Time) (lbmodel.Graph, []lbmodel.Finding) {
	p.memory.with(func() { p.memory.noteLeaving(want, have) })
	return p.Compiler.Place(want, have, now)
}

// noteLeaving takes down what goes, and which groups are in use by what goes without a
// call of its own.
func (m *memory) noteLeaving(want, have lbmodel.Graph) {
	for _, r := range want {
		if b, ok := r.Spec.(*TrustBundle); ok {
			m.buckets[bundlePlace{b.Bucket, b.Key}.location()] = true
		}
	}
	stays := neededByOthers(have)
	for id, r := range have {
		if r.Hold != lbmodel.Own {
			continue
		}
		switch id.Kind {
		case KindLoadBalancer, KindListener, KindTargetGroup:
			delete(m.leaving, string(r.Handle))
			delete(m.usedBy, string(r.Handle))
			if _, wanted := want[id]; !wanted && !stays[id] {
				m.leaving[string(r.Handle)] = struct{}{}
			}
		}
	}
	for id, r := range have {
		if _, wanted := want[id]; wanted || r.Hold != lbmodel.Own {
			continue
		}
		switch spec := r.Spec.(type) {
		case *Rule:
			m.noteUsers(have, &spec.Action, spec.Listener)
		case *Listener:
			m.noteUsers(have, &spec.Default, refTo(id))
		}
	}
}

// neededByOthers are the resources that something of somebody else's is in, or leads to:
// no plan deletes them, so what is in them does not go by itself.
func neededByOthers(have lbmodel.Graph) map[lbmodel.ID]bool {
	out := map[lbmodel.ID]bool{}
	var mark func(r lbmodel.Resource)
	mark = func(r lbmodel.Resource) {
		if r.Spec == nil {
			return
		}
		for _, need := range r.Spec.Needs() {
			if !out[need] {
				out[need] = true
				mark(have[need])
			}
		}
	}
	for _, r := range have {
		if r.Hold == lbmodel.External {
			mark(r)
		}
	}
	return out
}

// noteUsers takes down that groups are used in a listener: one of its load balancer's.
func (m *memory) noteUsers(have lbmodel.Graph, a *Action, in Ref) {
	listener := have[in.id()]
	users := []string{string(listener.Handle)}
	if l, ok := listener.Spec.(*Listener); ok {
		users = append(users, string(have[l.LoadBalancer.id()].Handle))
	}
	for _, g := range a.groups() {
		arn := string(have[g.id()].Handle)
		m.usedBy[arn] = append(m.usedBy[arn], users...)
	}
}
