package aws

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/lbmodel"
)

// Mark implements providers.Marker: a tag, of what is marked or of what it is in. A
// bundle has it beside its roots.
func (p *Provider) Mark(ctx context.Context, r lbmodel.Resource, dropped time.Time) (lbmodel.Facts, error) {
	if err := p.mark(ctx, r, dropped); err != nil {
		return lbmodel.Facts{}, codeError("Mark"+r.ID.Kind, r.ID, err)
	}
	r.Facts.DroppedAt = dropped
	return r.Facts, nil
}

func (p *Provider) mark(ctx context.Context, r lbmodel.Resource, dropped time.Time) error {
	key, value := noteKey(r.ID), ""
	if !dropped.IsZero() {
		value = dropped.UTC().Format(time.RFC3339)
	}
	arn := string(r.Handle)
	switch r.ID.Kind {
	case KindTrustBundle:
		return p.markBundle(ctx, r, value)
	case KindCertificate:
		return p.markCertificate(ctx, arn, key, value)
	case KindSecurityGroup:
		return p.markSecurity(ctx, arn, key, value)
	case KindSecurityGroupRule:
		_, from, _ := accessFrom(r.Handle)
		return p.markSecurity(ctx, from, key, value)
	case KindListenerCertificate:
		arn, _ = pairOf(r.Handle)
	}
	return p.markELB(ctx, arn, key, value)
}

func (p *Provider) markELB(ctx context.Context, arn, key, value string) error {
	if value == "" {
		_, err := p.calls.elb.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: []string{key}})
		return p.marked(arn, key, value, err)
	}
	_, err := p.calls.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: tags{key: value}.elb()})
	return p.marked(arn, key, value, err)
}

func (p *Provider) markSecurity(ctx context.Context, id, key, value string) error {
	if value == "" {
		return p.marked(id, key, value, p.calls.ec2.Untag(ctx, id, []string{key}))
	}
	return p.marked(id, key, value, p.calls.ec2.Tag(ctx, id, tags{key: value}))
}

func (p *Provider) markCertificate(ctx context.Context, arn, key, value string) error {
	if value == "" {
		t, _ := p.memory.tagsOf(arn)
		_, err := p.calls.acm.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{CertificateArn: &arn, Tags: tags{key: t[key]}.acm()})
		return p.marked(arn, key, value, err)
	}
	_, err := p.calls.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: &arn, Tags: tags{key: value}.acm()})
	return p.marked(arn, key, value, err)
}

// marked remembers a note that was written.
func (p *Provider) marked(arn, key, value string, err error) error {
	switch {
	case err != nil:
		p.memory.with(func() { delete(p.memory.tags, arn) }) // it may have been written
	case value == "":
		p.memory.retag(arn, nil, []string{key})
	default:
		p.memory.retag(arn, tags{key: value}, nil)
	}
	return err
}

func (p *Provider) markBundle(ctx context.Context, r lbmodel.Resource, value string) error {
	spec, ok := r.Spec.(*TrustBundle)
	if !ok {
		return lbmodel.Errorf(lbmodel.CodeInternal, "Mark", r.ID, "a %T is no bundle", r.Spec)
	}
	c := &change{Provider: p, owner: lbmodel.Owner{Cluster: p.memory.clusterName()}}
	_, err := c.writeBundle(ctx, spec, value)
	return err
}
