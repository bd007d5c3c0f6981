package compute

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) forwardingRules() *store.Kind {
	return &store.Kind{
		Collection: "forwardingRules", Schema: "ForwardingRule", Noun: "forwarding_rule", Stamp: "fingerprint", Quota: forwardingQuota,
		Immutable: []string{"name", "IPAddress", "IPProtocol", "portRange", "ports", "allPorts", "loadBalancingScheme", "network", "subnetwork", "networkTier"},
		Default:   s.completeRule, Check: s.checkRule,
		References: []store.Reference{
			near("target", "targetHttpProxies", "targetHttpsProxies", "targetTcpProxies", "targetSslProxies"), near("backendService", "backendServices"),
			to("network", "networks"), to("subnetwork", "subnetworks"), to("@address", "addresses"),
		},
	}
}

func forwardingQuota(n store.Name, o store.Object) string {
	switch {
	case o["loadBalancingScheme"] == "EXTERNAL_MANAGED" && n.Location() == "global":
		return "GLOBAL_EXTERNAL_MANAGED_FORWARDING_RULES"
	case o["loadBalancingScheme"] == "EXTERNAL_MANAGED":
		return "EXTERNAL_MANAGED_FORWARDING_RULES"
	case o["loadBalancingScheme"] == "EXTERNAL" && o["backendService"] != nil:
		return "EXTERNAL_NETWORK_LB_FORWARDING_RULES"
	}
	return "FORWARDING_RULES"
}

// completeRule finds the address: the reserved one that is named, or whose IP address it
// is, or one that is free.
func (s *service) completeRule(v store.View, n store.Name, o store.Object) {
	stampLabels(o)
	scheme := cmp.Or(store.Text(o, "loadBalancingScheme"), "EXTERNAL")
	o["loadBalancingScheme"] = scheme
	o["IPProtocol"] = cmp.Or(store.Text(o, "IPProtocol"), "TCP")
	o["networkTier"] = cmp.Or(store.Text(o, "networkTier"), "PREMIUM")
	if r := store.Text(o, "portRange"); r != "" && !strings.Contains(r, "-") {
		o["portRange"] = r + "-" + r
	}
	if ports := store.List(o, "ports"); len(ports) == 1 && o["target"] != nil {
		o["portRange"] = store.Text(store.Object{"p": ports[0]}, "p") + "-" + store.Text(store.Object{"p": ports[0]}, "p")
		delete(o, "ports") // proxies have a range
	}
	if strings.HasPrefix(scheme, "INTERNAL") && o["subnetwork"] == nil {
		if subnet := s.defaultSubnet(v, n); subnet != "" {
			o["subnetwork"] = link(subnet)
		}
	}
	if subnet := v.Get(s.named(n, store.Text(o, "subnetwork"))); subnet != nil && o["network"] == nil {
		o["network"] = subnet["network"]
	}
	s.addressOf(v, n, o)
}

// addressOf gives the rule an IP address, and remembers whose it is.
func (s *service) addressOf(v store.View, n store.Name, o store.Object) {
	text := store.Text(o, "IPAddress")
	if _, err := netip.ParseAddr(text); text != "" && err != nil {
		if reserved := v.Get(s.named(n, text)); reserved != nil {
			o["@address"], o["IPAddress"] = link(s.named(n, text)), reserved["address"]
		}
		return
	}
	if text == "" {
		o["IPAddress"] = s.free(v, n, store.Object{"addressType": map[bool]string{true: "INTERNAL", false: "EXTERNAL"}[o["subnetwork"] != nil], "subnetwork": o["subnetwork"], "ipVersion": o["ipVersion"]})
		return
	}
	for _, a := range v.List(Host, "addresses", "projects/"+n.Project()) {
		if store.Text(v.Get(a), "address") == text {
			o["@address"] = link(a)
		}
	}
}

func (s *service) checkRule(v store.View, n store.Name, was, o store.Object) error {
	if err := store.CheckLabels(o); err != nil {
		return err
	}
	scheme := store.Text(o, "loadBalancingScheme")
	ip, err := netip.ParseAddr(store.Text(o, "IPAddress"))
	switch {
	case err != nil:
		return store.BadField("IPAddress", o["IPAddress"], "Must be an IP address or the URL of a reserved one.")
	case (o["target"] == nil) == (o["backendService"] == nil):
		return store.BadField("target", o["target"], "Exactly one of target and backendService must be specified.")
	case len(store.List(o, "sourceIpRanges")) > 64:
		return store.BadField("sourceIpRanges", len(store.List(o, "sourceIpRanges")), "At most 64 source IP ranges can be specified.")
	}
	if err := s.checkPorts(v, n, was, o, ip); err != nil {
		return err
	}
	if err := s.checkAddressOf(v, n, o, ip); err != nil {
		return err
	}
	if err := s.checkScheme(v, n, o, scheme); err != nil {
		return err
	}
	return s.checkNetwork(v, n, o, scheme)
}

// checkAddressOf wants an address of the rule's kind: external or internal, and there
// where the rule is.
func (s *service) checkAddressOf(v store.View, n store.Name, o store.Object, ip netip.Addr) error {
	internal := strings.HasPrefix(store.Text(o, "loadBalancingScheme"), "INTERNAL")
	name := s.named(n, store.Text(o, "@address"))
	switch reserved := v.Get(name); {
	case reserved != nil && (reserved["addressType"] == "INTERNAL") != internal:
		return store.BadField("IPAddress", ip, "The reserved address '%s' is %s, and the forwarding rule's load balancing scheme is %s.", name.Path(), store.Text(reserved, "addressType"), store.Text(o, "loadBalancingScheme"))
	case reserved != nil && !internal && name.Location() != n.Location():
		return store.BadField("IPAddress", ip, "The reserved address '%s' is not in the forwarding rule's location, %s.", name.Path(), n.Location())
	}
	within, err := netip.ParsePrefix(store.Text(v.Get(s.named(n, store.Text(o, "subnetwork"))), "ipCidrRange"))
	if internal && err == nil && ip.Is4() && !within.Contains(ip) {
		return store.BadField("IPAddress", ip, "The IP address must be in the subnetwork's range, %s.", within)
	}
	return nil
}

// ports are the ports that a rule takes; all are 0 to 65535.
func ports(o store.Object) (ranges [][2]int, ok bool) {
	list := store.List(o, "ports")
	if text := store.Text(o, "portRange"); text != "" {
		list = []any{text}
	}
	if o["allPorts"] == true {
		list = []any{"1-65535"}
	}
	for _, p := range list {
		text, _ := p.(string)
		from, until, isRange := strings.Cut(text, "-")
		if !isRange {
			until = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(until)
		if errA != nil || errB != nil || a < 1 || b > 65535 || a > b {
			return nil, false
		}
		ranges = append(ranges, [2]int{a, b})
	}
	return ranges, true
}

// checkPorts refuses ports that can't be, and those that another rule has.
func (s *service) checkPorts(v store.View, n store.Name, was, o store.Object, ip netip.Addr) error {
	mine, ok := ports(o)
	switch {
	case !ok || len(mine) == 0:
		return store.BadField("ports", cmp.Or(store.Text(o, "portRange"), show(o["ports"])), "Ports, portRange or allPorts must be specified, between 1 and 65535.")
	case len(store.List(o, "ports")) > 5:
		return store.BadField("ports", len(mine), "At most 5 ports can be specified.")
	case o["target"] != nil && (len(mine) > 1 || mine[0][0] != mine[0][1]):
		return store.BadField("portRange", o["portRange"], "Exactly one port must be specified for a target proxy.")
	case was != nil:
		return nil
	}
	return s.checkShared(v, n, o, mine, ip)
}

// mostShared is how many rules an internal address can have.
const mostShared = 10

// checkShared refuses an address that another rule has: with the same ports, or at all if
// it is internal and not reserved to be shared.
func (s *service) checkShared(v store.View, n store.Name, o store.Object, mine [][2]int, ip netip.Addr) error {
	conflict := store.BadField("IPAddress", ip, "Specified IP address is in-use and would result in a conflict.")
	internal := strings.HasPrefix(store.Text(o, "loadBalancingScheme"), "INTERNAL")
	shared := store.Text(v.Get(s.named(n, store.Text(o, "@address"))), "purpose") == "SHARED_LOADBALANCER_VIP"
	rules := 1
	for _, other := range v.List(Host, "forwardingRules", "projects/"+n.Project()) {
		rule := v.Get(other)
		if store.Text(rule, "IPAddress") != ip.String() {
			continue
		}
		if rules++; internal && (!shared || rules > mostShared) {
			return conflict
		}
		theirs, _ := ports(rule)
		if rule["IPProtocol"] == o["IPProtocol"] && overlap(mine, theirs) {
			return conflict
		}
	}
	return nil
}

func overlap(mine, theirs [][2]int) bool {
	return slices.ContainsFunc(mine, func(a [2]int) bool {
		return slices.ContainsFunc(theirs, func(b [2]int) bool { return a[0] <= b[1] && b[0] <= a[1] })
	})
}

func show(v any) string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		text, _ := e.(string)
		out = append(out, text)
	}
	return strings.Join(out, ",")
}

// checkScheme wants the backend services behind the rule to be of its own scheme.
func (s *service) checkScheme(v store.View, n store.Name, o store.Object, scheme string) error {
	for _, backend := range s.behind(v, n, o) {
		if have := store.Text(v.Get(backend), "loadBalancingScheme"); have != scheme {
			return store.BadField("loadBalancingScheme", scheme, "The load balancing scheme of the forwarding rule must match that of the backend service '%s', which is %s.", backend.Path(), have)
		}
	}
	return nil
}

// behind are the backend services that a rule's traffic can go to.
func (s *service) behind(v store.View, n store.Name, o store.Object) []store.Name {
	if text := store.Text(o, "backendService"); text != "" {
		return []store.Name{s.named(n, text)}
	}
	target := v.Get(s.named(n, store.Text(o, "target")))
	if text := store.Text(target, "service"); text != "" {
		return []store.Name{s.named(n, text)}
	}
	urlMap := s.named(n, store.Text(target, "urlMap"))
	return slices.DeleteFunc(s.store.Refers(urlMap, v.Get(urlMap)), func(n store.Name) bool { return v.Get(n) == nil })
}

// checkNetwork wants a proxy-only subnetwork for proxies in a region, and an address of
// the rule's own subnetwork.
func (s *service) checkNetwork(v store.View, n store.Name, o store.Object, scheme string) error {
	subnet := v.Get(s.named(n, store.Text(o, "subnetwork")))
	at, network := n.Location(), store.Text(o, "network")
	if subnet != nil {
		at = s.named(n, store.Text(o, "subnetwork")).Location()
		if purpose := store.Text(subnet, "purpose"); purpose == "REGIONAL_MANAGED_PROXY" || purpose == "GLOBAL_MANAGED_PROXY" {
			return store.BadField("subnetwork", o["subnetwork"], "A proxy-only subnetwork can't be used by a forwarding rule.")
		}
	}
	switch {
	case scheme == "EXTERNAL_MANAGED" && n.Location() == "global", scheme != "EXTERNAL_MANAGED" && scheme != "INTERNAL_MANAGED":
		return nil
	case scheme == "INTERNAL_MANAGED" && subnet == nil:
		return store.BadField("subnetwork", o["subnetwork"], "A subnetwork must be specified.")
	}
	purpose := "REGIONAL_MANAGED_PROXY"
	if n.Location() == "global" {
		purpose = "GLOBAL_MANAGED_PROXY"
	}
	if network == "" {
		network = link(s.defaultNetwork(n))
	}
	for _, p := range v.List(Host, "subnetworks", "projects/"+n.Project()+"/regions/"+at) {
		if one := v.Get(p); one["purpose"] == purpose && one["network"] == network && store.Text(one, "role") != "BACKUP" {
			return nil
		}
	}
	return store.BadField("IPAddress", o["IPAddress"], "An active proxy-only subnetwork is required in the same region and VPC as the forwarding rule.")
}
