package aws

import (
	"cmp"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// What is used when the settings say nothing.
const (
	schemePublic     = "internet-facing"
	schemeInternal   = "internal"
	familyIPv4       = "ipv4"
	familyIPv6       = "ipv6"
	familyDual       = "dualstack"
	targetIP         = "ip"
	targetInstance   = "instance"
	targetALB        = "alb"
	defaultTLSPolicy = "ELBSecurityPolicy-TLS13-1-2-2021-06"
	defaultPrefix    = "gatehouse/"
)

// readSettings reads the provider's section with the defaults filled in. A finding
// refuses every gateway that uses the section until it is right, so each says what
// to write instead. For whoever compiles all the same, what can be read counts.
func readSettings(raw json.RawMessage) (settings.Settings, []lbmodel.Finding) {
	var s settings.Settings
	var findings []lbmodel.Finding
	if len(raw) == 0 {
		findings = append(findings, wrongSettings("region", "is required, such as eu-west-1"))
	} else if err := jsonv2.Unmarshal(raw, &s, jsonv2.RejectUnknownMembers(true)); err != nil {
		findings = append(findings, wrongSettings("", "%v", err))
		s = readableSettings(raw)
	}
	s = withDefaults(s)
	if len(findings) == 0 {
		findings = judgeSettings(&s)
	}
	return s, findings
}

// readableSettings are the fields of a section that can be read, when not all can.
func readableSettings(raw json.RawMessage) settings.Settings {
	var s settings.Settings
	var fields map[string]json.RawMessage
	if jsonv2.Unmarshal(raw, &fields) != nil {
		return s // told already: not an object at all
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one, err := jsonv2.Marshal(map[string]json.RawMessage{name: fields[name]})
		next := s
		if err == nil && jsonv2.Unmarshal(one, &next) == nil {
			s = next
		}
	}
	return s
}

// withDefaults fills in what is not set, so that an unset field and its default
// compile to the same.
func withDefaults(s settings.Settings) settings.Settings {
	s.Scheme = cmp.Or(s.Scheme, schemeInternal)
	s.IPAddressType = cmp.Or(s.IPAddressType, familyIPv4)
	s.TargetType = cmp.Or(s.TargetType, targetIP)
	s.TargetFamily = cmp.Or(s.TargetFamily, familyIPv4)
	s.TLSPolicy = cmp.Or(s.TLSPolicy, defaultTLSPolicy)
	if s.Trust != nil {
		t := *s.Trust
		t.Prefix = cmp.Or(t.Prefix, defaultPrefix)
		s.Trust = &t
	}
	q := &s.Quotas
	q.RulesPerLoadBalancer = cmp.Or(q.RulesPerLoadBalancer, 100)
	q.ConditionValuesPerRule = cmp.Or(q.ConditionValuesPerRule, 5)
	q.WildcardsPerRule = cmp.Or(q.WildcardsPerRule, 5)
	q.TargetGroupsPerLoadBalancer = cmp.Or(q.TargetGroupsPerLoadBalancer, 100)
	q.TargetsPerGroup = cmp.Or(q.TargetsPerGroup, 1000)
	q.CertificatesPerLoadBalancer = cmp.Or(q.CertificatesPerLoadBalancer, 25)
	q.ListenersPerLoadBalancer = cmp.Or(q.ListenersPerLoadBalancer, 50)
	q.RulesPerSecurityGroup = cmp.Or(q.RulesPerSecurityGroup, 60)
	return s
}

// A field's form, and an example for whoever got it wrong.
var (
	regionForm    = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)
	subnetForm    = regexp.MustCompile(`^subnet-[0-9a-f]+$`)
	groupForm     = regexp.MustCompile(`^sg-[0-9a-f]+$`)
	vpcForm       = regexp.MustCompile(`^(vpc-[0-9a-f]+)?$`)
	policyForm    = regexp.MustCompile(`^ELBSecurityPolicy-[A-Za-z0-9-]+$`)
	attributeForm = regexp.MustCompile(`^[a-zA-Z0-9._]{1,256}$`)
	bucketForm    = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	arnForm       = regexp.MustCompile(`^arn:[^:]+:elasticloadbalancing:([^:]+):[0-9]*:(loadbalancer|listener)/(app|net)/.+$`)
)

// judge collects what is wrong with a section.
type judge struct{ findings []lbmodel.Finding }

func (j *judge) wrong(field, text string, args ...any) {
	j.findings = append(j.findings, wrongSettings(field, text, args...))
}

func (j *judge) form(field, value string, form *regexp.Regexp, example string) {
	if !form.MatchString(value) {
		j.wrong(field, "%q is not of the form %s", value, example)
	}
}

func (j *judge) forms(field string, values []string, form *regexp.Regexp, example string) {
	for i, v := range values {
		j.form(fmt.Sprintf("%s[%d]", field, i), v, form, example)
	}
}

func (j *judge) oneOf(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		j.wrong(field, "%q is none of %s", value, strings.Join(allowed, ", "))
	}
}

func judgeSettings(s *settings.Settings) []lbmodel.Finding {
	var j judge
	j.form("region", s.Region, regionForm, "eu-west-1")
	if s.Flavour != "" {
		j.oneOf("flavour", string(s.Flavour), string(settings.Application), string(settings.Network), string(settings.ApplicationBehindNetwork))
	}
	j.oneOf("scheme", s.Scheme, schemePublic, schemeInternal)
	j.oneOf("ipAddressType", s.IPAddressType, familyIPv4, familyDual)
	j.oneOf("targetType", s.TargetType, targetIP, targetInstance)
	j.oneOf("targetFamily", s.TargetFamily, familyIPv4, familyIPv6)
	j.form("vpc", s.VPC, vpcForm, "vpc-0a1b2c")
	j.form("tlsPolicy", s.TLSPolicy, policyForm, defaultTLSPolicy)
	j.forms("subnets", s.Subnets, subnetForm, "subnet-0a1b2c")
	j.forms("securityGroups", s.SecurityGroups, groupForm, "sg-0a1b2c")
	j.forms("targetSecurityGroups", s.TargetSecurityGroups, groupForm, "sg-0a1b2c")
	if len(s.TargetSecurityGroups) > 0 && (s.VPC == "" || len(s.SecurityGroups) > 0) {
		j.wrong("targetSecurityGroups", "it needs vpc, and no securityGroups: whoever names those lets them in")
	}
	if len(s.Subnets) > 0 && len(s.SubnetTags) > 0 {
		j.wrong("subnetTags", "subnets are named already; use one of both")
	}
	if s.TargetFamily == familyIPv6 && (s.IPAddressType != familyDual || s.TargetType != targetIP) {
		j.wrong("targetFamily", "ipv6 needs ipAddressType dualstack and targetType ip")
	}
	j.buckets(s)
	j.attributes(s)
	j.held(s)
	j.rest(s)
	return j.findings
}

func (j *judge) buckets(s *settings.Settings) {
	if s.AccessLogs != nil {
		j.form("accessLogs.bucket", s.AccessLogs.Bucket, bucketForm, "my-logs")
	}
	if s.Trust != nil {
		j.form("trust.bucket", s.Trust.Bucket, bucketForm, "my-roots")
	}
}

func (j *judge) attributes(s *settings.Settings) {
	for _, key := range slices.Sorted(maps.Keys(s.LoadBalancerAttributes)) {
		j.form("loadBalancerAttributes", key, attributeForm, "idle_timeout.timeout_seconds")
		if ours(key) {
			j.wrong("loadBalancerAttributes", "%s is Gatehouse's own: what routes mean depends on it", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.TargetGroupAttributes)) {
		j.form("targetGroupAttributes", key, attributeForm, "deregistration_delay.timeout_seconds")
		if strings.HasPrefix(key, "stickiness.") {
			j.wrong("targetGroupAttributes", "%s is Gatehouse's own: routes say what is sticky", key)
		}
	}
}

// ours says whether an attribute of a load balancer is not the operator's to set.
func ours(key string) bool {
	return key == attributeHost || strings.HasPrefix(key, "access_logs.")
}

func (j *judge) held(s *settings.Settings) {
	ports := map[int32]bool{}
	if s.Flavour == settings.ApplicationBehindNetwork && holds(s) {
		j.wrong("held", "a load balancer of somebody else's cannot be behind one of ours; use another flavour")
	}
	for i, h := range s.Held {
		field := fmt.Sprintf("held[%d]", i)
		j.oneOf(field+".kind", h.Kind, KindLoadBalancer, KindListener)
		parts := arnForm.FindStringSubmatch(h.ARN)
		switch {
		case parts == nil || !strings.EqualFold(parts[2], h.Kind):
			j.wrong(field+".arn", "%q is not the ARN of a %s", h.ARN, h.Kind)
		case parts[1] != s.Region:
			j.wrong(field+".arn", "it is in %s, and the region is %s", parts[1], s.Region)
		case h.Kind == KindListener && (h.Port < 1 || h.Port > 65535 || ports[h.Port]):
			j.wrong(field+".port", "each held listener needs its port, 1 to 65535, once")
		case h.Kind == KindLoadBalancer && h.Port != 0:
			j.wrong(field+".port", "is for listeners only")
		}
		ports[h.Port] = h.Kind == KindListener
	}
}

func (j *judge) rest(s *settings.Settings) {
	for _, a := range s.Assume {
		j.oneOf("assume", string(a), string(settings.PathRegexCaseSensitive), string(settings.HeaderRegexCaseSensitive), string(settings.RedirectSeesRewrite))
	}
	q := s.Quotas
	for _, n := range []int{q.RulesPerLoadBalancer, q.ConditionValuesPerRule, q.WildcardsPerRule, q.TargetGroupsPerLoadBalancer,
		q.TargetsPerGroup, q.CertificatesPerLoadBalancer, q.ListenersPerLoadBalancer, q.RulesPerSecurityGroup, q.TargetsPerLoadBalancer + 1} {
		if n < 1 {
			j.wrong("quotas", "%d is below 1; leave out what is AWS's default", n)
		}
	}
}

func wrongSettings(field, text string, args ...any) lbmodel.Finding {
	path := strings.TrimSuffix("aws."+field, ".")
	return lbmodel.Finding{
		About:     lbmodel.Source{Kind: "GatewayParameters", Section: "spec.aws"},
		Condition: "Accepted", Reason: "InvalidParameters", Code: lbmodel.CodeInvalid,
		Detail: path + ": " + fmt.Sprintf(text, args...) + "; the gateway waits and stays as it is until the section is corrected",
	}
}
