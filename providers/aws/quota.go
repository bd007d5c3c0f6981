package aws

import (
	"errors"
	"fmt"

	"gatehouse.dev/lbmodel"
)

var errNoHost = errors.New("the hostname has nothing in common with the listener's")

// spending is what of the quotas of a load balancer is used. Rules and groups are the
// Application one's.
type spending struct {
	rules, certificates, verifying int
	groups                         map[Ref]bool
}

// maxVerifying is how many listeners of a load balancer verify clients [Q].
const maxVerifying = 2

// spendGroups counts the target groups of an action. An error says that there are too
// many in the load balancer already; the first rules, which match first, have theirs.
func (c *compiler) spendGroups(a *Action) error {
	fresh := 0
	for _, s := range a.Forward {
		if !c.spent.groups[s.Group] {
			fresh++
		}
	}
	quota := c.s.Quotas.TargetGroupsPerLoadBalancer
	if len(c.spent.groups)+fresh > quota {
		return fmt.Errorf("the load balancer sends to %d target groups already, and the quota is %d; move routes to another gateway, or raise the quota", len(c.spent.groups), quota)
	}
	for _, s := range a.Forward {
		c.spent.groups[s.Group] = true
	}
	return nil
}

// addRules adds entries in their order. What a rule looks at is its name, so one that
// does something else, or stands elsewhere, is updated in place. Of equal conditions
// only the first are ever reached. Beyond the quota the last ones, which match last,
// are left out.
func (c *compiler) addRules(listener lbmodel.ID, entries []entry) {
	var rules []*Rule
	var ids []lbmodel.ID
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		alternatives, err := e.conditions(c.ruleQuotas())
		if err != nil {
			c.refuse(e.about, e.parent, "%v", err)
			continue
		}
		for _, conditions := range alternatives {
			key := encode(conditions)
			if seen[key] || !c.spendRule(e) {
				continue
			}
			seen[key] = true
			ids = append(ids, c.name(KindRule, ruleText(e), listener.Name, key))
			rules = append(rules, &Rule{Listener: refTo(listener), Conditions: conditions,
				Transforms: e.does.transforms, Action: e.does.action, sources: e.sources, broken: e.does.broken})
		}
	}
	for i, priority := range priorities.Canonical(len(rules)) {
		rules[i].Priority = priority
		c.add(ids[i], rules[i])
	}
}

// ruleText is what a rule's name begins with.
func ruleText(e *entry) string {
	switch {
	case e.match.Path.Value != "" && e.match.Path.Value != "/":
		return e.match.Path.Value
	case len(e.hosts) > 0:
		return e.hosts[0]
	default:
		return "rule"
	}
}

func (c *compiler) spendRule(e *entry) bool {
	quota := c.s.Quotas.RulesPerLoadBalancer
	if c.spent.rules == quota {
		c.exceed(e.about, e.parent, "the load balancer has %d rules already, which is the quota; move routes to another gateway, or raise it", quota)
		return false
	}
	c.spent.rules++
	return true
}
