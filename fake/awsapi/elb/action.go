package elb

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// place is where actions stand.
type place struct {
	lb        *lbRow
	protocol  string // of the listener
	isDefault bool
	rule      string // the ARN of the rule that has them already, if any
}

// actions checks a rule's actions, and gives them the form in which they are
// described: in order, with every default filled in.
func (s *Service) actions(now *state, p place, in []action) ([]action, error) {
	if err := orders(in); err != nil {
		return nil, err
	}
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b action) int { return cmp.Compare(*orderOf(a), *orderOf(b)) })
	for i := range out {
		last := i == len(out)-1
		final := slices.Contains([]string{"forward", "redirect", "fixed-response"}, out[i].Type)
		if final != last {
			return nil, refuse("InvalidLoadBalancerAction", "A rule must have exactly one forward, redirect, or fixed-response action, and it must be the last action to be performed")
		}
		out[i].Order = orderOf(out[i])
		if err := s.action(p, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, s.checkGroups(now, p, out)
}

func orderOf(a action) *int { return new(deref(a.Order, 1)) }

func orders(in []action) error {
	if len(in) == 0 {
		return missing("actions")
	}
	if len(in) > 5 {
		return refuse("TooManyActions", "The maximum number of actions per rule is '5'")
	}
	seen := map[int]bool{}
	for _, a := range in {
		n := *orderOf(a)
		switch {
		case len(in) > 1 && a.Order == nil:
			return invalid("An action order must be specified for rules with multiple actions")
		case n < 1 || n > 50000:
			return breaks(n, "actions.order", "have value between 1 and 50000")
		case seen[n]:
			return invalid("An action with order '%d' is specified more than once", n)
		}
		seen[n] = true
	}
	return nil
}

// action checks one, and fills in its defaults.
func (s *Service) action(p place, a *action) error {
	if p.lb.Type == network && a.Type != "forward" {
		return refuse("InvalidLoadBalancerAction", "The action type '%s' is not valid for network load balancers: only forward is", a.Type)
	}
	switch a.Type {
	case "forward":
		return s.forward(p, a)
	case "redirect":
		return redirects(p, a)
	case "fixed-response":
		return fixed(a)
	case "authenticate-oidc", "authenticate-cognito", "jwt-validation":
		return authenticates(p, a)
	case "":
		return missing("actions.type")
	}
	return oneOf(a.Type, "actions.type", "forward", "authenticate-oidc", "authenticate-cognito", "redirect", "fixed-response", "jwt-validation")
}

func (s *Service) forward(p place, a *action) error {
	var config forward
	if a.ForwardConfig != nil {
		config = *a.ForwardConfig
	}
	groups := slices.Clone(config.TargetGroups)
	if len(groups) == 0 && a.TargetGroupArn != "" {
		groups = []weighted{{TargetGroupArn: a.TargetGroupArn}}
	}
	name := map[string]string{application: limitALBGroups, network: limitNLBGroups}[p.lb.Type]
	switch {
	case len(groups) == 0:
		return invalid("A target group ARN must be specified")
	case a.TargetGroupArn != "" && (len(groups) > 1 || groups[0].TargetGroupArn != a.TargetGroupArn):
		return invalid("You cannot specify both a target group ARN and a forward configuration, unless they name the same target group")
	case len(groups) > s.limit(name):
		return refuse("TooManyTargetGroups", "The maximum number of target groups per action is '%d'", s.limit(name))
	}
	if err := weigh(groups); err != nil {
		return err
	}
	sticky, err := stick(p, config.TargetGroupStickinessConfig)
	if err != nil {
		return err
	}
	if a.TargetGroupArn = ""; len(groups) == 1 {
		a.TargetGroupArn = groups[0].TargetGroupArn
	}
	a.ForwardConfig = &forward{TargetGroups: groups, TargetGroupStickinessConfig: sticky}
	return nil
}

func weigh(groups []weighted) error {
	seen := map[string]bool{}
	for i, g := range groups {
		switch {
		case g.TargetGroupArn == "":
			return missing("targetGroupArn")
		case seen[g.TargetGroupArn]:
			return invalid("Target group '%s' is specified more than once", g.TargetGroupArn)
		case g.Weight == nil && len(groups) > 1:
			return invalid("A weight must be specified for every target group of a forward action with multiple target groups")
		}
		seen[g.TargetGroupArn] = true
		groups[i].Weight = new(deref(g.Weight, 1))
		if w := *groups[i].Weight; w < 0 || w > 999 {
			return breaks(w, "targetGroups.weight", "have value between 0 and 999")
		}
	}
	return nil
}

func stick(p place, in *stickiness) (*stickiness, error) {
	if in == nil || !deref(in.Enabled, false) {
		return &stickiness{Enabled: new(false)}, nil
	}
	switch {
	case p.lb.Type == network && p.protocol == "TLS":
		return nil, refuse("InvalidConfigurationRequest", "Target group stickiness is not supported for TLS listeners")
	case in.DurationSeconds == nil && p.lb.Type == application:
		return nil, invalid("Target group stickiness duration must be between 1 and 604800 seconds")
	case in.DurationSeconds != nil && (*in.DurationSeconds < 1 || *in.DurationSeconds > 604800):
		return nil, invalid("Target group stickiness duration must be between 1 and 604800 seconds")
	}
	return in, nil
}

var redirectPort = regexp.MustCompile(`^(#\{port\}|[1-9][0-9]{0,4})$`)

func redirects(p place, a *action) error {
	if a.RedirectConfig == nil {
		return missing("redirectConfig")
	}
	r := *a.RedirectConfig
	r.Protocol, r.Host = cmp.Or(r.Protocol, "#{protocol}"), cmp.Or(r.Host, "#{host}")
	r.Port, r.Path, r.Query = cmp.Or(r.Port, "#{port}"), cmp.Or(r.Path, "/#{path}"), cmp.Or(r.Query, "#{query}")
	a.RedirectConfig = &r
	if err := oneOf(r.StatusCode, "redirectConfig.statusCode", "HTTP_301", "HTTP_302"); err != nil {
		return err
	}
	if err := oneOf(r.Protocol, "redirectConfig.protocol", "HTTP", "HTTPS", "#{protocol}"); err != nil {
		return err
	}
	switch {
	case len(r.Host) > 128 || len(r.Path) > 128 || len(r.Query) > 128:
		return invalid("The host, path and query of a redirect cannot be longer than '128' characters")
	case !strings.HasPrefix(r.Path, "/"):
		return invalid("The path of a redirect must start with '/'")
	case !redirectPort.MatchString(r.Port):
		return invalid("The port of a redirect must be a number from 1 to 65535, or #{port}")
	case p.protocol == "HTTPS" && r.Protocol == "HTTP":
		return refuse("InvalidLoadBalancerAction", "You cannot redirect HTTPS to HTTP")
	case r.Host == "#{host}" && r.Path == "/#{path}" && r.Port == "#{port}" && (r.Protocol == "#{protocol}" || r.Protocol == p.protocol):
		return refuse("InvalidLoadBalancerAction", "The redirect configuration is not valid because it creates a loop.")
	}
	return nil
}

var fixedStatus = regexp.MustCompile(`^[245][0-9][0-9]$`)

func fixed(a *action) error {
	f := a.FixedResponseConfig
	switch {
	case f == nil:
		return missing("fixedResponseConfig")
	case !fixedStatus.MatchString(f.StatusCode):
		return breaks(f.StatusCode, "fixedResponseConfig.statusCode", "satisfy regular expression pattern: ^(2|4|5)\\d\\d$")
	case len(f.MessageBody) > 1024:
		return breaks("...", "fixedResponseConfig.messageBody", "have length less than or equal to 1024")
	case f.ContentType == "":
		return nil
	}
	return oneOf(f.ContentType, "fixedResponseConfig.contentType", "text/plain", "text/css", "text/html", "application/javascript", "application/json")
}

func authenticates(p place, a *action) error {
	switch {
	case p.protocol != "HTTPS":
		return refuse("InvalidLoadBalancerAction", "Actions of type '%s' are supported only on HTTPS listeners", a.Type)
	case a.Type == "authenticate-oidc" && a.AuthenticateOidcConfig == nil:
		return missing("authenticateOidcConfig")
	case a.Type == "authenticate-cognito" && a.AuthenticateCognitoConfig == nil:
		return missing("authenticateCognitoConfig")
	case a.Type == "jwt-validation" && a.JwtValidationConfig == nil:
		return missing("jwtValidationConfig")
	}
	if a.AuthenticateOidcConfig != nil { // a secret is never described, nor kept
		config := *a.AuthenticateOidcConfig
		config.ClientSecret, config.UseExistingClientSecret = "", nil
		a.AuthenticateOidcConfig = &config
	}
	return nil
}
