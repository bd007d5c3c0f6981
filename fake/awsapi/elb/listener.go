package elb

import (
	"cmp"
	"reflect"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// listener finds a listener to read.
func (s *state) listener(arn string) (*listenerRow, error) {
	if arn == "" {
		return nil, missing("listenerArn")
	}
	if row := s.Listeners.Get(arn); row != nil {
		return row, nil
	}
	if !strings.Contains(arn, ":listener/") {
		return nil, invalid("'%s' is not a valid listener ARN", arn)
	}
	return nil, refuse("ListenerNotFound", "One or more listeners not found")
}

// writable finds a listener to change, and its load balancer.
func (s *Service) writable(call *account.Call, now *state, arn string) (*listenerRow, *lbRow, error) {
	row, err := now.listener(arn)
	switch {
	case err != nil:
		return nil, nil, err
	case s.fresh(call, row.Made):
		return nil, nil, refuse("ListenerNotFound", "One or more listeners not found")
	}
	lb, err := now.lb(row.LoadBalancerArn)
	return row, lb, err
}

func (s *state) dropListener(l *listenerRow) {
	for _, r := range s.rulesOf(l.ListenerArn) {
		s.Rules.Delete(r.RuleArn)
	}
	s.Listeners.Delete(l.ListenerArn)
}

func (s *Service) createListener(call *account.Call, in *createListener) (any, error) {
	tags, err := s.newTags(in.Tags)
	if err != nil {
		return nil, err
	}
	var out listener
	err = s.change(call, func(now *state) error {
		lb, err := now.lb(in.LoadBalancerArn)
		if err != nil {
			return err
		}
		next, err := s.listenerOf(now, lb, in)
		if err != nil {
			return err
		}
		for _, old := range now.listenersOf(lb.LoadBalancerArn) {
			if old.Port != next.Port {
				continue
			}
			next.ListenerArn = old.ListenerArn
			if !reflect.DeepEqual(old.listener, next) || s.otherTags(old.Tags, tags) {
				return refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", lb.LoadBalancerArn)
			}
			out = old.listener
			return nil
		}
		have := len(now.listenersOf(lb.LoadBalancerArn))
		name := map[string]string{application: limitALBListeners, network: limitNLBListeners}[lb.Type]
		if err := s.full(name, have, "TooManyListeners", "The maximum number of listeners has been reached on load balancer '%s'", lb.LoadBalancerArn); err != nil {
			return err
		}
		row := s.addListener(call, now, lb, next)
		row.Tags = tags
		out = now.Listeners.Put(row.ListenerArn, row).listener
		now.relink(call.Now)
		return nil
	})
	return listenersOut{Listeners: []listener{out}}, err
}

// addListener names a new listener, and makes its default rule.
func (s *Service) addListener(call *account.Call, now *state, lb *lbRow, next listener) listenerRow {
	path := strings.TrimPrefix(lb.LoadBalancerArn, s.Home.ARN(service, "loadbalancer/")) + "/" + s.IDs.Hex(16)
	next.ListenerArn = s.Home.ARN(service, "listener/"+path)
	row := listenerRow{listener: next, Made: call.Now, Attributes: defaults(listenerKnobs(lb.Type, next.Protocol)),
		Default: s.Home.ARN(service, "listener-rule/"+path+"/"+s.IDs.Hex(16))}
	now.setDefault(row)
	return row
}

// setDefault makes a listener's default rule say what the listener says.
func (s *state) setDefault(l listenerRow) {
	var tags labels
	if old := s.Rules.Get(l.Default); old != nil {
		tags = old.Tags
	}
	s.Rules.Put(l.Default, ruleRow{Number: lastNumber, Listener: l.ListenerArn, Tags: tags,
		rule: rule{RuleArn: l.Default, Priority: "default", IsDefault: new(true), Conditions: []condition{}, Actions: l.DefaultActions}})
}

// listenerOf is the listener that a create asks for, as it will be described.
func (s *Service) listenerOf(now *state, lb *lbRow, in *createListener) (listener, error) {
	out := listener{LoadBalancerArn: lb.LoadBalancerArn, Protocol: in.Protocol, AlpnPolicy: in.AlpnPolicy,
		Certificates: in.Certificates, SslPolicy: in.SslPolicy, MutualAuthentication: in.MutualAuthentication}
	switch {
	case in.Port == nil:
		return out, invalid("A listener port must be specified")
	case in.Protocol == "":
		return out, invalid("A listener protocol must be specified")
	case len(in.DefaultActions) == 0:
		return out, missing("defaultActions")
	}
	out.Port = *in.Port
	if err := s.checkListener(now, lb, &out, ""); err != nil {
		return out, err
	}
	var err error
	out.DefaultActions, err = s.actions(now, place{lb: lb, protocol: out.Protocol, isDefault: true}, in.DefaultActions)
	return out, err
}

func (s *Service) modifyListener(call *account.Call, in *modifyListener) (any, error) {
	var out listener
	err := s.change(call, func(now *state) error {
		old, lb, err := s.writable(call, now, in.ListenerArn)
		if err != nil {
			return err
		}
		next := *old
		next.listener = changed(old.listener, in)
		for _, other := range now.listenersOf(lb.LoadBalancerArn) {
			if other.Port == next.Port && other.ListenerArn != next.ListenerArn {
				return refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", lb.LoadBalancerArn)
			}
		}
		if err := s.checkListener(now, lb, &next.listener, next.ListenerArn); err != nil {
			return err
		}
		next.DefaultActions, err = s.actions(now, place{lb: lb, protocol: next.Protocol, isDefault: true, rule: next.Default}, next.DefaultActions)
		if err != nil {
			return err
		}
		if next.Protocol != old.Protocol {
			next.Attributes = defaults(listenerKnobs(lb.Type, next.Protocol))
		}
		if !secure(next.Protocol) {
			next.Extra = nil
		}
		now.setDefault(next)
		out = now.Listeners.Put(in.ListenerArn, next).listener
		now.relink(call.Now)
		return nil
	})
	return listenersOut{Listeners: []listener{out}}, err
}

// changed is a listener with what a modify names; what only another protocol has goes
// with it.
func changed(l listener, in *modifyListener) listener {
	if in.Protocol != "" && in.Protocol != l.Protocol {
		l.Protocol = in.Protocol
		if !secure(l.Protocol) {
			l.Certificates, l.SslPolicy, l.AlpnPolicy, l.MutualAuthentication = nil, "", nil, nil
		}
	}
	l.Port = deref(in.Port, l.Port)
	l.SslPolicy = cmp.Or(in.SslPolicy, l.SslPolicy)
	if in.AlpnPolicy != nil {
		l.AlpnPolicy = in.AlpnPolicy
	}
	if len(in.Certificates) > 0 {
		l.Certificates = in.Certificates
	}
	if in.MutualAuthentication != nil {
		l.MutualAuthentication = in.MutualAuthentication
	}
	if len(in.DefaultActions) > 0 {
		l.DefaultActions = in.DefaultActions
	}
	return l
}

func (s *Service) describeListeners(call *account.Call, in *describeListeners) (any, error) {
	now := s.view(call)
	if in.LoadBalancerArn == "" && len(in.ListenerArns) == 0 {
		return nil, invalid("You must specify either listener ARNs or a load balancer ARN")
	}
	if in.LoadBalancerArn != "" && len(in.ListenerArns) > 0 {
		return nil, invalid("Listener ARNs and a load balancer ARN cannot be specified at the same time")
	}
	if in.LoadBalancerArn != "" {
		if _, err := now.lb(in.LoadBalancerArn); err != nil {
			return nil, err
		}
	}
	for _, arn := range in.ListenerArns {
		if _, err := now.listener(arn); err != nil {
			return nil, err
		}
	}
	found := now.Listeners.All(func(l *listenerRow) bool {
		return wanted(in.ListenerArns, l.ListenerArn) && (in.LoadBalancerArn == "" || l.LoadBalancerArn == in.LoadBalancerArn)
	})
	rows, next, err := page(found, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := listenersOut{NextMarker: next, Listeners: []listener{}}
	for _, r := range rows {
		out.Listeners = append(out.Listeners, r.listener)
	}
	return out, nil
}

func (s *Service) deleteListener(call *account.Call, in *ofListener) (any, error) {
	return nothing{}, s.change(call, func(now *state) error {
		row, err := now.listener(in.ListenerArn)
		if err != nil {
			return err
		}
		now.dropListener(row)
		now.relink(call.Now)
		return nil
	})
}
