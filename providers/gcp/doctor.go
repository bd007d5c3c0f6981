package gcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/providers/gcp/settings"
)

// Check is one thing that was looked at.
type Check struct {
	Name, Detail string
	State        State
}

// State is how a check came out.
type State uint8

// The states. Unproven is what nobody can say without doing it, or without Google Cloud.
const (
	Fine State = iota
	Doubtful
	Failed
	Unproven
)

// roleFile is what an operator grants, with a path from the repository's root.
const roleFile = "deploy/gcp-role.yaml"

// examination gathers checks.
type examination struct {
	*Provider
	checks []Check
}

func (e *examination) add(state State, name, detail string, args ...any) {
	e.checks = append(e.checks, Check{Name: name, State: state, Detail: fmt.Sprintf(detail, args...)})
}

// Examine says whether the project can be worked with: credentials, permissions, and for
// each of these provider sections of GatewayParameters its network, its proxy-only
// subnets and its firewall; quotas; and what stays unproven. It changes nothing.
func (p *Provider) Examine(ctx context.Context, sections []json.RawMessage) []Check {
	e := &examination{Provider: p}
	if !e.credentials(ctx) {
		return e.checks // nothing else can come out well
	}
	e.reads(ctx)
	e.changes(ctx)
	e.quotas(ctx)
	for _, raw := range sections {
		e.section(ctx, raw)
	}
	if len(sections) == 0 {
		e.add(Unproven, "network", "no settings were given: -f FILES looks at their network, subnets and firewall")
	}
	e.unproven(sections)
	return e.checks
}

func (e *examination) credentials(ctx context.Context) bool {
	if _, err := e.calls.Get(ctx, "projects/"+e.project); err != nil {
		e.add(Failed, "project", "%v", codeError("", noID, err))
		return false
	}
	e.add(Fine, "project", "%s", e.project)
	switch {
	case e.config.ServiceAccount != "":
		e.add(Fine, "credentials", "as %s", e.config.ServiceAccount)
	case e.config.Credentials != nil:
		e.add(Fine, "credentials", "Application Default Credentials")
	}
	if e.config.Endpoint != "" {
		e.add(Doubtful, "endpoint", "%s answers instead of Google Cloud; unset %s to reach Google Cloud", e.config.Endpoint, EndpointVariable)
	}
	return true
}

// reads makes one harmless request of each API and kind.
func (e *examination) reads(ctx context.Context) {
	for _, kind := range kinds() {
		at := "projects/" + e.project + "/aggregated/" + collection(kind)
		switch {
		case kind == KindCertificateMapEntry:
			continue // they are in maps
		case kind == KindFirewall:
			at = "projects/" + e.project + "/global/" + collection(kind)
		case inLocations(kind) != "":
			at = "projects/" + e.project + "/locations/-/" + collection(kind)
		}
		name := "read " + collection(kind)
		if _, err := e.calls.List(ctx, at, ""); err != nil {
			e.add(Failed, name, "%v", codeError("", noID, err))
		} else {
			e.add(Fine, name, "")
		}
	}
}

// changes asks IAM what may be done, which changes nothing.
func (e *examination) changes(ctx context.Context) {
	if e.config.Endpoint != "" {
		e.add(Unproven, "permissions to change", "Resource Manager tells them, and %s is not it; %s has what is needed", e.config.Endpoint, roleFile)
		return
	}
	missing, err := e.calls.MissingPermissions(ctx, e.project, Permissions())
	switch {
	case err != nil:
		e.add(Unproven, "permissions to change", "%v; with cloudresourcemanager.googleapis.com enabled they are looked at; %s has what is needed", err, roleFile)
	case len(missing) > 0:
		e.add(Failed, "permissions to change", "missing: %s; %s has what is needed", strings.Join(missing, ", "), roleFile)
	default:
		e.add(Fine, "permissions to change", "all %d of %s", len(Permissions()), roleFile)
	}
}

// crowded is the part of a quota from which on it is told, in percent.
const crowded = 80

func (e *examination) quotas(ctx context.Context) {
	if err := e.ReadLimits(ctx); err != nil {
		e.add(Failed, "quotas", "%v; without them they are not known before they are reached", err)
		return
	}
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	known := 0
	for name, q := range e.limits.quotas {
		if !ofInterest(name.metric) {
			continue
		}
		known++
		if 100*q.Usage >= crowded*q.Limit {
			e.add(Doubtful, "quota "+name.metric, "%.0f of %.0f used in %s", q.Usage, q.Limit, name.location)
		}
	}
	slices.SortStableFunc(e.checks, func(a, b Check) int {
		if strings.HasPrefix(a.Name, "quota ") && strings.HasPrefix(b.Name, "quota ") {
			return strings.Compare(a.Name+a.Detail, b.Name+b.Detail)
		}
		return 0
	})
	e.add(Fine, "quotas", "%d of load balancers are known; those of %d %% and more used stand above", known, crowded)
}

// ofInterest says whether load balancers take of a quota.
func ofInterest(metric string) bool {
	for _, part := range []string{"ADDRESSES", "FORWARDING_RULES", "BACKEND_SERVICES", "HEALTH_CHECKS", "NETWORK_ENDPOINT_GROUPS", "URL_MAPS", "TARGET_", "FIREWALLS"} {
		if strings.Contains(metric, part) {
			return true
		}
	}
	return false
}

// section looks at what one section of settings finds.
func (e *examination) section(ctx context.Context, raw json.RawMessage) {
	s, findings := readSettings(raw)
	for _, f := range append(findings, e.elsewhere(raw)...) {
		e.add(Failed, "settings", "%s", f.Detail)
	}
	if len(findings) > 0 {
		return
	}
	c := &compiler{s: &s, f: flavourOf(s.Flavour)}
	if _, err := e.calls.Get(ctx, string(c.network())); err != nil {
		e.add(Failed, "network "+s.Network, "%v", codeError("", noID, err))
	} else {
		e.add(Fine, "network "+s.Network, "")
	}
	for region, subnet := range frontendsOf(&s) {
		e.subnets(ctx, c, region, subnet)
	}
	e.firewall(&s)
}

// frontendsOf are the regions in which settings need something, with the subnetwork of
// the addresses; "" is none.
func frontendsOf(s *settings.Settings) map[string]string {
	out := map[string]string{}
	for _, f := range s.Frontends {
		out[f.Region] = f.Subnetwork
	}
	if s.Location != global {
		out[s.Location] = s.Subnetwork
	}
	return out
}

// subnetwork is what is looked at of one.
type subnetwork struct {
	Name    string `json:"name"`
	Network string `json:"network"`
	Range   string `json:"ipCidrRange"`
	Purpose string `json:"purpose"`
	Role    string `json:"role"`
}

// subnets looks for the subnetwork of addresses and for the proxy-only one, without which
// no forwarding rule of a proxy can be made.
func (e *examination) subnets(ctx context.Context, c *compiler, region, want string) {
	project := projectIn(string(c.network()))
	list, err := e.calls.List(ctx, "projects/"+project+"/regions/"+region+"/subnetworks", "")
	if err != nil {
		e.add(Failed, "subnets of "+region, "%v", codeError("", noID, err))
		return
	}
	purpose := "REGIONAL_MANAGED_PROXY"
	if c.f.global {
		purpose = "GLOBAL_MANAGED_PROXY"
	}
	found, proxies := want == "", []string(nil)
	for _, body := range list {
		var one subnetwork
		if err := gcpcalls.Read(body, &one); err != nil || !strings.HasSuffix(one.Network, string(c.network())) {
			continue // another network's
		}
		found = found || one.Name == lastOf(want)
		if one.Purpose == purpose && one.Role == "ACTIVE" {
			proxies = append(proxies, one.Range)
		}
	}
	if !found {
		e.add(Failed, "subnetwork "+want, "there is none of that name in %s and the network %s", region, c.s.Network)
	}
	e.proxies(c, region, purpose, proxies)
}

func (e *examination) proxies(c *compiler, region, purpose string, ranges []string) {
	name := "proxy-only subnet of " + region
	switch {
	case c.f.passthrough:
	case len(ranges) == 0:
		e.add(Failed, name, "there is none: gcloud compute networks subnets create NAME --purpose=%s --role=ACTIVE --network=%s --region=%s --range=CIDR --project=%s",
			purpose, c.s.Network, region, projectIn(string(c.network())))
	case slices.ContainsFunc(ranges, func(r string) bool { return !slices.Contains(c.s.ProxyRanges, r) }):
		e.add(Failed, name, "requests come from %s, and gcp.proxyRanges has %s: firewall rules would not let them in", strings.Join(ranges, ", "), strings.Join(c.s.ProxyRanges, ", "))
	default:
		e.add(Fine, name, "%s", strings.Join(ranges, ", "))
	}
}

func (e *examination) firewall(s *settings.Settings) {
	switch s.Firewall {
	case settings.FirewallNone:
		e.add(Unproven, "firewall", "gcp.firewall is None: nobody looks whether probes (%s) and proxies reach endpoints", strings.Join(probeRanges(), ", "))
	case settings.FirewallReport:
		e.add(Fine, "firewall", "gcp.firewall is Report: gateways tell the commands that make what is missing")
	default:
		e.add(Fine, "firewall", "gcp.firewall is Managed: a rule is made for each Service port")
	}
}

// unproven is what rests on Google's documentation, or on the operator's word.
func (e *examination) unproven(sections []json.RawMessage) {
	e.add(Unproven, "Google Cloud itself", "this provider was tested with Google's clients against an emulator that was written by Google's documentation, and not in a project")
	e.add(Unproven, "roots of a mesh", "Google's pages ask for an extended key usage that roots of meshes do not have; whether it takes yours, a throw-away says: "+
		"gcloud certificate-manager trust-configs create gatehouse-trial --location=global --trust-store=trust-anchors=ROOTS.pem --project=%s; and then delete it", e.project)
	seen := map[settings.Assumption]bool{}
	for _, raw := range sections {
		s, _ := readSettings(raw)
		for _, a := range s.Assume {
			if !seen[a] {
				e.add(Unproven, "assumption "+string(a), "the settings vouch for it, and Google's documentation is silent")
			}
			seen[a] = true
		}
	}
}
