package gcp

import (
	"cmp"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// What is used when the settings say nothing.
const (
	defaultNetwork = "default"
	typeGCE        = "GCE_VM_IP_PORT"
	typeHybrid     = "NON_GCP_PRIVATE_IP_PORT"
	tierPremium    = "PREMIUM"
	tierStandard   = "STANDARD"
)

// readSettings reads the provider's section with the defaults filled in. A finding
// refuses every gateway that uses the section until it is right, so each says what to
// write instead. For whoever compiles all the same, what can be read counts.
func readSettings(raw json.RawMessage) (settings.Settings, []lbmodel.Finding) {
	var s settings.Settings
	var findings []lbmodel.Finding
	if len(raw) == 0 {
		findings = append(findings, wrongSettings("project", "is required, and so are flavour and zones"))
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
	f := flavourOf(s.Flavour)
	if f.global {
		s.Location = cmp.Or(s.Location, global)
	}
	s.Network = cmp.Or(s.Network, defaultNetwork)
	s.EndpointType = cmp.Or(s.EndpointType, typeGCE)
	s.Firewall = cmp.Or(s.Firewall, settings.FirewallManaged)
	s.NetworkTier = cmp.Or(s.NetworkTier, tierPremium)
	s.TimeoutSeconds = cmp.Or(s.TimeoutSeconds, 30)
	s.DrainSeconds = cmp.Or(s.DrainSeconds, 60)
	s.Zones = slices.Sorted(slices.Values(s.Zones))
	q := &s.Quotas
	hosts, bytes := 1000, 64<<10
	if f.internal {
		hosts, bytes = 2000, 128<<10
	}
	q.URLMapBytes = cmp.Or(q.URLMapBytes, bytes)
	q.HostsPerURLMap = cmp.Or(q.HostsPerURLMap, hosts)
	q.PredicatesPerHost = cmp.Or(q.PredicatesPerHost, 1000)
	q.BackendServicesPerURLMap = cmp.Or(q.BackendServicesPerURLMap, 2500)
	q.ServerNamesPerRoute = cmp.Or(q.ServerNamesPerRoute, 16)
	q.ForwardingRulesPerAddress = cmp.Or(q.ForwardingRulesPerAddress, 10)
	return s
}

// A field's form.
var (
	projectForm = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	regionForm  = regexp.MustCompile(`^[a-z]+(-[a-z]+)+[0-9]+$`)
	zoneForm    = regexp.MustCompile(`^[a-z]+(-[a-z]+)+[0-9]+-[a-z]$`)
	networkForm = regexp.MustCompile(`^(projects/[^/]+/global/networks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subnetForm  = regexp.MustCompile(`^(projects/[^/]+/regions/[^/]+/subnetworks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	nameForm    = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	forForm     = regexp.MustCompile(`^[^/]+/[^/]+:[0-9]+$`)
)

// maxZones is how many zonal groups a backend service has, with room for others (of 50).
const maxZones = 48

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

func (j *judge) oneOf(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		j.wrong(field, "%q is none of %s", value, strings.Join(allowed, ", "))
	}
}

func judgeSettings(s *settings.Settings) []lbmodel.Finding {
	var j judge
	j.form("project", s.Project, projectForm, "my-project")
	j.oneOf("flavour", string(s.Flavour), string(settings.GlobalExternal), string(settings.RegionalExternal), string(settings.RegionalInternal),
		string(settings.CrossRegionInternal), string(settings.PassthroughExternal), string(settings.PassthroughInternal))
	j.oneOf("endpointType", s.EndpointType, typeGCE, typeHybrid)
	j.oneOf("firewall", string(s.Firewall), string(settings.FirewallManaged), string(settings.FirewallReport), string(settings.FirewallNone))
	j.oneOf("networkTier", s.NetworkTier, tierPremium, tierStandard)
	j.form("network", s.Network, networkForm, "default, or projects/my-host/global/networks/shared")
	if s.SSLPolicy != "" {
		j.form("sslPolicy", s.SSLPolicy, nameForm, "modern-tls")
	}
	j.places(s)
	j.ranges(s)
	j.held(s)
	j.rest(s)
	return j.findings
}

// places are where things are.
func (j *judge) places(s *settings.Settings) {
	f := flavourOf(s.Flavour)
	switch {
	case f.global && s.Location != global:
		j.wrong("location", "%s is global; leave the location out", s.Flavour)
	case !f.global:
		j.form("location", s.Location, regionForm, "europe-west1, which "+string(s.Flavour)+" needs")
	}
	if s.Subnetwork != "" {
		j.form("subnetwork", s.Subnetwork, subnetForm, "my-subnet, or projects/my-host/regions/europe-west1/subnetworks/shared")
	}
	if f.internal && !f.global && s.Subnetwork == "" {
		j.wrong("subnetwork", "%s needs the subnetwork that the address is in", s.Flavour)
	}
	if s.NodeSubnetwork != "" {
		j.form("nodeSubnetwork", s.NodeSubnetwork, nameForm, "nodes")
	} else if f.passthrough {
		j.wrong("nodeSubnetwork", "%s needs the subnetwork of the nodes", s.Flavour)
	}
	if (s.Flavour == settings.CrossRegionInternal) != (len(s.Frontends) > 0) {
		j.wrong("frontends", "they are for CrossRegionInternal, which needs at least one")
	}
	seen := map[string]bool{}
	for i, at := range s.Frontends {
		field := fmt.Sprintf("frontends[%d]", i)
		j.form(field+".region", at.Region, regionForm, "europe-west1")
		j.form(field+".subnetwork", at.Subnetwork, subnetForm, "my-subnet")
		if seen[at.Region] {
			j.wrong(field+".region", "%s stands twice", at.Region)
		}
		seen[at.Region] = true
	}
	if len(s.Zones) == 0 {
		j.wrong("zones", "the zones of the cluster's nodes are required, such as europe-west1-b")
	}
	if len(s.Zones) > maxZones {
		j.wrong("zones", "a backend service leads to endpoints in %d zones at most", maxZones)
	}
	for _, z := range s.Zones {
		j.form("zones", z, zoneForm, "europe-west1-b")
		if !f.global && !strings.HasPrefix(z, s.Location+"-") {
			j.wrong("zones", "%s is not in the region %s", z, s.Location)
		}
	}
}

func (j *judge) ranges(s *settings.Settings) {
	f := flavourOf(s.Flavour)
	for _, text := range s.ProxyRanges {
		if p, err := netip.ParsePrefix(text); err != nil || p.Masked() != p {
			j.wrong("proxyRanges", "%q is not a range such as 10.129.0.0/23", text)
		}
	}
	if !f.passthrough && !f.globalExternal() && s.Firewall != settings.FirewallNone && len(s.ProxyRanges) == 0 {
		j.wrong("proxyRanges", "name the ranges of the proxy-only subnets, from which requests come to endpoints, or set firewall to None")
	}
	for _, tag := range s.TargetTags {
		j.form("targetTags", tag, nameForm, "my-nodes")
	}
}

func (j *judge) held(s *settings.Settings) {
	seen := map[string]bool{}
	for i, h := range s.Held {
		field := fmt.Sprintf("held[%d]", i)
		j.oneOf(field+".kind", h.Kind, KindBackendService)
		j.form(field+".name", h.Name, nameForm, "my-backend")
		j.form(field+".for", h.For, forForm, "apps/shop:80")
		if seen[h.For] {
			j.wrong(field+".for", "%s stands twice", h.For)
		}
		seen[h.For] = true
	}
}

func (j *judge) rest(s *settings.Settings) {
	for _, a := range s.Assume {
		j.oneOf("assume", string(a), string(settings.HeaderValuesCaseSensitive), string(settings.HostPortIgnored), string(settings.CORSByLoadBalancer))
	}
	if s.TimeoutSeconds < 1 || s.TimeoutSeconds > 86400 {
		j.wrong("timeoutSeconds", "%d is not from 1 to 86400", s.TimeoutSeconds)
	}
	if s.DrainSeconds < 1 || s.DrainSeconds > 3600 {
		j.wrong("drainSeconds", "%d is not from 1 to 3600", s.DrainSeconds)
	}
	q := s.Quotas
	for _, n := range []int{q.URLMapBytes, q.HostsPerURLMap, q.PredicatesPerHost, q.BackendServicesPerURLMap, q.ServerNamesPerRoute, q.ForwardingRulesPerAddress} {
		if n < 1 {
			j.wrong("quotas", "%d is below 1; leave out what is Google's default", n)
		}
	}
}

func wrongSettings(field, text string, args ...any) lbmodel.Finding {
	path := strings.TrimSuffix("gcp."+field, ".")
	return lbmodel.Finding{
		About:     lbmodel.Source{Kind: "GatewayParameters", Section: "spec.gcp"},
		Condition: "Accepted", Reason: "InvalidParameters", Code: lbmodel.CodeInvalid,
		Detail: path + ": " + fmt.Sprintf(text, args...) + "; the gateway waits and stays as it is until the section is corrected",
	}
}
