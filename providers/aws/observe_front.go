package aws

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/lbmodel"
)

// listFronts reads the listeners of the load balancers that matter: ours, those of
// others' that lead to target groups of ours, and those that are named.
func (o *observer) listFronts(ctx context.Context) error {
	for _, lb := range o.balancers {
		arn := aws.ToString(lb.LoadBalancerArn)
		id, ours := o.ids[arn]
		t, _ := o.memory.tagsOf(arn)
		if ours && o.concerns(t) && id.Kind == KindLoadBalancer || !ours && o.uses(arn) {
			o.fronts[arn] = &frontView{lb: lb, ours: ours}
		}
	}
	return each(ctx, sortedFronts(o.fronts), o.readFront)
}

func sortedFronts(all map[string]*frontView) []*frontView {
	out := make([]*frontView, 0, len(all))
	for _, f := range all {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *frontView) int { return strings.Compare(a.arn(), b.arn()) })
	return out
}

func (f *frontView) arn() string { return aws.ToString(f.lb.LoadBalancerArn) }

// uses says whether a load balancer of somebody else's holds something of ours.
func (o *observer) uses(arn string) bool {
	mark := strings.Replace(arn, ":loadbalancer/", ":listener/", 1)
	for _, h := range o.named {
		if string(h) == arn || strings.HasPrefix(string(h), mark+"/") {
			return true
		}
	}
	for _, g := range o.groups {
		if _, ours := o.ids[aws.ToString(g.TargetGroupArn)]; ours && slices.Contains(g.LoadBalancerArns, arn) {
			return true
		}
	}
	stray := false
	o.memory.with(func() { stray = o.memory.strays[arn] })
	return stray
}

func (o *observer) readFront(ctx context.Context, f *frontView) error {
	arn := f.arn()
	pages := elb.NewDescribeListenersPaginator(o.calls.elb, &elb.DescribeListenersInput{LoadBalancerArn: &arn, PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return exceptGone(err)
		}
		f.listeners = append(f.listeners, page.Listeners...)
	}
	if !f.ours {
		return nil
	}
	out, err := o.calls.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &arn})
	if err != nil {
		return exceptGone(err)
	}
	f.attributes = map[string]string{}
	for _, a := range out.Attributes {
		f.attributes[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return nil
}

// exceptGone is an error unless it says that a thing has gone meanwhile.
func exceptGone(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

// readRules reads the listeners' tags and rules.
func (o *observer) readRules(ctx context.Context) error {
	var arns []string
	var listeners []types.Listener
	for _, f := range sortedFronts(o.fronts) {
		for _, l := range f.listeners {
			listeners = append(listeners, l)
			arns = append(arns, aws.ToString(l.ListenerArn)) // others' load balancers may have one of ours too
		}
	}
	if err := o.askTags(ctx, arns); err != nil {
		return err
	}
	for _, arn := range arns {
		if t, _ := o.memory.tagsOf(arn); o.isOurs(t) {
			o.ids[arn] = lbmodel.ID{Kind: KindListener, Location: o.calls.region, Name: t[tagID]}
		}
	}
	if err := each(ctx, listeners, o.listRules); err != nil {
		return err
	}
	if err := o.askTags(ctx, o.ruleARNs()); err != nil {
		return err
	}
	for _, arn := range slices.Sorted(maps.Keys(o.rules)) {
		o.showRules(arn, o.rules[arn])
	}
	if err := each(ctx, listeners, o.readListener); err != nil {
		return err
	}
	o.noteStrays()
	o.showFronts()
	return nil
}

// noteStrays remembers which load balancers of others' hold something of ours: when it is
// not wanted any more, nobody names them.
func (o *observer) noteStrays() {
	for _, f := range sortedFronts(o.fronts) {
		if f.ours {
			continue
		}
		holds := false
		for _, l := range f.listeners {
			arn := aws.ToString(l.ListenerArn)
			_, ours := o.ids[arn]
			holds = holds || ours || slices.ContainsFunc(o.rules[arn], func(r types.Rule) bool {
				t, _ := o.memory.tagsOf(aws.ToString(r.RuleArn))
				return o.isOurs(t)
			})
		}
		o.memory.with(func() {
			if delete(o.memory.strays, f.arn()); holds {
				o.memory.strays[f.arn()] = true
			}
		})
	}
}

// readListener reads which certificates a listener of ours has.
func (o *observer) readListener(ctx context.Context, l types.Listener) error {
	arn := aws.ToString(l.ListenerArn)
	t, _ := o.memory.tagsOf(arn)
	if id, ours := o.id(arn); ours && (l.Protocol == types.ProtocolEnumHttps || l.Protocol == types.ProtocolEnumTls) {
		return exceptGone(o.readListenerCertificates(ctx, id, arn, t))
	}
	return nil
}

// listRules reads the rules of one listener. A Network Load Balancer's has none of ours.
func (o *observer) listRules(ctx context.Context, l types.Listener) error {
	if l.Protocol != types.ProtocolEnumHttp && l.Protocol != types.ProtocolEnumHttps {
		return nil
	}
	arn := aws.ToString(l.ListenerArn)
	pages := elb.NewDescribeRulesPaginator(o.calls.elb, &elb.DescribeRulesInput{ListenerArn: &arn, PageSize: aws.Int32(pageSize)})
	var rules []types.Rule
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return exceptGone(err)
		}
		rules = append(rules, page.Rules...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules[arn] = slices.DeleteFunc(rules, func(r types.Rule) bool { return aws.ToBool(r.IsDefault) })
	return nil
}

// ruleARNs are those of all rules, sorted: their tags are asked for together, whichever
// listener they are in.
func (o *observer) ruleARNs() []string {
	var out []string
	for _, rules := range o.rules {
		for _, r := range rules {
			out = append(out, aws.ToString(r.RuleArn))
		}
	}
	slices.Sort(out)
	return out
}

// showRules shows the rules of a listener. Of two of one name the first one is asked
// first, so the second does nothing and goes.
func (o *observer) showRules(listener string, rules []types.Rule) {
	in := o.ref(KindListener, listener)
	seen := map[lbmodel.ID]bool{}
	for i := range rules {
		arn := aws.ToString(rules[i].RuleArn)
		t, _ := o.memory.tagsOf(arn)
		spec := specRule(&rules[i], in, o.ref)
		if !o.isOurs(t) {
			o.external(KindRule, arn, spec, lbmodel.Facts{})
			continue
		}
		id := lbmodel.ID{Kind: KindRule, Location: o.calls.region, Name: t[tagID]}
		if seen[id] {
			id = twin(id, arn)
		}
		seen[id] = true
		if o.concerns(t) {
			o.show(id, spec, lbmodel.Handle(arn), t, lbmodel.Facts{})
		}
	}
}

func (o *observer) readListenerCertificates(ctx context.Context, listener lbmodel.ID, arn string, t tags) error {
	pages := elb.NewDescribeListenerCertificatesPaginator(o.calls.elb, &elb.DescribeListenerCertificatesInput{ListenerArn: &arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, c := range page.Certificates {
			if aws.ToBool(c.IsDefault) {
				continue
			}
			certificate := o.ref(KindCertificate, aws.ToString(c.CertificateArn))
			id := listenerCertificateID(t.owner(), listener, certificate.id())
			o.show(id, &ListenerCertificate{Listener: refTo(listener), Certificate: certificate},
				pairHandle(arn, aws.ToString(c.CertificateArn)), t, lbmodel.Facts{})
		}
	}
	return nil
}

// pairHandle is the handle of what is a relation of two things.
func pairHandle(a, b string) lbmodel.Handle { return lbmodel.Handle(a + " " + b) }

// pairOf are the two.
func pairOf(h lbmodel.Handle) (a, b string) {
	a, b, _ = strings.Cut(string(h), " ")
	return a, b
}

// showFronts shows load balancers and listeners, once it is known which they lead to.
func (o *observer) showFronts() {
	for _, f := range sortedFronts(o.fronts) {
		o.showFront(f)
		for i := range f.listeners {
			o.showListener(&f.listeners[i])
		}
	}
}

func (o *observer) showFront(f *frontView) {
	arn := f.arn()
	facts := lbmodel.Facts{Addresses: addressesOf(&f.lb)}
	if !f.ours {
		o.external(KindLoadBalancer, arn, &LoadBalancer{Type: string(f.lb.Type)}, facts)
		return
	}
	if f.attributes == nil {
		return // gone meanwhile
	}
	t, _ := o.memory.tagsOf(arn)
	id := o.ids[arn]
	o.placeOf(&f.lb, t)
	balancer := specBalancer(&f.lb, f.attributes, t, o.ref)
	o.show(id, balancer, lbmodel.Handle(arn), t, lbmodel.Facts{})
	if f.lb.State != nil && isServing(f.lb.State.Code) {
		address := addressID(id)
		spec := &Address{LoadBalancer: refTo(id), Inner: balancer.Inner}
		if spec.Inner {
			facts.Addresses = nil
		}
		o.show(address, spec, lbmodel.Handle(arn), t, facts)
	}
}

// isServing says whether a load balancer in a state answers [API_LoadBalancerState].
func isServing(s types.LoadBalancerStateEnum) bool {
	return s == types.LoadBalancerStateEnumActive || s == types.LoadBalancerStateEnumActiveImpaired
}

func addressesOf(lb *types.LoadBalancer) []lbmodel.Address {
	if name := aws.ToString(lb.DNSName); name != "" {
		return []lbmodel.Address{{Type: lbmodel.AddressHostname, Value: strings.ToLower(name)}}
	}
	return nil
}

func (o *observer) showListener(l *types.Listener) {
	arn := aws.ToString(l.ListenerArn)
	spec := specListener(l, o.ref)
	t, _ := o.memory.tagsOf(arn)
	id, ours := o.ids[arn]
	if !ours {
		o.external(KindListener, arn, spec, lbmodel.Facts{})
		return
	}
	if o.concerns(t) {
		o.show(id, spec, lbmodel.Handle(arn), t, lbmodel.Facts{})
	}
}
