package gcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/lbmodel"
)

// limits are the quotas of a project. Those of one load balancer, such as the size of a
// URL map, are a matter of Compile; those of the project are looked at before something
// is made, so that a quota that is used up is told without a call that would fail, or an
// operation that would.
type limits struct {
	mu     sync.Mutex
	quotas map[quotaName]quota // nil before they were asked for
}

// quotaName is a metric of Compute's in a region, or global.
type quotaName struct{ location, metric string }

// quota is how much there may be, and how much there was when it was asked for, with what
// we have made since.
type quota struct {
	Metric string  `json:"metric"`
	Limit  float64 `json:"limit"`
	Usage  float64 `json:"usage"`
}

// quotasOf are what a project or a region says of its quotas.
type quotasOf struct {
	Name   string  `json:"name"`
	Quotas []quota `json:"quotas"`
}

// ReadLimits asks for the project's quotas, of all regions: two reads.
func (p *Provider) ReadLimits(ctx context.Context) error {
	all, err := p.calls.List(ctx, "projects/"+p.project+"/regions", "")
	if err != nil {
		return codeError("ListRegions", noID, err)
	}
	for _, region := range all {
		if err := p.limits.learn("", region); err != nil {
			return err
		}
	}
	return p.readLimitsOf(ctx, global)
}

// readLimitsOf asks for the quotas of a region, or the global ones.
func (p *Provider) readLimitsOf(ctx context.Context, location string) error {
	path := "projects/" + p.project
	if location != global {
		path += "/regions/" + location
	}
	body, err := p.calls.Get(ctx, path)
	if err != nil {
		return codeError("ReadLimits", noID, err)
	}
	return p.limits.learn(location, body)
}

// learn takes down what is said of quotas; "" is the location that it names itself.
func (l *limits) learn(location string, body gcpcalls.Object) error {
	var said quotasOf
	if err := gcpcalls.Read(body, &said); err != nil {
		return lbmodel.Errorf(lbmodel.CodeInternal, "ReadLimits", noID, "%w", err)
	}
	if location == "" {
		location = said.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quotas == nil {
		l.quotas = map[quotaName]quota{}
	}
	for _, q := range said.Quotas {
		l.quotas[quotaName{location, q.Metric}] = q
	}
	return nil
}

// room says whether the project's quotas allow one more of a resource, and counts it.
// Where they would not it asks again, since others may have deleted something and the
// quota may have been raised: nothing is refused by what was true once.
func (p *Provider) room(ctx context.Context, op string, id lbmodel.ID, spec lbmodel.Spec) error {
	name := quotaName{quotaLocation(id.Location), metricOf(id, spec)}
	if _, ok := p.limits.take(name); ok {
		return nil
	}
	if err := p.readLimitsOf(ctx, name.location); err != nil {
		return err
	}
	q, ok := p.limits.take(name)
	if ok {
		return nil
	}
	return lbmodel.Errorf(lbmodel.CodeQuota, op, id,
		"the project has %.0f of the %.0f that the quota %s allows in %s; ask for more at https://console.cloud.google.com/iam-admin/quotas?project=%s, or delete what is not used; it is tried again by itself",
		q.Usage, q.Limit, name.metric, name.location, p.project)
}

// take counts one more, if there is room or nothing is known.
func (l *limits) take(name quotaName) (quota, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, known := l.quotas[name]
	if !known {
		return q, true
	}
	if q.Usage+1 > q.Limit {
		return q, false
	}
	q.Usage++
	l.quotas[name] = q
	return q, true
}

// quotaLocation is where a quota counts: zones take of their region's.
func quotaLocation(location string) string {
	if isZone(location) {
		return location[:strings.LastIndexByte(location, '-')]
	}
	return location
}

// metricOf is the quota that a resource takes of [compute/resource-usage,
// load-balancing/docs/quotas]; "" is none of Compute's.
func metricOf(id lbmodel.ID, spec lbmodel.Spec) string {
	switch s := spec.(type) {
	case *Address:
		return addressMetric(id, s)
	case *ForwardingRule:
		return ruleMetric(id, s)
	case *BackendService:
		return serviceMetric(id, s)
	case *HealthCheck:
		return "HEALTH_CHECKS"
	case *NetworkEndpointGroup:
		return "NETWORK_ENDPOINT_GROUPS"
	case *URLMap:
		return "URL_MAPS"
	case *TargetHTTPProxy:
		return "TARGET_HTTP_PROXIES"
	case *TargetHTTPSProxy:
		return "TARGET_HTTPS_PROXIES"
	case *TargetTCPProxy:
		return "TARGET_TCP_PROXIES"
	case *Firewall:
		return "FIREWALLS"
	default:
		return ""
	}
}

func addressMetric(id lbmodel.ID, a *Address) string {
	switch {
	case a.AddressType != "INTERNAL":
		return "STATIC_ADDRESSES"
	case id.Location == global:
		return "GLOBAL_INTERNAL_ADDRESSES"
	default:
		return "INTERNAL_ADDRESSES"
	}
}

func ruleMetric(id lbmodel.ID, f *ForwardingRule) string {
	switch {
	case f.LoadBalancingScheme == schemeExternal && id.Location == global:
		return "GLOBAL_EXTERNAL_MANAGED_FORWARDING_RULES"
	case f.LoadBalancingScheme == schemeExternal:
		return "EXTERNAL_MANAGED_FORWARDING_RULES"
	case f.LoadBalancingScheme == schemePassthrough && f.BackendService != "":
		return "EXTERNAL_NETWORK_LB_FORWARDING_RULES"
	default:
		return "FORWARDING_RULES"
	}
}

func serviceMetric(id lbmodel.ID, b *BackendService) string {
	where := "REGIONAL_"
	if id.Location == global {
		where = "GLOBAL_"
	}
	switch b.LoadBalancingScheme {
	case schemePassthrough:
		return "REGIONAL_EXTERNAL_NETWORK_LB_BACKEND_SERVICES"
	case schemePassthroughHere:
		return "REGIONAL_INTERNAL_LB_BACKEND_SERVICES"
	default:
		return where + b.LoadBalancingScheme + "_BACKEND_SERVICES"
	}
}

// Offers implements providers.Compiler. Settings of another project are refused: this
// provider's calls would not reach it.
func (p *Provider) Offers(raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	features, findings := p.Compiler.Offers(raw)
	return features, append(findings, p.elsewhere(raw)...)
}

// Compile implements providers.Compiler.
func (p *Provider) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	if len(p.elsewhere(gw.Settings)) > 0 {
		return lbmodel.Graph{}, lbmodel.Graph{}, nil // Offers told
	}
	return p.Compiler.Compile(gw)
}

// Endpoints implements providers.Compiler.
func (p *Provider) Endpoints(owner lbmodel.Owner, pool lbmodel.Pool, raw json.RawMessage) lbmodel.Graph {
	if len(p.elsewhere(raw)) > 0 {
		return lbmodel.Graph{}
	}
	return p.Compiler.Endpoints(owner, pool, raw)
}

// elsewhere finds settings that are for another project.
func (p *Provider) elsewhere(raw json.RawMessage) []lbmodel.Finding {
	s, _ := readSettings(raw)
	if s.Project == "" || s.Project == p.project {
		return nil
	}
	return []lbmodel.Finding{wrongSettings("project", "is %s, and this process works in %s; set it right, or run another process there", s.Project, p.project)}
}
