package elb

import (
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

func (s *state) ruleRow(arn string) (*ruleRow, error) {
	if arn == "" {
		return nil, missing("ruleArn")
	}
	if row := s.Rules.Get(arn); row != nil {
		return row, nil
	}
	if !strings.Contains(arn, ":listener-rule/") {
		return nil, invalid("'%s' is not a valid listener rule ARN", arn)
	}
	return nil, refuse("RuleNotFound", "One or more rules not found")
}

func checkPriority(n int) error {
	if n < 1 || n > 50000 {
		return breaks(n, "priority", "have value between 1 and 50000")
	}
	return nil
}

// taken refuses a priority that another rule of the listener has.
func (s *state) taken(listener string, n int, self []string) error {
	for _, r := range s.rulesOf(listener) {
		if r.Number == n && !slices.Contains(self, r.RuleArn) {
			return refuse("PriorityInUse", "Priority '%d' is currently in use", n)
		}
	}
	return nil
}

func (s *Service) createRule(call *account.Call, in *createRule) (any, error) {
	tags, err := s.newTags(in.Tags)
	switch {
	case err != nil:
		return nil, err
	case in.Priority == nil:
		return nil, missing("priority")
	}
	if err := checkPriority(*in.Priority); err != nil {
		return nil, err
	}
	var out rule
	err = s.change(call, func(now *state) error {
		l, lb, err := s.writable(call, now, in.ListenerArn)
		if err != nil {
			return err
		}
		if err := s.roomForRule(now, lb, l, *in.Priority); err != nil {
			return err
		}
		row := ruleRow{Number: *in.Priority, Listener: l.ListenerArn, Tags: tags}
		row.Priority, row.IsDefault = strconv.Itoa(row.Number), new(false)
		if err := s.fill(now, lb, l, &row, in.Actions, in.Conditions, in.Transforms); err != nil {
			return err
		}
		path := strings.TrimPrefix(l.ListenerArn, s.Home.ARN(service, "listener/"))
		row.RuleArn = s.Home.ARN(service, "listener-rule/"+path+"/"+s.IDs.Hex(16))
		out = now.Rules.Put(row.RuleArn, row).rule
		now.relink(call.Now)
		return nil
	})
	return rulesOut{Rules: []rule{out}}, err
}

func (s *Service) roomForRule(now *state, lb *lbRow, l *listenerRow, priority int) error {
	if lb.Type == network && lb.IpAddressType != dualstack {
		return refuse("OperationNotPermitted", "Rules are only supported for network load balancers with IP address type dualstack")
	}
	have := now.Rules.All(func(r *ruleRow) bool {
		return r.Number != lastNumber && now.Listeners.Get(r.Listener).LoadBalancerArn == lb.LoadBalancerArn
	})
	if err := s.full(limitRules, len(have), "TooManyRules", "The maximum number of rules has been reached on load balancer '%s'", lb.LoadBalancerArn); err != nil {
		return err
	}
	return now.taken(l.ListenerArn, priority, nil)
}

// fill puts what is given into a rule; what is empty stays as it is.
func (s *Service) fill(now *state, lb *lbRow, l *listenerRow, r *ruleRow, actions []action, conditions []condition, transforms []transform) (err error) {
	if len(conditions) > 0 || r.RuleArn == "" {
		if r.Conditions, err = s.conditions(lb, conditions); err != nil {
			return err
		}
	}
	if len(transforms) > 0 {
		if r.Transforms, err = checkTransforms(lb, transforms); err != nil {
			return err
		}
	}
	if len(actions) > 0 || r.RuleArn == "" {
		r.Actions, err = s.actions(now, place{lb: lb, protocol: l.Protocol, rule: r.RuleArn}, actions)
	}
	return err
}

func (s *Service) modifyRule(call *account.Call, in *modifyRule) (any, error) {
	var out rule
	err := s.change(call, func(now *state) error {
		old, err := now.ruleRow(in.RuleArn)
		switch {
		case err != nil:
			return err
		case old.Number == lastNumber:
			return refuse("OperationNotPermitted", "Default rule '%s' cannot be modified: modify its listener", in.RuleArn)
		case len(in.Actions)+len(in.Conditions)+len(in.Transforms) == 0 && !deref(in.ResetTransforms, false):
			return invalid("Either conditions or actions must be specified")
		case deref(in.ResetTransforms, false) && len(in.Transforms) > 0:
			return invalid("Transforms cannot be specified when they are reset")
		}
		l, lb, err := s.writable(call, now, old.Listener)
		if err != nil {
			return err
		}
		next := *old
		if deref(in.ResetTransforms, false) {
			next.Transforms = nil
		}
		if err := s.fill(now, lb, l, &next, in.Actions, in.Conditions, in.Transforms); err != nil {
			return err
		}
		out = now.Rules.Put(in.RuleArn, next).rule
		now.relink(call.Now)
		return nil
	})
	return rulesOut{Rules: []rule{out}}, err
}

func (s *Service) describeRules(call *account.Call, in *describeRules) (any, error) {
	now := s.view(call)
	switch {
	case in.ListenerArn == "" && len(in.RuleArns) == 0:
		return nil, invalid("You must specify either listener rule ARNs or a listener ARN")
	case in.ListenerArn != "" && len(in.RuleArns) > 0:
		return nil, invalid("Listener rule ARNs and a listener ARN cannot be specified at the same time")
	}
	var found []*ruleRow
	if in.ListenerArn != "" {
		if _, err := now.listener(in.ListenerArn); err != nil {
			return nil, err
		}
		found = now.rulesOf(in.ListenerArn)
	}
	for _, arn := range in.RuleArns {
		r, err := now.ruleRow(arn)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	rows, next, err := page(found, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := rulesOut{NextMarker: next, Rules: []rule{}}
	for _, r := range rows {
		out.Rules = append(out.Rules, r.rule)
	}
	return out, nil
}

func (s *Service) deleteRule(call *account.Call, in *ofRule) (any, error) {
	return nothing{}, s.change(call, func(now *state) error {
		row, err := now.ruleRow(in.RuleArn)
		switch {
		case err != nil:
			return err
		case row.Number == lastNumber:
			return refuse("OperationNotPermitted", "Default rule '%s' cannot be deleted", in.RuleArn)
		}
		now.Rules.Delete(in.RuleArn)
		now.relink(call.Now)
		return nil
	})
}

func (s *Service) setRulePriorities(call *account.Call, in *setRulePriorities) (any, error) {
	out := rulesOut{Rules: []rule{}}
	if len(in.RulePriorities) == 0 {
		return nil, missing("rulePriorities")
	}
	err := s.change(call, func(now *state) error {
		var moving []string
		for _, pair := range in.RulePriorities {
			moving = append(moving, pair.RuleArn)
		}
		numbers, listener := map[int]bool{}, ""
		for _, pair := range in.RulePriorities {
			old, err := now.movable(pair, moving)
			switch {
			case err != nil:
				return err
			case listener != "" && listener != old.Listener:
				return invalid("All rules must belong to the same listener")
			case numbers[*pair.Priority]:
				return invalid("Priority '%d' was provided multiple times", *pair.Priority)
			}
			listener, numbers[*pair.Priority] = old.Listener, true
			next := *old
			next.Number, next.Priority = *pair.Priority, strconv.Itoa(*pair.Priority)
			now.Rules.Put(pair.RuleArn, next)
			out.Rules = append(out.Rules, next.rule)
		}
		return nil
	})
	return out, err
}

// movable finds a rule that is to get another priority, while others move too.
func (s *state) movable(pair priorityPair, moving []string) (*ruleRow, error) {
	row, err := s.ruleRow(pair.RuleArn)
	switch {
	case err != nil:
		return nil, err
	case row.Number == lastNumber:
		return nil, refuse("OperationNotPermitted", "Default rule '%s' cannot be given a priority", pair.RuleArn)
	case pair.Priority == nil:
		return nil, missing("rulePriorities.priority")
	}
	if err := checkPriority(*pair.Priority); err != nil {
		return nil, err
	}
	return row, s.taken(row.Listener, *pair.Priority, moving)
}
