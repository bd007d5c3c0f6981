package live

import (
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/store"
)

// probeRanges are where health checks come from, and the proxies of global external load
// balancers.
var probeRanges = []netip.Prefix{netip.MustParsePrefix("35.191.0.0/16"), netip.MustParsePrefix("130.211.0.0/22")}

// walls are the ingress rules of firewalls, the one that decides first.
type walls []store.Object

// wall is where somebody wants to get in.
type wall struct {
	network  string
	tags     []string // of the instance
	protocol string
	port     int
}

func (r *reader) readWalls() walls {
	var out walls
	for _, n := range r.view.List(compute.Host, "firewalls", "") {
		if o := r.view.Get(n); o["direction"] == "INGRESS" && o["disabled"] != true {
			out = append(out, o)
		}
	}
	// The lowest number decides; of equal ones a denial.
	sort.SliceStable(out, func(i, j int) bool {
		a, b := number(out[i], "priority"), number(out[j], "priority")
		return a < b || a == b && out[i]["denied"] != nil && out[j]["denied"] == nil
	})
	return out
}

// admit says whether all of the sources get in. What no rule speaks of is denied.
func (w walls) admit(to wall, sources []netip.Prefix) bool {
	for _, source := range sources {
		i := slices.IndexFunc(w, func(rule store.Object) bool { return speaksOf(rule, to, source) })
		if i < 0 || w[i]["denied"] != nil {
			return false
		}
	}
	return len(sources) > 0
}

func speaksOf(rule store.Object, to wall, source netip.Prefix) bool {
	if store.Text(rule, "network") != to.network || len(store.List(rule, "targetServiceAccounts")) > 0 {
		return false
	}
	targets := store.List(rule, "targetTags")
	if len(targets) > 0 && !slices.ContainsFunc(targets, func(t any) bool { text, _ := t.(string); return slices.Contains(to.tags, text) }) {
		return false
	}
	inside := slices.ContainsFunc(store.List(rule, "sourceRanges"), func(r any) bool {
		text, _ := r.(string)
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Bits() <= source.Bits() && p.Contains(source.Addr())
	})
	return inside && slices.ContainsFunc(append(store.List(rule, "allowed"), store.List(rule, "denied")...), func(r any) bool {
		one, _ := r.(store.Object)
		return covers(one, to)
	})
}

// covers says whether a protocol with its ports has a port.
func covers(o store.Object, to wall) bool {
	protocol := store.Text(o, "IPProtocol")
	if protocol != "all" && protocol != to.protocol && protocol != map[string]string{"tcp": "6", "udp": "17"}[to.protocol] {
		return false
	}
	list := store.List(o, "ports")
	return len(list) == 0 || slices.ContainsFunc(list, func(p any) bool {
		text, _ := p.(string)
		from, until, span := strings.Cut(text, "-")
		if !span {
			until = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(until)
		return errA == nil && errB == nil && a <= to.port && to.port <= b
	})
}

// tags are an instance's network tags.
func (r *reader) tags(group store.Name, instance string) []string {
	_, o := r.to(compute.Host, group, instance)
	var out []string
	for _, t := range store.List(o, "tags.items") {
		text, _ := t.(string)
		out = append(out, text)
	}
	return out
}

// sources are where a backend service's proxies are: Google's ranges for global external
// load balancers, else the proxy-only subnetworks of its region, or of those regions in
// which cross-region load balancers have an address.
func (r *reader) sources(s *service) []netip.Prefix {
	global := regionOf(s.name) == ""
	if global && s.spec.LoadBalancingScheme == "EXTERNAL_MANAGED" {
		return probeRanges
	}
	purpose, regions := "REGIONAL_MANAGED_PROXY", []string{regionOf(s.name)}
	if global {
		purpose, regions = "GLOBAL_MANAGED_PROXY", r.frontRegions()
	}
	var out []netip.Prefix
	for _, n := range r.view.List(compute.Host, "subnetworks", "projects/"+s.name.Project()) {
		o := r.view.Get(n)
		p, err := netip.ParsePrefix(store.Text(o, "ipCidrRange"))
		if err == nil && o["purpose"] == purpose && slices.Contains(regions, n.Location()) {
			out = append(out, p)
		}
	}
	return out
}

// frontRegions are the regions of the addresses of cross-region load balancers.
func (r *reader) frontRegions() []string {
	var out []string
	for _, n := range r.view.List(compute.Host, "forwardingRules", "") {
		o := r.view.Get(n)
		if regionOf(n) == "" && o["loadBalancingScheme"] == "INTERNAL_MANAGED" {
			subnet, _ := r.to(compute.Host, n, store.Text(o, "subnetwork"))
			out = append(out, subnet.Location())
		}
	}
	return out
}
