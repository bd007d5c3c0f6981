package aws

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

var (
	_ providers.Provider     = (*Provider)(nil)
	_ providers.Marker       = (*Provider)(nil)
	_ providers.HealthReader = (*Provider)(nil)
)

// Observe implements providers.Cloud. It lists what an account has of each kind, once,
// keeps what is ours by its tags, and reads of that what lists do not show. Others'
// things cost their part of a page and no call of their own: what is not named as ours
// are is not asked for its tags.
func (p *Provider) Observe(ctx context.Context, owner lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error) {
	o := &observer{Provider: p, owner: owner, named: named, out: lbmodel.Graph{}, ids: map[string]lbmodel.ID{}, fronts: map[string]*frontView{}, rules: map[string][]types.Rule{}}
	err := inOrder(ctx, o.list, o.readTags, o.listFronts, o.readRules, o.readGroups, o.readSecurity, o.readTrust)
	if err != nil {
		return nil, codeError("Observe", noID, err)
	}
	p.memory.with(func() {
		clear(p.memory.tried)
		p.memory.cluster = owner.Cluster
	})
	return o.out, nil
}

func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// observer is the working state of one Observe.
type observer struct {
	*Provider
	owner lbmodel.Owner
	named []lbmodel.Handle

	balancers []types.LoadBalancer
	groups    []types.TargetGroup
	stores    []types.TrustStore
	security  []ec2calls.Group
	fronts    map[string]*frontView // load balancers whose listeners matter, by ARN

	mu    sync.Mutex              // guards what follows while reads are made side by side
	rules map[string][]types.Rule // by listener, without the last one that each has
	ids   map[string]lbmodel.ID
	out   lbmodel.Graph
}

// frontView is what was read of one load balancer.
type frontView struct {
	lb         types.LoadBalancer
	ours       bool
	attributes map[string]string
	listeners  []types.Listener
}

// list lists what may be ours.
func (o *observer) list(ctx context.Context) error {
	if err := atOnce(ctx, o.listBalancers, o.listGroups, o.listStores, o.listSecurity, o.listCertificates, o.sweep); err != nil {
		return err
	}
	networks := 0
	for _, lb := range o.balancers {
		if lb.Type == types.LoadBalancerTypeEnumNetwork {
			networks++
		}
	}
	if o.owner.Name == "" {
		o.renewLimits(ctx)
	}
	o.limits.use(limitNetworks, networks)
	o.limits.use(limitApplications, len(o.balancers)-networks)
	o.limits.use(limitGroups, len(o.groups))
	o.limits.use(limitStores, len(o.stores))
	return nil
}

const pageSize = 400 // [API_DescribeLoadBalancers]

func (o *observer) listBalancers(ctx context.Context) error {
	pages := elb.NewDescribeLoadBalancersPaginator(o.calls.elb, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		o.balancers = append(o.balancers, page.LoadBalancers...)
	}
	return nil
}

func (o *observer) listGroups(ctx context.Context) error {
	pages := elb.NewDescribeTargetGroupsPaginator(o.calls.elb, &elb.DescribeTargetGroupsInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		o.groups = append(o.groups, page.TargetGroups...)
	}
	return nil
}

func (o *observer) listStores(ctx context.Context) error {
	pages := elb.NewDescribeTrustStoresPaginator(o.calls.elb, &elb.DescribeTrustStoresInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		o.stores = append(o.stores, page.TrustStores...)
	}
	return nil
}

// readTags finds out which of the load balancers, target groups and trust stores are
// ours.
func (o *observer) readTags(ctx context.Context) error {
	var arns []string
	for _, lb := range o.balancers {
		if ourName.MatchString(aws.ToString(lb.LoadBalancerName)) {
			arns = append(arns, aws.ToString(lb.LoadBalancerArn))
		}
	}
	for _, g := range o.groups {
		if ourName.MatchString(aws.ToString(g.TargetGroupName)) {
			arns = append(arns, aws.ToString(g.TargetGroupArn))
		}
	}
	for _, s := range o.stores {
		if ourName.MatchString(aws.ToString(s.Name)) {
			arns = append(arns, aws.ToString(s.TrustStoreArn))
		}
	}
	if err := o.askTags(ctx, arns); err != nil {
		return err
	}
	for _, lb := range o.balancers {
		o.know(KindLoadBalancer, aws.ToString(lb.LoadBalancerArn), aws.ToString(lb.LoadBalancerName))
	}
	for _, g := range o.groups {
		o.know(KindTargetGroup, aws.ToString(g.TargetGroupArn), aws.ToString(g.TargetGroupName))
	}
	for _, s := range o.stores {
		o.know(KindTrustStore, aws.ToString(s.TrustStoreArn), aws.ToString(s.Name))
	}
	return nil
}

// know takes down which resource an ARN is, if it is ours; else, that its name is
// taken.
func (o *observer) know(kind, arn, name string) {
	id := lbmodel.ID{Kind: kind, Location: o.calls.region, Name: name}
	t, _ := o.memory.tagsOf(arn)
	ours := o.isOurs(t) && t[tagID] == name
	if ours {
		o.ids[arn] = id
	}
	o.memory.with(func() {
		if ours {
			delete(o.memory.foreign, id)
		} else if ourName.MatchString(name) {
			o.memory.foreign[id] = true
		}
	})
}

// isOurs says whether tags are of our cluster.
func (o *observer) isOurs(t tags) bool { return t[tagCluster] == o.owner.Cluster && t[tagID] != "" }

// concerns says whether something of ours is to be shown: it is shared, or the owner's.
func (o *observer) concerns(t tags) bool {
	return o.owner.Name == "" || t.hold() == lbmodel.Shared || t.owner() == o.owner
}

const tagsPerCall = 20 // [API_DescribeTags]

// askTags makes sure that the tags of ARNs are remembered. What is gone meanwhile is
// left out.
func (o *observer) askTags(ctx context.Context, arns []string) error {
	var unknown []string
	for _, arn := range arns {
		if _, known := o.memory.tagsOf(arn); !known {
			unknown = append(unknown, arn)
		}
	}
	return each(ctx, slices.Collect(slices.Chunk(unknown, tagsPerCall)), func(ctx context.Context, some []string) error {
		return o.describeTags(ctx, some)
	})
}

func (p *Provider) describeTags(ctx context.Context, arns []string) error {
	out, err := p.calls.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: arns})
	switch {
	case err != nil && isMissing(err) && len(arns) > 1: // one of them is: ask for each
		return each(ctx, arns, func(ctx context.Context, arn string) error { return p.describeTags(ctx, []string{arn}) })
	case err != nil && isMissing(err):
		return nil
	case err != nil:
		return err
	}
	for _, d := range out.TagDescriptions {
		t := tags{}
		for _, one := range d.Tags {
			t[aws.ToString(one.Key)] = aws.ToString(one.Value)
		}
		p.memory.setTags(aws.ToString(d.ResourceArn), t)
	}
	return nil
}

// ref is how a Spec names what an ARN stands for.
func (o *observer) ref(kind, arn string) Ref {
	o.mu.Lock()
	defer o.mu.Unlock()
	id, ours := o.ids[arn]
	switch {
	case ours:
		return refTo(id)
	case kind == KindSecurityGroup:
		return "" // somebody else's, and a Spec names those by themselves
	default:
		return refTo(lbmodel.ID{Kind: kind, Location: o.calls.region, Name: arn})
	}
}

// show adds a resource. Of two things with one ID, which only a lost reply can leave
// behind, the one that is not in use gets a name of its own, so that it goes.
func (o *observer) show(id lbmodel.ID, spec lbmodel.Spec, handle lbmodel.Handle, t tags, facts lbmodel.Facts) {
	r := lbmodel.NewResource(id, spec).With(t.hold())
	r.Handle, r.Facts = handle, facts
	r.Facts.DroppedAt = t.dropped(id)
	if r.Hold == lbmodel.Own {
		r.Owner = t.owner()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out[id] = r
}

// twin is the ID of what is there twice.
func twin(id lbmodel.ID, arn string) lbmodel.ID {
	id.Name += "~" + arn[strings.LastIndexByte(arn, '/')+1:]
	return id
}

// external adds something of somebody else's.
func (o *observer) external(kind, arn string, spec lbmodel.Spec, facts lbmodel.Facts) {
	id := lbmodel.ID{Kind: kind, Location: o.calls.region, Name: arn}
	r := lbmodel.NewResource(id, spec).With(lbmodel.External)
	r.Handle, r.Facts = lbmodel.Handle(arn), facts
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out[id] = r
}

// readSideBySide is how many reads are made at a time: a page takes a tenth of a second,
// and the account's bucket lets ten calls through in one.
const readSideBySide = 8

// each does something with every item, some at a time, and returns the first error.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	if len(items) == 1 {
		return do(ctx, items[0])
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	room := make(chan struct{}, readSideBySide)
	for _, item := range items {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, item); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// atOnce does some things side by side.
func atOnce(ctx context.Context, all ...func(context.Context) error) error {
	return each(ctx, all, func(ctx context.Context, one func(context.Context) error) error { return one(ctx) })
}

// learn takes down which resource an ARN, or an ID of EC2's, is.
func (o *observer) learn(arn string, id lbmodel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids[arn] = id
}

// id is the resource that an ARN is, if it is ours.
func (o *observer) id(arn string) (lbmodel.ID, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id, ok := o.ids[arn]
	return id, ok
}
