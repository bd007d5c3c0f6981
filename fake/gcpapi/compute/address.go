package compute

import (
	"cmp"
	"net/netip"
	"slices"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) addresses() *store.Kind {
	return &store.Kind{
		Collection: "addresses", Schema: "Address", Noun: "address", Quota: addressQuota, Default: s.completeAddress, Check: s.checkAddress, Show: s.showAddress,
		Immutable:  []string{"name", "address", "addressType", "purpose", "subnetwork", "network", "networkTier", "ipVersion", "description"},
		References: []store.Reference{to("network", "networks"), near("subnetwork", "subnetworks")},
	}
}

func addressQuota(n store.Name, o store.Object) string {
	switch {
	case o["addressType"] != "INTERNAL":
		return "STATIC_ADDRESSES"
	case n.Location() == "global":
		return "GLOBAL_INTERNAL_ADDRESSES"
	}
	return "INTERNAL_ADDRESSES"
}

func (s *service) completeAddress(v store.View, n store.Name, o store.Object) {
	stampLabels(o)
	o["addressType"] = cmp.Or(store.Text(o, "addressType"), "EXTERNAL")
	internal := o["addressType"] == "INTERNAL"
	if internal && o["subnetwork"] == nil && o["network"] == nil {
		if subnet := s.defaultSubnet(v, n); subnet != "" {
			o["subnetwork"] = link(subnet)
		}
	}
	o["networkTier"] = cmp.Or(store.Text(o, "networkTier"), "PREMIUM")
	if internal {
		o["purpose"] = cmp.Or(store.Text(o, "purpose"), "GCE_ENDPOINT")
	}
	if n.Location() == "global" {
		o["ipVersion"] = cmp.Or(store.Text(o, "ipVersion"), "IPV4")
	}
	if o["address"] == nil {
		o["address"] = s.free(v, n, o)
	}
}

func (s *service) checkAddress(v store.View, n store.Name, was, o store.Object) error {
	if err := store.CheckLabels(o); err != nil || was != nil {
		return err
	}
	text := store.Text(o, "address")
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return store.BadField("address", text, "There is no free address in the range.")
	}
	if subnet := v.Get(s.named(n, store.Text(o, "subnetwork"))); subnet != nil {
		if within, err := netip.ParsePrefix(store.Text(subnet, "ipCidrRange")); err != nil || !within.Contains(ip) {
			return store.BadField("address", text, "The specified address is not within the subnetwork's range %s.", store.Text(subnet, "ipCidrRange"))
		}
	}
	if slices.Contains(s.taken(v, n.Project()), text) {
		return store.BadField("address", text, "Specified IP address is already reserved or in use.")
	}
	return nil
}

func (s *service) showAddress(v store.View, n store.Name, o store.Object) {
	o["status"] = "RESERVED"
	if users := v.Users(n); len(users) > 0 {
		list := make([]any, len(users))
		for i, u := range users {
			list[i] = link(u)
		}
		o["status"], o["users"] = "IN_USE", list
	}
}

// taken are the IP addresses that are reserved or used.
func (s *service) taken(v store.View, project string) []string {
	var out []string
	for collection, field := range map[string]string{"addresses": "address", "forwardingRules": "IPAddress"} {
		for _, n := range v.List(Host, collection, "projects/"+project) {
			out = append(out, store.Text(v.Get(n), field))
		}
	}
	for _, n := range v.List(Host, "instances", "projects/"+project) {
		out = append(out, instanceIPs(v.Get(n))...)
	}
	return out
}

// free is an address that nobody has: of the subnetwork, or of blocks that are for
// documentation (RFC 5737, RFC 3849) and benchmarks (RFC 2544).
func (s *service) free(v store.View, n store.Name, o store.Object) string {
	from, step := netip.MustParsePrefix("198.18.0.0/15"), 1
	switch {
	case o["ipVersion"] == "IPV6":
		from = netip.MustParsePrefix("2001:db8::/32")
	case o["addressType"] == "INTERNAL" || o["subnetwork"] != nil:
		subnet := v.Get(s.named(n, store.Text(o, "subnetwork")))
		prefix, err := netip.ParsePrefix(store.Text(subnet, "ipCidrRange"))
		if err != nil {
			return ""
		}
		from, step = prefix, 2 // the first is the network's, the second its router's
	}
	taken := map[string]bool{}
	for _, ip := range s.taken(v, n.Project()) {
		taken[ip] = true
	}
	ip := from.Addr()
	for range step {
		ip = ip.Next()
	}
	for ; from.Contains(ip); ip = ip.Next() {
		if !taken[ip.String()] {
			return ip.String()
		}
	}
	return ""
}
