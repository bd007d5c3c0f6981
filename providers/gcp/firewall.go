package gcp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// probeRanges are where health checks, and requests of global external load balancers,
// come from (Google's firewall rules for load balancers).
func probeRanges() []string { return []string{"130.211.0.0/22", "35.191.0.0/16"} }

// addProbeFirewall lets probes and proxies reach the ports of a pool's endpoints. It is
// shared like the endpoints: its ports are theirs. It returns the rule, if it is ours to
// make.
func (c *compiler) addProbeFirewall(p *lbmodel.Pool) Ref {
	kind := c.groupType(p)
	if c.s.Firewall == settings.FirewallNone || kind == typeInternet || kind == typeHybrid {
		return ""
	}
	spec := &Firewall{
		Network: c.network(), Direction: "INGRESS", SourceRanges: slices.Sorted(slices.Values(slices.Concat(probeRanges(), c.s.ProxyRanges))),
		TargetTags: slices.Sorted(slices.Values(c.s.TargetTags)), Allowed: []Allowed{{IPProtocol: "tcp", Ports: c.portsOf(p)}}, source: p.Source,
	}
	if !c.f.passthrough && !slices.ContainsFunc(p.Endpoints, serving) {
		// There must be a rule all the same: the fast path, which brings the ports, makes
		// none.
		spec.Allowed, spec.Disabled, spec.Unknown = []Allowed{{IPProtocol: "tcp", Ports: []string{"1"}}}, true, true
	}
	group := cmp.Or(p.Group, p.Name)
	parts := []string{group, string(spec.Network), encode(spec.SourceRanges), encode(spec.TargetTags), c.firewallHealth(p)}
	id := c.sharedName(KindFirewall, global, group, parts...)
	c.putFirewall(c.shared, id, spec, lbmodel.Shared)
	if c.s.Firewall == settings.FirewallReport {
		return ""
	}
	return refTo(id)
}

// firewallHealth tells apart pools of one group that are tried at different ports.
func (c *compiler) firewallHealth(p *lbmodel.Pool) string {
	if h := c.healthPort(p); h != 0 {
		return portText(h)
	}
	return ""
}

func (c *compiler) healthPort(p *lbmodel.Pool) int32 {
	if p.Health != nil {
		if h, err := c.healthOf(p); err == nil {
			return h.Port
		}
	}
	return c.defaultHealth(p).Port
}

// portsOf are the ports of a pool's endpoints and of its health check, sorted. The
// endpoints of passthrough flavours are reached by their clients.
func (c *compiler) portsOf(p *lbmodel.Pool) []string {
	var ports []int32
	if h := c.healthPort(p); h != 0 {
		ports = append(ports, h)
	}
	if !c.f.passthrough {
		for i := range p.Endpoints {
			if serving(p.Endpoints[i]) {
				ports = append(ports, p.Endpoints[i].Port)
			}
		}
	}
	slices.Sort(ports)
	out := make([]string, 0, len(ports))
	for _, port := range slices.Compact(ports) {
		out = append(out, strconv.Itoa(int(port)))
	}
	return out
}

// addClientFirewall lets clients reach nodes, who see where they come from.
func (c *compiler) addClientFirewall(l *lbmodel.Listener) {
	if c.s.Firewall == settings.FirewallNone {
		return
	}
	ranges := l.SourceRanges
	if len(ranges) == 0 {
		ranges = []string{"0.0.0.0/0"}
	}
	transport := strings.ToLower(transportOf(l))
	spec := &Firewall{
		Network: c.network(), Direction: "INGRESS", SourceRanges: slices.Sorted(slices.Values(ranges)),
		TargetTags: slices.Sorted(slices.Values(c.s.TargetTags)), Allowed: []Allowed{{IPProtocol: transport, Ports: []string{portText(l.Port)}}}, source: l.Source,
	}
	id := c.name(KindFirewall, transport+"-"+portText(l.Port), transport, portText(l.Port), string(spec.Network))
	id.Location = global
	c.putFirewall(c.own, id, spec, lbmodel.Own)
}

// putFirewall makes a rule ours, or, where the operator makes them, looks for it: Place
// tells when it is not there.
func (c *compiler) putFirewall(to lbmodel.Graph, id lbmodel.ID, spec *Firewall, hold lbmodel.Hold) {
	r := lbmodel.NewResource(id, spec).With(hold)
	if hold == lbmodel.Own {
		r.Owner = c.gw.Owner
	}
	if c.s.Firewall == settings.FirewallReport {
		r.Hold, r.Owner = lbmodel.External, lbmodel.Owner{}
		r.Handle = lbmodel.Handle(Path(id, c.s.Project))
	}
	c.put(to, r)
}

// firewallMissing tells with which command the operator makes a rule.
func firewallMissing(r lbmodel.Resource) lbmodel.Finding {
	f := r.Spec.(*Firewall)
	project := strings.Split(string(r.Handle)+"///", "/")[1]
	allow := make([]string, 0, len(f.Allowed))
	for _, a := range f.Allowed {
		for _, port := range a.Ports {
			allow = append(allow, a.IPProtocol+":"+port)
		}
	}
	command := fmt.Sprintf("gcloud compute firewall-rules create %s --project=%s --network=%s --direction=INGRESS --allow=%s --source-ranges=%s",
		r.ID.Name, project, f.Network, strings.Join(allow, ","), strings.Join(f.SourceRanges, ","))
	if len(f.TargetTags) > 0 {
		command += " --target-tags=" + strings.Join(f.TargetTags, ",")
	}
	return lbmodel.Finding{
		About: f.source, Condition: "Programmed", Reason: "FirewallRuleMissing", Code: lbmodel.CodeDenied,
		Detail: "no traffic reaches the endpoints until there is a firewall rule (gcp.firewall is Report): " + command,
	}
}
