package aws

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// The names of the quotas that AWS tells [API_DescribeAccountLimits]. Those of one load
// balancer, rule or group are a matter of Compile; those of a region are asked for
// before something is made.
const (
	limitApplications = "application-load-balancers"
	limitNetworks     = "network-load-balancers"
	limitGroups       = "target-groups"
	limitStores       = "trust-stores"

	limitApplicationListeners = "listeners-per-application-load-balancer"
	limitCertificates         = "certificates-per-application-load-balancer"
	limitRules                = "rules-per-application-load-balancer"
	limitValues               = "condition-values-per-alb-rule"
	limitWildcards            = "condition-wildcards-per-alb-rule"
	limitGroupsPerBalancer    = "target-groups-per-application-load-balancer"
	limitTargets              = "targets-per-target-group"
)

// limits are the quotas of an account in a region, and what of the region's is used.
type limits struct {
	mu      sync.Mutex
	most    map[string]int // as AWS said; nil before it was asked
	read    time.Time      // when
	refused bool           // something exceeded a quota since
	used    map[string]int // by whomsoever, at the last look and with what was made since
}

// How long quotas are taken for what they were: somebody may have had them raised, above
// all when something exceeds one.
const (
	limitsFor        = time.Hour
	refusedLimitsFor = time.Minute
)

// old says whether quotas that were read are to be read again.
func (l *limits) old(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	age := now.Sub(l.read)
	return l.most != nil && (age >= limitsFor || l.refused && age >= refusedLimitsFor)
}

func (l *limits) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = true
}

// renewLimits reads quotas again when that is due. Without an answer those of before
// count.
func (p *Provider) renewLimits(ctx context.Context) {
	if p.limits.old(p.now()) {
		_ = p.ReadLimits(ctx) // the next look asks again
	}
}

// ReadLimits asks AWS for the account's quotas, so that from now on what exceeds them
// is refused before anything is done, and what a raised quota allows is not. Whoever
// opens an account asks once; from then on they are asked again after an hour, and when
// something exceeds one.
func (p *Provider) ReadLimits(ctx context.Context) error {
	most := map[string]int{}
	pages := elb.NewDescribeAccountLimitsPaginator(p.calls.elb, &elb.DescribeAccountLimitsInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return codeError("DescribeAccountLimits", noID, err)
		}
		for _, l := range page.Limits {
			if n, err := strconv.Atoi(aws.ToString(l.Max)); err == nil {
				most[aws.ToString(l.Name)] = n
			}
		}
	}
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	p.limits.most, p.limits.read, p.limits.refused = most, p.now(), false
	return nil
}

// Offers implements providers.Compiler, by the account's quotas.
func (p *Provider) Offers(raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	p.noteBuckets(raw)
	features, findings := p.Compiler.Offers(p.limited(raw))
	return features, append(findings, p.elsewhere(raw)...)
}

// Compile implements providers.Compiler, by the account's quotas.
func (p *Provider) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	if len(p.elsewhere(gw.Settings)) > 0 {
		return lbmodel.Graph{}, lbmodel.Graph{}, nil // Offers told
	}
	gw.Settings = p.limited(gw.Settings)
	own, shared, findings = p.Compiler.Compile(gw)
	if slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return f.Code == lbmodel.CodeQuota }) {
		p.limits.refuse()
	}
	return own, shared, findings
}

// room says whether there is place for one more of a resource in the region, by quotas
// that are not old.
func (p *Provider) room(ctx context.Context, op string, id lbmodel.ID, spec lbmodel.Spec) error {
	err := p.limits.room(op, id, spec)
	if err == nil {
		return nil
	}
	p.limits.refuse()
	p.renewLimits(ctx)
	return p.limits.room(op, id, spec)
}

// Endpoints implements providers.Compiler, by the account's quotas.
func (p *Provider) Endpoints(owner lbmodel.Owner, pool lbmodel.Pool, raw json.RawMessage) lbmodel.Graph {
	if len(p.elsewhere(raw)) > 0 {
		return lbmodel.Graph{}
	}
	return p.Compiler.Endpoints(owner, pool, p.limited(raw))
}

// elsewhere finds settings that are for another region: this provider's calls would
// not reach it.
func (p *Provider) elsewhere(raw json.RawMessage) []lbmodel.Finding {
	s, _ := readSettings(raw)
	if s.Region == "" || s.Region == p.calls.region {
		return nil
	}
	return []lbmodel.Finding{wrongSettings("region", "is %s, and this process works in %s; set it right, or run another process there", s.Region, p.calls.region)}
}

// limited is settings with the account's quotas where they leave AWS's defaults. A
// quota that settings name can only be smaller: it keeps room for others.
func (p *Provider) limited(raw json.RawMessage) json.RawMessage {
	p.limits.mu.Lock()
	most := p.limits.most
	p.limits.mu.Unlock()
	if most == nil {
		return raw
	}
	var fields map[string]json.RawMessage
	var q settings.Quotas
	if json.Unmarshal(raw, &fields) != nil {
		return raw // Offers tells
	}
	if given, set := fields["quotas"]; set && json.Unmarshal(given, &q) != nil {
		return raw // likewise
	}
	apply := func(to *int, name string) {
		if n, known := most[name]; known && (*to == 0 || n < *to) {
			*to = n
		}
	}
	apply(&q.RulesPerLoadBalancer, limitRules)
	apply(&q.ConditionValuesPerRule, limitValues)
	apply(&q.WildcardsPerRule, limitWildcards)
	apply(&q.TargetGroupsPerLoadBalancer, limitGroupsPerBalancer)
	apply(&q.TargetsPerGroup, limitTargets)
	apply(&q.CertificatesPerLoadBalancer, limitCertificates)
	apply(&q.ListenersPerLoadBalancer, limitApplicationListeners)
	given, err := json.Marshal(q)
	if err != nil {
		return raw
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["quotas"] = given
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

// limitOf is the region's quota that a resource takes of; "" is none.
func limitOf(spec lbmodel.Spec) string {
	switch s := spec.(type) {
	case *LoadBalancer:
		if s.Type == typeNetwork {
			return limitNetworks
		}
		return limitApplications
	case *TargetGroup:
		return limitGroups
	case *TrustStore:
		return limitStores
	default:
		return ""
	}
}

// use notes how many of a kind the region has, whosever they are.
func (l *limits) use(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used == nil {
		l.used = map[string]int{}
	}
	l.used[name] = n
}

// made notes that one more is there, or with -1 one less.
func (l *limits) made(spec lbmodel.Spec, n int) {
	name := limitOf(spec)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, looked := l.used[name]; looked {
		l.used[name] += n
	}
}

// room says whether there is place for one more of a resource in the region. When
// there is none the error names the quota; no call was made. What others have deleted
// since the last look shows at the next one.
func (l *limits) room(op string, id lbmodel.ID, spec lbmodel.Spec) error {
	name := limitOf(spec)
	l.mu.Lock()
	defer l.mu.Unlock()
	most, limited := l.most[name]
	used, looked := l.used[name]
	if !limited || !looked || used < most {
		return nil
	}
	return lbmodel.Errorf(lbmodel.CodeQuota, op, id,
		"the region has %d of the %d that the quota %q allows; raise it in Service Quotas, or delete some", used, most, name)
}
