package compute

import (
	"cmp"
	"net/netip"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) networks() *store.Kind {
	return &store.Kind{
		Collection: "networks", Schema: "Network", Noun: "network", Quota: counted("NETWORKS"),
		Show: func(v store.View, n store.Name, o store.Object) {
			var list []any
			for _, u := range v.Users(n) {
				if u.Collection() == "subnetworks" {
					list = append(list, link(u))
				}
			}
			if list != nil {
				o["subnetworks"] = list
			}
		},
	}
}

func (s *service) subnetworks() *store.Kind {
	return &store.Kind{
		Collection: "subnetworks", Schema: "Subnetwork", Noun: "subnetwork", Quota: counted("SUBNETWORKS"),
		Immutable: []string{"name", "network", "purpose"}, References: []store.Reference{to("network", "networks")},
		Default: func(_ store.View, n store.Name, o store.Object) {
			o["purpose"] = cmp.Or(store.Text(o, "purpose"), "PRIVATE")
			o["region"] = link(store.NameOf(Host, n.Scope()))
			if o["role"] == nil && o["purpose"] != "PRIVATE" {
				o["role"] = "ACTIVE"
			}
			o["state"] = "READY"
		},
		Check: s.checkSubnetwork,
	}
}

func (s *service) checkSubnetwork(v store.View, n store.Name, was, o store.Object) error {
	text := store.Text(o, "ipCidrRange")
	mine, err := netip.ParsePrefix(text)
	switch {
	case err != nil || mine != mine.Masked():
		return store.BadField("ipCidrRange", text, "Must be an address range in CIDR notation.")
	case o["network"] == nil:
		return required("resource.network")
	case was != nil:
		return nil
	}
	for _, other := range v.List(Host, "subnetworks", "projects/"+n.Project()) {
		one := v.Get(other)
		theirs, err := netip.ParsePrefix(store.Text(one, "ipCidrRange"))
		if err == nil && one["network"] == o["network"] && theirs.Overlaps(mine) {
			return store.BadField("ipCidrRange", text, "Invalid IPCidrRange: %s conflicts with existing subnetwork '%s' in region '%s'.", text, other.ID(), other.Location())
		}
		if err == nil && o["purpose"] != "PRIVATE" && one["purpose"] == o["purpose"] && one["network"] == o["network"] && other.Location() == n.Location() && one["role"] == o["role"] {
			return store.BadField("role", o["role"], "There is an active proxy-only subnetwork already, '%s'.", other.ID())
		}
	}
	return nil
}

// defaultNetwork is the network of resources that name none.
func (s *service) defaultNetwork(n store.Name) store.Name {
	return store.NameOf(Host, "projects/"+n.Project()+"/global/networks/default")
}

// defaultSubnet is the subnetwork of the default network in a resource's region; "" if
// there is none.
func (s *service) defaultSubnet(v store.View, n store.Name) store.Name {
	network := link(s.defaultNetwork(n))
	for _, sub := range v.List(Host, "subnetworks", "projects/"+n.Project()+"/regions/"+n.Location()) {
		if one := v.Get(sub); one["network"] == network && one["purpose"] == "PRIVATE" {
			return sub
		}
	}
	return ""
}
